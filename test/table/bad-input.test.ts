/**
 * Random requests over the whole surface of the table door, signed and unsigned, well-formed and not: paths, queries,
 * filters, headers, entities, batches. Whatever comes is answered, never with a 5xx (but 501), and what was written before
 * stays as it was. Seeded and bounded; LARIMAR_SEED replays a run, request by request.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import {
  closingBytes,
  damaged,
  fuzz,
  isFramedBySender,
  type Lane,
  problemOf,
  SIGNERS,
  withHeaders,
} from '../harness/fuzz.ts';
import type { RawRequest } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { Random } from '../harness/random.ts';
import { freshTable } from '../harness/table-clients.ts';
import { entityPath, sendTable, signedForTable } from '../harness/table-http.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const { seed } = new Random();

const REQUESTS_MAX = 6_000;
const RUN_SECONDS = 15;

const METHODS = ['GET', 'GET', 'POST', 'POST', 'PUT', 'MERGE', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE'];
const TABLES = [
  'fuzza',
  'FuzzA',
  'fuzzb',
  'Tables',
  'tables',
  '$batch',
  '$metadata',
  'a',
  '1ab',
  'a-b',
  '%00',
  '%ff',
  '..',
];
const KEYS = [
  'p',
  'q',
  '',
  "''",
  "'",
  '%27%27',
  '%27',
  '%2F',
  '%5C',
  '%23',
  '%3F',
  '%00',
  '%1F',
  '%ff',
  '%',
  '%zz',
  '+',
  '%F0%9F%AA%A8',
  '%ED%A0%80',
  'x'.repeat(513),
  ')',
  "',RowKey='",
];
/** What means something as often as not: what stands beside it is then looked at. */
const keyOf = (random: Random): string => (random.chance(0.5) ? random.pick(['p', 'q', '1']) : random.pick(KEYS));
const tableOf = (random: Random): string => (random.chance(0.5) ? 'fuzza' : random.pick(TABLES));

const ARGUMENTS: ((random: Random) => string)[] = [
  () => '()',
  (random) => `(PartitionKey='${keyOf(random)}',RowKey='${keyOf(random)}')`,
  (random) => `(RowKey='${keyOf(random)}',%20PartitionKey='${keyOf(random)}')`,
  (random) => `('${random.pick([...TABLES, ...KEYS])}')`,
  (random) =>
    random.pick(['()', '', '(', ')', '(())', "(PartitionKey='p')", '(x=1)', "(PartitionKey='p',RowKey=r)", '/']),
];

const FILTER_WORDS = [
  'n',
  'text',
  'PartitionKey',
  'RowKey',
  'Timestamp',
  'eq',
  'ne',
  'gt',
  'ge',
  'lt',
  'le',
  'and',
  'or',
  'not',
  '(',
  ')',
  "'p'",
  "'it''s'",
  "'",
  '1',
  '-5',
  '1.5',
  '1e999',
  '9223372036854775808L',
  '12L',
  'NaN',
  'true',
  'null',
  "datetime'2024-01-01T00:00:00Z'",
  "datetime'x'",
  "guid'c9da6455-213d-42c9-9a79-3e9149a57833'",
  "guid'x'",
  "X'0a'",
  "X'0'",
  "binary''",
  'startswith(text,',
  'add',
  '\u{1faa8}',
  '\0',
  ',',
  '$',
];

function filterOf(random: Random): string {
  if (random.chance(0.3)) {
    const operator = random.pick(['eq', 'ne', 'gt', 'ge', 'lt', 'le']);
    return `${random.pick(['n', 'text', 'PartitionKey', 'RowKey'])} ${operator} ${random.pick(["'p'", '1', '1.5', 'true'])}`;
  }
  return Array.from({ length: random.below(12) }, () => random.pick(FILTER_WORDS)).join(random.chance(0.8) ? ' ' : '');
}

