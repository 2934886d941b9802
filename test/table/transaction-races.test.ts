/**
 * Races of entity group transactions, with each other and with readers: real parallel requests of the official client
 * against a server process with its data on disk. A transaction is there as a whole or not at all, in every page that
 * anybody reads. Orders are drawn from a seed (LARIMAR_SEED replays it).
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TableClient, TransactionAction } from '@azure/data-tables';
import { meanwhile, successes, tally, winnerOf } from '../harness/parallel.ts';
import { Random } from '../harness/random.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { freshTable, tableOutcomes, tableRefusalOf } from '../harness/table-clients.ts';
import { CLIENTS, EXISTS, entity, look, MISSING, outcomeOf, page, raceOn, STALE } from './racing.ts';

const server = await startServerProcess();
after(() => server.stop());
const race = raceOn(server);
const random = new Random();

/** In an order drawn from the seed. */
const shuffled = <T>(list: readonly T[]): T[] =>
  list
    .map((item) => ({ item, place: random.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);

test('of 24 transactions that overlap on one entity by its ETag one wins, and nothing of the others is there', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const table = await freshTable(server);
  await table.createEntity(entity('shared'));
  for (let round = 0; round < 10; round++) {
    const { etag } = await look(table, 'shared');
    const places = Array.from({ length: CLIENTS }, () => random.below(4));
    const own = (index: number): string[] => [0, 1, 2].map((part) => `own-${round}-${index}-${part}`);
    const results = await race(table, (client, index) => {
      const actions = own(index).map((rowKey): TransactionAction => ['create', entity(rowKey)]);
      const changed = entity('shared', { writer: index });
      return client.submitTransaction(
        actions.toSpliced(places[index] as number, 0, ['update', changed, 'Merge', { etag }]),
      );
    });
    assert.deepEqual(tally(tableOutcomes(results)), { ok: 1, [STALE]: CLIENTS - 1 });
    const winner = winnerOf(results);
    for (const [index, result] of results.entries()) {
      if (result.status === 'rejected') assert.ok((result.reason as Error).message.startsWith(`${places[index]}:`));
    }
    assert.deepEqual((await look(table, 'shared')).properties, { writer: winner });
    const rows = (await page(table)).map(({ rowKey }) => rowKey as string);
    assert.deepEqual(
      rows.filter((rowKey) => rowKey.startsWith(`own-${round}-`)),
      own(winner),
    );
  }
});

test('of transactions that write the same rows by * in any order each comes before or behind each other, whole', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const table = await freshTable(server);
  const rows = Array.from({ length: 12 }, (_, index) => `row-${String(index).padStart(2, '0')}`);
  for (const rowKey of rows) await table.createEntity(entity(rowKey, { writer: -1 }));
  const writeRounds = async (): Promise<void> => {
    for (let round = 0; round < 5; round++) {
      const orders = Array.from({ length: CLIENTS }, () => shuffled(rows));
      const results = await race(table, (client, index) => {
        const replaced = entity('', { writer: round * CLIENTS + index });
        const order = orders[index] as string[];
        return client.submitTransaction(
          order.map((rowKey): TransactionAction => ['update', { ...replaced, rowKey }, 'Replace', { etag: '*' }]),
        );
      });
      const etags = successes(results).map(({ subResponses }) => subResponses.map(({ etag }) => etag as string));
      const newest = etags.flat().sort().at(-1) as string;
      const latest = etags.findIndex((ofOne) => ofOne.includes(newest));
      const now = (await page(table)).map(({ writer }) => writer);
      assert.deepEqual(new Set(now), new Set([round * CLIENTS + latest]));
    }
  };
  const writing = writeRounds();
  const pages: number[][] = [];
  const reading = race(
    table,
    (client) =>
      meanwhile(writing, async () => {
        pages.push((await page(client)).map(({ writer }) => writer as number));
      }),
    4,
  );
  await writing;
  successes(await reading);
  for (const writers of pages) {
    assert.equal(writers.length, rows.length);
    assert.equal(new Set(writers).size, 1, `one transaction's rows, not ${writers.join()}`);
  }
});

