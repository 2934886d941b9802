/** User delegation keys for tables, and the tokens made of them: what these are worth, where, and for how long. */
// engines: embedded
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { before, describe, test } from 'node:test';
import type { TableClient } from '@azure/data-tables';
import type { RunningServer } from '../../src/main.ts';
import { accountEndpoint, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { oauthServers } from '../harness/oauth-servers.ts';
import { tableRefusal } from '../harness/table-clients.ts';
import { sendTable, type TableResponse } from '../harness/table-http.ts';
import { NEVER, NOT_AUTHENTIC, NOT_PERMITTED } from '../services/credentials.ts';
import { connect, TABLES } from './credentials.ts';
import { CONTRIBUTOR, DELEGATOR, outcome, READER } from './operations.ts';

const VERSION = '2025-07-05';

const { clock, issuer, oauth, startWith } = await oauthServers();

const inSeconds = (seconds: number): string =>
  new Date(clock.nowMs() + seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z');

/** No SDK makes such tokens for tables yet: by the published lines. */
function tokenOf({ body }: TableResponse, values: Readonly<Record<string, string>> = {}): string {
  const of = (name: string): string => new RegExp(`<${name}>([^<]*)<`).exec(body.toString())?.[1] ?? '';
  const fields: Record<string, string> = {
    sp: 'raud',
    se: inSeconds(60),
    skoid: of('SignedOid'),
    sktid: of('SignedTid'),
    skt: of('SignedStart'),
    ske: of('SignedExpiry'),
    sks: of('SignedService'),
    skv: of('SignedVersion'),
    sv: VERSION,
    tn: 'letters',
    ...values,
  };
  const lines = 'sp st se resource skoid sktid skt ske sks skv skdutid sduoid sip spr sv spk srk epk erk'
    .split(' ')
    .map((name) => (name === 'resource' ? `/table/${SECOND_ACCOUNT.name}/${fields['tn']}` : (fields[name] ?? '')));
  const sig = createHmac('sha256', Buffer.from(of('Value'), 'base64'))
    .update(lines.join('\n'))
    .digest('base64');
  return new URLSearchParams({ ...fields, sig }).toString();
}

describe('a user delegation key for tables', () => {
  let server: RunningServer;
  let endpoint: string;
  before(async () => {
    server = await startWith({ oauth });
    endpoint = accountEndpoint(server.origins.table, SECOND_ACCOUNT);
    await TABLES.fresh({ endpoint, key: SECOND_ACCOUNT }, 'letters');
  });

  const askKey = async (roles: readonly string[], version = VERSION): Promise<TableResponse> =>
    sendTable(server.origins.table, {
      method: 'POST',
      path: '/?restype=service&comp=userdelegationkey',
      account: null,
      pathAccount: SECOND_ACCOUNT.name,
      headers: { 'x-ms-version': version, authorization: `Bearer ${await issuer.sign({ roles })}` },
      body: `<KeyInfo><Expiry>${inSeconds(3600)}</Expiry></KeyInfo>`,
    });

  /** A client that has nothing but the token. */
  const guest = (sas: string): TableClient => connect({ endpoint, sas }, 'letters').table;

  test('is not given in another role, with another version, or with the key of the account', async () => {
    for (const roles of [[CONTRIBUTOR], [READER], ['Storage Blob Data Owner'], []]) {
      assert.equal((await askKey(roles)).outcome, NOT_PERMITTED, roles.join());
    }
    const old = await askKey([DELEGATOR], '2025-05-05');
    assert.equal(old.outcome, '400 InvalidQueryParameterValue');
    const byKey = await sendTable(server.origins.table, {
      method: 'POST',
      path: '/?restype=service&comp=userdelegationkey',
      account: SECOND_ACCOUNT,
      body: `<KeyInfo><Expiry>${inSeconds(60)}</Expiry></KeyInfo>`,
    });
    assert.equal(byKey.outcome, NOT_AUTHENTIC);
  });

  test('makes tokens that do what they say and its holder may', async () => {
    const key = { partitionKey: 'p', rowKey: 'r' };
    const wide = guest(tokenOf(await askKey([DELEGATOR, CONTRIBUTOR])));
    assert.equal(await outcome(wide.upsertEntity(key)), 'ok');
    assert.equal(await outcome(wide.submitTransaction([['upsert', key]])), 'ok');
    assert.equal(await tableRefusal(wide.deleteTable()), NEVER);
    const ofReader = guest(tokenOf(await askKey([DELEGATOR, READER])));
    assert.equal(await outcome(ofReader.getEntity('p', 'r')), 'ok');
    assert.equal(await outcome(ofReader.upsertEntity(key)), NOT_PERMITTED);
    assert.equal(await outcome(guest(tokenOf(await askKey([DELEGATOR]))).getEntity('p', 'r')), NOT_PERMITTED);
    const ranged = guest(tokenOf(await askKey([DELEGATOR, CONTRIBUTOR]), { spk: 'q' }));
    assert.equal(await outcome(ranged.getEntity('p', 'r')), '404 ResourceNotFound');
    assert.equal(await outcome(ranged.upsertEntity(key)), NOT_PERMITTED);
  });

  test('makes tokens that end', async () => {
    const brief = guest(tokenOf(await askKey([DELEGATOR, READER])));
    assert.equal(await outcome(brief.listEntities().next()), 'ok');
    clock.advance({ seconds: 61 });
    assert.equal(await outcome(brief.listEntities().next()), NOT_AUTHENTIC);
  });
});
