/**
 * Query Entities: in which order, which entities, which of their properties, and page by page. With the official client and
 * its `odata` tag, and raw where it hides the wire.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { odata, type TableClient, type TableEntity } from '@azure/data-tables';
import { startInProcess } from '../harness/in-process.ts';
import { together } from '../harness/parallel.ts';
import { freshTable, tableClient, tableOutcomes, tableRefusal } from '../harness/table-clients.ts';
import { assertRefused, sendTable, type TableResponse } from '../harness/table-http.ts';

const server = await startInProcess();

/** One request, so one page. Spaces and quotes are encoded, commas and dollars are not. */
const ask = (table: TableClient, options: Record<string, string>): Promise<TableResponse> => {
  const query = Object.entries(options).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return sendTable(server.tableUrl, {
    method: 'GET',
    path: `/${table.tableName}()?${query.join('&')}`,
    headers: { accept: 'application/json;odata=nometadata' },
  });
};

type Row = Record<string, unknown>;
const rowsIn = (answer: TableResponse): Row[] => {
  assert.equal(answer.status, 200, answer.body.toString());
  return (answer.json as { value: Row[] }).value;
};

const rowKeys = async (table: TableClient, filter?: string): Promise<string[]> => {
  const keys: string[] = [];
  const options = filter === undefined ? {} : { queryOptions: { filter } };
  for await (const { rowKey } of table.listEntities(options)) keys.push(rowKey as string);
  return keys;
};

const PAGES_MAX = 100;

/** Pages that a server would give for ever are a failure, not a test that hangs. */
async function* ending<T>(pages: AsyncIterable<T>): AsyncGenerator<T> {
  let count = 0;
  for await (const page of pages) {
    assert.ok(count++ < PAGES_MAX, 'a query has an end');
    yield page;
  }
}

const INSERTS_AT_ONCE = 100;

async function insertAll(table: TableClient, entities: readonly TableEntity[]): Promise<void> {
  for (let start = 0; start < entities.length; start += INSERTS_AT_ONCE) {
    const part = entities.slice(start, start + INSERTS_AT_ONCE);
    const results = await together(part.length, (index) => table.createEntity(part[index] as TableEntity));
    assert.deepEqual(new Set(tableOutcomes(results)), new Set(['ok']));
  }
}

/** No two next to each other stand in the same order in all of bytes, UTF-16 and a dictionary. */
const KEYS = [
  '',
  ' ',
  '!',
  "'",
  '+',
  '%41',
  'A',
  'B',
  'Z',
  'a',
  'a ',
  'a!',
  'aa',
  'b',
  'é',
  'ÿ',
  '数',
  '🪨',
  '\ue000',
  '\uffee',
] as const;

describe('the order of entities', () => {
  test('is that of their partition keys, then row keys, by code units of UTF-16', async () => {
    const table = await freshTable(server);
    const sorted = [...KEYS].sort();
    const pairs = sorted.flatMap((partitionKey) => sorted.map((rowKey) => ({ partitionKey, rowKey })));
    await insertAll(table, pairs.toReversed());
    const listed: TableEntity[] = [];
    for await (const { partitionKey, rowKey } of table.listEntities()) {
      listed.push({ partitionKey: partitionKey as string, rowKey: rowKey as string });
    }
    assert.deepEqual(listed, pairs);
  });

  test('is kept from page to page, whatever stands in the keys', async () => {
    const table = await freshTable(server);
    const sorted = [...KEYS].sort();
    await insertAll(
      table,
      sorted.map((key) => ({ partitionKey: key, rowKey: key })),
    );
    const listed: unknown[] = [];
    for await (const page of ending(table.listEntities().byPage({ maxPageSize: 1 }))) {
      assert.equal(page.length, 1);
      listed.push(page[0]?.rowKey);
    }
    assert.deepEqual(listed, sorted);
  });
});

const GUIDS = ['00000000-0000-4000-8000-000000000001', 'ffffffff-ffff-4fff-bfff-ffffffffffff'] as const;
const NEW_YEAR = new Date('2024-01-01T00:00:00Z');
const MAY = new Date('2024-05-01T12:34:56.789Z');

