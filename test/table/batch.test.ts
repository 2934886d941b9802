/**
 * Entity Group Transaction: with the official client and with bodies that it would not write. A batch is done as a whole
 * or not at all, and its answer says which operation was refused, and why. The client before it: test/third-party/.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  AzureNamedKeyCredential,
  AzureSASCredential,
  generateTableSas,
  RestError,
  TableClient,
  type TransactionAction,
} from '@azure/data-tables';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { startInProcess } from '../harness/in-process.ts';
import { Random } from '../harness/random.ts';
import { freshTable, TABLE_CLIENT_OPTIONS, tableClient } from '../harness/table-clients.ts';
import { assertRefused, entityPath, sendTable, type TableResponse } from '../harness/table-http.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });

interface Part {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string;
  readonly contentId?: string;
}

/** What one part of an answer says. */
interface InnerAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function partText({ method, url, headers = {}, body = '', contentId }: Part): string {
  return [
    'Content-Type: application/http',
    'Content-Transfer-Encoding: binary',
    ...(contentId === undefined ? [] : [`Content-ID: ${contentId}`]),
    '',
    `${method} ${url} HTTP/1.1`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    typeof body === 'string' ? body : JSON.stringify(body),
    '',
  ].join('\r\n');
}

const changeSet = (parts: readonly Part[]): string =>
  `--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n${parts
    .map((part) => `--c\r\n${partText(part)}`)
    .join('')}--c--\r\n--b--\r\n`;

const queryBatch = (part: Part): string => `--b\r\n${partText(part)}--b--\r\n`;

const sendBatch = (body: string | Uint8Array, path = '/$batch'): Promise<TableResponse> =>
  sendTable(server.tableUrl, {
    method: 'POST',
    path,
    headers: { 'content-type': 'multipart/mixed; boundary=b' },
    body,
    ...(path.includes('sig=') ? { account: null } : {}),
  });

const submit = (...parts: readonly Part[]): Promise<TableResponse> => sendBatch(changeSet(parts));

/** The parts of an answer; `isNested` where they stand in an answer to a change set. */
function innerOf({ status, headers, body }: TableResponse): { isNested: boolean; answers: InnerAnswer[] } {
  assert.equal(status, 202, body.toString());
  const boundary = /^multipart\/mixed; boundary=(batchresponse_[0-9a-f-]{36})$/.exec(
    headers['content-type'] ?? '',
  )?.[1];
  assert.ok(boundary !== undefined, headers['content-type']);
  const text = body.toString();
  const [start, end] = [`--${boundary}\r\n`, `--${boundary}--\r\n`];
  assert.ok(text.startsWith(start) && text.endsWith(end), text);
  const content = text.slice(start.length, -end.length);
  const nested = /^Content-Type: multipart\/mixed; boundary=(changesetresponse_[0-9a-f-]{36})\r\n\r\n/.exec(content);
  if (nested === null) return { isNested: false, answers: [innerAnswer(content)] };
  const parts = content.slice(nested[0].length).split(`--${nested[1]}`);
  assert.deepEqual([parts.at(0), parts.at(-1)], ['', '--\r\n']);
  return { isNested: true, answers: parts.slice(1, -1).map((part) => innerAnswer(part.slice(2))) };
}

function innerAnswer(part: string): InnerAnswer {
  const head = 'Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 ';
  assert.ok(part.startsWith(head) && part.endsWith('\r\n'), part);
  const cut = part.indexOf('\r\n\r\n', head.length);
  const [line = '', ...lines] = part.slice(head.length, cut).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((one) => [one.slice(0, one.indexOf(':')).toLowerCase(), one.slice(one.indexOf(':') + 2)]),
  );
  return { status: Number(line.slice(0, 3)), headers, body: part.slice(cut + 4, -2) };
}

/** `204`, or `409 EntityAlreadyExists 1:The specified entity already exists.` */
function inShort({ status, body }: InnerAnswer): string {
  if (status < 400) return String(status);
  const { code, message } = JSON.parse(body)['odata.error'] as { code: string; message: { value: string } };
  return `${status} ${code} ${message.value.split('\n')[0]}`;
}

const shortOf = (answer: TableResponse): string[] => innerOf(answer).answers.map(inShort);