const WORDS: [string, (random: Random) => string][] = [
  ['$filter', (random) => encodeURIComponent(filterOf(random))],
  ['$filter', (random) => encodeURIComponent(filterOf(random))],
  ['$select', (random) => random.pick(['n', '*', 'n,text', ',', '', 'x'.repeat(2_000), '%00', 'PartitionKey,RowKey'])],
  ['$top', (random) => random.pick(['1', '2', '0', '-1', '1001', 'x', '99999999999999999999', ''])],
  ['$orderby', () => 'n'],
  ['$format', (random) => random.pick(['json', 'atom', 'application/json;odata=fullmetadata', '%ff', ''])],
  ['NextPartitionKey', (random) => random.pick(['1!4!cDA-', '1!0!', 'x', '1!4!____', '1!8!7aCA7aCA', ''])],
  ['NextRowKey', (random) => random.pick(['1!4!cDA-', '1!0!', 'x', ''])],
  ['NextTableName', (random) => random.pick(['1!4!cDA-', '1!8!%2F%2F%2F%2F%2F%2F%2F%2F', 'x', ''])],
  ['comp', (random) => random.pick(['acl', 'properties', 'stats', 'batch', 'x', ''])],
  ['restype', (random) => random.pick(['service', 'account', 'x', ''])],
  ['timeout', (random) => random.pick(['1', '-1', 'x'])],
  ['sv', (random) => random.pick(['2019-02-02', 'x'])],
  ['tn', (random) => random.pick(['fuzza', 'x', ''])],
  ['sp', (random) => random.pick(['raud', 'x'])],
  ['spk', (random) => random.pick(['p', ''])],
  ['erk', (random) => random.pick(['r', ''])],
  ['se', (random) => random.pick(['2099-01-01', 'x'])],
  ['sig', (random) => random.pick(['x', Buffer.alloc(32).toString('base64')])],
  ['%ff', () => '%ff'],
];

const HEADERS: [string, readonly string[]][] = [
  ['accept', ['application/json;odata=fullmetadata', 'application/json', 'application/atom+xml', 'x', '', '*/*,,;']],
  ['content-type', ['application/json', 'application/atom+xml', 'multipart/mixed', 'text/plain', '', '\u00e9']],
  ['prefer', ['return-content', 'return-no-content', 'x', '']],
  ['if-match', ['*', 'W/"x"', 'W/"datetime\'2024-01-01T00%3A00%3A00.0000000Z\'"', '"x"', 'x', '', '*,*', 'W/"']],
  ['if-none-match', ['*', 'W/"x"', '']],
  ['x-http-method', ['MERGE', 'PUT', 'DELETE', 'GET', 'x', '', 'merge, merge']],
  ['dataserviceversion', ['3.0;NetFx', '1.0', '9.9', 'x', '']],
  ['maxdataserviceversion', ['3.0', 'x']],
  ['x-ms-version', ['2019-02-02', '2009-09-19', '2015-12-11', '2099-01-01', 'x', '']],
  ['x-ms-date', ['x', '', 'Thu, 01 Jan 1970 00:00:00 GMT']],
  ['x-ms-client-request-id', ['x', 'x'.repeat(2_000), '\u00e9']],
  ['content-md5', ['x', 'AAAAAAAAAAAAAAAAAAAAAA==']],
  ['origin', ['http://a.example', '']],
  ['access-control-request-method', ['GET', 'MERGE', 'x']],
  ['expect', ['100-continue', 'x']],
  ['authorization', ['x', 'SharedKey x', 'SharedKeyLite devstoreaccount1:AAAA', 'Bearer x', '']],
  ['content-length', ['0', '3', '1000']],
  ['transfer-encoding', ['chunked']],
  ['host', ['devstoreaccount1.table.localhost', 'x', '', '[::1]']],
];