const typed = await freshTable(server);
await insertAll(typed, [
  {
    partitionKey: 'p',
    rowKey: 'a',
    text: 'apple',
    n: 1,
    big: 2n ** 53n + 1n,
    part: 0.5,
    when: NEW_YEAR,
    id: { type: 'Guid', value: GUIDS[0] },
    bytes: new Uint8Array([1, 2]),
    yes: true,
  },
  {
    partitionKey: 'p',
    rowKey: 'b',
    text: "it's",
    n: 2,
    big: -(2n ** 63n),
    part: 3.25,
    when: MAY,
    id: { type: 'Guid', value: GUIDS[1] },
    bytes: new Uint8Array([0xff]),
    yes: false,
  },
  { partitionKey: 'p', rowKey: 'c', text: '', n: -3, part: -1e300 },
  { partitionKey: 'q', rowKey: 'd' },
  { partitionKey: 'q', rowKey: 'e', n: 'a text', text: 'a+b %41 🪨', big: 7, part: 2n, yes: 'yes' },
]);
const { timestamp } = await typed.getEntity('p', 'a');

describe('$filter', () => {
  for (const [filter, want] of [
    // Texts
    [odata`text eq ${'apple'}`, 'a'],
    [odata`text eq ${"it's"}`, 'b'],
    [odata`text eq ${''}`, 'c'],
    [odata`text eq ${'a+b %41 🪨'}`, 'e'],
    [odata`text ge ${'ap'} and text lt ${'aq'}`, 'a'],
    [odata`text eq ${'Apple'}`, ''],
    [odata`text ne ${'apple'}`, 'b c e'],
    [odata`n eq ${'a text'}`, 'e'],
    // Numbers
    [odata`n eq ${1}`, 'a'],
    [odata`n eq ${-3}`, 'c'],
    [odata`n gt ${-3}`, 'a b'],
    [odata`n ge ${-3} and n le ${1}`, 'a c'],
    [odata`n ne ${1}`, 'b c'],
    ['n eq 1L', 'a'],
    ['n lt 1.5', 'a c'],
    ['1 lt n', 'b'],
    ['big eq 9007199254740993L', 'a'],
    ['big eq 9007199254740992L', ''],
    [odata`big eq ${2n ** 53n + 1n}`, 'a'],
    ['big eq -9223372036854775808L', 'b'],
    ['big eq 7', 'e'],
    ['big gt 0', 'a e'],
    [odata`part eq ${0.5}`, 'a'],
    ['part lt 1', 'a c'],
    ['part ge 2 and part lt 3.25', 'e'],
    ['part lt -1e299', 'c'],
    // Other types
    [odata`when eq ${NEW_YEAR}`, 'a'],
    [odata`when gt ${NEW_YEAR}`, 'b'],
    ["when eq datetime'2024-05-01T12:34:56.789Z'", 'b'],
    ["when eq datetime'2024-05-01T12:34:56.7890001Z'", ''],
    [`id eq guid'${GUIDS[1]}'`, 'b'],
    [`id eq guid'${GUIDS[1].toUpperCase()}'`, 'b'],
    [`id ne guid'${GUIDS[1]}'`, 'a'],
    ["bytes eq X'0102'", 'a'],
    ["bytes eq binary'ff'", 'b'],
    ["bytes gt X'0102'", 'b'],
    // Booleans
    ['yes', 'a'],
    ['not yes', 'b c d e'],
    ['yes eq true', 'a'],
    ['yes eq false', 'b'],
    ['yes ne true', 'b'],
    ['true', 'a b c d e'],
    ['yes and n eq 1', 'a'],
    // What is not there, or of another type, compares with nothing
    ['missing eq 1', ''],
    ['missing ne 1', ''],
    ['not (missing eq 1)', 'a b c d e'],
    ["yes eq 'yes'", 'e'],
    ['text eq 1', ''],
    // Keys and Timestamp
    [odata`PartitionKey eq ${'p'}`, 'a b c'],
    [odata`PartitionKey eq ${'p'} and RowKey eq ${'b'}`, 'b'],
    [odata`PartitionKey eq ${'p'} and RowKey gt ${'a'}`, 'b c'],
    [odata`PartitionKey gt ${'p'}`, 'd e'],
    [odata`PartitionKey lt ${'p'}`, ''],
    [odata`RowKey ge ${'b'} and RowKey lt ${'e'}`, 'b c d'],
    [odata`PartitionKey eq ${'q'} or RowKey eq ${'a'}`, 'a d e'],
    [odata`PartitionKey eq ${'p'} and n gt ${1}`, 'b'],
    ['PartitionKey eq 1', ''],
    [`Timestamp ge datetime'${timestamp as string}' and RowKey eq 'a'`, 'a'],
    [`Timestamp gt datetime'${timestamp as string}' and RowKey eq 'a'`, ''],
    ["Timestamp lt datetime'2001-01-01T00:00:00Z'", ''],
    // What binds tighter
    ["n eq 2 or n eq 1 and text eq 'x'", 'b'],
    ["(n eq 2 or n eq 1) and text eq 'x'", ''],
    ["n eq 1 and text eq 'x' or n eq 2", 'b'],
    ["not n eq 1 and text eq ''", 'c'],
    ["not (n eq 1 and text eq 'apple')", 'b c d e'],
    ['not (not (n eq 1))', 'a'],
    ['((n eq 1))or((n eq 2))', 'a b'],
    ["( n  eq  1 )  or  text  eq  ''", 'a c'],
    // More than the service takes
    [Array.from({ length: 40 }, (_, index) => odata`n eq ${index}`).join(' or '), 'a b'],
  ] as const) {
    test(`"${filter.slice(0, 90)}" finds ${want === '' ? 'nothing' : want}`, async () => {
      assert.equal((await rowKeys(typed, filter)).join(' '), want);
    });
  }

  for (const filter of [
    'n eq',
    'eq 1',
    'n 1',
    'n = 1',
    'n EQ 1',
    '(n eq 1',
    'n eq 1)',
    'n eq 1 and',
    'n eq 1 n eq 2',
    "text eq 'open",
    "text eq 'it's'",
    "when eq datetime'yesterday'",
    "id eq guid'x'",
    "bytes eq X'0'",
    'n eq 99999999999999999999L',
    'n eq null',
    '1',
    '()',
    `${'('.repeat(5_000)}n eq 1${')'.repeat(5_000)}`,
  ]) {
    test(`"${filter.slice(0, 40)}" gets 400 InvalidInput`, async () => {
      assertRefused(await ask(typed, { $filter: filter }), '400 InvalidInput');
    });
  }

  for (const filter of [
    "startswith(text,'a')",
    "substringof('a',text)",
    "tolower(text) eq 'a'",
    'length(text) eq 1 and n eq 1',
    'n add 1 eq 2',
    'n eq 1 mul 2',
  ]) {
    test(`"${filter}" gets 501 NotImplemented`, async () => {
      assertRefused(await ask(typed, { $filter: filter }), '501 NotImplemented');
    });
  }

  test('that cannot be read is refused with a sentence that says where', async () => {
    const answer = await ask(typed, { $filter: 'n eq 1 and' });
    assert.match(answer.error?.message.value ?? '', /^[A-Z].*position \d+.*\.\n/);
  });

  test('for one entity that is not there gets 200 and nothing', async () => {
    const answer = await ask(typed, { $filter: "PartitionKey eq 'p' and RowKey eq 'missing'" });
    assert.deepEqual(answer.json, { value: [] });
    assert.equal(answer.headers['x-ms-continuation-nextpartitionkey'], undefined);
  });
});