const idsOf = (answer: TableResponse): (string | null)[] =>
  innerOf(answer).answers.map(({ headers }) => headers['content-id'] ?? null);

/** The row keys of a table with the property `v` of each. */
async function rowsOf(table: TableClient): Promise<Record<string, unknown>> {
  const rows: Record<string, unknown> = {};
  for await (const { rowKey, v } of table.listEntities()) rows[rowKey as string] = v ?? null;
  return rows;
}

/** The refusal of a transaction: `409 EntityAlreadyExists 1:The specified entity already exists.` */
async function refusalOf(transaction: Promise<unknown>): Promise<string> {
  try {
    await transaction;
  } catch (error) {
    assert.ok(error instanceof RestError);
    return `${error.statusCode} ${error.code} ${error.message.split('\n')[0]}`;
  }
  assert.fail('the transaction was not refused');
}

const row = (rowKey: string, v?: unknown) => ({ partitionKey: 'p', rowKey, ...(v === undefined ? {} : { v }) });
const creates = (count: number): TransactionAction[] =>
  Array.from({ length: count }, (_, index) => ['create', row(String(index))]);
const insertInto = (table: TableClient, rowKey: string, more: Partial<Part> = {}): Part => ({
  method: 'POST',
  url: `/${table.tableName}`,
  body: { PartitionKey: 'p', RowKey: rowKey },
  ...more,
});

