/**
 * One entity at a time: what is written comes back with its types, changes keep to their conditions, and what no table can
 * hold is refused by the documented code. With the official client, and raw where it hides the wire.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { TableEntity } from '@azure/data-tables';
import type { RawRequest } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { freshTable, tableClient, tableRefusal } from '../harness/table-clients.ts';
import { assertRefused, entityPath, sendTable, type TableResponse } from '../harness/table-http.ts';

const server = await startInProcess();
const table = await freshTable(server);
const { tableName } = table;
const collection = `/${tableName}`;

type Headers = NonNullable<RawRequest['headers']>;
const raw = (request: RawRequest): Promise<TableResponse> => sendTable(server.tableUrl, request);
const pathOf = (partitionKey: string, rowKey = 'r'): string => entityPath(tableName, partitionKey, rowKey);
const insert = (body: object | string, headers: Headers = {}): Promise<TableResponse> =>
  raw({ method: 'POST', path: collection, headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
const read = (partitionKey: string, headers: Headers = {}): Promise<TableResponse> =>
  raw({ method: 'GET', path: pathOf(partitionKey), headers });
/** The properties of an entity with the row key `r`, without what the service says about them. */
const stored = async (partitionKey: string): Promise<Record<string, unknown>> => {
  const answer = await read(partitionKey, { accept: 'application/json;odata=nometadata' });
  assert.equal(answer.status, 200, answer.body.toString());
  const { PartitionKey, RowKey, Timestamp, ...own } = answer.json as Record<string, unknown>;
  assert.deepEqual([PartitionKey, RowKey, typeof Timestamp], [partitionKey, 'r', 'string']);
  return own;
};
const freshEntity = async (properties: object = {}): Promise<{ key: string; etag: string }> => {
  const key = randomUUID();
  const { etag } = await table.createEntity({ partitionKey: key, rowKey: 'r', ...properties });
  return { key, etag: etag as string };
};

const GUID = 'c9da6455-213d-42c9-9a79-3e9149a57833';
const format = (level: string): Headers => ({ accept: `application/json;odata=${level}` });

