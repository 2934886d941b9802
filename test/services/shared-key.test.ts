/**
 * Who signs with the account's key for queues, files and tables: the official clients, and requests by hand in both
 * schemes and of versions from the first on; and what is told to whoever signs wrongly, or not at all.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { FILES } from '../file/credentials.ts';
import { DIRECTORY, FILE } from '../file/operations.ts';
import { accountEndpoint, DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { freshShare } from '../harness/file-clients.ts';
import { type RawRequest, type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { queueClient } from '../harness/queue-clients.ts';
import { assertRefused, messageOf } from '../harness/queue-http.ts';
import {
  type HandSigned,
  type Recipe,
  recipeOfMost,
  recipeOfTables,
  SCHEMES,
  signByHand,
} from '../harness/signed-by-hand.ts';
import {
  assertRefused as assertTableRefused,
  entityPath,
  sendTable,
  type TableResponse,
} from '../harness/table-http.ts';
import { QUEUES } from '../queue/credentials.ts';
import { ODD, TABLES } from '../table/credentials.ts';
import { type CredentialService, NOT_AUTHENTIC } from './credentials.ts';

/** Versions by the recipe that they have in common: its first and its last. */
type Recipes = readonly (readonly [first: string, last: string])[];

interface SignedService {
  readonly service: CredentialService;
  readonly recipe: Recipe;
  /** Signs for itself what is not signed yet. */
  readonly send: (url: string, request: RawRequest) => Promise<RawResponse>;
  readonly assertRefused: (answer: RawResponse, want: string) => void;
  /** `name` is that of a resource that there is. All of these are read, and none is changed. */
  readonly listPath: string;
  readonly paths: (name: string) => readonly string[];
  /** Something to write, and what it is answered. */
  readonly write?: (name: string) => Omit<HandSigned, 'scheme'> & { readonly status: number };
  /** A path, and what is not signed for it. */
  readonly path: (name: string) => string;
  readonly otherPaths: (name: string) => Readonly<Record<string, string>>;
  /** A request that is answered so, and parts of it with the scheme that signs them. */
  readonly parts: (name: string) => {
    readonly request: Omit<HandSigned, 'scheme'>;
    readonly status: number;
    readonly signed: readonly (readonly [by: 'both' | 'SharedKey', HandSigned['signed']])[];
  };
  readonly unsigned: (name: string) => readonly (readonly [method: string, path: string])[];
}

const LAST_RECIPES: Recipes = [
  ['2015-02-21', '2015-12-11'],
  ['2016-05-31', '2027-03-07'],
];