const sparse = await freshTable(server);
await insertAll(sparse, [
  { partitionKey: 'p', rowKey: 'a', x: 1, y: 2n, z: 'z' },
  { partitionKey: 'p', rowKey: 'b', y: 5 },
]);

describe('$select', () => {
  for (const [select, want] of [
    ['x', [{ x: 1 }, { x: null }]],
    [
      'RowKey,y',
      [
        { RowKey: 'a', y: '2' },
        { RowKey: 'b', y: 5 },
      ],
    ],
    [
      ' y , PartitionKey ',
      [
        { y: '2', PartitionKey: 'p' },
        { y: 5, PartitionKey: 'p' },
      ],
    ],
    ['missing', [{ missing: null }, { missing: null }]],
    ['x,x', [{ x: 1 }, { x: null }]],
  ] as const) {
    test(`of "${select}" gives that and no more`, async () => {
      assert.deepEqual(rowsIn(await ask(sparse, { $select: select })), want);
    });
  }

  test('of * gives everything', async () => {
    const [first] = rowsIn(await ask(sparse, { $select: '*' }));
    assert.deepEqual(Object.keys(first ?? {}), ['PartitionKey', 'RowKey', 'Timestamp', 'x', 'y', 'z']);
  });

  test('leaves the official client its types and ETags', async () => {
    const page = await sparse
      .listEntities({ queryOptions: { select: ['rowKey', 'y'] } })
      .byPage()
      .next();
    const [first] = page.value as TableEntity[];
    assert.deepEqual([first?.['rowKey'], first?.['y'], first?.['z']], ['a', 2n, undefined]);
    assert.equal(first?.['etag'], (await sparse.getEntity('p', 'a')).etag);
  });

  test('does not hide from a filter what it leaves out', async () => {
    assert.deepEqual(rowsIn(await ask(sparse, { $select: 'RowKey', $filter: 'x eq 1' })), [{ RowKey: 'a' }]);
  });

  test('with nothing between two commas is refused', async () => {
    assertRefused(await ask(sparse, { $select: 'x,,y' }), '400 InvalidQueryParameterValue');
  });
});