describe('properties', () => {
  test('of every type come back to the official client as they were sent', async () => {
    const sent = {
      partitionKey: randomUUID(),
      rowKey: 'types',
      text: 'some text',
      empty: '',
      wide: 'größer 🪨 \u0001\u007f\uffff "quoted" \\ /',
      looksLikeATime: '2024-05-01T12:34:56Z',
      yes: true,
      no: false,
      small: -5,
      int32Max: 2 ** 31 - 1,
      int64Max: 2n ** 63n - 1n,
      int64Min: -(2n ** 63n),
      fraction: 1.5,
      tiny: 5e-324,
      huge: 1.7976931348623157e308,
      when: new Date('2024-05-01T12:34:56.789Z'),
      guid: { type: 'Guid', value: GUID },
      binary: Uint8Array.from({ length: 256 }, (_, index) => index),
      noBytes: new Uint8Array(),
    } as const;
    await table.createEntity(sent);
    const { etag, timestamp, ...got } = await table.getEntity<typeof sent>(sent.partitionKey, sent.rowKey);
    delete (got as Record<string, unknown>)['odata.metadata'];
    assert.deepEqual(
      { ...got, binary: [...got.binary], noBytes: [...got.noBytes] },
      { ...sent, binary: [...sent.binary], noBytes: [] },
    );
    assert.match(etag, /^W\/"datetime'.*'"$/);
    assert.equal(typeof timestamp, 'string');
  });

  for (const [what, property, want] of [
    ['a whole number with an annotation', '"p":3,"p@odata.type":"Edm.Double"', '"p":3.0'],
    ['a whole number with a point', '"p":1.0', '"p":1.0'],
    ['a whole number with an exponent', '"p":1e3', '"p":1000.0'],
    ['a number as text', '"p@odata.type":"Edm.Double","p":"2.5"', '"p":2.5'],
    ['a fraction', '"p":-0.125', '"p":-0.125'],
    ['NaN', '"p@odata.type":"Edm.Double","p":"NaN"', '"p@odata.type":"Edm.Double","p":"NaN"'],
    ['Infinity', '"p@odata.type":"Edm.Double","p":"Infinity"', '"p@odata.type":"Edm.Double","p":"Infinity"'],
    ['-Infinity', '"p@odata.type":"Edm.Double","p":"-Infinity"', '"p@odata.type":"Edm.Double","p":"-Infinity"'],
  ] as const) {
    test(`a Double sent as ${what} is written so that its reader sees a Double`, async () => {
      const key = randomUUID();
      assert.equal((await insert(`{"PartitionKey":"${key}","RowKey":"r",${property}}`)).status, 201);
      const text = (await read(key)).body.toString();
      assert.ok(text.includes(want), text);
      assert.equal(text.includes('"p@odata.type"'), want.includes('@'), text);
    });
  }

  for (const [what, property, want] of [
    ['an Int32', '"p":12', '"p":12'],
    ['an Int32 with an annotation', '"p":12,"p@odata.type":"Edm.Int32"', '"p":12'],
    ['an Int64', '"p":"12","p@odata.type":"Edm.Int64"', '"p":"12"'],
    ['a time of seven digits', '"p":"2024-05-01T12:34:56.1234567Z","p@odata.type":"Edm.DateTime"', '56.1234567Z"'],
    ['a time without a fraction', '"p":"2024-05-01T12:34:56Z","p@odata.type":"Edm.DateTime"', ':34:56Z"'],
    ['the first time', '"p":"1601-01-01T00:00:00Z","p@odata.type":"Edm.DateTime"', '"1601-01-01T00:00:00Z"'],
    ['the last time', '"p":"9999-12-31T23:59:59.9999999Z","p@odata.type":"Edm.DateTime"', '59.9999999Z"'],
    ['a text with an annotation', '"p":"x","p@odata.type":"Edm.String"', '"p":"x"'],
    ['a GUID in capitals', `"p":"${GUID.toUpperCase()}","p@odata.type":"Edm.Guid"`, `"p":"${GUID}"`],
  ] as const) {
    test(`${what} comes back as ${want}`, async () => {
      const key = randomUUID();
      assert.equal((await insert(`{"PartitionKey":"${key}","RowKey":"r",${property}}`)).status, 201);
      const text = (await read(key)).body.toString();
      assert.ok(text.includes(want), text);
    });
  }

  test('that are null are absent after an insert and a replace, and kept by a merge', async () => {
    const { key } = await freshEntity({ a: 1, b: null, c: 'c' });
    assert.deepEqual(await stored(key), { a: 1, c: 'c' });
    await table.updateEntity({ partitionKey: key, rowKey: 'r', a: null, c: 'd' }, 'Merge');
    assert.deepEqual(await stored(key), { a: 1, c: 'd' });
    await table.updateEntity({ partitionKey: key, rowKey: 'r', a: null, c: 'e' }, 'Replace');
    assert.deepEqual(await stored(key), { c: 'e' });
  });

  test('have names with regard to case, and with letters of any script', async () => {
    const { key } = await freshEntity({ a: 1, A: 2, größe: 3, _x: 4, 数: 5 });
    assert.deepEqual(await stored(key), { a: 1, A: 2, größe: 3, _x: 4, 数: 5 });
  });
});

describe('keys', () => {
  for (const key of [
    '',
    ' ',
    'a b',
    "it's",
    "''",
    "'),x('",
    '%',
    '%41',
    '+',
    'a+b',
    '&=;,:@!$*()[]{}<>|^`~"',
    'größe',
    '数据',
    '🪨',
    '.',
    '..',
    "PartitionKey='x',RowKey='y'",
  ]) {
    test(`of "${key}" name one entity in every operation`, async () => {
      const keys = { partitionKey: key, rowKey: key };
      await table.createEntity({ ...keys, n: 1 });
      assert.equal(await tableRefusal(table.createEntity(keys)), '409 EntityAlreadyExists');
      const read = await table.getEntity<{ n: number }>(key, key);
      assert.deepEqual([read.partitionKey, read.rowKey, read.n], [key, key, 1]);
      await table.updateEntity({ ...keys, n: 2 }, 'Replace', { etag: read.etag });
      await table.upsertEntity({ ...keys, m: 3 }, 'Merge');
      const { n, m } = await table.getEntity<{ n: number; m: number }>(key, key);
      assert.deepEqual([n, m], [2, 3]);
      await table.deleteEntity(key, key);
      assert.equal(await tableRefusal(table.getEntity(key, key)), '404 ResourceNotFound');
    });
  }

  test('are found with spaces in the path, and in the other order', async () => {
    const { key } = await freshEntity();
    for (const argument of [`PartitionKey='${key}',%20RowKey='r'`, `RowKey='r',PartitionKey='${key}'`]) {
      assert.equal((await raw({ method: 'GET', path: `${collection}(${argument})` })).status, 200, argument);
    }
  });

  test('in a body are those of the path, or left out', async () => {
    const { key } = await freshEntity();
    for (const method of ['PUT', 'MERGE']) {
      for (const body of ['{}', '{"PartitionKey":null}', `{"PartitionKey":"${key}","RowKey":"r"}`]) {
        assert.equal((await raw({ method, path: pathOf(key), body })).status, 204, `${method} ${body}`);
      }
      for (const body of ['{"PartitionKey":"other"}', '{"RowKey":"R"}', `{"PartitionKey":"${key}","RowKey":""}`]) {
        assertRefused(await raw({ method, path: pathOf(key), body }), '400 InvalidInput', `${method} ${body}`);
      }
    }
  });
});