describe('the official client', () => {
  test('makes changes of every kind in one transaction', async () => {
    const table = await freshTable(server);
    for (const rowKey of ['merged', 'replaced', 'upserted', 'tagged', 'deleted']) {
      await table.createEntity({ ...row(rowKey, 1), kept: true });
    }
    const { etag } = await table.getEntity('p', 'tagged');
    const { status, subResponses, getResponseForEntity } = await table.submitTransaction([
      ['create', row("it's newü", 2)],
      ['update', row('merged', 2), 'Merge'],
      ['update', row('replaced', 2), 'Replace'],
      ['update', row('tagged', 2), 'Replace', { etag }],
      ['upsert', row('upserted', 2), 'Merge'],
      ['upsert', row('fresh', 2), 'Replace'],
      ['delete', { partitionKey: 'p', rowKey: 'deleted' }],
    ]);
    assert.equal(status, 202);
    assert.deepEqual(
      subResponses.map((answer) => answer.status),
      [204, 204, 204, 204, 204, 204, 204],
    );
    const found = new Map<string, Record<string, unknown>>();
    for await (const entity of table.listEntities()) found.set(entity.rowKey as string, entity);
    assert.deepEqual([...found.keys()], ['fresh', "it's newü", 'merged', 'replaced', 'tagged', 'upserted']);
    assert.deepEqual(
      [...found.values()].map(({ v, kept }) => [v, kept ?? null]),
      [
        [2, null],
        [2, null],
        [2, true],
        [2, null],
        [2, null],
        [2, true],
      ],
    );
    assert.deepEqual(
      subResponses.map((answer) => answer.etag),
      ["it's newü", 'merged', 'replaced', 'tagged', 'upserted', 'fresh', 'deleted'].map(
        (key) => found.get(key)?.['etag'],
      ),
    );
    assert.equal(getResponseForEntity("it''s%20new%C3%BC")?.etag, found.get("it's newü")?.['etag']);
  });

  test('gets 100 operations in, and not 101', async () => {
    const table = await freshTable(server);
    assert.equal(
      await refusalOf(table.submitTransaction(creates(101))),
      '400 InvalidInput 99:The batch request operation exceeds the maximum 100 changes per change set.',
    );
    assert.deepEqual(await rowsOf(table), {});
    assert.equal((await table.submitTransaction(creates(100))).subResponses.length, 100);
    assert.equal(Object.keys(await rowsOf(table)).length, 100);
  });

  test('hears which operation was refused, and finds nothing done', async () => {
    const table = await freshTable(server);
    await table.createEntity(row('old', 1));
    const { etag } = await table.getEntity('p', 'old');
    await table.updateEntity(row('old', 2), 'Replace');
    const gone = { partitionKey: 'p', rowKey: 'gone' };
    for (const [last, want] of [
      [['create', row('old', 3)], '409 EntityAlreadyExists 4:The specified entity already exists.'],
      [['update', row('gone', 3), 'Merge'], '404 ResourceNotFound 4:The specified resource does not exist.'],
      [
        ['update', row('gone', 3), 'Replace', { etag }],
        '404 ResourceNotFound 4:The specified resource does not exist.',
      ],
      [['delete', gone], '404 ResourceNotFound 4:The specified resource does not exist.'],
      [
        ['update', row('old', 3), 'Merge', { etag }],
        '412 UpdateConditionNotSatisfied 4:The update condition specified in the request was not satisfied.',
      ],
      [
        ['update', row('old', 3), 'Replace', { etag }],
        '412 UpdateConditionNotSatisfied 4:The update condition specified in the request was not satisfied.',
      ],
      [
        ['upsert', row('1', 3), 'Merge'],
        '400 InvalidDuplicateRow 4:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.',
      ],
    ] as readonly (readonly [TransactionAction, string])[]) {
      assert.equal(await refusalOf(table.submitTransaction([...creates(4), last])), want);
      assert.deepEqual(await rowsOf(table), { old: 2 });
    }
  });

  test('hears of a missing table by the first operation', async () => {
    const table = tableClient(server, 'nosuchtable');
    const want = '404 TableNotFound 0:The table specified does not exist.';
    assert.equal(await refusalOf(table.submitTransaction(creates(3))), want);
    const noRow: TransactionAction = ['delete', { partitionKey: 'p', rowKey: 'x' }];
    assert.equal(await refusalOf(table.submitTransaction([...creates(3), noRow])), want);
  });

  test('writes keys and texts beyond ASCII', async () => {
    const table = await freshTable(server);
    const key = { partitionKey: 'päß 🪨 %25+', rowKey: "ö''& 🪨" };
    await table.submitTransaction([['upsert', { ...key, v: 'ü🪨\r\n--c--\r\n' }, 'Replace']]);
    assert.equal((await table.getEntity<{ v: string }>(key.partitionKey, key.rowKey)).v, 'ü🪨\r\n--c--\r\n');
    await table.submitTransaction([['delete', key]]);
    assert.deepEqual(await rowsOf(table), {});
  });

  test('with a token for some letters hears which operation needs another', async () => {
    const table = await freshTable(server);
    await table.createEntity(row('old', 1));
    const guest = (letters: string): TableClient => {
      const token = generateTableSas(
        table.tableName,
        new AzureNamedKeyCredential(DEVELOPMENT_ACCOUNT.name, DEVELOPMENT_ACCOUNT.key),
        {
          permissions: {
            query: letters.includes('r'),
            add: letters.includes('a'),
            update: letters.includes('u'),
            delete: letters.includes('d'),
          },
          expiresOn: new Date(server.clock.nowMs() + 60_000),
        },
      );
      return new TableClient(
        server.tableEndpoint(),
        table.tableName,
        new AzureSASCredential(token),
        TABLE_CLIENT_OPTIONS,
      );
    };
    const all: TransactionAction[] = [
      ['create', row('new', 2)],
      ['update', row('old', 2), 'Merge'],
      ['upsert', row('other', 2), 'Merge'],
      ['delete', { partitionKey: 'p', rowKey: 'gone' }],
    ];
    const mismatch = 'This request is not authorized to perform this operation using this permission.';
    for (const [letters, index] of [
      ['r', 0],
      ['u', 0],
      ['a', 1],
      ['rad', 1],
      ['rau', 3],
    ] as const) {
      const want = `403 AuthorizationPermissionMismatch ${index}:${mismatch}`;
      assert.equal(await refusalOf(guest(letters).submitTransaction(all)), want);
      assert.deepEqual(await rowsOf(table), { old: 1 });
    }
    assert.match(await refusalOf(guest('aud').submitTransaction(all)), /^404 ResourceNotFound 3:/);
    await guest('aud').submitTransaction(all.slice(0, 3));
    assert.deepEqual(await rowsOf(table), { new: 2, old: 2, other: 2 });
  });
});