const three = await freshTable(server);
await insertAll(three, [
  { partitionKey: 'p', rowKey: 'a' },
  { partitionKey: 'p', rowKey: 'b' },
  { partitionKey: 'p', rowKey: 'c' },
]);

describe('options', () => {
  for (const [top, want] of [
    ['1', 1],
    ['3', 3],
    ['1000', 3],
  ] as const) {
    test(`$top=${top} gives ${want}, and says whether there is more`, async () => {
      const answer = await ask(three, { $top: top });
      assert.equal(rowsIn(answer).length, want);
      assert.equal(answer.headers['x-ms-continuation-nextpartitionkey'] !== undefined, want < 3);
    });
  }

  for (const top of ['0', '-1', '1001', 'x', '1.5', '1e2']) {
    test(`$top=${top} gets 400 InvalidInput`, async () => {
      assertRefused(await ask(three, { $top: top }), '400 InvalidInput');
    });
  }

  for (const option of ['$orderby', '$skip', '$count', '$inlinecount', '$expand', '$search']) {
    test(`${option} is refused, and not passed over`, async () => {
      assertRefused(await ask(three, { [option]: 'RowKey' }), '501 NotImplemented');
    });
  }

  test('$top counts what the filter leaves', async () => {
    const first = await ask(three, { $top: '1', $filter: "RowKey ne 'a'" });
    assert.deepEqual(
      rowsIn(first).map(({ RowKey }) => RowKey),
      ['b'],
    );
    const last = await ask(three, { $top: '2', $filter: "RowKey ne 'a'" });
    assert.equal(last.headers['x-ms-continuation-nextpartitionkey'], undefined);
  });

  test('of a table that is not there get 404', async () => {
    assertRefused(await ask(tableClient(server, 'nowhere'), { $top: '1' }), '404 TableNotFound');
  });
});

const many = await freshTable(server);
const COUNT = 2_500;
const keyOf = (index: number): TableEntity => ({
  partitionKey: `p${Math.floor(index / 900)}`,
  rowKey: String(index).padStart(5, '0'),
});
await insertAll(
  many,
  Array.from({ length: COUNT }, (_, index) => ({ ...keyOf(index), n: index })),
);
const tokenOf = ({ headers }: TableResponse): Record<string, string> => {
  const partition = headers['x-ms-continuation-nextpartitionkey'];
  if (typeof partition !== 'string') return {};
  const row = headers['x-ms-continuation-nextrowkey'];
  return { NextPartitionKey: partition, ...(typeof row === 'string' ? { NextRowKey: row } : {}) };
};

