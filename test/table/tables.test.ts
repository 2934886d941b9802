/** Tables as such: created, listed, deleted, their names and access policies. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { odata, type SignedIdentifier } from '@azure/data-tables';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import type { RawRequest } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { together } from '../harness/parallel.ts';
import { freshTable, tableClient, tableRefusal, tableService } from '../harness/table-clients.ts';
import { assertRefused, sendTable, type TableResponse } from '../harness/table-http.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const service = tableService(server);

const raw = (request: RawRequest): Promise<TableResponse> => sendTable(server.tableUrl, request);
const create = (name: unknown, headers: Record<string, string> = {}): Promise<TableResponse> =>
  raw({ method: 'POST', path: '/Tables', headers, body: JSON.stringify({ TableName: name }) });
const remove = (name: string): Promise<TableResponse> => raw({ method: 'DELETE', path: `/Tables('${name}')` });
const freshName = (prefix = 'T'): string => `${prefix}${randomBytes(8).toString('hex')}`;

const list = async (query: string, account = SECOND_ACCOUNT): Promise<TableResponse & { names: string[] }> => {
  const answer = await raw({ method: 'GET', path: `/Tables${query}`, account });
  assert.equal(answer.status, 200, answer.body.toString());
  const names = (answer.json as { value: { TableName: string }[] }).value.map(({ TableName }) => TableName);
  return { ...answer, names };
};

const namesOf = async (filter: string): Promise<string[]> => {
  const names: string[] = [];
  for await (const { name } of service.listTables({ queryOptions: { filter } })) names.push(name as string);
  return names;
};

describe('a table', () => {
  test('is created, found, listed and deleted by the official client', async () => {
    const name = freshName();
    await service.createTable(name);
    // To this client a table that is there already is as good as created.
    await service.createTable(name);
    assert.deepEqual(await namesOf(odata`TableName eq ${name}`), [name]);
    await service.deleteTable(name);
    assert.deepEqual(await namesOf(odata`TableName eq ${name}`), []);
    assert.equal(await tableRefusal(tableClient(server, name).getEntity('p', 'r')), '404 TableNotFound');
  });

  test('is created once, and deleted once', async () => {
    const name = freshName();
    assert.equal((await create(name)).status, 201);
    assertRefused(await create(name), '409 TableAlreadyExists');
    const deleted = await remove(name);
    assert.equal(deleted.status, 204);
    assert.equal(deleted.body.length, 0);
    assertRefused(await remove(name), '404 ResourceNotFound');
    assertRefused(await raw({ method: 'GET', path: `/Tables('${name}')` }), '404 ResourceNotFound');
    assertRefused(await raw({ method: 'GET', path: `/${name}()` }), '404 TableNotFound');
  });

  test('is the same under a name in any case, and keeps the one that it was given', async () => {
    const [given, lower, upper] = ['Abc', 'abc', 'ABC'];
    assert.equal((await create(given)).status, 201);
    assertRefused(await create(upper), '409 TableAlreadyExists');
    assertRefused(await create(lower), '409 TableAlreadyExists');
    await tableClient(server, lower).createEntity({ partitionKey: 'p', rowKey: 'r', n: 1 });
    assert.equal((await tableClient(server, upper).getEntity<{ n: number }>('p', 'r')).n, 1);
    await tableClient(server, upper).updateEntity({ partitionKey: 'p', rowKey: 'r', n: 2 });
    assert.equal((await tableClient(server, given).getEntity<{ n: number }>('p', 'r')).n, 2);
    const { json } = await raw({ method: 'GET', path: `/Tables('${upper}')` });
    assert.equal((json as { TableName: string }).TableName, given);
    assert.deepEqual(await namesOf(odata`TableName eq ${given}`), [given]);
    assert.equal((await remove('aBC')).status, 204);
    assertRefused(await create(given).then(() => remove(lower).then(() => remove(given))), '404 ResourceNotFound');
  });

  test('that is created anew has nothing of what was in it, and no policies', async () => {
    const table = await freshTable(server);
    await together(20, (index) => table.createEntity({ partitionKey: 'p', rowKey: `${index}` }));
    await table.setAccessPolicy([{ id: 'p', accessPolicy: { permission: 'r' } }]);
    await table.deleteTable();
    await table.createTable();
    assert.equal((await table.listEntities().next()).done, true);
    assert.equal(await tableRefusal(table.getEntity('p', '1')), '404 ResourceNotFound');
    assert.deepEqual(await table.getAccessPolicy(), []);
    await table.createEntity({ partitionKey: 'p', rowKey: '1' });
    assert.equal((await table.getEntity('p', '1')).rowKey, '1');
  });

  test('of one account is not one of another', async () => {
    const table = await freshTable(server);
    const { tableName: path } = table;
    const answer = await raw({ method: 'GET', path: `/${path}()`, account: SECOND_ACCOUNT });
    assertRefused(answer, '404 TableNotFound');
  });
});

describe('a name', () => {
  for (const [what, name, want] of [
    ['of two letters', 'ab', 'OutOfRangeInput'],
    ['of 64 letters', 'a'.repeat(64), 'OutOfRangeInput'],
    ['with a digit first', '1abc', 'InvalidResourceName'],
    ['with a hyphen', 'a-bc', 'InvalidResourceName'],
    ['with an underscore', 'a_bc', 'InvalidResourceName'],
    ['with an umlaut', 'äbcd', 'InvalidResourceName'],
    ['with a space', 'a bc', 'InvalidResourceName'],
    ['of the list itself', 'tables', 'InvalidInput'],
    ['of the list itself, in capitals', 'Tables', 'InvalidInput'],
  ] as const) {
    test(`${what} gets 400 ${want}`, async () => {
      assertRefused(await create(name), `400 ${want}`);
    });
  }

  for (const name of ['abc', 'a'.repeat(63), 'Z09']) {
    test(`of ${name.length} characters is taken: ${name}`, async () => {
      assert.equal((await create(name)).status, 201);
      assert.equal((await remove(name)).status, 204);
    });
  }

  for (const [what, body] of [
    ['no body', ''],
    ['no JSON', 'x'],
    ['a list', '[]'],
    ['null', 'null'],
    ['no name', '{}'],
    ['a number', '{"TableName":1}'],
  ] as const) {
    test(`in ${what} gets 400 InvalidInput`, async () => {
      assertRefused(await raw({ method: 'POST', path: '/Tables', body }), '400 InvalidInput');
    });
  }

  test('that no table can have is refused wherever it stands', async () => {
    for (const path of ["/Tables('a-b')", '/a-b()', "/a-b(PartitionKey='p',RowKey='r')"]) {
      assertRefused(await raw({ method: 'GET', path }), '400 InvalidResourceName', path);
    }
  });
});

describe('Create Table', () => {
  test('answers with the table, or without, as is preferred', async () => {
    for (const [prefer, status] of [
      [null, 201],
      ['return-content', 201],
      ['return-no-content', 204],
    ] as const) {
      const name = freshName();
      const answer = await create(name, prefer === null ? {} : { prefer });
      assert.equal(answer.status, status);
      const where = `${server.tableEndpoint()}/Tables('${name}')`;
      assert.equal(answer.headers.location, where);
      assert.equal(answer.headers['preference-applied'], prefer ?? undefined);
      if (status === 201) assert.equal((answer.json as { TableName: string }).TableName, name);
      else assert.deepEqual([answer.body.length, answer.headers['dataserviceid']], [0, where]);
    }
  });

  test('in Atom is refused', async () => {
    const name = freshName();
    assertRefused(await create(name, { 'content-type': 'application/atom+xml' }), '415 AtomFormatNotSupported');
    assertRefused(await create(name, { accept: 'application/atom+xml' }), '415 AtomFormatNotSupported');
    assert.deepEqual(await namesOf(odata`TableName eq ${name}`), []);
  });
});

describe('metadata', () => {
  const root = `${server.tableEndpoint()}/$metadata#Tables`;
  for (const level of ['nometadata', 'minimalmetadata', 'fullmetadata']) {
    test(`of ${level} says exactly what belongs there`, async () => {
      const name = freshName();
      const headers = { accept: `application/json;odata=${level}` };
      const table =
        level === 'fullmetadata'
          ? {
              'odata.type': 'devstoreaccount1.Tables',
              'odata.id': `${server.tableEndpoint()}/Tables('${name}')`,
              'odata.editLink': `Tables('${name}')`,
              TableName: name,
            }
          : { TableName: name };
      const about = (what: string): object => (level === 'nometadata' ? {} : { 'odata.metadata': what });
      const created = await create(name, headers);
      assert.deepEqual(created.json, { ...about(`${root}/@Element`), ...table });
      const one = await raw({ method: 'GET', path: `/Tables('${name}')`, headers });
      assert.deepEqual(one.json, { ...about(`${root}/@Element`), ...table });
      const filter = encodeURIComponent(`TableName eq '${name}'`);
      const all = await raw({ method: 'GET', path: `/Tables?$filter=${filter}`, headers });
      assert.deepEqual(all.json, { ...about(root), value: [table] });
      for (const answer of [created, one, all]) {
        assert.equal(answer.headers['content-type'], `application/json;odata=${level};streaming=true;charset=utf-8`);
      }
    });
  }
});

describe('the list', () => {
  // In the order of names without regard to case.
  const names = Array.from({ length: 1_005 }, (_, index) => `${index % 2 === 0 ? 'n' : 'N'}${10_000 + index}`);

  test('comes in pages of 1,000, and is whole', async () => {
    const many = tableService(server, SECOND_ACCOUNT);
    const results = await together(names.length, (index) => many.createTable(names[index] as string));
    assert.deepEqual(
      results.filter(({ status }) => status === 'rejected'),
      [],
    );
    const first = await list('');
    assert.deepEqual(first.names, names.slice(0, 1_000));
    const token = first.headers['x-ms-continuation-nexttablename'] as string;
    const second = await list(`?NextTableName=${encodeURIComponent(token)}`);
    assert.deepEqual(second.names, names.slice(1_000));
    assert.equal(second.headers['x-ms-continuation-nexttablename'], undefined);
    const listed: string[] = [];
    for await (const { name } of many.listTables()) listed.push(name as string);
    assert.deepEqual(listed, names);
  });

  test('comes in smaller pages by $top, each from where the last one ended', async () => {
    const pages: number[] = [];
    const listed: string[] = [];
    const pager = tableService(server, SECOND_ACCOUNT).listTables().byPage({ maxPageSize: 300 });
    for await (const page of pager) {
      pages.push(page.length);
      listed.push(...page.map(({ name }) => name as string));
    }
    assert.deepEqual(pages, [300, 300, 300, 105]);
    assert.deepEqual(listed, names);
  });

  test('goes on behind a table that is deleted between two pages', async () => {
    const first = await list('?$top=2');
    const token = encodeURIComponent(first.headers['x-ms-continuation-nexttablename'] as string);
    const gone = names[2] as string;
    await tableService(server, SECOND_ACCOUNT).deleteTable(gone);
    assert.deepEqual((await list(`?$top=2&NextTableName=${token}`)).names, names.slice(3, 5));
    await tableService(server, SECOND_ACCOUNT).createTable(gone);
  });

  for (const [filter, want] of [
    ["TableName eq 'n10000'", ['n10000']],
    ["TableName eq 'missing'", []],
    ["TableName ge 'n1100' and TableName lt 'n1101'", ['n11000', 'N11001', 'n11002', 'N11003', 'n11004']],
    ["TableName ge 'N1100' and TableName lt 'N1101'", ['n11000', 'N11001', 'n11002', 'N11003', 'n11004']],
    ["TableName eq 'N10000'", ['n10000']],
    ["(TableName eq 'n10000') or (TableName eq 'N10001')", ['n10000', 'N10001']],
    ["not (TableName gt 'N10001')", ['n10000', 'N10001']],
    [
      "TableName ge 'n1100' and TableName lt 'n1101' and TableName ne 'N11002'",
      ['n11000', 'N11001', 'N11003', 'n11004'],
    ],
  ] as const) {
    test(`keeps to ${filter}`, async () => {
      assert.deepEqual((await list(`?$filter=${encodeURIComponent(filter)}`)).names, want);
    });
  }

  test('counts matches alone for a page with a filter', async () => {
    const filter = encodeURIComponent("TableName ge 'n11002'");
    const first = await list(`?$top=2&$filter=${filter}`);
    assert.deepEqual(first.names, ['n11002', 'N11003']);
    const token = encodeURIComponent(first.headers['x-ms-continuation-nexttablename'] as string);
    assert.deepEqual((await list(`?$top=2&$filter=${filter}&NextTableName=${token}`)).names, ['n11004']);
  });

  for (const [query, want] of [
    ['$filter=TableName%20eq', '400 InvalidInput'],
    ["$filter=TableName%20eq%20'x", '400 InvalidInput'],
    ["$filter=startswith(TableName,'x')", '501 NotImplemented'],
    ['$top=0', '400 InvalidInput'],
    ['$top=1001', '400 InvalidInput'],
    ['$top=x', '400 InvalidInput'],
    ['$orderby=TableName', '501 NotImplemented'],
    ['NextTableName=x', '400 InvalidQueryParameterValue'],
  ] as const) {
    test(`refuses ${decodeURIComponent(query)}`, async () => {
      assertRefused(await raw({ method: 'GET', path: `/Tables?${query}` }), want);
    });
  }
});

const policies = (count: number): SignedIdentifier[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `policy-${index}`,
    accessPolicy: {
      start: new Date('2024-01-01T00:00:00Z'),
      expiry: new Date('2099-01-01T00:00:00Z'),
      permission: 'raud',
    },
  }));

describe('access policies', () => {
  test('come back as they were set, five at most', async () => {
    const table = await freshTable(server);
    assert.deepEqual(await table.getAccessPolicy(), []);
    await table.setAccessPolicy(policies(5));
    assert.deepEqual(await table.getAccessPolicy(), policies(5));
    assert.equal(await tableRefusal(table.setAccessPolicy(policies(6))), '400 InvalidXmlDocument');
    assert.deepEqual(await table.getAccessPolicy(), policies(5));
    await table.setAccessPolicy([{ id: 'bare' }]);
    assert.deepEqual(
      (await table.getAccessPolicy()).map(({ id }) => id),
      ['bare'],
    );
    await table.setAccessPolicy([]);
    assert.deepEqual(await table.getAccessPolicy(), []);
  });

  test('are answered with 200 and 204, in XML, under a name in any case', async () => {
    const { tableName } = await freshTable(server, 'Mixed');
    const path = `/${tableName.toUpperCase()}?comp=acl`;
    const headers = { 'content-type': 'application/xml' };
    const body = '<SignedIdentifiers><SignedIdentifier><Id>a</Id></SignedIdentifier></SignedIdentifiers>';
    const set = await raw({ method: 'PUT', path, headers, body });
    assert.deepEqual([set.status, set.body.length], [204, 0]);
    const got = await raw({ method: 'GET', path });
    assert.equal(got.status, 200);
    assert.match(got.headers['content-type'] ?? '', /^application\/xml/);
    assert.match(got.body.toString(), /<Id>a<\/Id>/);
    const head = await raw({ method: 'HEAD', path });
    assert.deepEqual([head.status, head.body.length], [200, 0]);
  });

  test('with a letter that means nothing to tables are refused, in XML', async () => {
    const { tableName } = await freshTable(server);
    const body = `<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>w</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>`;
    const headers = { 'content-type': 'application/xml' };
    const answer = await raw({ method: 'PUT', path: `/${tableName}?comp=acl`, headers, body });
    assert.equal(answer.outcome, '400 InvalidXmlNodeValue');
    assert.match(answer.body.toString(), /<Code>InvalidXmlNodeValue<\/Code>/);
  });

  test('of a table that is not there get 404', async () => {
    const missing = tableClient(server, 'nowhere');
    assert.equal(await tableRefusal(missing.getAccessPolicy()), '404 TableNotFound');
    assert.equal(await tableRefusal(missing.setAccessPolicy(policies(1))), '404 TableNotFound');
    const { outcome } = await raw({ method: 'HEAD', path: '/nowhere?comp=acl' });
    assert.equal(outcome, '404 TableNotFound');
  });
});