describe('an answer', () => {
  test('has for each part what a request by itself would get', async () => {
    const table = await freshTable(server);
    const full = { Accept: 'application/json;odata=fullmetadata' };
    const answer = await submit(
      insertInto(table, 'plain'),
      insertInto(table, 'silent', { headers: { Prefer: 'return-no-content' } }),
      insertInto(table, 'full', { headers: { Prefer: 'return-content', ...full } }),
      { method: 'PUT', url: entityPath(table.tableName, 'p', 'put'), body: {} },
    );
    const { isNested, answers } = innerOf(answer);
    assert.ok(isNested);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 204, 201, 204],
    );
    for (const { headers } of answers) {
      assert.equal(headers['dataserviceversion'], '3.0;');
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(headers['cache-control'], 'no-cache');
      assert.match(headers['etag'] ?? '', /^W\/"datetime'.*'"$/);
    }
    const [plain, silent, full_, put] = answers as [InnerAnswer, InnerAnswer, InnerAnswer, InnerAnswer];
    const location = `${server.tableEndpoint()}/${table.tableName}(PartitionKey='p',RowKey='silent')`;
    assert.deepEqual(
      ['location', 'dataserviceid', 'preference-applied'].map((name) => silent.headers[name]),
      [location, location, 'return-no-content'],
    );
    assert.equal(JSON.parse(plain.body).RowKey, 'plain');
    assert.equal(JSON.parse(full_.body)['odata.type'], `${DEVELOPMENT_ACCOUNT.name}.${table.tableName}`);
    assert.equal(full_.headers['preference-applied'], 'return-content');
    assert.deepEqual([silent.body, put.body, put.headers['location']], ['', '', undefined]);
  });

  test('names each part as the client does, wherever it does', async () => {
    const table = await freshTable(server);
    const parts = [
      insertInto(table, '1', { contentId: '7' }),
      insertInto(table, '2', { headers: { 'Content-ID': 'in the request' } }),
      insertInto(table, '3'),
    ];
    assert.deepEqual(idsOf(await submit(...parts)), ['7', 'in the request', null]);
    const again = await submit(insertInto(table, '4'), ...parts.slice(1));
    assert.deepEqual(
      [idsOf(again), shortOf(again)],
      [['in the request'], ['409 EntityAlreadyExists 1:The specified entity already exists.']],
    );
  });

  test('to a refused operation carries the request id of the batch', async () => {
    const answer = await submit({
      method: 'DELETE',
      url: entityPath('nosuchtable', 'p', 'r'),
      headers: { 'If-Match': '*' },
    });
    const [refused] = innerOf(answer).answers;
    const { value } = JSON.parse(refused?.body ?? '')['odata.error'].message as { value: string };
    assert.match(value, new RegExp(`^0:.*\nRequestId:${answer.headers['x-ms-request-id'] as string}\nTime:\\d{4}-`));
    assert.match(refused?.headers['content-type'] ?? '', /^application\/json;odata=minimalmetadata/);
  });
});

describe('a part is found by its URL', () => {
  test('absolute or not, with the account or without, and whatever host it names', async () => {
    const table = await freshTable(server);
    const [account, name] = [DEVELOPMENT_ACCOUNT.name, table.tableName];
    const urls = [
      `${server.tableEndpoint()}/${name}`,
      `https://elsewhere.example/${account}/${name}`,
      `https://${SECOND_ACCOUNT.name}.table.core.windows.net/${name}`,
      `/${account}/${name}`,
      `/${name}()`,
      name.toUpperCase(),
      `/${name}?$format=application/json;odata=nometadata`,
    ];
    const answer = await submit(...urls.map((url, index) => insertInto(table, String(index), { url })));
    assert.deepEqual(
      shortOf(answer),
      urls.map(() => '201'),
    );
    assert.equal(Object.keys(await rowsOf(table)).length, urls.length);
  });

  test('and never leads to another account', async () => {
    const table = await freshTable(server);
    const other = tableClient(server, table.tableName, SECOND_ACCOUNT);
    await other.createTable();
    for (const url of [
      `/${SECOND_ACCOUNT.name}/${table.tableName}`,
      `${server.tableEndpoint(SECOND_ACCOUNT)}/${table.tableName}`,
    ]) {
      assert.match(shortOf(await submit(insertInto(table, '1', { url })))[0] ?? '', /^400 InvalidResourceName 0:/);
    }
    assert.deepEqual([await rowsOf(table), await rowsOf(other)], [{}, {}]);
  });

  test('with a method in a header where the client knows no other', async () => {
    const table = await freshTable(server);
    await table.createEntity({ ...row('1', 1), kept: true });
    const merge = { method: 'POST', url: entityPath(table.tableName, 'p', '1'), body: { v: 2 } };
    const answer = await submit({ ...merge, headers: { 'X-HTTP-Method': 'MERGE', 'If-Match': '*' } });
    assert.deepEqual(shortOf(answer), ['204']);
    const { v, kept } = await table.getEntity<{ v: number; kept: boolean }>('p', '1');
    assert.deepEqual([v, kept], [2, true]);
    assert.match(
      shortOf(await submit({ ...merge, headers: { 'X-HTTP-Method': 'TRACE' } }))[0] ?? '',
      /^400 XMethodIncorrectValue 0:/,
    );
  });
});

