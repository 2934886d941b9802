import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import type { Account, ResourceAcl } from '../auth/identity.ts';
import { ManualClock } from '../base/clock.ts';
import { EngineUnavailable } from '../engine/engine.ts';
import { StorageError } from '../service/storage-error.ts';
import type { Door, PartRequest } from './door.ts';
import type { AuthorizedExchange, Exchange, Reply } from './exchange.ts';
import { renderFault } from './faults.ts';
import type { AccessEntry, Log } from './log.ts';
import { openPart } from './part.ts';
import { parseQuery } from './request-target.ts';

const acme: Account = { name: 'acme', keys: [Buffer.from('key')], loopbackOnly: false };

const outer: Exchange = {
  service: 'b',
  method: 'POST',
  target: {
    rawPath: '/acme',
    account: 'acme',
    secondary: false,
    hostStyle: false,
    resourcePath: '',
    query: parseQuery('comp=batch'),
  },
  header: () => null,
  rawHeaders: [],
  headersWithPrefix: () => [],
  version: '2021-12-02',
  requestId: 'outer',
  clientAddress: '192.0.2.7',
  secure: true,
  origin: 'https://example.org',
  body: () => Readable.from([]),
  wholeBody: async () => new Uint8Array(0),
  contentLengthBytes: 0,
};

const hostStyled: Exchange = { ...outer, target: { ...outer.target, rawPath: '/', hostStyle: true } };

/** A service of one operation; everybody may, except in the container `private`. */
class OneOperation implements Door {
  readonly service = 'b';
  seen: AuthorizedExchange | null = null;
  act: () => Promise<Reply> = async () => ({ status: 202, headers: ['a', 'b'] });

  route(exchange: Exchange) {
    const resource = exchange.target.resourcePath.split('/');
    const handle = (authorized: AuthorizedExchange): Promise<Reply> => {
      this.seen = authorized;
      return this.act();
    };
    const need = { resourceType: 'o', anyOf: 'd', serviceSas: true, anonymous: 'blob' } as const;
    return { operation: 'Delete Blob', need, resource, handle };
  }

  loadAcl = async (_account: string, [container]: readonly string[]): Promise<ResourceAcl> => ({
    publicAccess: container === 'private' ? null : 'blob',
    policies: [],
  });
  loadCorsRules = async () => [];
  loadDefaultVersion = async () => null;

  readonly renderFault = renderFault;
}

class RecordingLog implements Log {
  readonly entries: AccessEntry[] = [];
  readonly errors: string[] = [];
  access = (entry: AccessEntry): void => void this.entries.push(entry);
  info = (): void => {};
  error = (message: string): void => void this.errors.push(message);
  flush = (): void => {};
}

function open(request: Partial<PartRequest>, { door = new OneOperation(), around = outer, account = acme } = {}) {
  const log = new RecordingLog();
  const context = {
    door,
    log,
    accounts: new Map([['acme', account]]),
    clock: new ManualClock(),
    urlCharactersMax: 100,
    loadAcl: door.loadAcl,
    openPart: () => assert.fail('no part holds parts'),
  };
  const part = openPart(around, { method: 'DELETE', url: '/acme/c/b', headers: [], ...request }, context);
  return { ...part, door, log };
}

const outcomeOf = ({ status, headers }: Reply): string => {
  const at = headers.indexOf('x-ms-error-code');
  return at < 0 ? String(status) : `${status} ${headers[at + 1]}`;
};

describe('a part is addressed', () => {
  for (const [url, around, resourcePath] of [
    ['/acme/c/b', outer, 'c/b'],
    ['/c/b', outer, 'c/b'],
    ['/other/c/b', outer, 'other/c/b'],
    ['/acme-secondary/c/b', outer, 'acme-secondary/c/b'],
    ['/c/b%20d?snapshot=1', outer, 'c/b%20d'],
    ['/c/b', hostStyled, 'c/b'],
    ['/acme/c/b', hostStyled, 'acme/c/b'],
  ] as const) {
    test(`by ${url} ${around === outer ? 'below the account' : 'at the host of the account'}`, () => {
      const { target } = open({ url }, { around }).exchange;
      assert.deepEqual(
        [target.account, target.secondary, target.resourcePath, target.rawPath],
        ['acme', false, resourcePath, url.split('?')[0]],
      );
    });
  }

  for (const url of ['/', '/%zz/b', `/acme/${'x'.repeat(100)}`]) {
    test(`by ${url.slice(0, 10)} in vain`, () => {
      assert.throws(
        () => open({ url }),
        (error) => error instanceof StorageError && error.code === 'InvalidUri',
      );
    });
  }
});