test('a transaction whose last operation fails changes nothing, and its error names that operation', async () => {
  const table = await freshTable(server);
  const rows = Array.from({ length: 10 }, (_, index) => `row-${index}`);
  for (const rowKey of rows) await table.createEntity(entity(rowKey));
  await table.createEntity(entity('there'));
  const before = await page(table);
  const endings: readonly [string, TransactionAction][] = [
    [EXISTS, ['create', entity('there')]],
    [MISSING, ['delete', entity('nowhere')]],
    [STALE, ['update', entity('there'), 'Merge', { etag: `W/"datetime'2001-01-01T00%3A00%3A00.0000000Z'"` }]],
  ];
  const results = await race(table, (client, index) => {
    const [, last] = endings[index % endings.length] as (typeof endings)[number];
    const actions = rows.map((rowKey, at): TransactionAction => {
      if (at % 3 === 0) return ['delete', entity(rowKey)];
      return at % 3 === 1 ? ['update', entity(rowKey, { writer: index })] : ['upsert', entity(`new-${at}`)];
    });
    return client.submitTransaction([...actions, last]);
  });
  for (const [index, result] of results.entries()) {
    assert.equal(result.status, 'rejected');
    const { status, code } = tableRefusalOf(result.reason);
    assert.equal(`${status} ${code}`, endings[index % endings.length]?.[0]);
    assert.ok((result.reason as Error).message.startsWith(`${rows.length}:`), (result.reason as Error).message);
  }
  assert.deepEqual(await page(table), before);
});

const balancesIn = async (table: TableClient): Promise<number[]> =>
  (await page(table)).map(({ balance }) => balance as number);
const sumOf = (balances: readonly number[]): number => balances.reduce((sum, balance) => sum + balance, 0);

test('transfers between rows leave the same sum in every page that anybody reads meanwhile', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const table = await freshTable(server);
  // So many that a page is read in several steps; money moves from its beginning to its end and back.
  const rows = Array.from({ length: 120 }, (_, index) => `row-${String(index).padStart(3, '0')}`);
  for (const part of [rows.slice(0, 100), rows.slice(100)]) {
    await table.submitTransaction(part.map((rowKey) => ['create', entity(rowKey, { balance: 10 })]));
  }
  const [first, last] = [rows.slice(0, 3), rows.slice(-3)];
  let refused = 0;
  const transfer = async (client: TableClient): Promise<void> => {
    const rowKeys = shuffled([random.pick(first), random.pick(last)]);
    for (;;) {
      const found = await Promise.all(rowKeys.map((rowKey) => look(client, rowKey)));
      const actions = found.map(({ etag, properties }, index): TransactionAction => {
        const balance = (properties['balance'] as number) + (index === 0 ? -1 : 1);
        return ['update', entity(rowKeys[index] as string, { balance }), 'Replace', { etag }];
      });
      const answer = await outcomeOf(client.submitTransaction(actions));
      if (answer === 'ok') return;
      assert.equal(answer, STALE);
      refused++;
    }
  };
  const transferring = race(
    table,
    async (client) => {
      for (let done = 0; done < 3; done++) await transfer(client);
    },
    18,
  );
  const sums = new Set<number>();
  const reading = race(
    table,
    (client) =>
      meanwhile(transferring, async () => {
        const balances = await balancesIn(client);
        assert.equal(balances.length, rows.length);
        sums.add(sumOf(balances));
      }),
    6,
  );
  successes(await transferring);
  successes(await reading);
  assert.deepEqual([...sums], [rows.length * 10]);
  assert.ok(refused > 0, 'the transfers did meet');
  const now = await balancesIn(table);
  assert.equal(sumOf(now), rows.length * 10);
  assert.ok(now.some((balance) => balance !== 10));
});

test('a page shows all rows of a transaction or none, whether it inserts, replaces or deletes them', async () => {
  const table = await freshTable(server);
  const rows = Array.from({ length: 100 }, (_, index) => `row-${String(index).padStart(3, '0')}`);
  const partitions = ['a', 'b', 'c', 'd'];
  const writing = race(
    table,
    async (client, index) => {
      const partitionKey = partitions[index] as string;
      for (let generation = 0; generation < 3; generation++) {
        const all = rows.map((rowKey) => ({ partitionKey, rowKey, generation }));
        await client.submitTransaction(all.map((row) => ['create', row]));
        await client.submitTransaction(
          all.map((row) => ['update', { ...row, generation: generation + 100 }, 'Replace']),
        );
        await client.submitTransaction(all.map((row) => ['delete', row]));
      }
    },
    partitions.length,
  );
  const pages: number[][] = [];
  const reading = race(table, (client, index) =>
    meanwhile(writing, async () => {
      const rowsSeen = await page(client, partitions[index % partitions.length]);
      pages.push(rowsSeen.map(({ generation }) => generation as number));
    }),
  );
  successes(await writing);
  successes(await reading);
  for (const generations of pages) {
    assert.ok([0, rows.length].includes(generations.length), `${generations.length} rows of ${rows.length}`);
    assert.ok(new Set(generations).size <= 1, `${generations.join()}: of one transaction`);
  }
  assert.ok(pages.some(({ length }) => length > 0) && pages.some(({ length }) => length === 0), 'readers saw both');
});