test('the first operation that is wrong is the one refused, and its faults come in this order', async () => {
  const [table, other] = [await freshTable(server), await freshTable(server)];
  await table.createEntity(row('old', 1));
  const first = insertInto(table, 'first');
  const elsewhere = entityPath(other.tableName, 'q', 'r');
  for (const [what, part, want] of [
    ['a path that is none', { method: 'PUT', url: '/a/b/c', body: '{' }, '400 InvalidResourceName'],
    ['a path with broken encoding', { method: 'PUT', url: '/t%zz', body: '{' }, '400 InvalidUri'],
    [
      'a repeated header',
      { method: 'PUT', url: elsewhere, headers: { 'If-Match': '*', 'if-match': '*' }, body: '{' },
      '400 InvalidHeaderValue',
    ],
    ['a query', { method: 'GET', url: `/${other.tableName}` }, '400 InvalidInput'],
    ['a change of a table', { method: 'POST', url: '/Tables', body: { TableName: 'x' } }, '400 InvalidInput'],
    ['a batch', { method: 'POST', url: '/$batch' }, '400 InvalidInput'],
    ['another table', { method: 'PUT', url: elsewhere, body: '{' }, '400 InvalidInput'],
    [
      'a delete without a condition',
      { method: 'DELETE', url: entityPath(table.tableName, 'q', 'r') },
      '400 MissingRequiredHeader',
    ],
    [
      'a body that is no JSON',
      { method: 'PUT', url: entityPath(table.tableName, 'q', 'r'), body: '{' },
      '400 InvalidInput',
    ],
    [
      'an entity without its key',
      { method: 'POST', url: `/${table.tableName}`, body: { PartitionKey: 'q' } },
      '400 PropertiesNeedValue',
    ],
    [
      'too long a text',
      insertInto(table, 'x', { body: { PartitionKey: 'q', RowKey: 'x', v: 'x'.repeat(40_000) } }),
      '400 PropertyValueTooLarge',
    ],
    [
      'another partition',
      { method: 'PUT', url: entityPath(table.tableName, 'q', 'first'), body: {} },
      '400 CommandsInBatchActOnDifferentPartitions',
    ],
    [
      'the same entity',
      { method: 'PUT', url: entityPath(table.tableName, 'p', 'first'), body: {} },
      '400 InvalidDuplicateRow',
    ],
    ['an entity that exists', insertInto(table, 'old'), '409 EntityAlreadyExists'],
  ] as readonly (readonly [string, Part, string])[]) {
    const [refused = '', ...more] = shortOf(await submit(first, part, { method: 'PUT', url: '/a/b/c', body: '{' }));
    // What the store knows is asked last: then the part behind is refused first.
    const isOfStore = want.startsWith('409');
    assert.ok(refused.startsWith(isOfStore ? '400 InvalidResourceName 2:' : `${want} 1:`), `${what}: ${refused}`);
    assert.deepEqual(more, []);
    if (isOfStore) assert.match(shortOf(await submit(first, part))[0] ?? '', new RegExp(`^${want} 1:`));
    assert.deepEqual(await rowsOf(table), { old: 1 });
  }
  assert.deepEqual(shortOf(await sendBatch(changeSet([]))), ['400 InvalidInput The change set contains no operation.']);
});