describe('Insert Entity', () => {
  test('answers with the entity where nothing or return-content is preferred', async () => {
    for (const headers of [{}, { prefer: 'return-content' }]) {
      const key = randomUUID();
      const answer = await insert({ PartitionKey: key, RowKey: 'r', n: 1 }, headers);
      assert.equal(answer.status, 201);
      const entity = answer.json as Record<string, unknown>;
      assert.deepEqual([entity['PartitionKey'], entity['RowKey'], entity['n']], [key, 'r', 1]);
      assert.equal(entity['odata.etag'], answer.headers.etag);
      assert.equal(answer.headers['preference-applied'], 'prefer' in headers ? 'return-content' : undefined);
      assert.equal(answer.headers.location, `${server.tableEndpoint()}${pathOf(key)}`);
      assert.equal((await read(key)).headers.etag, answer.headers.etag);
    }
  });

  test('answers without a body where return-no-content is preferred', async () => {
    const key = "it's #1".replace('#', '+');
    const answer = await insert({ PartitionKey: key, RowKey: 'r' }, { prefer: 'return-no-content' });
    assert.equal(answer.status, 204);
    assert.equal(answer.body.length, 0);
    assert.equal(answer.headers['preference-applied'], 'return-no-content');
    const where = `${server.tableEndpoint()}${pathOf(key)}`;
    assert.deepEqual([answer.headers.location, answer.headers['dataserviceid']], [where, where]);
    assert.equal((await read(key)).headers.etag, answer.headers.etag);
  });

  test('passes over preferences that it does not know', async () => {
    const body = { RowKey: 'r' };
    const odd = await insert({ ...body, PartitionKey: randomUUID() }, { prefer: 'cake' });
    assert.deepEqual([odd.status, odd.headers['preference-applied']], [201, undefined]);
    const both = await insert({ ...body, PartitionKey: randomUUID() }, { prefer: 'cake, return-no-content' });
    assert.deepEqual([both.status, both.headers['preference-applied']], [204, 'return-no-content']);
  });

  test('is also a POST to the table with brackets', async () => {
    const body = JSON.stringify({ PartitionKey: randomUUID(), RowKey: 'r' });
    assert.equal((await raw({ method: 'POST', path: `${collection}()`, body })).status, 201);
  });

  test('leaves an entity that is there as it is', async () => {
    const { key, etag } = await freshEntity({ n: 1 });
    assertRefused(await insert({ PartitionKey: key, RowKey: 'r', n: 2 }), '409 EntityAlreadyExists');
    assert.deepEqual(await stored(key), { n: 1 });
    assert.equal((await read(key)).headers.etag, etag);
  });
});

