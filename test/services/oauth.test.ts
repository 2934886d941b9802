/**
 * Bearer tokens of a real, if tiny, issuer at the doors for queues, files and tables: the official clients over TLS in
 * each role against every operation, and what is told to whoever brings a token that is not good.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { RunningServer } from '../../src/main.ts';
import { Command } from '../admin/command.ts';
import { FILES } from '../file/credentials.ts';
import * as file from '../file/operations.ts';
import { accountEndpoint, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { type RawRequest, type RawResponse, send } from '../harness/http.ts';
import { oauthServers } from '../harness/oauth-servers.ts';
import { assertRefused } from '../harness/queue-http.ts';
import { assertRefused as assertTableRefused, sendTable, type TableResponse } from '../harness/table-http.ts';
import { QUEUES } from '../queue/credentials.ts';
import * as queue from '../queue/operations.ts';
import { TABLES } from '../table/credentials.ts';
import * as table from '../table/operations.ts';
import { type Access, type CredentialService, NOT_AUTHENTIC, NOT_PERMITTED } from './credentials.ts';

const BLOB_OWNER = 'Storage Blob Data Owner';
const MOUNTERS = [
  'Storage File Data SMB Share Reader',
  'Storage File Data SMB Share Contributor',
  'Storage File Data SMB Share Elevated Contributor',
];

interface Row {
  readonly service: CredentialService;
  /** Roles to come in, together. */
  readonly roles: readonly (readonly string[])[];
  /** Opens `read` of the service and `path`. */
  readonly reader: string;
  readonly path: (name: string) => string;
  /** In every answer to a reader. */
  readonly answer: RegExp;
  /** With every request that has a bearer token. */
  readonly headers: Readonly<Record<string, string>>;
  readonly send: (url: string, request: RawRequest) => Promise<RawResponse>;
  readonly assertRefused: (answer: RawResponse, want: string) => void;
  /** The first version with bearer tokens and the one before. */
  readonly since: readonly [first: string, before: string];
  /** A role for tokens that have none, what it opens and what not; a role that opens neither. */
  readonly byDefault: {
    readonly role: string;
    readonly allowed: Pick<RawRequest, 'method' | 'path'>;
    readonly refused: Pick<RawRequest, 'method' | 'path' | 'body'>;
    readonly other: string;
  };
}

const ROWS: readonly Row[] = [
  {
    service: QUEUES,
    roles: [
      [queue.CONTRIBUTOR],
      [queue.READER],
      [queue.PROCESSOR],
      [queue.SENDER],
      [queue.DELEGATOR],
      [queue.SENDER, queue.PROCESSOR],
      [queue.READER, queue.SENDER],
      [queue.DELEGATOR, queue.READER],
      ['storagequeuedatamessagesender'],
      [BLOB_OWNER, table.CONTRIBUTOR],
    ],
    reader: queue.READER,
    path: () => '/?comp=list',
    answer: /<EnumerationResults /,
    headers: {},
    send,
    assertRefused,
    since: ['2017-11-09', '2017-07-29'],
    byDefault: {
      role: queue.READER,
      allowed: { method: 'GET', path: '/?comp=list' },
      refused: { method: 'PUT', path: '/letters' },
      other: BLOB_OWNER,
    },
  },
  {
    service: FILES,
    roles: [
      [file.CONTRIBUTOR],
      [file.READER],
      [file.MANAGER],
      [file.DELEGATOR],
      [file.MANAGER, file.READER],
      [file.MANAGER, file.CONTRIBUTOR],
      [file.DELEGATOR, file.READER],
      ['storagefiledataprivilegedcontributor'],
      MOUNTERS,
      [BLOB_OWNER, queue.CONTRIBUTOR, table.CONTRIBUTOR],
    ],
    reader: file.READER,
    path: (name) => `/${name}?restype=directory&comp=list`,
    answer: /<EnumerationResults /,
    headers: { 'x-ms-file-request-intent': 'backup' },
    send,
    assertRefused,
    since: ['2022-11-02', '2021-12-02'],
    byDefault: {
      role: file.MANAGER,
      allowed: { method: 'GET', path: '/?comp=list' },
      refused: { method: 'GET', path: '/letters?restype=directory&comp=list' },
      other: MOUNTERS[0] as string,
    },
  },
  {
    service: TABLES,
    roles: [
      [table.CONTRIBUTOR],
      [table.READER],
      [table.DELEGATOR],
      [table.DELEGATOR, table.READER],
      ['storagetabledatareader'],
      [BLOB_OWNER],
    ],
    reader: table.READER,
    path: () => '/Tables',
    answer: /"value":\[\{"TableName":"\w+"\}\]/,
    headers: {},
    send: sendTable,
    assertRefused: (answer, want) => assertTableRefused(answer as TableResponse, want),
    since: ['2017-11-09', '2017-07-29'],
    byDefault: {
      role: table.READER,
      allowed: { method: 'GET', path: '/Tables' },
      refused: { method: 'POST', path: '/Tables', body: '{"TableName":"letters"}' },
      other: BLOB_OWNER,
    },
  },
];

const { issuer, oauth, startWith, startOverTls } = await oauthServers();

/** As issuers may write it that allow neither spaces nor capitals. */
const plain = (role: string): string => role.toLowerCase().replaceAll(' ', '');