describe('pages', () => {
  test('have as many as the official client asks for, and together everything once', async () => {
    const sizes: number[] = [];
    const numbers: unknown[] = [];
    for await (const page of ending(many.listEntities<{ n: number }>().byPage({ maxPageSize: 700 }))) {
      sizes.push(page.length);
      numbers.push(...page.map(({ n }) => n));
    }
    assert.deepEqual(sizes, [700, 700, 700, 400]);
    assert.deepEqual(
      numbers,
      Array.from({ length: COUNT }, (_, index) => index),
    );
  });

  test('have a thousand where nothing is asked for, and headers name the next one', async () => {
    const sizes: number[] = [];
    let token: Record<string, string> = {};
    do {
      const answer = await ask(many, token);
      sizes.push(rowsIn(answer).length);
      assert.ok(sizes.length < PAGES_MAX);
      token = tokenOf(answer);
      // Verbatim into the next URL: nothing in it that would have to be encoded.
      for (const part of Object.values(token)) assert.match(part, /^[A-Za-z0-9!_.~-]+$/);
    } while (Object.keys(token).length > 0);
    assert.deepEqual(sizes, [1_000, 1_000, 500]);
  });

  test('of a query with a filter and a selection keep to both', async () => {
    const filter = odata`n ge ${400} and n lt ${2_000}`;
    const numbers: unknown[] = [];
    const sizes: number[] = [];
    const options = { queryOptions: { filter, select: ['n'] } };
    for await (const page of ending(many.listEntities<{ n: number }>(options).byPage({ maxPageSize: 900 }))) {
      sizes.push(page.length);
      numbers.push(...page.map(({ n }) => n));
    }
    assert.deepEqual(sizes, [900, 700]);
    assert.deepEqual(
      numbers,
      Array.from({ length: 1_600 }, (_, index) => index + 400),
    );
  });

  test('go on from a token in another client', async () => {
    const first = await many.listEntities().byPage({ maxPageSize: 10 }).next();
    const { continuationToken } = first.value as { continuationToken: string };
    const other = tableClient(server, many.tableName.toUpperCase());
    const second = await other.listEntities<{ n: number }>().byPage({ maxPageSize: 1, continuationToken }).next();
    assert.deepEqual(
      (second.value as { n: number }[]).map(({ n }) => n),
      [10],
    );
  });

  test('show nothing twice while entities come in before and behind the place that was reached', async () => {
    const busy = await freshTable(server);
    await insertAll(
      busy,
      Array.from({ length: 50 }, (_, index) => ({ partitionKey: 'p', rowKey: `${index + 100}` })),
    );
    const seen: string[] = [];
    let turn = 0;
    for await (const page of ending(busy.listEntities().byPage({ maxPageSize: 10 }))) {
      seen.push(...page.map(({ rowKey }) => rowKey as string));
      const before = { partitionKey: 'p', rowKey: `${100 + turn}-before` };
      const behind = { partitionKey: 'p', rowKey: `${200 + turn}-behind` };
      if (turn < 5) await insertAll(busy, [before, behind]);
      turn++;
    }
    const original = Array.from({ length: 50 }, (_, index) => `${index + 100}`);
    const behind = Array.from({ length: 5 }, (_, index) => `${200 + index}-behind`);
    assert.deepEqual(seen, [...original, ...behind]);
  });

  test('go on where the entity that the token names is deleted', async () => {
    const shrinking = await freshTable(server);
    await insertAll(
      shrinking,
      Array.from({ length: 6 }, (_, index) => ({ partitionKey: 'p', rowKey: `${index}` })),
    );
    const first = await ask(shrinking, { $top: '2' });
    await shrinking.deleteEntity('p', '2');
    await shrinking.deleteEntity('p', '1');
    const second = await ask(shrinking, { $top: '2', ...tokenOf(first) });
    assert.deepEqual(
      rowsIn(second).map(({ RowKey }) => RowKey),
      ['3', '4'],
    );
    await together(6, (index) => shrinking.deleteEntity('p', `${index}`));
    const third = await ask(shrinking, tokenOf(second));
    assert.deepEqual([rowsIn(third), tokenOf(third)], [[], {}]);
  });

  test('end with the table', async () => {
    const doomed = await freshTable(server);
    await insertAll(doomed, [keyOf(0), keyOf(1)]);
    const pages = doomed.listEntities().byPage({ maxPageSize: 1 });
    await pages.next();
    await doomed.deleteTable();
    assert.equal(await tableRefusal(pages.next()), '404 TableNotFound');
  });

  test('end early where entities are large, and together have all of them', async () => {
    const large = await freshTable(server);
    const part = 'x'.repeat(30_000);
    const texts = Object.fromEntries(
      Array.from({ length: 16 }, (_, index) => [`t${index}`, `${part}${'ü'.repeat(2_000)}`]),
    );
    await insertAll(
      large,
      Array.from({ length: 12 }, (_, index) => ({ partitionKey: 'p', rowKey: String(index + 10), ...texts })),
    );
    const seen: unknown[] = [];
    const sizes: number[] = [];
    for await (const page of ending(large.listEntities().byPage())) {
      sizes.push(page.length);
      seen.push(...page.map(({ rowKey }) => rowKey));
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 12 }, (_, index) => String(index + 10)),
    );
    assert.ok(sizes.length > 1 && (sizes[0] as number) > 1, String(sizes));
  });

  for (const [what, token] of [
    ['no token', 'x'],
    ['a wrong length', '1!5!cDA-'],
    ['another version', '2!4!cDA-'],
    ['characters that are in none', '1!4!cDA!'],
  ] as const) {
    test(`from ${what} get 400`, async () => {
      for (const name of ['NextPartitionKey', 'NextRowKey']) {
        const options = { NextPartitionKey: '1!4!cDA-', [name]: token };
        assertRefused(await ask(many, options), '400 InvalidQueryParameterValue', `${name}=${token}`);
      }
    });
  }
});
