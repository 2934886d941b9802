/** What all services have for the whole of an account: properties that are set and read, CORS, and stats at the secondary. */
import assert from 'node:assert/strict';
import { afterEach, before, describe, test } from 'node:test';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService, freshContainer, outcome } from '../harness/clients.ts';
import { freshShare, shareService } from '../harness/file-clients.ts';
import { type RawRequest, type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { freshQueue, queueService } from '../harness/queue-clients.ts';
import { assertRefused } from '../harness/queue-http.ts';
import { freshTable, tableService } from '../harness/table-clients.ts';
import { sendTable } from '../harness/table-http.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });

interface CorsRule {
  readonly allowedOrigins: string;
  readonly allowedMethods: string;
  readonly allowedHeaders: string;
  readonly exposedHeaders: string;
  readonly maxAgeInSeconds: number;
}

type Properties = Readonly<Record<string, unknown>> & { readonly cors?: readonly CorsRule[] };

/** Each official client has names of its own for the parts. */
interface Client {
  readonly getProperties: () => Promise<Properties>;
  readonly setProperties: (properties: Properties) => Promise<unknown>;
}

const RETENTION = { enabled: true, days: 5 };
const LOGGING = { version: '1.0', read: true, write: false, retentionPolicy: RETENTION };
const METRICS = { enabled: true, includeAPIs: true, version: '1.0', retentionPolicy: { enabled: true, days: 4 } };
const BRIEF = { enabled: true, includeAPIs: false, version: '1.0', retentionPolicy: { enabled: true, days: 1 } };

const ONE_RULE: CorsRule = {
  allowedOrigins: 'http://one.example',
  allowedMethods: 'GET,PUT',
  allowedHeaders: 'x-ms-*,content-type',
  exposedHeaders: 'x-ms-request-id',
  maxAgeInSeconds: 77,
};

const inDocument = (part: string): string => `<StorageServiceProperties>${part}</StorageServiceProperties>`;

const loggingWith = (retention: string): string =>
  inDocument(
    `<Logging><Version>1.0</Version><Delete>true</Delete><Read>true</Read><Write>true</Write><RetentionPolicy>${retention}</RetentionPolicy></Logging>`,
  );

/** What no service has, and what only blobs have. */
const NOT_XML = { 'no XML': 'x', 'another document': '<Properties />' };
const INCOMPLETE = {
  'an incomplete CORS rule': inDocument('<Cors><CorsRule><AllowedOrigins>*</AllowedOrigins></CorsRule></Cors>'),
};
const OF_BLOBS = Object.fromEntries(
  [
    '<DefaultServiceVersion>2021-12-02</DefaultServiceVersion>',
    '<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>',
    '<StaticWebsite><Enabled>false</Enabled></StaticWebsite>',
    '<StaticWebsite />',
    '<Surprise/>',
  ].map((part) => [part, inDocument(part)]),
);

interface Row {
  readonly service: 'blob' | 'queue' | 'table' | 'file';
  readonly url: string;
  readonly send: (url: string, request: RawRequest) => Promise<RawResponse>;
  readonly client: Client;
  /** All that can be set at once, and what is then set alone. */
  readonly wanted: Properties;
  readonly change: Properties;
  /** The parts of the document in their order, and names that it must not have. */
  readonly document: RegExp;
  readonly absent: RegExp | null;
  /** Documents by what is wrong with them. */
  readonly refused: Readonly<Record<string, string>>;
  readonly refusedAs: RegExp;
  readonly rule: CorsRule;
  /** A method and a header that the rule allows, and a method that it does not. */
  readonly method: string;
  readonly header: string;
  readonly otherMethod: string;
  /** Makes a resource; resolves to a path to read, whose answer has the header that the rule exposes. */
  readonly makePath: () => Promise<string>;
  readonly hasStats: boolean;
}

const ROWS: readonly Row[] = [
  {
    service: 'blob',
    url: server.url,
    send,
    client: blobService(server) as unknown as Client,
    wanted: {
      blobAnalyticsLogging: { ...LOGGING, deleteProperty: true },
      hourMetrics: METRICS,
      minuteMetrics: METRICS,
      cors: [{ ...ONE_RULE, exposedHeaders: 'x-ms-meta-*' }],
      defaultServiceVersion: '2021-12-02',
    },
    change: { defaultServiceVersion: '2022-11-02' },
    document: /<Logging>.*<HourMetrics>.*<MinuteMetrics>.*<Cors/s,
    absent: null,
    refused: {
      ...NOT_XML,
      ...INCOMPLETE,
      'a retention without days': loggingWith('<Enabled>true</Enabled>'),
      'a retention of 366 days': loggingWith('<Enabled>true</Enabled><Days>366</Days>'),
    },
    refusedAs: /^400 (InvalidXmlDocument|InvalidXmlNodeValue|MissingRequiredXmlNode)$/,
    rule: { ...ONE_RULE, allowedHeaders: 'x-ms-meta-*,content-type' },
    method: 'PUT',
    header: 'x-ms-meta-colour,Content-Type',
    otherMethod: 'DELETE',
    async makePath() {
      const container = await freshContainer(blobService(server));
      await container.uploadBlockBlob('cors', 'x', 1);
      return `/${container.containerName}/cors`;
    },
    hasStats: true,
  },
  {
    service: 'queue',
    url: server.queueUrl,
    send,
    client: queueService(server) as unknown as Client,
    wanted: {
      queueAnalyticsLogging: { ...LOGGING, deleteProperty: true },
      hourMetrics: METRICS,
      minuteMetrics: BRIEF,
      cors: [{ ...ONE_RULE, allowedMethods: 'GET,PUT,DELETE', exposedHeaders: 'x-ms-popreceipt' }],
    },
    change: { hourMetrics: BRIEF },
    document: /<Logging>.*<HourMetrics>.*<MinuteMetrics>.*<Cors/s,
    absent: /StaticWebsite|DeleteRetentionPolicy|DefaultServiceVersion/,
    refused: { ...NOT_XML, ...INCOMPLETE, ...OF_BLOBS },
    refusedAs: /^400 (InvalidXmlDocument|UnsupportedXmlNode|MissingRequiredXmlNode)$/,
    rule: { ...ONE_RULE, allowedMethods: 'GET,POST', exposedHeaders: 'x-ms-approximate-messages-count' },
    method: 'POST',
    header: 'x-ms-date,Content-Type',
    otherMethod: 'DELETE',
    makePath: async () => `/${(await freshQueue(server)).name}?comp=metadata`,
    hasStats: true,
  },
  {
    service: 'table',
    url: server.tableUrl,
    send: sendTable,
    client: tableService(server) as unknown as Client,
    wanted: {
      logging: { ...LOGGING, delete: true },
      hourMetrics: METRICS,
      minuteMetrics: BRIEF,
      cors: [{ ...ONE_RULE, allowedMethods: 'GET,MERGE,PATCH', exposedHeaders: 'x-ms-continuation-*' }],
    },
    change: { hourMetrics: BRIEF },
    document: /<Logging>.*<HourMetrics>.*<MinuteMetrics>.*<Cors/s,
    absent: /StaticWebsite|DeleteRetentionPolicy|DefaultServiceVersion/,
    refused: { ...NOT_XML, ...INCOMPLETE, ...OF_BLOBS },
    refusedAs: /^400 (InvalidXmlDocument|MissingRequiredXmlNode)$/,
    rule: {
      ...ONE_RULE,
      allowedMethods: 'GET,MERGE',
      allowedHeaders: 'x-ms-*,dataserviceversion',
      exposedHeaders: 'x-ms-continuation-nextpartitionkey',
    },
    method: 'MERGE',
    header: 'x-ms-date,DataServiceVersion',
    otherMethod: 'DELETE',
    async makePath() {
      const table = await freshTable(server);
      for (const rowKey of ['first', 'second']) await table.createEntity({ partitionKey: 'p', rowKey });
      return `/${table.tableName}()?$top=1`;
    },
    hasStats: true,
  },
  {
    service: 'file',
    url: server.fileUrl,
    send,
    client: shareService(server) as unknown as Client,
    wanted: {
      hourMetrics: METRICS,
      minuteMetrics: BRIEF,
      cors: [{ ...ONE_RULE, allowedHeaders: '*', exposedHeaders: '*', maxAgeInSeconds: 500 }],
    },
    change: { hourMetrics: BRIEF },
    document: /<HourMetrics>.*<MinuteMetrics>.*<Cors/s,
    absent: /Logging|StaticWebsite|<DeleteRetentionPolicy|DefaultServiceVersion/,
    refused: { ...NOT_XML, ...OF_BLOBS },
    refusedAs: /^400 InvalidXmlDocument$/,
    rule: { ...ONE_RULE, allowedMethods: 'GET', allowedHeaders: '*', exposedHeaders: 'ETag' },
    method: 'GET',
    header: 'x-ms-date',
    otherMethod: 'PUT',
    makePath: async () => `/${(await freshShare(server)).name}?restype=share`,
    hasStats: false,
  },
];

const PROPERTIES = '/?restype=service&comp=properties';
const STATS = '?restype=service&comp=stats';

const rules = (count: number): CorsRule[] =>
  Array.from({ length: count }, (_, index) => ({
    allowedOrigins: `http://${index}.example`,
    allowedMethods: 'GET',
    allowedHeaders: '',
    exposedHeaders: '',
    maxAgeInSeconds: 0,
  }));

for (const { service, url, client, ...row } of ROWS) {
  const ask = (request: RawRequest): Promise<RawResponse> => row.send(url, request);
  const put = (body: string): Promise<RawResponse> =>
    ask({ method: 'PUT', path: PROPERTIES, headers: { 'content-type': 'application/xml' }, body });

  /** The properties that this service has, with CORS rules even where there are none. */
  const current = async (): Promise<Properties> => {
    const properties: Properties = { cors: [], ...(await client.getProperties()) };
    return Object.fromEntries(Object.keys(row.wanted).map((name) => [name, properties[name]]));
  };

  describe(`the properties of the ${service} service`, () => {
    // No service has rules while another is tested.
    afterEach(() => client.setProperties({ cors: [] }));

    test('come back as they were set, and what is not sent stays', async () => {
      await client.setProperties(row.wanted);
      assert.deepEqual(await current(), row.wanted);
      await client.setProperties(row.change);
      assert.deepEqual(await current(), { ...row.wanted, ...row.change });
      for (const other of ROWS.filter((one) => one.service !== service)) {
        assert.deepEqual(
          (await other.client.getProperties()).cors ?? [],
          [],
          `the ${other.service} service has others`,
        );
      }
      await client.setProperties({ cors: [] });
      assert.deepEqual(await current(), { ...row.wanted, ...row.change, cors: [] });
    });

    test('answer 202 to a change and 200 to a question, in XML', async () => {
      const set = await put('<StorageServiceProperties/>');
      assert.deepEqual([set.status, set.body.length], [202, 0]);
      const get = await ask({ method: 'GET', path: PROPERTIES });
      assert.equal(get.status, 200);
      assert.match(get.headers['content-type'] ?? '', /^application\/xml/);
      assert.match(get.body.toString(), row.document);
      if (row.absent !== null) assert.doesNotMatch(get.body.toString(), row.absent);
    });

    for (const [what, body] of Object.entries(row.refused)) {
      test(`with ${what} are refused, in XML`, async () => {
        const answer = await put(body);
        assert.match(answer.outcome, row.refusedAs);
        assertRefused(answer, answer.outcome);
      });
    }

    test('hold five CORS rules and not six', async () => {
      assert.match(await outcome(client.setProperties({ cors: rules(6) })), /^400 /);
      assert.deepEqual((await client.getProperties()).cors ?? [], []);
      await client.setProperties({ cors: rules(5) });
      assert.equal((await client.getProperties()).cors?.length, 5);
    });
  });

  describe(`CORS of the ${service} service`, () => {
    afterEach(() => client.setProperties({ cors: [] }));
    let path: string;
    before(async () => {
      path = await row.makePath();
    });

    const ASK = {
      origin: 'http://one.example',
      'access-control-request-method': row.method,
      'access-control-request-headers': row.header,
    };
    const preflight = (headers: Readonly<Record<string, string>>, at = path): Promise<RawResponse> =>
      ask({ method: 'OPTIONS', path: at, headers, account: null });

    test('answers a preflight without rules with 403', async () => {
      assert.equal((await preflight(ASK)).outcome, '403 CorsPreflightFailure');
    });

    test('answers a preflight that a rule allows with 200 and what it asked for, whatever the path', async () => {
      await client.setProperties({ cors: [row.rule] });
      for (const at of [path, '/', '/nowhere', '/nowhere/messages/id']) {
        const { status, headers, body } = await preflight(ASK, at);
        assert.equal(status, 200, at);
        assert.equal(headers['access-control-allow-origin'], 'http://one.example');
        assert.equal(headers['access-control-allow-methods'], row.method);
        assert.equal(headers['access-control-allow-headers'], row.header);
        assert.equal(headers['access-control-max-age'], '77');
        assert.equal(headers['access-control-allow-credentials'], 'true');
        assert.equal(body.length, 0);
      }
    });

    test('goes by the rules of this service and this account', async () => {
      await client.setProperties({ cors: [row.rule] });
      const simple = { origin: 'http://one.example', 'access-control-request-method': 'GET' };
      assert.equal((await preflight(simple)).status, 200);
      const asked = { method: 'OPTIONS', path: '/letters/first', headers: simple, account: null };
      for (const other of ROWS.filter((one) => one.service !== service)) {
        assert.equal((await send(other.url, asked)).outcome, '403 CorsPreflightFailure', other.service);
      }
      const ofAccount = await ask({ ...asked, pathAccount: SECOND_ACCOUNT.name });
      assert.equal(ofAccount.outcome, '403 CorsPreflightFailure');
    });

    for (const [what, change] of [
      ['another origin', { origin: 'http://two.example' }],
      ['another method', { 'access-control-request-method': row.otherMethod }],
      // A rule of `*` allows every header.
      ...(row.rule.allowedHeaders === '*'
        ? []
        : [['another header', { 'access-control-request-headers': 'x-other' }] as const]),
    ] as const) {
      test(`answers a preflight for ${what} with 403`, async () => {
        await client.setProperties({ cors: [row.rule] });
        assert.equal((await preflight({ ...ASK, ...change })).outcome, '403 CorsPreflightFailure');
      });
    }

    test('answers a preflight without an origin or a method with 400', async () => {
      assert.equal((await preflight({ 'access-control-request-method': 'GET' })).outcome, '400 InvalidHeaderValue');
      assert.equal((await preflight({ origin: 'http://one.example' })).outcome, '400 InvalidHeaderValue');
    });

    test('puts the headers of the rule on the answer to a request, by origin', async () => {
      const exposed = row.rule.exposedHeaders;
      const get = async (origin?: string): Promise<unknown[]> => {
        const answer = await ask({ method: 'GET', path, headers: origin === undefined ? {} : { origin } });
        assert.equal(answer.status, 200);
        assert.ok(answer.headers[exposed.toLowerCase()] !== undefined, exposed);
        const { 'access-control-allow-origin': allowed, 'access-control-expose-headers': names, vary } = answer.headers;
        return [allowed, names, vary];
      };
      await client.setProperties({ cors: [row.rule] });
      assert.deepEqual(await get('http://one.example'), ['http://one.example', exposed, 'Origin']);
      assert.deepEqual(await get('http://two.example'), [undefined, undefined, 'Origin']);
      assert.deepEqual(await get(), [undefined, undefined, 'Origin']);
      await client.setProperties({ cors: [{ ...row.rule, allowedOrigins: '*' }] });
      assert.deepEqual(await get('http://two.example'), ['*', exposed, undefined]);
      await client.setProperties({ cors: [] });
      assert.deepEqual(await get('http://one.example'), [undefined, undefined, undefined]);
    });
  });

  if (!row.hasStats) continue;
  describe(`the secondary of the ${service} service`, () => {
    const secondary = `${DEVELOPMENT_ACCOUNT.name}-secondary`;

    test('tells its stats, and the primary does not', async () => {
      const path = `/${STATS}`;
      const { status, body } = await ask({ method: 'GET', path, pathAccount: secondary });
      assert.equal(status, 200);
      const live = /<StorageServiceStats><GeoReplication><Status>live<\/Status><LastSyncTime>[^<]+ GMT<\/LastSyncTime>/;
      assert.match(body.toString(), live);
      assertRefused(await ask({ method: 'GET', path }), '400 InvalidQueryParameterValue');
    });

    test('tells its stats under its name as a host, too', async () => {
      const headers = { host: `${secondary}.${service}.localhost:${new URL(url).port}` };
      assert.equal((await ask({ method: 'GET', path: STATS, pathAccount: '', headers })).status, 200);
    });
  });
}
