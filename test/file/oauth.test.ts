/**
 * What is particular to files with bearer tokens: the word that each request with such a token has to say, snapshots,
 * renames, and versions. What they share with other services is in test/services.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import type { RunningServer } from '../../src/main.ts';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { refusal } from '../harness/clients.ts';
import { send } from '../harness/http.ts';
import { oauthServers } from '../harness/oauth-servers.ts';
import { assertRefused } from '../harness/queue-http.ts';
import { type Access, NOT_AUTHENTIC, NOT_PERMITTED } from '../services/credentials.ts';
import { connect, freshPlace, shareOf } from './credentials.ts';
import { assertOutcomes, assertUntouched, CONTRIBUTOR, DELEGATOR, fileOf, MANAGER, READER } from './operations.ts';

const { issuer, oauth, startWith, startOverTls } = await oauthServers();

describe('the official client with a bearer token', () => {
  let owner: Access & { readonly ca: Buffer };
  before(async () => {
    const { server, ca } = await startOverTls();
    const { port } = new URL(server.origins.file);
    owner = { endpoint: `https://localhost:${port}/${SECOND_ACCOUNT.name}`, key: SECOND_ACCOUNT, ca };
  });
  const guestIn = async (...roles: string[]): Promise<Access> => ({
    endpoint: owner.endpoint,
    bearer: await issuer.sign({ roles }),
    ca: owner.ca,
  });

  test('does nothing with files without saying that it means to, whatever its role', async () => {
    for (const roles of [[CONTRIBUTOR], [MANAGER, CONTRIBUTOR], [DELEGATOR]]) {
      const place = await freshPlace(owner);
      const service = connect(await guestIn(...roles), { withIntent: false });
      const guest = { service, share: service.getShareClient(place.share.name) };
      await assertOutcomes(guest, place, ({ byRoles }) => {
        if (!byRoles.includes(MANAGER)) return '400 MissingRequiredHeader';
        return roles.includes(MANAGER) ? 'ok' : NOT_PERMITTED;
      });
      if (!roles.includes(MANAGER)) await assertUntouched(place);
    }
  });

  test('reads a snapshot of the share', async () => {
    const { share } = await freshPlace(owner);
    const { snapshot = '' } = await share.createSnapshot();
    await fileOf(share).delete();
    const guest = shareOf(await guestIn(READER), share.name);
    const content = await fileOf(guest.withSnapshot(snapshot)).downloadToBuffer(0, 12);
    assert.equal(content.toString(), 'of the owner');
    assert.equal(await refusal(fileOf(guest).getProperties()), '404 ResourceNotFound');
  });
});

const VERSION = '2026-02-06';
const INTENT = 'x-ms-file-request-intent';

describe('a request by hand', () => {
  let server: RunningServer;
  const share = `test-${randomUUID()}`;
  before(async () => {
    server = await startWith({ oauth });
    await as(null, { method: 'PUT', path: `/${share}?restype=share`, account: SECOND_ACCOUNT });
  });

  interface Asked {
    readonly method?: string;
    readonly path?: string;
    readonly version?: string;
    readonly account?: typeof SECOND_ACCOUNT;
    readonly headers?: Readonly<Record<string, string>>;
  }
  const as = (token: string | null, { method = 'GET', path = LIST, version = VERSION, ...rest }: Asked = {}) =>
    send(server.origins.file, {
      method,
      path,
      account: rest.account ?? null,
      pathAccount: SECOND_ACCOUNT.name,
      headers: {
        'x-ms-version': version,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...rest.headers,
      },
    });
  const LIST = `/${share}?restype=directory&comp=list`;
  const MEANT = { [INTENT]: 'backup' };

  test('says what for, in the one word that there is', async () => {
    const token = await issuer.sign({ roles: [READER] });
    assertRefused(await as(token), '400 MissingRequiredHeader', { HeaderName: INTENT });
    assertRefused(await as(token, { headers: { [INTENT]: 'restore' } }), '400 InvalidHeaderValue', {
      HeaderName: INTENT,
      HeaderValue: 'restore',
    });
    assert.equal((await as(token, { headers: { [INTENT]: 'Backup' } })).status, 200);
  });

  test('renames by its role, without a token for the source', async () => {
    const create = { method: 'PUT', headers: { 'x-ms-type': 'file', 'x-ms-content-length': '0' } };
    await as(null, { ...create, path: `/${share}/from`, account: SECOND_ACCOUNT });
    const source = `${server.origins.file}/${SECOND_ACCOUNT.name}/${share}/from`;
    const rename = {
      method: 'PUT',
      path: `/${share}/to?comp=rename`,
      headers: { ...MEANT, 'x-ms-file-rename-source': source },
    };
    assertRefused(await as(await issuer.sign({ roles: [READER] }), rename), NOT_PERMITTED);
    const contributor = await issuer.sign({ roles: [CONTRIBUTOR] });
    assertRefused(
      await as(contributor, { ...rename, headers: { 'x-ms-file-rename-source': source } }),
      '400 MissingRequiredHeader',
      { HeaderName: INTENT },
    );
    assert.equal((await as(contributor, rename)).status, 200);
  });

  test('reads data since 2022-11-02, and shares since 2024-11-04', async () => {
    const token = await issuer.sign({ roles: [MANAGER, CONTRIBUTOR] });
    const ask = async (path: string, version: string) => (await as(token, { path, version, headers: MEANT })).outcome;
    const [properties, service] = [`/${share}?restype=share`, '/?comp=list'];
    assert.equal(await ask(LIST, '2021-12-02'), NOT_AUTHENTIC);
    assert.equal(await ask(properties, '2021-12-02'), NOT_AUTHENTIC);
    assert.equal(await ask(LIST, '2022-11-02'), '200');
    for (const path of [properties, service]) {
      assert.equal(await ask(path, '2024-08-04'), '409 FileOAuthManagementApiRestrictedToSrp');
      assert.equal(await ask(path, '2024-11-04'), '200');
    }
  });
});