describe('Timestamp', () => {
  test('is the server’s, whatever the client says, and the ETag says the same time', async () => {
    const key = randomUUID();
    const body = { PartitionKey: key, RowKey: 'r', Timestamp: '2001-01-01T00:00:00Z' };
    assert.equal((await insert({ ...body, 'Timestamp@odata.type': 'Edm.DateTime' })).status, 201);
    const { json, headers } = await read(key);
    const { Timestamp } = json as { Timestamp: string };
    assert.match(Timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
    assert.ok(Math.abs(Date.parse(Timestamp) - server.clock.nowMs()) < 60_000, Timestamp);
    assert.equal(headers.etag, `W/"datetime'${Timestamp.replaceAll(':', '%3A')}'"`);
  });

  test('grows with every write, also while the clock stands', async () => {
    const { key } = await freshEntity();
    const times: string[] = [];
    for (const mode of ['Merge', 'Replace', 'Merge', 'Replace'] as const) {
      await table.upsertEntity({ partitionKey: key, rowKey: 'r', Timestamp: '2099-01-01' }, mode);
      times.push(((await read(key)).json as { Timestamp: string }).Timestamp);
    }
    assert.deepEqual(times, [...new Set(times)].sort());
  });
});

describe('an answer', () => {
  const guid = { id: GUID, 'id@odata.type': 'Edm.Guid' };
  const own = { text: 'x', n: 1, 'big@odata.type': 'Edm.Int64', big: '5', ...guid };
  const root = `${server.tableEndpoint()}/$metadata#${tableName}`;

  /** What each level adds to the entity. */
  const described = (level: string, key: string, etag: string, timestamp: string): object => {
    const system = { PartitionKey: key, RowKey: 'r', Timestamp: timestamp };
    if (level === 'nometadata') return { ...system, text: 'x', n: 1, big: '5', id: GUID };
    if (level === 'minimalmetadata') return { 'odata.etag': etag, ...system, ...own };
    return {
      'odata.type': `devstoreaccount1.${tableName}`,
      'odata.id': `${server.tableEndpoint()}${pathOf(key)}`,
      'odata.etag': etag,
      'odata.editLink': pathOf(key).slice(1),
      'Timestamp@odata.type': 'Edm.DateTime',
      ...system,
      ...own,
    };
  };

  for (const level of ['nometadata', 'minimalmetadata', 'fullmetadata']) {
    test(`with ${level} says exactly what belongs there`, async () => {
      const key = randomUUID();
      const inserted = await insert({ PartitionKey: key, RowKey: 'r', ...own }, format(level));
      const got = await read(key, format(level));
      const etag = got.headers.etag as string;
      const { Timestamp } = got.json as { Timestamp: string };
      const entity = described(level, key, etag, Timestamp);
      const metadata = level === 'nometadata' ? {} : { 'odata.metadata': `${root}/@Element` };
      assert.deepEqual(got.json, { ...metadata, ...entity });
      assert.deepEqual(inserted.json, { ...metadata, ...entity });
      const filter = encodeURIComponent(`PartitionKey eq '${key}'`);
      const listed = await raw({ method: 'GET', path: `${collection}()?$filter=${filter}`, headers: format(level) });
      const feed = level === 'nometadata' ? {} : { 'odata.metadata': root };
      assert.deepEqual(listed.json, { ...feed, value: [entity] });
      for (const { headers } of [inserted, got, listed]) {
        assert.equal(headers['content-type'], `application/json;odata=${level};streaming=true;charset=utf-8`);
        assert.equal(headers['cache-control'], 'no-cache');
        assert.equal(headers['x-content-type-options'], 'nosniff');
      }
    });
  }

  test('has minimal metadata where nothing else is asked for, and $format goes before Accept', async () => {
    const { key } = await freshEntity();
    const asked = async (query: string, headers: Headers): Promise<string> =>
      (await raw({ method: 'GET', path: `${pathOf(key)}${query}`, headers })).headers['content-type'] as string;
    for (const accept of [undefined, 'application/json', '*/*', 'application/json;charset=utf-8']) {
      assert.match(await asked('', accept === undefined ? {} : { accept }), /odata=minimalmetadata/, accept);
    }
    const option = '?$format=application/json;odata=nometadata';
    assert.match(await asked(option, format('fullmetadata')), /odata=nometadata/);
    assert.match(await asked('', { accept: 'application/xml, application/json;odata=fullmetadata' }), /fullmetadata/);
  });

  test('in Atom or another form is refused', async () => {
    const { key } = await freshEntity();
    assertRefused(await read(key, { accept: 'application/atom+xml' }), '415 AtomFormatNotSupported');
    assertRefused(await read(key, { accept: 'text/csv' }), '415 MediaTypeNotSupported');
    const body = { PartitionKey: randomUUID(), RowKey: 'r' };
    assertRefused(await insert(body, { 'content-type': 'application/atom+xml' }), '415 AtomFormatNotSupported');
    assertRefused(await insert(body, { 'content-type': 'text/plain' }), '415 MediaTypeNotSupported');
    assertRefused(await insert(body, { accept: 'application/atom+xml' }), '415 AtomFormatNotSupported');
    assertRefused(await read(body.PartitionKey), '404 ResourceNotFound');
  });

  test('with $select has only what is selected, and null for what is not there', async () => {
    const { key } = await freshEntity({ a: 1, b: 2, c: 3 });
    const select = async (names: string, level: string): Promise<unknown> =>
      (await raw({ method: 'GET', path: `${pathOf(key)}?$select=${names}`, headers: format(level) })).json;
    assert.deepEqual(await select('b,missing,RowKey', 'nometadata'), { b: 2, missing: null, RowKey: 'r' });
    const { a, b, partitionKey, etag } = await table.getEntity<{ a: number; b: number }>(key, 'r', {
      queryOptions: { select: ['a', 'etag'] },
    });
    assert.deepEqual([a, b, partitionKey], [1, undefined, undefined]);
    assert.equal(etag, (await read(key)).headers.etag);
  });
});

describe('a change', () => {
  for (const [name, send] of [
    ['MERGE', (path: string, body: string) => raw({ method: 'MERGE', path, body })],
    ['PATCH', (path: string, body: string) => raw({ method: 'PATCH', path, body })],
    [
      'POST with X-HTTP-Method: MERGE',
      (path: string, body: string) => raw({ method: 'POST', path, body, headers: { 'x-http-method': 'MERGE' } }),
    ],
  ] as const) {
    test(`by ${name} keeps what it does not name, and may change types`, async () => {
      const { key, etag } = await freshEntity({ a: 1, b: 'kept', c: 'text' });
      const answer = await send(pathOf(key), '{"a":true,"c":"7","c@odata.type":"Edm.Int64","d":"new"}');
      assert.equal(answer.status, 204, answer.body.toString());
      assert.equal(answer.body.length, 0);
      assert.notEqual(answer.headers.etag, etag);
      const { headers, json } = await read(key);
      assert.equal(headers.etag, answer.headers.etag);
      assert.equal((json as Record<string, unknown>)['c@odata.type'], 'Edm.Int64');
      assert.deepEqual(await stored(key), { a: true, b: 'kept', c: '7', d: 'new' });
    });
  }

  test('by PUT, or POST with X-HTTP-Method: PUT, drops what it does not name', async () => {
    const { key } = await freshEntity({ a: 1, b: 2 });
    const put = await raw({ method: 'PUT', path: pathOf(key), body: '{"b":3}' });
    assert.equal(put.status, 204);
    assert.equal((await read(key)).headers.etag, put.headers.etag);
    assert.deepEqual(await stored(key), { b: 3 });
    await raw({ method: 'POST', path: pathOf(key), body: '{"c":4}', headers: { 'x-http-method': 'PUT' } });
    assert.deepEqual(await stored(key), { c: 4 });
  });

  test('by X-HTTP-Method is refused where that makes no sense', async () => {
    const { key } = await freshEntity();
    const tunnel = (method: string, value: string | string[]): Promise<TableResponse> =>
      raw({ method, path: pathOf(key), body: '{}', headers: { 'x-http-method': value } });
    assertRefused(await tunnel('PUT', 'MERGE'), '400 XMethodNotUsingPost');
    assertRefused(await tunnel('POST', 'BREW'), '400 XMethodIncorrectValue');
    assertRefused(await tunnel('POST', ['MERGE', 'MERGE']), '400 XMethodIncorrectCount');
    assertRefused(await raw({ method: 'POST', path: pathOf(key), body: '{}' }), '405 MethodNotAllowed');
  });

  test('by upsert inserts what is not there, in both modes', async () => {
    for (const mode of ['Merge', 'Replace'] as const) {
      const key = randomUUID();
      await table.upsertEntity({ partitionKey: key, rowKey: 'r', a: 1, b: 2 }, mode);
      assert.deepEqual(await stored(key), { a: 1, b: 2 });
      await table.upsertEntity({ partitionKey: key, rowKey: 'r', b: 3 }, mode);
      assert.deepEqual(await stored(key), mode === 'Merge' ? { a: 1, b: 3 } : { b: 3 });
    }
  });

  test('by a client that holds the last ETag goes through, and by one with an earlier one does not', async () => {
    const { key, etag } = await freshEntity({ n: 1 });
    const entity: TableEntity = { partitionKey: key, rowKey: 'r', n: 2 };
    const second = await table.updateEntity(entity, 'Replace', { etag });
    assert.equal(await tableRefusal(table.updateEntity(entity, 'Merge', { etag })), '412 UpdateConditionNotSatisfied');
    assert.equal(await tableRefusal(table.deleteEntity(key, 'r', { etag })), '412 UpdateConditionNotSatisfied');
    await table.deleteEntity(key, 'r', { etag: second.etag as string });
    assert.equal(await tableRefusal(table.deleteEntity(key, 'r')), '404 ResourceNotFound');
    assert.equal(await tableRefusal(table.updateEntity(entity, 'Merge')), '404 ResourceNotFound');
  });

  test('in a table that is not there gets 404 TableNotFound, whatever it is', async () => {
    const missing = tableClient(server, 'nowhere');
    const entity = { partitionKey: 'p', rowKey: 'r' };
    for (const request of [
      () => missing.createEntity(entity),
      () => missing.getEntity('p', 'r'),
      () => missing.updateEntity(entity, 'Replace'),
      () => missing.updateEntity(entity, 'Merge', { etag: 'W/"x"' }),
      () => missing.upsertEntity(entity, 'Replace'),
      () => missing.upsertEntity(entity, 'Merge'),
      () => missing.deleteEntity('p', 'r'),
      () => missing.listEntities().next(),
    ]) {
      assert.equal(await tableRefusal(request()), '404 TableNotFound');
    }
  });
});

describe('If-Match', () => {
  const STALE = 'W/"datetime\'2001-01-01T00%3A00%3A00.0000000Z\'"';
  const NOT_SATISFIED = '412 UpdateConditionNotSatisfied';
  const WRITES = ['PUT', 'MERGE', 'PATCH'] as const;

  /** Behind the header: what an entity that is there, and one that is not, get. */
  const MATRIX: [what: string, headers: (etag: string) => Record<string, string>, there: string, missing: string][] = [
    ['*', () => ({ 'if-match': '*' }), '204', '404 ResourceNotFound'],
    ['the current ETag', (etag) => ({ 'if-match': etag }), '204', '404 ResourceNotFound'],
    ['%3a in it', (etag) => ({ 'if-match': etag.replaceAll('%3A', '%3a') }), '204', '404 ResourceNotFound'],
    ['an earlier ETag', () => ({ 'if-match': STALE }), NOT_SATISFIED, '404 ResourceNotFound'],
    ['another weak tag', () => ({ 'if-match': 'W/"0x8D101F7E4B662C4"' }), NOT_SATISFIED, '404 ResourceNotFound'],
    ['a strong tag', () => ({ 'if-match': '"0x8D101F7E4B662C4"' }), '400 InvalidInput', '400 InvalidInput'],
    ['no tag', () => ({ 'if-match': 'x' }), '400 InvalidInput', '400 InvalidInput'],
    ['two tags', (etag) => ({ 'if-match': `${etag}, ${STALE}` }), '400 InvalidInput', '400 InvalidInput'],
    ['If-None-Match instead', () => ({ 'if-none-match': '*' }), '400 InvalidInput', '400 InvalidInput'],
    [
      'If-None-Match beside it',
      (etag) => ({ 'if-match': etag, 'if-none-match': STALE }),
      '400 InvalidInput',
      '400 InvalidInput',
    ],
  ];

  for (const method of [...WRITES, 'DELETE']) {
    const unconditional: (typeof MATRIX)[number] =
      method === 'DELETE'
        ? ['nothing', () => ({}), '400 MissingRequiredHeader', '400 MissingRequiredHeader']
        : ['nothing', () => ({}), '204', '204'];
    for (const [what, headers, there, missing] of [unconditional, ...MATRIX]) {
      test(`of ${what}: ${method} gets ${there}, and ${missing} where there is no entity`, async () => {
        const { key, etag } = await freshEntity({ n: 1 });
        const body = method === 'DELETE' ? {} : { body: '{"n":2}' };
        const answer = await raw({ method, path: pathOf(key), headers: headers(etag), ...body });
        assert.equal(answer.outcome, there);
        if (there !== '204') {
          assertRefused(answer, there);
          assert.deepEqual(await stored(key), { n: 1 });
        } else if (method === 'DELETE') {
          assert.equal((await read(key)).outcome, '404 ResourceNotFound');
        } else {
          assert.deepEqual(await stored(key), { n: 2 });
        }
        const absent = randomUUID();
        const second = await raw({ method, path: pathOf(absent), headers: headers(etag), ...body });
        assert.equal(second.outcome, missing);
        assert.equal((await read(absent)).status, missing === '204' ? 200 : 404);
      });
    }
  }

  test('in a refusal is quoted, so that its sender sees what came', async () => {
    const { key } = await freshEntity();
    const answer = await raw({ method: 'DELETE', path: pathOf(key), headers: { 'if-match': 'bogus' } });
    assert.match(answer.error?.message.value ?? '', /^The etag value 'bogus' specified in one of the request headers/);
  });
});

const KIB = 1024;

const properties = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, index]));
const binary = (lengthBytes: number): object => ({
  p: Buffer.alloc(lengthBytes, 1).toString('base64'),
  'p@odata.type': 'Edm.Binary',
});