const SERVICES: readonly SignedService[] = [
  {
    service: QUEUES,
    recipe: recipeOfMost,
    send,
    assertRefused,
    listPath: '/?comp=list',
    paths: (name) => [
      '/?comp=list',
      '/?comp=list&prefix=a%20b%2Bc&maxresults=1&include=metadata&timeout=5',
      '/?restype=service&comp=properties',
      `/${name}?comp=metadata`,
      `/${name}?comp=acl&timeout=5`,
      `/${name}/messages`,
      `/${name}/messages?peekonly=true&numofmessages=32`,
      `/${name}/%6Dessages?numofmessages=2&visibilitytimeout=5`,
    ],
    write: (name) => ({
      method: 'POST',
      path: `/${name}/messages`,
      headers: { 'content-type': 'application/xml' },
      body: messageOf('text'),
      status: 201,
    }),
    path: (name) => `/${name}?comp=metadata`,
    otherPaths: (name) => ({
      'another path': `/${name}x?comp=metadata`,
      'another comp': `/${name}?comp=acl`,
      'no comp': `/${name}`,
    }),
    parts: (name) => ({
      request: {
        method: 'POST',
        path: `/${name}/messages?messagettl=60`,
        headers: { 'content-type': 'application/xml' },
        body: messageOf('x'),
      },
      status: 201,
      signed: [
        ['SharedKey', { path: `/${name}/messages` }],
        ['SharedKey', { headers: { 'content-length': '1' } }],
        ['both', { headers: { 'content-type': 'text/plain' } }],
      ],
    }),
    unsigned: (name) => [
      ['GET', '/?comp=list'],
      ['PUT', `/${name}-new`],
      ['DELETE', `/${name}`],
      ['GET', `/${name}?comp=metadata`],
      ['GET', `/${name}/messages?peekonly=true`],
      ['GET', '/nosuchqueue/messages'],
      ['POST', `/${name}/messages`],
    ],
  },
  {
    service: FILES,
    recipe: recipeOfMost,
    send,
    assertRefused,
    listPath: '/?comp=list',
    paths: (name) => {
      const file = `/${name}/${encodeURIComponent(DIRECTORY)}/${encodeURIComponent(FILE)}`;
      return [
        '/?comp=list',
        '/?comp=list&prefix=a%20b%2Bc&maxresults=1&include=metadata,snapshots&timeout=5',
        '/?restype=service&comp=properties',
        `/${name}?restype=share`,
        `/${name}?restype=directory&comp=list`,
        `/${name}/?restype=directory&comp=list`,
        `/${name}/?restype=directory&comp=list&include=Timestamps,Etag%2CAttributes&prefix=R%C3%A4ume%20(`,
        file,
        `${file}?comp=rangelist`,
        `${file}?comp=metadata&timeout=5`,
      ];
    },
    write: (name) => ({
      method: 'PUT',
      path: `/${name}/${encodeURIComponent(DIRECTORY)}/${encodeURIComponent(FILE)}?comp=range`,
      headers: { 'x-ms-write': 'update', range: 'bytes=0-3', 'content-type': 'text/plain' },
      body: 'text',
      status: 201,
    }),
    path: (name) => `/${name}/?restype=directory&comp=list`,
    otherPaths: (name) => ({
      'another path': `/${name}x/?restype=directory&comp=list`,
      'the path without its slash': `/${name}?restype=directory&comp=list`,
      'another comp': `/${name}/?restype=directory&comp=metadata`,
      'no comp': `/${name}/?restype=directory`,
    }),
    parts: (name) => ({
      request: {
        method: 'PUT',
        path: `/${name}/source?comp=range&timeout=20`,
        headers: { 'x-ms-write': 'update', range: 'bytes=0-3', 'content-type': 'text/plain' },
        body: 'text',
      },
      status: 201,
      signed: [
        ['SharedKey', { path: `/${name}/source?comp=range&timeout=30` }],
        ['SharedKey', { headers: { range: 'bytes=4-7' } }],
        ['SharedKey', { headers: { 'content-length': '1' } }],
        ['both', { headers: { 'x-ms-write': 'clear' } }],
        ['both', { headers: { 'content-type': 'text/html' } }],
      ],
    }),
    unsigned: (name) => [
      ['GET', '/?comp=list'],
      ['PUT', `/${name}-new?restype=share`],
      ['DELETE', `/${name}?restype=share`],
      ['GET', `/${name}?restype=directory&comp=list`],
      ['GET', `/${name}/source`],
      ['GET', `/${name}/nothing`],
      ['GET', '/nosuchshare/nothing'],
      ['PUT', `/${name}/new`],
    ],
  },
  {
    service: TABLES,
    recipe: recipeOfTables,
    send: sendTable,
    assertRefused: (answer, want) => assertTableRefused(answer as TableResponse, want),
    listPath: '/Tables',
    paths: (name) => [
      '/Tables',
      `/Tables('${name}')`,
      `/Tables%28%27${name}%27%29`,
      `/${name}`,
      `/${name}()?$top=1&$select=n&timeout=5`,
      entityPath(name, ODD.partitionKey, ODD.rowKey),
      `/${name}?comp=acl`,
      `/${name}?timeout=5&comp=acl`,
      '/?restype=service&comp=properties',
    ],
    path: () => '/Tables',
    otherPaths: () => ({ 'another path': "/Tables('x')", 'comp that is not there': '/Tables?comp=acl' }),
    parts: () => ({
      request: { path: '/Tables', headers: { 'content-type': 'application/json' } },
      status: 200,
      signed: [['SharedKey', { headers: { 'content-type': 'text/plain' } }]],
    }),
    unsigned: (name) => [
      ['GET', '/Tables'],
      ['POST', '/Tables'],
      ['DELETE', `/Tables('${name}')`],
      ['GET', `/${name}()`],
      ['GET', '/nosuchtable()'],
      ['PUT', entityPath(name, 'p', 'r')],
      ['POST', '/$batch'],
    ],
  },
];

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });

const urlOf = ({ door }: CredentialService): string => server[`${door}Url`];