for (const { service, roles: sets, reader } of ROWS) {
  describe(`the official client for ${service.door}s with a bearer token`, () => {
    let owner: Access & { readonly ca: Buffer };
    before(async () => {
      const { server, ca } = await startOverTls();
      const { port } = new URL(server.origins[service.door]);
      owner = { endpoint: `https://localhost:${port}/${SECOND_ACCOUNT.name}`, key: SECOND_ACCOUNT, ca };
    });
    const guestWith = (bearer: string): Access => ({ endpoint: owner.endpoint, bearer, ca: owner.ca });

    for (const roles of [...sets, ['Reader'], []]) {
      test(`does what is open to ${roles.join(' and ') || 'no role'}, and nothing else`, async () => {
        const resource = await service.fresh(owner);
        const has = roles.map(plain);
        const guest = guestWith(await issuer.sign({ roles }));
        await resource.assertOutcomes(guest, ({ byRoles }) =>
          byRoles.some((role) => has.includes(plain(role))) ? 'ok' : NOT_PERMITTED,
        );
      });
    }

    test(`is let in by a token for storage, for the account’s ${service.door}s or for this server’s`, async () => {
      const { name } = await service.fresh(owner);
      const { port } = new URL(owner.endpoint);
      for (const [aud, want] of [
        ['https://storage.azure.com', 'ok'],
        ['https://storage.azure.com/', 'ok'],
        [`https://${SECOND_ACCOUNT.name}.${service.door}.core.windows.net`, 'ok'],
        [`https://${SECOND_ACCOUNT.name}.${service.door}.core.windows.net/`, 'ok'],
        [`https://127.0.0.1:${port}/${SECOND_ACCOUNT.name}`, 'ok'],
        [`https://${SECOND_ACCOUNT.name}.blob.core.windows.net`, '401 InvalidAuthenticationInfo'],
        [`https://other.${service.door}.core.windows.net`, '401 InvalidAuthenticationInfo'],
        ['https://vault.azure.net', '401 InvalidAuthenticationInfo'],
      ] as const) {
        const guest = guestWith(await issuer.sign({ roles: [reader], aud }));
        assert.equal(await service.outcome(service.read(guest, name)), want, aud);
      }
    });
  });
}

const CHALLENGE = `Bearer authorization_uri=${issuer.url}/oauth2/authorize resource_id=https://storage.azure.com`;

for (const { service, reader, assertRefused, ...row } of ROWS) {
  describe(`a request by hand for ${service.door}s`, () => {
    let server: RunningServer;
    let path: string;
    before(async () => {
      server = await startWith({ oauth });
      const endpoint = accountEndpoint(server.origins[service.door], SECOND_ACCOUNT);
      path = row.path((await service.fresh({ endpoint, key: SECOND_ACCOUNT })).name);
    });

    const ask = (token: string | null, version = '2026-02-06'): Promise<RawResponse> =>
      row.send(server.origins[service.door], {
        method: 'GET',
        path,
        account: null,
        pathAccount: SECOND_ACCOUNT.name,
        headers: {
          'x-ms-version': version,
          ...(token === null ? {} : { authorization: `Bearer ${token}`, ...row.headers }),
        },
      });

    test('is served over plain HTTP on the same machine', async () => {
      const { status, body } = await ask(await issuer.sign({ roles: [reader] }));
      assert.equal(status, 200);
      assert.match(body.toString(), row.answer);
    });

    test('with a token that is not good is told where good ones come from', async () => {
      for (const token of [
        await issuer.sign({ exp: 1 }),
        await issuer.sign({ aud: 'https://vault.azure.net' }),
        await issuer.sign({ iss: 'https://other' }),
        'token',
      ]) {
        const refused = await ask(token);
        assertRefused(refused, '401 InvalidAuthenticationInfo');
        assert.equal(refused.headers['www-authenticate'], CHALLENGE);
        for (const part of token.split('.').slice(1)) assert.ok(!refused.body.toString().includes(part));
      }
    });

    test('without credentials is told the same, or that there is nothing where it speaks an old version', async () => {
      const refused = await ask(null);
      assertRefused(refused, '401 NoAuthenticationInformation');
      assert.equal(refused.headers['www-authenticate'], CHALLENGE);
      for (const version of ['2019-02-02', '2019-10-10'])
        assertRefused(await ask(null, version), '404 ResourceNotFound');
    });

    test('of a version before there were bearer tokens is refused', async () => {
      const token = await issuer.sign({ roles: [reader] });
      const [first, earlier] = row.since;
      assert.equal((await ask(token, first)).status, 200);
      assertRefused(await ask(token, earlier), NOT_AUTHENTIC);
    });
  });
}

for (const { service, byDefault, ...row } of ROWS) {
  test(`larimar serve gives tokens without a role for ${service.door}s what it was told to`, async (t) => {
    const doors = ['blob', 'queue', 'table', 'file'].map((door) => `--${door}-port=0`);
    const args = ['serve', ...doors, '--admin-port=off', '--web-port=off', '--memory', '--log=json'];
    const command = new Command([...args, '--oauth-issuer', issuer.url, '--oauth-default-role', byDefault.role]);
    t.after(() => command.stop());
    const [, url = ''] = await command.printed(new RegExp(`"service":"${service.door}","url":"([^"]+)"`));
    const ask = async (request: Pick<RawRequest, 'method' | 'path' | 'body'>, roles?: readonly string[]) => {
      const headers = { authorization: `Bearer ${await issuer.sign({ roles })}`, ...row.headers };
      return (await row.send(url, { ...request, account: null, headers })).outcome;
    };
    assert.equal(await ask(byDefault.allowed), '200');
    assert.equal(await ask(byDefault.refused), NOT_PERMITTED);
    // A role that is worth nothing here is a role all the same.
    assert.equal(await ask(byDefault.allowed, [byDefault.other]), NOT_PERMITTED);
  });
}