/**
 * An entity of `lengthBytes` as the documentation counts it: 4 bytes, two for each character of the keys, and for each
 * property 8 bytes, two for each character of its name, and for a text 4 and two for each of its characters.
 */
const entityOf = (key: string, lengthBytes: number): object => {
  const texts: Record<string, string> = {};
  let left = lengthBytes - 4 - 2 * (key.length + 1);
  for (let index = 10; left > 0; index++) {
    const head = 8 + 2 * 3 + 4;
    const characters = Math.min(32 * KIB, (left - head) / 2);
    texts[`p${index}`] = 'x'.repeat(characters);
    left -= head + 2 * characters;
  }
  assert.equal(left, 0);
  return texts;
};

describe('limits', () => {
  for (const [what, fits, tooMuch, code] of [
    ['252 properties', properties(252), properties(253), 'TooManyProperties'],
    ['a text of 64 KiB', { p: 'ü'.repeat(32 * KIB) }, { p: 'ü'.repeat(32 * KIB + 1) }, 'PropertyValueTooLarge'],
    ['a binary of 64 KiB', binary(64 * KIB), binary(64 * KIB + 1), 'PropertyValueTooLarge'],
    ['a name of 255 characters', { ['p'.repeat(255)]: 1 }, { ['p'.repeat(256)]: 1 }, 'PropertyNameTooLong'],
  ] as const) {
    test(`an entity holds ${what} and no more`, async () => {
      const key = randomUUID();
      assertRefused(await insert({ PartitionKey: key, RowKey: 'r', ...tooMuch }), `400 ${code}`);
      assertRefused(await raw({ method: 'PUT', path: pathOf(key), body: JSON.stringify(tooMuch) }), `400 ${code}`);
      assertRefused(await read(key), '404 ResourceNotFound');
      const answer = await insert({ PartitionKey: key, RowKey: 'r', ...fits });
      assert.equal(answer.status, 201, answer.body.toString());
      const { 'p@odata.type': _type, ...own } = fits as Record<string, unknown>;
      assert.deepEqual(await stored(key), own);
    });
  }

  test('an entity holds 1 MiB and no more', async () => {
    const key = randomUUID();
    const [fits, tooMuch] = [entityOf(key, 1024 * KIB), entityOf(key, 1024 * KIB + 2)];
    assertRefused(await insert({ PartitionKey: key, RowKey: 'r', ...tooMuch }), '400 EntityTooLarge');
    assert.equal((await insert({ PartitionKey: key, RowKey: 'r', ...fits })).status, 201);
    assert.deepEqual(await stored(key), fits);
  });

  test('what a merge would make is held to the same limits', async () => {
    const { key } = await freshEntity(properties(252));
    const merge = (body: object): Promise<TableResponse> =>
      raw({ method: 'MERGE', path: pathOf(key), body: JSON.stringify(body) });
    assertRefused(await merge({ another: 1 }), '400 TooManyProperties');
    assert.equal((await merge({ p0: 'x'.repeat(KIB) })).status, 204);
    for (let index = 0; index < 15; index++) {
      assert.equal((await merge({ [`p${index}`]: 'x'.repeat(32 * KIB) })).status, 204);
    }
    assertRefused(await merge({ p20: 'x'.repeat(32 * KIB) }), '400 EntityTooLarge');
    assert.equal((await stored(key))['p20'], 20);
  });

  test('a key has 512 characters and no more', async () => {
    const [longest, tooLong] = ['ü'.repeat(512), 'ü'.repeat(513)];
    await table.createEntity({ partitionKey: longest, rowKey: longest });
    assert.equal((await table.getEntity(longest, longest)).rowKey, longest);
    assertRefused(await insert({ PartitionKey: tooLong, RowKey: 'r' }), '400 KeyValueTooLarge');
    assertRefused(await insert({ PartitionKey: 'p', RowKey: tooLong }), '400 KeyValueTooLarge');
    assertRefused(await raw({ method: 'PUT', path: pathOf(tooLong), body: '{}' }), '400 KeyValueTooLarge');
  });

  for (const character of ['/', '\\', '#', '?', '\0', '\t', '\n', '\r', '\u001f', '\u007f', '\u009f']) {
    test(`a key with ${JSON.stringify(character)} gets 400 OutOfRangeInput`, async () => {
      const key = `a${character}b`;
      assertRefused(await insert({ PartitionKey: key, RowKey: 'r' }), '400 OutOfRangeInput');
      assertRefused(await insert({ PartitionKey: 'p', RowKey: key }), '400 OutOfRangeInput');
      assert.equal((await raw({ method: 'PUT', path: pathOf(key), body: '{}' })).status, 400);
      assert.equal((await raw({ method: 'GET', path: pathOf(key) })).status, 400);
    });
  }

  test('a body has 4 MiB and no more', async () => {
    const padding = ' '.repeat(4 * KIB * KIB);
    assertRefused(await insert(`{"PartitionKey":"p","RowKey":"r"}${padding}`), '413 RequestBodyTooLarge');
  });
});

