/**
 * The Azure command line for tables (`az storage table`, `az storage entity`), unmodified, with nothing but a connection
 * string. A call takes seconds, most of them the program's own start: few calls, each telling. Needs Debian's azure-cli.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { missingTool } from '../packages.ts';
import { azSuite } from './az-storage.ts';

const TABLE = 'Letters';

interface Shown {
  readonly etag: string;
  readonly [property: string]: unknown;
}

interface Page {
  readonly items: readonly Shown[];
  readonly nextMarker: { readonly nextpartitionkey?: string; readonly nextrowkey?: string };
}

describe('az', { skip: missingTool('az'), concurrency: 1 }, () => {
  const suite = azSuite();
  const { storage, refused } = suite;
  /** Of the entity `a`, as it was inserted. */
  let etag = '';

  const entity = <T>(verb: string, ...args: readonly string[]): Promise<T> =>
    storage('entity', verb, '-t', TABLE, ...args);
  const show = (rowKey: string): Promise<Shown> => entity('show', '--partition-key', 'p', '--row-key', rowKey);

  test('a table is created once and listed', async () => {
    assert.deepEqual(await storage('table', 'create', '-n', TABLE), { created: true });
    await refused('TableAlreadyExists', 'table', 'create', '-n', TABLE, '--fail-on-exist');
    assert.deepEqual(await storage('table', 'list'), [{ name: TABLE }]);
  });

  test('an entity is inserted with types, and shown with them', async () => {
    const typed = ['n=1', 'n@odata.type=Edm.Int32', 'big=9007199254740993', 'big@odata.type=Edm.Int64', "text=it's"];
    ({ etag } = await entity<{ etag: string }>('insert', '-e', 'PartitionKey=p', 'RowKey=a', ...typed));
    const { Timestamp: _time, ...shown } = await show('a');
    // What comes is a number beyond those that JSON.parse knows exactly.
    const big = { edm_type: 'Edm.Int64', value: 2 ** 53 };
    assert.deepEqual(shown, { PartitionKey: 'p', RowKey: 'a', n: 1, big, text: "it's", etag });
  });

  test('an entity is merged, and replaced with its ETag alone', async () => {
    await entity('merge', '-e', 'PartitionKey=p', 'RowKey=a', 'more=m', '--if-match', etag);
    const replace = ['-t', TABLE, '-e', 'PartitionKey=p', 'RowKey=a', 'only=o', '--if-match'];
    await refused('UpdateConditionNotSatisfied', 'entity', 'replace', ...replace, etag);
    const merged = await show('a');
    assert.deepEqual([merged['n'], merged['more'], merged['only']], [1, 'm', undefined]);
    await storage('entity', 'replace', ...replace, merged.etag);
  });

  test('a query filters, selects and goes page by page', async () => {
    await entity('insert', '-e', 'PartitionKey=p', 'RowKey=b', 'n=2', 'n@odata.type=Edm.Int32');
    const first = await entity<Page>('query', '--num-results', '1');
    assert.deepEqual([first.items[0]?.['RowKey'], first.items[0]?.['only']], ['a', 'o']);
    const { nextpartitionkey = '', nextrowkey = '' } = first.nextMarker;
    const marker = ['--marker', `nextpartitionkey=${nextpartitionkey}`, `nextrowkey=${nextrowkey}`];
    const second = await entity<Page>('query', '--num-results', '1', ...marker);
    assert.deepEqual([second.items[0]?.['RowKey'], second.nextMarker], ['b', {}]);
    const filter = ['--filter', "PartitionKey eq 'p' and n ge 2", '--select', 'RowKey', 'n'];
    const filtered = await entity<Page>('query', ...filter);
    assert.deepEqual(
      filtered.items.map(({ RowKey, n }) => [RowKey, n]),
      [['b', 2]],
    );
  });

  test('a policy is stored, and a signature by it reads its range of keys and no more', async () => {
    const policy = ['-n', 'readers', '--permissions', 'r', '--expiry', '2099-01-01T00:00Z'];
    await storage('table', 'policy', 'create', '-t', TABLE, ...policy);
    const range = ['--start-pk', 'p', '--start-rk', 'b', '--end-pk', 'p', '--end-rk', 'z'];
    const sas = await storage<string>('table', 'generate-sas', '-n', TABLE, '--policy-name', 'readers', ...range);
    const url = `${suite.server.tableEndpoint()}/${TABLE}`;
    const answer = await fetch(`${url}()?${sas}`, { headers: { accept: 'application/json;odata=nometadata' } });
    const { value } = (await answer.json()) as { value: { RowKey: string }[] };
    assert.deepEqual(
      value.map(({ RowKey }) => RowKey),
      ['b'],
    );
    const insert = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
    assert.equal((await fetch(`${url}?${sas}`, insert)).status, 403);
  });

  test('a deleted entity and a deleted table are gone', async () => {
    await entity('delete', '--partition-key', 'p', '--row-key', 'a');
    await refused('ResourceNotFound', 'entity', 'show', '-t', TABLE, '--partition-key', 'p', '--row-key', 'a');
    assert.deepEqual(await storage('table', 'delete', '-n', TABLE), { deleted: true });
  });
});