test('a part shares version, caller and origin with the request around it, and has an id of its own', async () => {
  const { answer, door } = open({});
  const { status, headers } = await answer();
  const { seen } = door;
  assert.ok(seen !== null);
  assert.deepEqual(
    [seen.version, seen.clientAddress, seen.secure, seen.origin, seen.contentLengthBytes],
    ['2021-12-02', '192.0.2.7', true, 'https://example.org', 0],
  );
  assert.notEqual(seen.requestId, 'outer');
  assert.equal(status, 202);
  assert.deepEqual(headers, ['x-ms-request-id', seen.requestId, 'x-ms-version', '2021-12-02', 'a', 'b']);
});

test('a part has its own headers', async () => {
  const { answer, door } = open({
    headers: [
      ['X-Ms-Meta-Ab', '1'],
      ['x-ms-meta-ab', '2'],
      ['If-Match', '*'],
    ],
  });
  await answer();
  const { seen } = door;
  assert.equal(seen?.header('if-match'), '*');
  assert.equal(seen?.header('x-ms-meta-ab'), '1, 2');
  assert.equal(seen?.header('host'), null);
  assert.deepEqual(seen?.headersWithPrefix('x-ms-meta-'), [
    ['X-Ms-Meta-Ab', '1'],
    ['x-ms-meta-ab', '2'],
  ]);
  assert.deepEqual(
    seen?.rawHeaders.map(([name]) => name),
    ['x-ms-meta-ab', 'x-ms-meta-ab', 'if-match'],
  );
});

test('a part that names itself is called so in its answer', async () => {
  const { headers } = await open({ headers: [['x-ms-client-request-id', 'seven']] }).answer();
  assert.equal(headers[headers.indexOf('x-ms-client-request-id') + 1], 'seven');
});

describe('a part is refused like a request of its own', () => {
  for (const [what, request, expected] of [
    ['whose signature is wrong', { headers: [['Authorization', 'SharedKey acme:AAAA']] }, '403 AuthenticationFailed'],
    [
      'with credentials of another account',
      { headers: [['Authorization', 'SharedKey x:AAAA']] },
      '403 AuthenticationFailed',
    ],
    [
      'whose credentials are no credentials',
      { headers: [['Authorization', 'Basic x']] },
      '400 InvalidAuthenticationInfo',
    ],
    ['without credentials for what is private', { url: '/acme/private/b' }, '401 NoAuthenticationInformation'],
    [
      'with a header twice',
      {
        headers: [
          ['If-Match', 'a'],
          ['if-match', 'b'],
        ],
      },
      '400 InvalidHeaderValue',
    ],
    ['with a name beyond ASCII', { headers: [['x-ms-client-request-id', 'é']] }, '400 InvalidHeaderValue'],
  ] as const) {
    test(what, async () => {
      const { answer, door } = open(request);
      assert.equal(outcomeOf(await answer()), expected);
      assert.equal(door.seen, null);
    });
  }

  test('for a caller from elsewhere, where the account serves only its own machine', async () => {
    const { answer } = open({}, { account: { ...acme, loopbackOnly: true } });
    assert.equal(outcomeOf(await answer()), '403 AuthenticationFailed');
  });
});

describe('each part has its line in the log', () => {
  test('when it is done', async () => {
    const { answer, log, door } = open({ url: '/c/b?timeout=1' });
    await answer();
    const [line, ...more] = log.entries;
    assert.deepEqual(more, []);
    assert.deepEqual(
      [line?.remote, line?.method, line?.url, line?.status, line?.errorCode, line?.operation, line?.requestId],
      ['192.0.2.7', 'DELETE', '/c/b?timeout=1', 202, null, 'Delete Blob', door.seen?.requestId],
    );
  });

  test('when it is refused', async () => {
    const door = new OneOperation();
    door.act = async () => {
      throw new StorageError('BlobNotFound');
    };
    const { answer, log } = open({}, { door });
    const { headers, body } = await answer();
    assert.deepEqual([log.entries[0]?.status, log.entries[0]?.errorCode], [404, 'BlobNotFound']);
    assert.match(body as string, new RegExp(`RequestId:${headers[1]}\n`));
    assert.deepEqual(log.errors, []);
  });

  for (const [what, error, expected] of [
    ['our store fails', new EngineUnavailable('full'), '503 ServerBusy'],
    ['something of ours is wrong', new TypeError('bug'), '500 InternalError'],
  ] as const) {
    test(`and ${what}: one line more`, async () => {
      const door = new OneOperation();
      door.act = async () => {
        throw error;
      };
      const { answer, log } = open({}, { door });
      assert.equal(outcomeOf(await answer()), expected);
      assert.equal(log.entries.length, 1);
      assert.match(log.errors.join(), /^Delete Blob \S+ failed$/);
    });
  }
});