describe('a body', () => {
  const keys = '"PartitionKey":"never","RowKey":"r"';
  for (const [what, body, want] of [
    ['that is empty', '', 'InvalidInput'],
    ['that is no JSON', '{', 'InvalidInput'],
    ['that is a list', '[]', 'InvalidInput'],
    ['that is a text', '"x"', 'InvalidInput'],
    ['that is null', 'null', 'InvalidInput'],
    ['with something behind it', `{${keys}}{}`, 'InvalidInput'],
    ['with a comma too many', `{${keys},}`, 'InvalidInput'],
    ['without a PartitionKey', '{"RowKey":"r"}', 'PropertiesNeedValue'],
    ['without a RowKey', '{"PartitionKey":"never"}', 'PropertiesNeedValue'],
    ['with null for a RowKey', '{"PartitionKey":"never","RowKey":null}', 'PropertiesNeedValue'],
    ['with a number for a RowKey', '{"PartitionKey":"never","RowKey":1}', 'InvalidInput'],
    ['with an object inside', `{${keys},"p":{}}`, 'InvalidInput'],
    ['with a list inside', `{${keys},"p":[1]}`, 'InvalidInput'],
    ['with a property twice', `{${keys},"p":1,"p":2}`, 'DuplicatePropertiesSpecified'],
    ['with a RowKey twice', `{${keys},"RowKey":"r"}`, 'DuplicatePropertiesSpecified'],
    ['with a type that there is not', `{${keys},"p":"x","p@odata.type":"Edm.Single"}`, 'InvalidInput'],
    ['with an Int64 that is none', `{${keys},"p":"x","p@odata.type":"Edm.Int64"}`, 'InvalidInput'],
    [
      'with an Int64 that is too large',
      `{${keys},"p":"9223372036854775808","p@odata.type":"Edm.Int64"}`,
      'InvalidInput',
    ],
    ['with an Int32 that is too large', `{${keys},"p":2147483648,"p@odata.type":"Edm.Int32"}`, 'InvalidInput'],
    ['with an Int32 that has a fraction', `{${keys},"p":1.5,"p@odata.type":"Edm.Int32"}`, 'InvalidInput'],
    ['with a GUID that is none', `{${keys},"p":"x","p@odata.type":"Edm.Guid"}`, 'InvalidInput'],
    ['with a time that is none', `{${keys},"p":"yesterday","p@odata.type":"Edm.DateTime"}`, 'InvalidInput'],
    ['with a binary that is none', `{${keys},"p":"!!","p@odata.type":"Edm.Binary"}`, 'InvalidInput'],
    ['with a Boolean that is none', `{${keys},"p":"maybe","p@odata.type":"Edm.Boolean"}`, 'InvalidInput'],
    ['with a Double that is none', `{${keys},"p":"one","p@odata.type":"Edm.Double"}`, 'InvalidInput'],
    ['with a number beyond every Double', `{${keys},"p":1e999}`, 'InvalidInput'],
    ['with a hyphen in a name', `{${keys},"a-b":1}`, 'PropertyNameInvalid'],
    ['with a digit before a name', `{${keys},"1a":1}`, 'PropertyNameInvalid'],
    ['with a space in a name', `{${keys},"a b":1}`, 'PropertyNameInvalid'],
    ['with an empty name', `{${keys},"":1}`, 'PropertyNameInvalid'],
  ] as const) {
    test(`${what} gets 400 ${want}, and leaves nothing`, async () => {
      assertRefused(await insert(body), `400 ${want}`);
      assertRefused(await read('never'), '404 ResourceNotFound');
    });
  }

  test('with a time before 1601 gets 400', async () => {
    const time = '"p":"1600-12-31T23:59:59Z","p@odata.type":"Edm.DateTime"';
    assert.match((await insert(`{${keys},${time}}`)).outcome, /^400 (OutOfRangeInput|InvalidInput)$/);
  });

  test('that is no UTF-8 gets 400', async () => {
    const body = Buffer.from(`{${keys},"p":"\xff\xfe"}`, 'latin1');
    assertRefused(await raw({ method: 'POST', path: collection, body }), '400 InvalidInput');
  });
});