const accessOf = (service: CredentialService, key = DEVELOPMENT_ACCOUNT) => ({
  endpoint: accountEndpoint(urlOf(service), DEVELOPMENT_ACCOUNT),
  key,
});

for (const { service } of SERVICES) {
  describe(`the official client for ${service.door}s`, () => {
    const owner = accessOf(service);

    test('signs everything that it can ask for', async () => {
      const resource = await service.fresh(owner);
      await resource.assertOutcomes(owner, () => 'ok');
    });

    test('is refused with the key of another account, and with none that fits', async () => {
      const resource = await service.fresh(owner);
      for (const key of [
        { name: DEVELOPMENT_ACCOUNT.name, key: SECOND_ACCOUNT.key },
        SECOND_ACCOUNT,
        { name: 'nobody', key: SECOND_ACCOUNT.key },
      ]) {
        await resource.assertOutcomes(accessOf(service, key), () => NOT_AUTHENTIC);
      }
      await resource.assertUntouched();
    });

    test('reads at the secondary, and writes nothing there', async () => {
      const resource = await service.fresh(owner);
      const secondary = { ...owner, endpoint: `${owner.endpoint}-secondary` };
      await resource.assertShown(secondary);
      for (const write of [...service.writes, ...service.changes]) {
        const got = await service.outcome(write(secondary, resource.name));
        assert.equal(got, '403 InsufficientAccountPermissions');
      }
      await resource.assertUntouched();
    });
  });
}

for (const [of, kept] of [
  [
    'a queue',
    async (metadata: Record<string, string>) => {
      const queue = queueClient(server, `odd-${randomUUID()}`);
      await queue.create({ metadata });
      return (await queue.getProperties()).metadata;
    },
  ],
  [
    'a file',
    async (metadata: Record<string, string>) => {
      const file = (await freshShare(server)).rootDirectoryClient.getFileClient('odd');
      await file.create(0, { metadata });
      return (await file.getProperties()).metadata;
    },
  ],
] as const) {
  test(`the official client signs metadata of ${of} whose names and values are hard to sort and to trim`, async () => {
    const metadata = { a: '1', ab: ' two  spaces', a_b: 'x', a0: '"a  b"', b: 'y', b_: 'z' };
    assert.deepEqual(await kept(metadata), { ...metadata, ab: 'two  spaces' });
  });
}