const TYPES = ['String', 'Int32', 'Int64', 'Double', 'Boolean', 'DateTime', 'Guid', 'Binary', 'Single', '', '\u0000'];
const VALUES = [
  '1',
  '-0',
  '1.5',
  '1e400',
  '-1e-400',
  '99999999999999999999',
  'true',
  'null',
  '""',
  '"x"',
  '"1"',
  '"NaN"',
  '"\\ud800"',
  '"\\u0000"',
  '"2024-01-01T00:00:00Z"',
  '"c9da6455-213d-42c9-9a79-3e9149a57833"',
  '"AAE="',
  '{}',
  '[1]',
  '"\\x"',
];
const NAMES = [
  'n',
  'text',
  'PartitionKey',
  'RowKey',
  'Timestamp',
  'a-b',
  '1',
  '',
  '__proto__',
  'odata.etag',
  'x'.repeat(300),
];

/** An entity, or nearly one. */
function entityOf(random: Random): string {
  const members = random.chance(0.8)
    ? [`"PartitionKey":"${random.pick(['p', 'q'])}"`, `"RowKey":"${random.below(5)}"`]
    : [];
  for (let count = random.below(4); count > 0; count--) {
    const name = random.chance(0.8) ? `p${count}` : random.pick(NAMES);
    members.push(`"${name}":${random.chance(0.6) ? random.pick(['1', '"x"', 'true', 'null']) : random.pick(VALUES)}`);
    if (random.chance(0.2)) members.push(`"${name}@odata.type":"Edm.${random.pick(TYPES)}"`);
  }
  const text = `{${members.join(',')}}`;
  return random.chance(0.1) ? text.slice(0, random.below(text.length)) : text;
}

const BATCH_TYPE = 'multipart/mixed; boundary=batch_1';

function requestLineOf(random: Random): string {
  const root = random.chance(0.5) ? server.tableEndpoint() : new URL(server.tableEndpoint()).pathname;
  if (random.chance(0.4)) return `POST ${root}/fuzza HTTP/1.1`;
  if (random.chance(0.5)) {
    const path = `${root}${entityPath('fuzza', random.pick(['p', 'p', 'p', 'q']), String(random.below(5)))}`;
    return `${random.pick(['PUT', 'MERGE', 'DELETE'])} ${path} HTTP/1.1`;
  }
  if (random.chance(0.2)) return random.pick(['', 'x', 'GET', 'POST http://[ HTTP/1.1']);
  return `${random.pick(METHODS)} ${root}/${tableOf(random)}${random.pick(ARGUMENTS)(random)} HTTP/1.1`;
}

function batchOf(random: Random): string {
  const line = random.chance(0.9) ? '\r\n' : '\n';
  const part = (index: number): string => {
    const requestLine = requestLineOf(random);
    return [
      '--changeset_1',
      random.chance(0.95) ? 'Content-Type: application/http' : 'Content-Type: x',
      'Content-Transfer-Encoding: binary',
      '',
      requestLine,
      ...(random.chance(0.5) ? [`Content-ID: ${index}`] : []),
      ...(random.chance(0.5) ? [`If-Match: ${random.pick(['*', 'W/"x"', 'x'])}`] : []),
      'Content-Type: application/json',
      '',
      requestLine.startsWith('POST') || random.chance(0.3) ? entityOf(random) : '{"n":1}',
    ].join(line);
  };
  const parts = Array.from({ length: random.below(4) }, (_, index) => part(index));
  const text = [
    '--batch_1',
    'Content-Type: multipart/mixed; boundary=changeset_1',
    '',
    ...parts,
    '--changeset_1--',
    random.chance(0.9) ? '--batch_1--' : '',
    '',
  ].join(line);
  return random.chance(0.1) ? text.slice(0, random.below(text.length)) : text;
}

const XML_BODIES = [
  '<SignedIdentifiers/>',
  '<SignedIdentifiers><SignedIdentifier><Id>p</Id></SignedIdentifier></SignedIdentifiers>',
  '<SignedIdentifiers><SignedIdentifier>',
  '<StorageServiceProperties/>',
  '<StorageServiceProperties><Cors/></StorageServiceProperties>',
];