describe('a query in a batch', () => {
  test('is answered by itself', async () => {
    const table = await freshTable(server);
    await table.submitTransaction(creates(3));
    const url = `/${table.tableName}()?$filter=${encodeURIComponent("RowKey gt '0'")}&$top=1`;
    const { isNested, answers } = innerOf(await sendBatch(queryBatch({ method: 'GET', url, contentId: '9' })));
    const [page] = answers as [InnerAnswer];
    assert.deepEqual([isNested, answers.length, page.status, page.headers['content-id']], [false, 1, 200, '9']);
    assert.deepEqual(
      JSON.parse(page.body).value.map((entity: { RowKey: string }) => entity.RowKey),
      ['1'],
    );
    assert.ok(page.headers['x-ms-continuation-nextpartitionkey'] !== undefined);
    const point = { method: 'GET', url: `${server.tableEndpoint()}${entityPath(table.tableName, 'p', '2')}` };
    const [entity] = innerOf(await sendBatch(queryBatch(point))).answers as [InnerAnswer];
    assert.deepEqual([entity.status, JSON.parse(entity.body).RowKey], [200, '2']);
    assert.match(entity.headers['etag'] ?? '', /^W\//);
  });

  test('is refused inside of the answer', async () => {
    const table = await freshTable(server);
    for (const [url, want] of [
      [entityPath(table.tableName, 'p', 'r'), '404 ResourceNotFound The specified resource does not exist.'],
      ['/nosuchtable', '404 TableNotFound The table specified does not exist.'],
      [`/${table.tableName}?$top=x`, '400 InvalidInput $top takes a number from 1 to 1000, not x.'],
      ['/Tables', '400 InvalidInput A batch may contain only queries of entities, not Query Tables.'],
    ] as const) {
      assert.deepEqual(shortOf(await sendBatch(queryBatch({ method: 'GET', url }))), [want]);
    }
  });

  test('stands neither beside another nor among changes, and no change stands in its place', async () => {
    const table = await freshTable(server);
    const get = { method: 'GET', url: `/${table.tableName}` };
    const alone = queryBatch(get).slice(0, -'--b--\r\n'.length);
    for (const body of [
      alone + alone + '--b--',
      alone + changeSet([insertInto(table, '1')]),
      queryBatch(insertInto(table, '1')),
    ]) {
      assertRefused(await sendBatch(body), '400 InvalidInput');
    }
    assert.match(shortOf(await submit(get, insertInto(table, '1')))[0] ?? '', /^400 InvalidInput 0:/);
    assert.deepEqual(await rowsOf(table), {});
  });
});

const MANGLED_COUNT = 250;

/** An insert or an upsert; or, seldom, an update of what is not there, which the store refuses. */
const anyChange = (table: TableClient, rowKey: string, random: Random): Part => {
  const isPut = random.chance(0.5);
  const condition = isPut && random.chance(0.1) ? { 'If-Match': '*' } : {};
  return {
    method: isPut ? 'PUT' : 'POST',
    url: isPut ? entityPath(table.tableName, 'p', rowKey) : `/${DEVELOPMENT_ACCOUNT.name}/${table.tableName}`,
    headers: { Prefer: random.pick(['return-content', 'return-no-content']), Accept: 'application/json', ...condition },
    body: { PartitionKey: 'p', RowKey: rowKey, v: random.pick(['ü', 1, true, '--c--', '\r\n']) },
    ...(random.chance(0.5) ? { contentId: rowKey } : {}),
  };
};

/** Up to three changes of some bytes, lines, or line ends. */
function mangle(body: Buffer, random: Random): Buffer {
  let bytes = body;
  for (let left = random.below(4); left > 0; left--) {
    const at = random.below(bytes.length);
    const end = Math.min(bytes.length, at + 1 + random.below(random.chance(0.5) ? 3 : 200));
    const [before, cut, behind] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
    bytes = random.pick([
      () => Buffer.concat([before, random.bytes(cut.length), behind]),
      () => Buffer.concat([before, behind]),
      () => Buffer.concat([before, cut, cut, behind]),
      () =>
        Buffer.concat([
          before,
          Buffer.from(random.pick(['\r\n', '\n', '\r', '\0', '--', '--c\r\n', '--b--', '%', "'", '{', ':', ' '])),
          behind,
        ]),
      () => before,
      () => swapLines(bytes, random),
      () => Buffer.from(bytes.toString('latin1').replace('\r\n', '\n'), 'latin1'),
    ])();
    if (bytes.length === 0) break;
  }
  return bytes;
}

function swapLines(bytes: Buffer, random: Random): Buffer {
  const lines = bytes.toString('latin1').split('\r\n');
  const [one, other] = [random.below(lines.length), random.below(lines.length)];
  [lines[one], lines[other]] = [lines[other] as string, lines[one] as string];
  return Buffer.from(lines.join('\r\n'), 'latin1');
}

describe('a body', () => {
  const BODY_BYTES_MAX = 4 * 1024 * 1024;

  test('of 4 MiB is read, and a byte more is not', async () => {
    const table = await freshTable(server);
    const body = changeSet([insertInto(table, '1')]);
    assertRefused(await sendBatch(body.padEnd(BODY_BYTES_MAX + 1, '\r\n')), '413 RequestBodyTooLarge');
    assert.deepEqual(await rowsOf(table), {});
    assert.deepEqual(shortOf(await sendBatch(body.padEnd(BODY_BYTES_MAX, '\r\n'))), ['201']);
  });

  test('with LF alone is read as one with CR LF', async () => {
    const table = await freshTable(server);
    const body = changeSet([insertInto(table, '1'), insertInto(table, '2', { contentId: '2' })]);
    assert.deepEqual(shortOf(await sendBatch(body.replaceAll('\r\n', '\n'))), ['201', '201']);
    assert.deepEqual(await rowsOf(table), { '1': null, '2': null });
  });

  test('that cannot be read is refused as a whole, and says why', async () => {
    const table = await freshTable(server);
    const good = changeSet([insertInto(table, '1'), insertInto(table, '2')]);
    for (const [body, sentence] of [
      ['', /boundary/],
      [good.replace('--b--', ''), /last boundary/],
      [good.replace('--c--\r\n', ''), /last boundary/],
      [good.replace('--b--', '') + good, /one change set or one query/],
      [good.replaceAll('application/http', 'text/plain'), /application\/http/],
      [good.replace(' HTTP/1.1', ''), /METHOD url HTTP\/1\.1/],
      [good.replace('boundary=c', ''), /Content-Type of the change set/],
    ] as const) {
      const answer = await sendBatch(body);
      assertRefused(answer, '400 InvalidInput');
      assert.match(answer.error?.message.value ?? '', sentence);
    }
    const elsewhere = { method: 'POST', path: '/$batch', body: good } as const;
    assertRefused(await sendTable(server.tableUrl, elsewhere), '400 InvalidHeaderValue');
    assert.deepEqual(await rowsOf(table), {});
  });

  test('that nobody signed is not read', async () => {
    const table = await freshTable(server);
    const answer = await sendTable(server.tableUrl, {
      method: 'POST',
      path: '/$batch',
      headers: { 'content-type': 'multipart/mixed; boundary=b' },
      body: changeSet([insertInto(table, '1')]),
      account: null,
    });
    assert.ok(answer.status === 401 || answer.status === 403, answer.outcome);
    assert.deepEqual(await rowsOf(table), {});
  });

  test('however it is mangled, is done as its answer says: wholly or not at all', async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const table = await freshTable(server);
    for (let round = 0; round < MANGLED_COUNT; round++) {
      const parts = Array.from({ length: 4 }, (_, index) => anyChange(table, `r${index}`, random));
      const body = mangle(Buffer.from(changeSet(parts)), random);
      const what = `round ${round}: ${body.toString('latin1')}`;
      const answer = await sendBatch(body);
      assert.ok(answer.status < 500, what);
      const done = answer.status === 202 ? innerOf(answer).answers.filter(({ status }) => status < 300) : [];
      const found: { partitionKey: string; rowKey: string }[] = [];
      for await (const { partitionKey, rowKey } of table.listEntities()) {
        found.push({ partitionKey: partitionKey as string, rowKey: rowKey as string });
      }
      assert.equal(found.length, done.length, what);
      if (found.length > 0) await table.submitTransaction(found.map((key) => ['delete', key]));
    }
  });
});