for (const signed of SERVICES) {
  const { service, recipe, assertRefused } = signed;
  const url = urlOf(service);
  const ask = (asked: HandSigned): Promise<RawResponse> => signed.send(url, signByHand(recipe, asked));
  const freshName = async (): Promise<string> => (await service.fresh(accessOf(service))).name;

  describe(`a request by hand for ${service.door}s`, () => {
    for (const scheme of SCHEMES) {
      test(`by ${scheme} is served, whatever its path and query`, async () => {
        const name = await freshName();
        for (const path of signed.paths(name)) assert.equal((await ask({ scheme, path })).status, 200, path);
        assert.equal((await ask({ scheme, path: signed.listPath, account: SECOND_ACCOUNT })).status, 200);
        if (signed.write === undefined) return;
        const { status, ...write } = signed.write(name);
        const written = await ask({ scheme, ...write });
        assert.equal(written.status, status, written.body.toString());
      });

      test(`by ${scheme} and a wrong key, path, verb or date is told so`, async () => {
        const name = await freshName();
        const longAgo = new Date(Date.now() - 16 * 60_000).toUTCString();
        const others = Object.entries(signed.otherPaths(name)).map(([what, path]) => [what, { signed: { path } }]);
        // For tables the verb is none of what Shared Key Lite signs.
        const signsVerb = service !== TABLES || scheme === 'SharedKey';
        for (const [what, wrong] of [
          ['another key', { key: SECOND_ACCOUNT.key }],
          ...(others as [string, Partial<HandSigned>][]),
          ...(signsVerb ? [['another verb', { signed: { method: 'PUT' } }] as const] : []),
          ['an old date', { date: longAgo }],
          ['no date', { date: 'today' }],
        ] as const) {
          const refused = await ask({ scheme, path: signed.path(name), ...wrong });
          assert.equal(refused.outcome, NOT_AUTHENTIC, what);
          assertRefused(refused, NOT_AUTHENTIC);
          if (service === TABLES) continue;
          assert.match(refused.body.toString(), /<AuthenticationErrorDetail>[^<]+</, what);
        }
      });

      test(`by ${scheme} is dated by Date where it has no x-ms-date`, async () => {
        const { path, headers } = signByHand(recipe, { scheme, path: signed.listPath, datedBy: 'date' });
        const response = await fetch(`${accountEndpoint(url, DEVELOPMENT_ACCOUNT)}${path}`, { headers });
        assert.equal(response.status, 200, await response.text());
      });

      test(`by ${scheme} is not taken for one to a service of another recipe`, async () => {
        const other = recipe === recipeOfTables ? recipeOfMost : recipeOfTables;
        const refused = await signed.send(url, signByHand(other, { scheme, path: signed.listPath }));
        assertRefused(refused, NOT_AUTHENTIC);
      });
    }

    test('has signed by Shared Key what Shared Key Lite leaves out', async () => {
      const { request, status, signed: parts } = signed.parts(await freshName());
      for (const [by, instead = {}] of parts) {
        for (const scheme of SCHEMES) {
          const what = `${scheme} ${JSON.stringify(instead)}`;
          assert.equal((await ask({ ...request, scheme })).status, status, what);
          const want = by === 'both' || by === scheme ? 403 : status;
          assert.equal((await ask({ ...request, scheme, signed: instead })).status, want, what);
        }
      }
    });

    test('that cannot be read is a bad one', async () => {
      for (const authorization of ['SharedKey', 'SharedKey nobody', 'Basic YTpi', 'SharedKeyLite devstoreaccount1']) {
        const refused = await signed.send(url, { method: 'GET', path: signed.listPath, headers: { authorization } });
        assertRefused(refused, '400 InvalidAuthenticationInfo');
      }
    });

    test('with a signature and a token is refused: one of them is enough', async () => {
      const path = `${signed.listPath}${signed.listPath.includes('?') ? '&' : '?'}sv=2019-02-02&sig=x`;
      assertRefused(await signed.send(url, { method: 'GET', path }), NOT_AUTHENTIC);
    });

    test('without any credentials is asked for some, whatever it is about', async () => {
      const resource = await service.fresh(accessOf(service));
      for (const [method, path] of signed.unsigned(resource.name)) {
        const refused = await signed.send(url, { method, path, account: null });
        assertRefused(refused, '401 NoAuthenticationInformation');
        assert.match(refused.headers['www-authenticate'] ?? '', /^Bearer authorization_uri=\S+ resource_id=\S+$/);
        for (const version of ['2019-02-02', '2019-10-10']) {
          const old = await signed.send(url, { method, path, account: null, headers: { 'x-ms-version': version } });
          assertRefused(old, '404 ResourceNotFound');
        }
      }
      await resource.assertUntouched();
    });
  });
}

/** Each service from its first version on. */
const VERSIONED: readonly (readonly [CredentialService, Recipes, read: (path: string) => string, deleted: number])[] = [
  [
    QUEUES,
    [['2008-10-27', '2009-07-17'], ['2009-09-19', '2014-02-14'], ...LAST_RECIPES],
    (path) => `${path}/messages`,
    204,
  ],
  [FILES, [['2014-02-14', '2014-02-14'], ...LAST_RECIPES], (path) => path, 202],
];

for (const [service, recipes, readPath, deleted] of VERSIONED) {
  const ask = (asked: HandSigned): Promise<RawResponse> => send(urlOf(service), signByHand(recipeOfMost, asked));

  for (const versions of recipes) {
    test(`a request for ${service.door}s of ${versions.join(' to ')} signs an empty body and an empty header as was done then`, async () => {
      for (const version of versions) {
        const path = `/old-${randomUUID()}${service === FILES ? '?restype=share' : ''}`;
        const create = { method: 'PUT', path, version, headers: { 'x-ms-client-request-id': '' } };
        for (const [asOf] of recipes.filter((others) => others !== versions)) {
          assert.equal((await ask({ ...create, signed: { asOf } })).outcome, NOT_AUTHENTIC, `${version} as ${asOf}`);
        }
        assert.equal((await ask(create)).status, 201, version);
        assert.equal((await ask({ path: readPath(path), version })).status, 200, version);
        const drop = await ask({ method: 'DELETE', path, version, scheme: 'SharedKeyLite' });
        assert.equal(drop.status, deleted, version);
      }
    });
  }
}
