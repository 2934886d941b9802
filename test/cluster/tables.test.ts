// engines: postgres
/**
 * Tables on three nodes over one database, clients spread over them: what the contract promises of one server holds of all
 * of them together.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  AzureNamedKeyCredential,
  AzureSASCredential,
  generateTableSas,
  TableClient,
  type TransactionAction,
} from '@azure/data-tables';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { type Cluster, startCluster } from '../harness/cluster.ts';
import { meanwhile, successes, tally, together, winnerOf } from '../harness/parallel.ts';
import {
  freshTable,
  TABLE_CLIENT_OPTIONS,
  tableClient,
  tableOutcomes,
  tableRefusal,
} from '../harness/table-clients.ts';
import { missingTool } from '../packages.ts';
import { EXISTS, entity, look, MISSING, outcomeOf, PARTITION, page, STALE } from '../table/racing.ts';

const NODE_COUNT = 3;
const WRITERS = 48;
const NO_TABLE = '404 TableNotFound';

const etagsIn = (results: readonly PromiseSettledResult<{ etag?: string }>[]): string[] =>
  successes(results).map(({ etag }) => etag as string);

describe('tables on three nodes', { skip: missingTool('postgres') }, () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster({ nodeCount: NODE_COUNT });
  });
  after(() => cluster?.stop());

  /** A new table by way of each node. */
  async function spreadTable(): Promise<{ tables: TableClient[]; via: (index: number) => TableClient }> {
    const { tableName } = await freshTable(cluster.node(0));
    const tables = cluster.nodes.map((node) => tableClient(node, tableName));
    return { tables, via: (index) => tables[index % NODE_COUNT] as TableClient };
  }

  test('of 48 that insert one key exactly one succeeds', async () => {
    const { tables, via } = await spreadTable();
    for (let round = 0; round < 5; round++) {
      const rowKey = `round-${round}`;
      const results = await together(WRITERS, (index) => via(index).createEntity(entity(rowKey, { writer: index })));
      assert.deepEqual(tally(tableOutcomes(results)), { ok: 1, [EXISTS]: WRITERS - 1 });
      const properties = { writer: winnerOf(results) };
      for (const table of tables) assert.deepEqual((await look(table, rowKey)).properties, properties);
    }
  });

  test('of 48 writers with one ETag exactly one succeeds, whichever node it asked', async () => {
    const { via } = await spreadTable();
    let { etag } = await via(0).createEntity(entity('r'));
    for (let round = 0; round < 10; round++) {
      const options = { etag: etag as string };
      const results = await together(WRITERS, (index) =>
        via(index + round).updateEntity(entity('r', { writer: index }), 'Replace', options),
      );
      assert.deepEqual(tally(tableOutcomes(results)), { ok: 1, [STALE]: WRITERS - 1 });
      const winner = winnerOf(results);
      const found = await look(via(round + 1), 'r');
      assert.deepEqual(found.properties, { writer: winner });
      assert.notEqual(found.etag, etag);
      etag = found.etag;
    }
  });

  test('a counter kept by reads and If-Match from all nodes ends exact', async () => {
    const { via } = await spreadTable();
    await via(0).createEntity(entity('counter', { value: 0 }));
    const results = await together(12, async (index) => {
      for (let done = 0; done < 8; ) {
        const { value, etag } = await via(index).getEntity<{ value: number }>(PARTITION, 'counter');
        const next = entity('counter', { value: value + 1 });
        const answer = await outcomeOf(via(index + done).updateEntity(next, 'Replace', { etag }));
        if (answer === 'ok') done++;
        else assert.equal(answer, STALE);
      }
    });
    successes(results);
    assert.deepEqual((await look(via(1), 'counter')).properties, { value: 12 * 8 });
  });

  test('a transaction through one node is whole through every other, and of those that overlap one wins', async () => {
    const { via } = await spreadTable();
    const rows = Array.from({ length: 8 }, (_, index) => `row-${index}`);
    await via(0).submitTransaction(rows.map((rowKey) => ['create', entity(rowKey, { writer: -1 })]));
    /** `etag`: of the first row; the others are written whatever theirs is. */
    const transactionOf = (writer: number, etag: string): TransactionAction[] =>
      rows.map((rowKey, at) => ['update', entity(rowKey, { writer }), 'Replace', { etag: at === 0 ? etag : '*' }]);
    const write = async (): Promise<void> => {
      for (let round = 0; round < 8; round++) {
        const { etag } = await look(via(round), rows[0] as string);
        const results = await together(18, (index) =>
          via(index + round).submitTransaction(transactionOf(round * 18 + index, etag)),
        );
        assert.deepEqual(tally(tableOutcomes(results)), { ok: 1, [STALE]: 17 });
        const writers = (await page(via(round + 1))).map(({ writer }) => writer);
        assert.deepEqual(new Set(writers), new Set([round * 18 + winnerOf(results)]));
        const unconditional = await together(9, (index) =>
          via(index).submitTransaction(transactionOf(1000 + round * 9 + index, '*')),
        );
        successes(unconditional);
      }
    };
    const writing = write();
    const reading = together(NODE_COUNT, (node) =>
      meanwhile(writing, async () => {
        const writers = (await page(via(node))).map(({ writer }) => writer);
        assert.equal(writers.length, rows.length);
        assert.equal(new Set(writers).size, 1, `rows of one transaction, not of ${writers.join()}`);
      }),
    );
    await writing;
    successes(await reading);
  });

  test('what was written through one node is read, queried and deleted through every other at once', async () => {
    const { tables, via } = await spreadTable();
    for (let round = 0; round < 12; round++) {
      const { etag } = await via(round).createEntity(entity('r', { round }));
      for (const table of tables) {
        assert.deepEqual(await look(table, 'r'), { etag, properties: { round } });
        assert.deepEqual(
          (await page(table)).map((row) => row.etag),
          [etag],
        );
      }
      await via(round + 1).deleteEntity(PARTITION, 'r', { etag: etag as string });
      for (const table of tables) {
        assert.equal(await tableRefusal(look(table, 'r')), MISSING);
        assert.deepEqual(await page(table), []);
      }
    }
  });

  test('no ETag or Timestamp is given twice, by whichever nodes entities are written, deleted and inserted', async () => {
    const { via } = await spreadTable();
    const etags: string[] = [];
    for (let round = 0; round < 30; round++) {
      const { etag } = await via(round).createEntity(entity('r'));
      etags.push(etag as string);
      await via(round + 1).deleteEntity(PARTITION, 'r', { etag: etag as string });
    }
    const ofOne = await together(WRITERS, (index) => via(index).upsertEntity(entity('r', { index }), 'Replace'));
    const ofMany = await together(WRITERS, (index) => via(index).createEntity(entity(`row-${index}`)));
    etags.push(...etagsIn(ofOne), ...etagsIn(ofMany));
    assert.equal(etags.length, 30 + 2 * WRITERS);
    assert.equal(new Set(etags).size, etags.length);
    const timestamps = (await page(via(2))).map((row) => row['timestamp']);
    assert.equal(timestamps.length, 1 + WRITERS);
    assert.equal(new Set(timestamps).size, timestamps.length);
  });

  test('a table deleted and created again through other nodes is empty through all of them', async () => {
    const { tables, via } = await spreadTable();
    for (let round = 0; round < 5; round++) {
      for (const table of tables) await table.upsertEntity(entity('r', { round }));
      await via(round).deleteTable();
      for (const table of tables) {
        assert.equal(await tableRefusal(look(table, 'r')), NO_TABLE);
        assert.equal(await tableRefusal(table.createEntity(entity('r'))), NO_TABLE);
      }
      await via(round + 1).createTable();
      for (const table of tables) assert.equal(await tableRefusal(look(table, 'r')), MISSING);
    }
  });

  test('what Set Table ACL permits or forbids through one node holds on every other at once', async () => {
    const { via } = await spreadTable();
    await via(0).createEntity(entity('r'));
    const { tableName } = via(0);
    const key = new AzureNamedKeyCredential(DEVELOPMENT_ACCOUNT.name, DEVELOPMENT_ACCOUNT.key);
    const token = new AzureSASCredential(generateTableSas(tableName, key, { identifier: 'guests' }));
    const guests = cluster.nodes.map(
      (node) => new TableClient(node.tableEndpoint(), tableName, token, TABLE_CLIENT_OPTIONS),
    );
    const term = { start: new Date(0), expiry: new Date(Date.now() + 3_600_000) };
    const allow = (index: number, permission: string): Promise<unknown> =>
      via(index).setAccessPolicy([{ id: 'guests', accessPolicy: { ...term, permission } }]);
    for (let round = 0; round < 3; round++) {
      await allow(round, 'r');
      for (const [node, guest] of guests.entries()) {
        assert.equal(await outcomeOf(look(guest, 'r')), 'ok');
        assert.match(await tableRefusal(guest.createEntity(entity(`${round}-${node}`))), /^403 /);
      }
      await allow(round + 1, 'a');
      for (const [node, guest] of guests.entries()) {
        assert.match(await tableRefusal(look(guest, 'r')), /^403 /);
        assert.equal(await outcomeOf(guest.createEntity(entity(`${round}-${node}`))), 'ok');
      }
      await via(round + 2).setAccessPolicy([]);
      for (const guest of guests) {
        assert.match(await tableRefusal(look(guest, 'r')), /^403 /);
        assert.match(await tableRefusal(guest.createEntity(entity('never'))), /^403 /);
      }
    }
  });
});