function bodyOf(random: Random): string {
  if (random.chance(0.6)) return entityOf(random);
  if (random.chance(0.3)) return batchOf(random);
  return random.pick(['', 'x', '{}', '[]', 'null', '\0\0', '{"TableName":"fuzzb"}', '{"TableName":1}', ...XML_BODIES]);
}

function queryOf(random: Random): string {
  const words = Array.from({ length: random.below(4) }, () => random.pick(WORDS));
  return words.map(([name, value], index) => `${index === 0 ? '?' : '&'}${name}=${value(random)}`).join('');
}

function pathOf(random: Random): string {
  const path = random.chance(0.9) ? `/${tableOf(random)}${random.pick(ARGUMENTS)(random)}` : '/';
  return `${path}${queryOf(random)}`;
}

/** Requests that mean something come often enough to bring the server into states where the odd ones matter. */
const SENSIBLE: ((random: Random) => RawRequest)[] = [
  (random) => ({ method: 'POST', path: '/Tables', body: `{"TableName":"${random.pick(['fuzza', 'FuzzB'])}"}` }),
  () => ({ method: 'DELETE', path: "/Tables('fuzzb')" }),
  (random) => ({ method: 'POST', path: '/fuzza', body: entityOf(random) }),
  (random) => ({
    method: random.pick(['PUT', 'MERGE']),
    path: entityPath('fuzza', random.pick(['p', 'q']), String(random.below(5))),
    body: '{"n":1,"text":"x"}',
  }),
  (random) => ({
    method: 'DELETE',
    path: entityPath('fuzza', random.pick(['p', 'q']), String(random.below(5))),
    headers: { 'if-match': '*' },
  }),
  (random) => ({ method: 'GET', path: `/fuzza()?$filter=${encodeURIComponent(filterOf(random))}` }),
  (random) => ({ method: 'GET', path: `/${random.pick(['fuzza()', 'Tables', "Tables('fuzza')"])}${queryOf(random)}` }),
  (random) => ({ method: 'POST', path: '/$batch', headers: { 'content-type': BATCH_TYPE }, body: batchOf(random) }),
];

function randomRequest(random: Random): RawRequest {
  const account = random.pick(SIGNERS);
  if (random.chance(0.7)) {
    const sensible = random.pick(SENSIBLE)(random);
    return random.chance(0.5) ? sensible : withHeaders(random, { ...sensible, account }, HEADERS);
  }
  const odd = { method: random.pick(METHODS), path: pathOf(random), body: bodyOf(random), account };
  return withHeaders(random, odd, HEADERS);
}

const problemInPart = (answer: string): string | null =>
  /\nHTTP\/1\.1 5(?!01)/.test(answer) ? 'a fault of the server in a part of a batch' : null;

test('random requests are answered, never with a 5xx but 501, and leave other entities alone', async (t) => {
  const table = await freshTable(server, 'witness');
  await table.createEntity({ partitionKey: 'p', rowKey: '1', text: 'still here', n: 2n ** 60n });
  const witness = { method: 'GET', path: entityPath(table.tableName, 'p', '1') };
  const before = await sendTable(server.tableUrl, witness);
  const openLane = (random: Random): Lane => ({
    next() {
      const request = randomRequest(random);
      const sent = damaged(random, closingBytes(server.tableUrl, signedForTable(request)));
      const complete = sent.complete && !isFramedBySender(request);
      return { ...sent, complete, problemOf: (answer) => problemOf(answer, complete) ?? problemInPart(answer) };
    },
  });
  await fuzz(t, {
    url: server.tableUrl,
    seed,
    requestsMax: REQUESTS_MAX,
    seconds: RUN_SECONDS,
    openLane,
    statuses: [200, 201, 202, 204, 400, 404],
  });
  const after = await sendTable(server.tableUrl, witness);
  assert.equal(after.status, 200);
  assert.deepEqual([after.json, after.headers.etag], [before.json, before.headers.etag]);
});
