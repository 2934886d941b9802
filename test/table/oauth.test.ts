/**
 * Bearer tokens of a real, if tiny, issuer at the table door: the official client over TLS in each role, what is told to
 * whoever brings a token that is not good, and user delegation keys with the tokens made of them.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import {
  AzureSASCredential,
  TableClient,
  TableServiceClient,
  type TableServiceClientOptions,
} from '@azure/data-tables';
import type { RunningServer } from '../../src/main.ts';
import { Command } from '../admin/command.ts';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { TENANT, USER } from '../harness/oauth-issuer.ts';
import { credentialOf, oauthServers } from '../harness/oauth-servers.ts';
import { TABLE_CLIENT_OPTIONS, tableOutcomes, tableRefusal } from '../harness/table-clients.ts';
import { sendTable, type TableResponse } from '../harness/table-http.ts';
import { missingTool } from '../packages.ts';

const CONTRIBUTOR = 'Storage Table Data Contributor';
const READER = 'Storage Table Data Reader';
const DELEGATOR = 'Storage Table Delegator';
const BLOB_OWNER = 'Storage Blob Data Owner';
const NOT_PERMITTED = '403 AuthorizationPermissionMismatch';
const VERSION = '2025-07-05';

const { clock, issuer, oauth: OAUTH, startWith, startOverTls } = await oauthServers();

/** `ok`, or the refusal. */
async function outcome(request: Promise<unknown>): Promise<string> {
  const [settled = ''] = tableOutcomes(await Promise.allSettled([request]));
  return settled;
}

const allAre = (outcomes: Record<string, string>, want: string): void =>
  assert.deepEqual(outcomes, Object.fromEntries(Object.keys(outcomes).map((name) => [name, want])));

describe('the official client with a bearer token', { skip: missingTool('openssl') }, () => {
  let endpoint: string;
  let options: TableServiceClientOptions;

  before(async () => {
    const { server, ca } = await startOverTls();
    endpoint = `https://localhost:${new URL(server.origins.table).port}/${SECOND_ACCOUNT.name}`;
    options = { retryOptions: { maxRetries: 0 }, tlsOptions: { ca } };
    await (await as(CONTRIBUTOR)).createTable('letters');
    await (await by(CONTRIBUTOR)).createEntity({ partitionKey: 'p', rowKey: 'first', n: 1 });
  });

  const withToken = (token: string): TableClient => new TableClient(endpoint, 'letters', credentialOf(token), options);
  const as = async (...roles: string[]): Promise<TableServiceClient> =>
    new TableServiceClient(endpoint, credentialOf(await issuer.sign({ roles })), options);
  const by = async (...roles: string[]): Promise<TableClient> => withToken(await issuer.sign({ roles }));

  const changes = async (...roles: string[]): Promise<Record<string, string>> => {
    const [service, table] = [await as(...roles), await by(...roles)];
    const key = { partitionKey: 'p', rowKey: randomUUID() };
    const name = `own${randomUUID().replaceAll('-', '')}`;
    return {
      create: await outcome(service.createTable(name)),
      insert: await outcome(table.createEntity(key)),
      replace: await outcome(table.updateEntity({ ...key, n: 2 }, 'Replace')),
      merge: await outcome(table.updateEntity({ ...key, m: 2 }, 'Merge')),
      upsert: await outcome(table.upsertEntity({ ...key, n: 3 }, 'Replace')),
      batch: await outcome(table.submitTransaction([['upsert', { ...key, n: 4 }]])),
      delete: await outcome(table.deleteEntity(key.partitionKey, key.rowKey)),
      drop: await outcome(service.deleteTable(name)),
    };
  };
  const reads = async (...roles: string[]): Promise<Record<string, string>> => {
    const [service, table] = [await as(...roles), await by(...roles)];
    return {
      tables: await outcome(service.listTables().next()),
      query: await outcome(table.listEntities().next()),
      get: await outcome(table.getEntity('p', 'first')),
    };
  };
  const controls = async (...roles: string[]): Promise<Record<string, string>> => {
    const [service, table] = [await as(...roles), await by(...roles)];
    return {
      getAcl: await outcome(table.getAccessPolicy()),
      setAcl: await outcome(table.setAccessPolicy([])),
      getProperties: await outcome(service.getProperties()),
      setProperties: await outcome(service.setProperties({ cors: [] })),
    };
  };
  test('reads and changes tables and entities as a contributor', async () => {
    allAre(await reads(CONTRIBUTOR), 'ok');
    allAre(await changes(CONTRIBUTOR), 'ok');
  });

  test('reads as a reader, and changes nothing', async () => {
    allAre(await reads(READER), 'ok');
    allAre(await changes(READER), NOT_PERMITTED);
    assert.equal((await (await by(READER)).getEntity('p', 'first'))['n'], 1);
  });

  test('decides over access policies and the service in no role for tables', async () => {
    for (const role of [CONTRIBUTOR, READER, DELEGATOR]) allAre(await controls(role), NOT_PERMITTED);
  });

  test('does nothing without a role for tables', async () => {
    for (const roles of [[], ['Reader'], [DELEGATOR], [BLOB_OWNER]]) {
      allAre(await reads(...roles), NOT_PERMITTED);
      allAre(await changes(...roles), NOT_PERMITTED);
      allAre(await controls(...roles), NOT_PERMITTED);
    }
  });

  test('is let in by a token for storage, for the account’s tables or for this server’s', async () => {
    const { port } = new URL(endpoint);
    for (const [aud, want] of [
      ['https://storage.azure.com', 'ok'],
      ['https://storage.azure.com/', 'ok'],
      [`https://${SECOND_ACCOUNT.name}.table.core.windows.net`, 'ok'],
      [`https://${SECOND_ACCOUNT.name}.table.core.windows.net/`, 'ok'],
      [`https://127.0.0.1:${port}/${SECOND_ACCOUNT.name}`, 'ok'],
      [`https://${SECOND_ACCOUNT.name}.blob.core.windows.net`, '401 InvalidAuthenticationInfo'],
      ['https://other.table.core.windows.net', '401 InvalidAuthenticationInfo'],
      ['https://vault.azure.net', '401 InvalidAuthenticationInfo'],
    ] as const) {
      const table = withToken(await issuer.sign({ roles: [READER], aud }));
      assert.equal(await outcome(table.getEntity('p', 'first')), want, aud);
    }
  });
});

const CHALLENGE = `Bearer authorization_uri=${issuer.url}/oauth2/authorize resource_id=https://storage.azure.com`;

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

describe('a request by hand', () => {
  let server: RunningServer;
  before(async () => {
    server = await startWith({ oauth: OAUTH });
    await ask(await issuer.sign({ roles: [CONTRIBUTOR] }), {
      method: 'POST',
      path: '/Tables',
      body: '{"TableName":"letters"}',
    });
  });

  interface Asked {
    readonly method?: string;
    readonly path?: string;
    readonly body?: string;
    readonly headers?: Readonly<Record<string, string>>;
  }
  const ask = (token: string | null, { method = 'GET', path = '/Tables', headers, ...rest }: Asked = {}) =>
    sendTable(server.origins.table, {
      method,
      path,
      account: null,
      pathAccount: SECOND_ACCOUNT.name,
      headers: { 'x-ms-version': VERSION, ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
      ...rest,
    });
  test('is served over plain HTTP on the same machine', async () => {
    const { status, json } = await ask(await issuer.sign({ roles: [READER] }));
    assert.equal(status, 200);
    assert.deepEqual((json as { value: unknown }).value, [{ TableName: 'letters' }]);
  });

  test('with a token that is not good is told where good ones come from, in JSON', async () => {
    for (const token of [
      await issuer.sign({ exp: 1 }),
      await issuer.sign({ aud: 'https://vault.azure.net' }),
      await issuer.sign({ iss: 'https://other' }),
      'token',
    ]) {
      const { outcome, headers, error, body } = await ask(token);
      assert.equal(outcome, '401 InvalidAuthenticationInfo');
      assert.equal(error?.code, 'InvalidAuthenticationInfo');
      assert.equal(headers['www-authenticate'], CHALLENGE);
      for (const part of token.split('.').slice(1)) assert.ok(!body.toString().includes(part));
    }
  });

  test('without credentials is told the same, or that there is nothing where it speaks an old version', async () => {
    const { outcome, headers, error } = await ask(null);
    assert.equal(outcome, '401 NoAuthenticationInformation');
    assert.equal(error?.code, 'NoAuthenticationInformation');
    assert.equal(headers['www-authenticate'], CHALLENGE);
    assert.equal((await ask(null, { headers: { 'x-ms-version': '2019-02-02' } })).outcome, '404 ResourceNotFound');
  });

  const guest = (token: string): TableClient => {
    const endpoint = `${server.origins.table}/${SECOND_ACCOUNT.name}`;
    return new TableClient(endpoint, 'letters', new AzureSASCredential(token), TABLE_CLIENT_OPTIONS);
  };

  const askKey = async (roles: readonly string[], headers: Readonly<Record<string, string>> = {}) =>
    ask(await issuer.sign({ roles }), {
      method: 'POST',
      path: '/?restype=service&comp=userdelegationkey',
      headers,
      body: `<KeyInfo><Expiry>${inSeconds(3600)}</Expiry></KeyInfo>`,
    });

  describe('for a user delegation key', () => {
    test('gets one for tables, in XML', async () => {
      const { status, headers, body } = await askKey([DELEGATOR]);
      assert.equal(status, 200);
      assert.equal(headers['content-type'], 'application/xml');
      assert.match(
        body.toString(),
        new RegExp(
          `<UserDelegationKey><SignedOid>${USER}</SignedOid><SignedTid>${TENANT}</SignedTid>.*` +
            `<SignedService>t</SignedService><SignedVersion>${VERSION}</SignedVersion><Value>[^<]{44}</Value>`,
        ),
      );
    });

    test('gets none in another role, with another version, or with the key of the account', async () => {
      for (const roles of [[CONTRIBUTOR], [READER], [BLOB_OWNER], []]) {
        assert.equal((await askKey(roles)).outcome, NOT_PERMITTED, roles.join());
      }
      const old = await askKey([DELEGATOR], { 'x-ms-version': '2025-05-05' });
      assert.equal(old.outcome, '400 InvalidQueryParameterValue');
      const byKey = await sendTable(server.origins.table, {
        method: 'POST',
        path: '/?restype=service&comp=userdelegationkey',
        account: SECOND_ACCOUNT,
        body: `<KeyInfo><Expiry>${inSeconds(60)}</Expiry></KeyInfo>`,
      });
      assert.equal(byKey.outcome, '403 AuthenticationFailed');
    });

    test('makes tokens of it that do what they say and its holder may', async () => {
      const key = { partitionKey: 'p', rowKey: 'r' };
      const wide = guest(tokenOf(await askKey([DELEGATOR, CONTRIBUTOR])));
      assert.equal(await outcome(wide.upsertEntity(key)), 'ok');
      assert.equal(await outcome(wide.submitTransaction([['upsert', key]])), 'ok');
      assert.equal(await tableRefusal(wide.deleteTable()), '403 AuthorizationFailure');
      const ofReader = guest(tokenOf(await askKey([DELEGATOR, READER])));
      assert.equal(await outcome(ofReader.getEntity('p', 'r')), 'ok');
      assert.equal(await outcome(ofReader.upsertEntity(key)), NOT_PERMITTED);
      assert.equal(await outcome(guest(tokenOf(await askKey([DELEGATOR]))).getEntity('p', 'r')), NOT_PERMITTED);
      const ranged = guest(tokenOf(await askKey([DELEGATOR, CONTRIBUTOR]), { spk: 'q' }));
      assert.equal(await outcome(ranged.getEntity('p', 'r')), '404 ResourceNotFound');
      assert.equal(await outcome(ranged.upsertEntity(key)), NOT_PERMITTED);
    });

    test('makes tokens of it that end', async () => {
      const brief = guest(tokenOf(await askKey([DELEGATOR, READER])));
      assert.equal(await outcome(brief.listEntities().next()), 'ok');
      clock.advance({ seconds: 61 });
      assert.equal(await outcome(brief.listEntities().next()), '403 AuthenticationFailed');
    });
  });
});

test('larimar serve gives tokens without a role what it was told to', async (t) => {
  const args = ['serve', '--blob-port=0', '--table-port=0', '--admin-port=off', '--memory', '--log=json'];
  const command = new Command([...args, '--oauth-issuer', issuer.url, '--oauth-default-role', READER]);
  t.after(() => command.stop());
  const [, url = ''] = await command.printed(/"service":"table","url":"([^"]+)"/);
  const headers = { authorization: `Bearer ${await issuer.sign()}` };
  const asked = { path: '/Tables', account: null, headers };
  assert.equal((await sendTable(url, { ...asked, method: 'GET' })).status, 200);
  const created = await sendTable(url, { ...asked, method: 'POST', body: '{"TableName":"letters"}' });
  assert.equal(created.outcome, NOT_PERMITTED);
});
