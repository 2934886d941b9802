/**
 * Races over one entity and one table: real parallel requests of the official client, each on a connection of its own,
 * against a server process with its data on disk. Who came when is told by the ETags, which are times that grow: replaying
 * the accepted changes in their order must give what is there. Orders are drawn from a seed (LARIMAR_SEED replays it).
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import type { TableClient, TransactionAction, UpdateMode } from '@azure/data-tables';
import { startInProcess } from '../harness/in-process.ts';
import { meanwhile, successes, tally, together, turns, winnerOf } from '../harness/parallel.ts';
import { Random } from '../harness/random.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { freshTable, tableClient, tableOutcomes, tableRefusal } from '../harness/table-clients.ts';
import { until } from '../harness/until.ts';
import {
  CLIENTS,
  EXISTS,
  entity,
  look,
  MISSING,
  outcomeOf,
  PARTITION,
  type Properties,
  page,
  raceOn,
  STALE,
  type Written,
} from './racing.ts';

const server = await startServerProcess();
after(() => server.stop());
const race = raceOn(server);
const random = new Random();

test('of 24 that insert one key, alone or in a transaction, exactly one succeeds, and its entity is whole', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const table = await freshTable(server);
  for (let round = 0; round < 10; round++) {
    const rowKey = `round-${round}`;
    const inTransaction = Array.from({ length: CLIENTS }, () => random.chance(0.3));
    const results = await race<unknown>(table, (client, index) => {
      const inserted = entity(rowKey, { writer: index, text: `${index};`.repeat(1000) });
      return inTransaction[index] ? client.submitTransaction([['create', inserted]]) : client.createEntity(inserted);
    });
    assert.deepEqual(tally(tableOutcomes(results)), { ok: 1, [EXISTS]: CLIENTS - 1 });
    const writer = winnerOf(results);
    assert.deepEqual((await look(table, rowKey)).properties, { writer, text: `${writer};`.repeat(1000) });
  }
});

test('of 24 that change an entity with one ETag exactly one succeeds', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const table = await freshTable(server);
  await table.createEntity(entity('r'));
  for (let round = 0; round < 10; round++) {
    const { etag } = await look(table, 'r');
    const ways = Array.from({ length: CLIENTS }, () => random.pick(['Replace', 'Merge', 'transaction'] as const));
    const results = await race<unknown>(table, (client, index) => {
      const changed = entity('r', { writer: index });
      const way = ways[index] as (typeof ways)[number];
      if (way !== 'transaction') return client.updateEntity(changed, way, { etag });
      return client.submitTransaction([['update', changed, 'Replace', { etag }]]);
    });
    assert.deepEqual(tally(tableOutcomes(results)), { ok: 1, [STALE]: CLIENTS - 1 });
    const now = await look(table, 'r');
    assert.deepEqual(now.properties, { writer: winnerOf(results) });
    assert.notEqual(now.etag, etag);
  }
});

const versionOf = (writer: number): Properties => ({
  writer,
  text: `${writer};`.repeat(2000),
  [`only${writer}`]: true,
});

test('parallel upserts all succeed; readers meanwhile, and everybody afterwards, see one of them, whole', async () => {
  const table = await freshTable(server);
  for (let round = 0; round < 5; round++) {
    const rowKey = `round-${round}`;
    const seen: { etag: string; properties: Properties }[] = [];
    const results = await race<Written>(table, async (client, index) => {
      const written = await client.upsertEntity(entity(rowKey, versionOf(index)), 'Replace');
      seen.push(await look(client, rowKey));
      return written;
    });
    const etags = successes(results).map(({ etag }) => etag as string);
    assert.equal(new Set(etags).size, CLIENTS, 'each has an ETag of its own');
    seen.push(await look(table, rowKey));
    for (const { etag, properties } of seen) {
      assert.deepEqual(properties, versionOf(etags.indexOf(etag)), 'ETag and properties belong together');
    }
    assert.equal(seen.at(-1)?.etag, etags.toSorted().at(-1), 'the last of them is what stays');
  }
});

test('a counter that 16 clients increment by ETag ends exact', async () => {
  const incrementsEach = 5;
  const table = await freshTable(server);
  await table.createEntity(entity('counter', { value: 0 }));
  let refused = 0;
  const results = await race(
    table,
    async (client) => {
      for (let done = 0; done < incrementsEach; ) {
        const { value, etag } = await client.getEntity<{ value: number }>(PARTITION, 'counter');
        const next = entity('counter', { value: value + 1 });
        const answer = await outcomeOf(client.updateEntity(next, 'Replace', { etag }));
        if (answer === 'ok') done++;
        else {
          assert.equal(answer, STALE);
          refused++;
        }
      }
    },
    16,
  );
  successes(results);
  assert.deepEqual((await look(table, 'counter')).properties, { value: 16 * incrementsEach });
  assert.ok(refused > 0, 'the clients did meet');
});

test('a delete with a stale ETag gets 412, with * it succeeds, and a second one gets 404', async () => {
  const table = await freshTable(server);
  for (const etagOf of [(current: string) => current, () => '*']) {
    await table.createEntity(entity('r'));
    const { etag: stale } = await look(table, 'r');
    await table.updateEntity(entity('r'), 'Replace');
    const late = await race(table, (client) => client.deleteEntity(PARTITION, 'r', { etag: stale }));
    assert.deepEqual(tally(tableOutcomes(late)), { [STALE]: CLIENTS });
    const etag = etagOf((await look(table, 'r')).etag);
    const results = await race(table, (client) => client.deleteEntity(PARTITION, 'r', { etag }));
    assert.deepEqual(tally(tableOutcomes(results)), { ok: 1, [MISSING]: CLIENTS - 1 });
  }
});

test('Delete Entity beside changes with the same ETag: one of all wins', async () => {
  const table = await freshTable(server);
  for (let round = 0; round < 10; round++) {
    const rowKey = `round-${round}`;
    await table.createEntity(entity(rowKey, { writer: -1 }));
    const { etag } = await look(table, rowKey);
    const results = await race<unknown>(table, (client, index) =>
      index % 2 === 0
        ? client.deleteEntity(PARTITION, rowKey, { etag })
        : client.updateEntity(entity(rowKey, { writer: index }), 'Merge', { etag }),
    );
    const winner = winnerOf(results);
    // Behind a delete there is no entity, and behind a change another version.
    const lost = winner % 2 === 0 ? MISSING : STALE;
    assert.deepEqual(tally(tableOutcomes(results)), { ok: 1, [lost]: CLIENTS - 1 });
    if (winner % 2 === 0) assert.equal(await tableRefusal(look(table, rowKey)), MISSING);
    else assert.deepEqual((await look(table, rowKey)).properties, { writer: winner });
  }
});

test('merges of different properties all stay, by * and by insert-or-merge of what was not there', async () => {
  const table = await freshTable(server);
  const expected = Object.fromEntries(Array.from({ length: CLIENTS }, (_, index) => [`p${index}`, index]));
  await table.createEntity(entity('merged', { old: 'kept' }));
  const merged = await race(table, (client, index) =>
    client.updateEntity(entity('merged', { [`p${index}`]: index }), 'Merge', { etag: '*' }),
  );
  assert.deepEqual(tally(tableOutcomes(merged)), { ok: CLIENTS });
  assert.deepEqual((await look(table, 'merged')).properties, { old: 'kept', ...expected });
  const upserted = await race(table, (client, index) =>
    client.upsertEntity(entity('upserted', { [`p${index}`]: index }), 'Merge'),
  );
  assert.deepEqual(tally(tableOutcomes(upserted)), { ok: CLIENTS });
  assert.deepEqual((await look(table, 'upserted')).properties, expected);
});

test('replaces beside merges end as in the serial order that their ETags tell', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const table = await freshTable(server);
  for (let round = 0; round < 10; round++) {
    const rowKey = `round-${round}`;
    await table.createEntity(entity(rowKey, { start: true }));
    const modes = Array.from({ length: CLIENTS }, (): UpdateMode => (random.chance(0.3) ? 'Replace' : 'Merge'));
    const changes = modes.map((_, index): Properties => ({ [`p${index}`]: index, last: index }));
    const results = await race<Written>(table, (client, index) =>
      client.updateEntity(entity(rowKey, changes[index]), modes[index], { etag: '*' }),
    );
    const order = successes(results)
      .map(({ etag }, index) => ({ etag: etag as string, index }))
      .sort((a, b) => (a.etag < b.etag ? -1 : 1));
    let expected: Properties = { start: true };
    for (const { index } of order) {
      expected = modes[index] === 'Replace' ? { ...changes[index] } : { ...expected, ...changes[index] };
    }
    assert.deepEqual(await look(table, rowKey), { etag: order.at(-1)?.etag, properties: expected });
  }
});

test('of a key that is deleted and inserted again and again no ETag is given twice, and none accepted twice', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const table = await freshTable(server);
  const same = entity('r', { same: 'content' });
  const given: string[] = [];
  const accepted: string[] = [];
  /** Each acts on the newest ETag that anybody was told, or on one a little older. */
  const drawPlan = (): { deed: 'insert' | 'update' | 'delete'; etagsBack: number }[] =>
    Array.from({ length: 25 }, () => ({
      deed: random.pick(['insert', 'update', 'delete'] as const),
      etagsBack: random.chance(0.5) ? 1 : 1 + random.below(4),
    }));
  const plans = Array.from({ length: CLIENTS }, drawPlan);
  const results = await race(table, async (client, index) => {
    for (const { deed, etagsBack } of plans[index] as ReturnType<typeof drawPlan>) {
      const etag = given.at(-etagsBack) ?? '*';
      const request: Promise<Written> =
        deed === 'insert'
          ? client.createEntity(same)
          : deed === 'update'
            ? client.updateEntity(same, 'Replace', { etag })
            : client.deleteEntity(PARTITION, 'r', { etag }).then(() => ({}));
      const [result] = await Promise.allSettled([request]);
      if (result.status === 'rejected') {
        const [refusal = ''] = tableOutcomes([result]);
        assert.ok((deed === 'insert' ? [EXISTS] : [STALE, MISSING]).includes(refusal), refusal);
        continue;
      }
      if (result.value.etag !== undefined) given.push(result.value.etag);
      if (deed !== 'insert' && etag !== '*') accepted.push(etag);
    }
  });
  successes(results);
  assert.ok(given.length > 5 && accepted.length > 2, `${given.length} given, ${accepted.length} accepted`);
  assert.equal(new Set(given).size, given.length);
  assert.equal(new Set(accepted).size, accepted.length);
});

describe('while the clock stands still', () => {
  test('every write has another ETag and Timestamp, and those of one entity grow', async () => {
    const still = await startInProcess();
    const table = await freshTable(still);
    const seen: string[] = [];
    for (let write = 0; write < 20; write++) {
      const { etag } = await table.upsertEntity(entity('r', { write }), 'Replace');
      const found = await table.getEntity<Properties>(PARTITION, 'r');
      assert.equal(found.etag, etag);
      assert.equal(etag, `W/"datetime'${encodeURIComponent(found.timestamp as string)}'"`);
      seen.push(etag);
    }
    assert.deepEqual(seen, seen.toSorted());
    const parallel = await together(CLIENTS, (index) =>
      tableClient(still, table.tableName).upsertEntity(entity(index % 2 === 0 ? 'r' : `row-${index}`), 'Replace'),
    );
    seen.push(...successes(parallel).map(({ etag }) => etag as string));
    const actions = Array.from({ length: 100 }, (_, index): TransactionAction => ['upsert', entity(`part-${index}`)]);
    const { subResponses } = await table.submitTransaction(actions);
    seen.push(...subResponses.map(({ etag }) => etag as string));
    assert.equal(seen.length, 20 + CLIENTS + 100);
    assert.equal(new Set(seen).size, seen.length);
  });

  test('an ETag of before a delete never matches what was inserted again, though the content is the same', async () => {
    const still = await startInProcess();
    const table = await freshTable(still);
    const old: string[] = [];
    for (let life = 0; life < 5; life++) {
      const { etag } = await table.createEntity(entity('r', { same: 'content' }));
      assert.ok(!old.includes(etag as string), `${etag} again`);
      for (const stale of old) {
        assert.equal(await tableRefusal(table.updateEntity(entity('r'), 'Replace', { etag: stale })), STALE);
        assert.equal(await tableRefusal(table.deleteEntity(PARTITION, 'r', { etag: stale })), STALE);
        const inTransaction = table.submitTransaction([['update', entity('r'), 'Merge', { etag: stale }]]);
        assert.equal(await tableRefusal(inTransaction), STALE);
      }
      old.push(etag as string);
      await table.deleteEntity(PARTITION, 'r', { etag: etag as string });
    }
  });
});

/** All the ways to insert an entity. */
const INSERTS: readonly ((client: TableClient, rowKey: string) => Promise<unknown>)[] = [
  (client, rowKey) => client.createEntity(entity(rowKey)),
  (client, rowKey) => client.upsertEntity(entity(rowKey), 'Merge'),
  (client, rowKey) => client.submitTransaction([['create', entity(rowKey)]]),
];

describe('tables', () => {
  test('of 24 that create one table exactly one succeeds', async () => {
    for (let round = 0; round < 5; round++) {
      const name = `race${randomBytes(8).toString('hex')}`;
      const statuses = await together(CLIENTS, async (index) => {
        let status = 0;
        // Names differ in case only; the client takes a 409 for success, so the answer itself is looked at.
        const table = tableClient(server, index % 2 === 0 ? name : name.toUpperCase());
        await table.createTable({ onResponse: (response) => void (status = response.status) });
        return String(status);
      });
      assert.deepEqual(tally(successes(statuses)), { '201': 1, '409': CLIENTS - 1 });
    }
  });

  test('beside Delete Table each insert succeeds or finds no table, and a new table of that name is empty', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    for (let round = 0; round < 8; round++) {
      const table = await freshTable(server);
      const ways = Array.from({ length: CLIENTS }, () => random.pick(INSERTS));
      const deleteAfterTurns = random.below(60);
      const answers: string[] = [];
      const results = await race(table, async (client, index) => {
        if (index === 0) {
          await turns(deleteAfterTurns);
          await client.deleteTable();
          return;
        }
        for (let number = 0; number < 8; number++) {
          const insert = ways[index] as (typeof INSERTS)[number];
          const answer = await outcomeOf(insert(client, `${index}-${number}`));
          answers.push(answer);
          if (answer !== 'ok') break;
        }
      });
      successes(results);
      for (const answer of answers) assert.ok(['ok', '404 TableNotFound'].includes(answer), answer);
      assert.equal(await tableRefusal(page(table)), '404 TableNotFound');
      assert.equal(await tableRefusal(look(table, '1-0')), '404 TableNotFound');
      for (const insert of INSERTS) assert.equal(await tableRefusal(insert(table, 'late')), '404 TableNotFound');
      await table.createTable();
      assert.deepEqual(await page(table), []);
      assert.equal(await tableRefusal(look(table, '1-0')), MISSING);
    }
  });

  test('inserts beside a delete and a new create land in exactly one of the two tables', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    for (let round = 0; round < 8; round++) {
      const table = await freshTable(server);
      const waits = Array.from({ length: CLIENTS }, () => random.below(60));
      const ways = Array.from({ length: CLIENTS }, () => random.pick(INSERTS));
      const times = { deleteSentMs: 0, createdMs: 0 };
      const inserts: { rowKey: string; answer: string; sentAtMs: number; answeredAtMs: number }[] = [];
      const results = await race(table, async (client, index) => {
        await turns(waits[index] as number);
        if (index === 0) {
          times.deleteSentMs = performance.now();
          await client.deleteTable();
          await client.createTable();
          times.createdMs = performance.now();
          return;
        }
        for (let number = 0; number < 4; number++) {
          const rowKey = `${index}-${number}`;
          const sentAtMs = performance.now();
          const insert = ways[index] as (typeof INSERTS)[number];
          const answer = await outcomeOf(insert(client, rowKey));
          inserts.push({ rowKey, answer, sentAtMs, answeredAtMs: performance.now() });
        }
      });
      successes(results);
      const there = new Set((await page(table)).map(({ rowKey }) => rowKey));
      for (const { rowKey, answer, sentAtMs, answeredAtMs } of inserts) {
        if (answer !== 'ok') {
          assert.equal(answer, '404 TableNotFound');
          assert.equal(there.has(rowKey), false, `${rowKey} was refused and yet is there`);
        } else if (answeredAtMs < times.deleteSentMs) {
          assert.equal(there.has(rowKey), false, `${rowKey} outlived its table`);
        } else if (sentAtMs > times.createdMs) {
          assert.equal(there.has(rowKey), true, `${rowKey} was acknowledged and is lost`);
        }
        assert.equal(await outcomeOf(look(table, rowKey)), there.has(rowKey) ? 'ok' : MISSING);
      }
    }
  });
});

describe('a reader of many pages', () => {
  const ROWS = Array.from({ length: 300 }, (_, index) => `m-${String(index).padStart(3, '0')}`);
  const PAGE_ROWS = 20;

  async function filledTable(): Promise<TableClient> {
    const table = await freshTable(server);
    for (let at = 0; at < ROWS.length; at += 100) {
      await table.submitTransaction(
        ROWS.slice(at, at + 100).map((rowKey) => ['create', entity(rowKey, { written: 0 })]),
      );
    }
    return table;
  }

  /** Every row in the order in which it was shown; `between` runs behind each page. */
  async function readPages(table: TableClient, between: (lastRowKey: string) => Promise<void>): Promise<string[]> {
    const rowKeys: string[] = [];
    for await (const rows of table.listEntities().byPage({ maxPageSize: PAGE_ROWS })) {
      rowKeys.push(...rows.map(({ rowKey }) => rowKey as string));
      await between(rowKeys.at(-1) as string);
    }
    return rowKeys;
  }

  test('gets no row twice and none that stayed not at all, though others insert and delete around its cursor', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const table = await filledTable();
    const clients = Array.from({ length: CLIENTS }, () => tableClient(server, table.tableName));
    const behindCursor: string[] = [];
    const shown = await readPages(table, async (last) => {
      const inserts = await together(CLIENTS, async (index) => {
        const client = clients[index] as TableClient;
        const isBefore = random.chance(0.5);
        const rowKey = isBefore ? `a-${randomUUID()}` : `${last}-${randomUUID()}`;
        if (isBefore) behindCursor.push(rowKey);
        await client.createEntity(entity(rowKey));
        if (random.chance(0.5)) await client.deleteEntity(PARTITION, rowKey);
      });
      successes(inserts);
    });
    assert.deepEqual(shown, shown.toSorted(), 'in order');
    assert.equal(new Set(shown).size, shown.length, 'no row twice');
    const seen = new Set(shown);
    assert.deepEqual(
      ROWS.filter((rowKey) => !seen.has(rowKey)),
      [],
    );
    assert.deepEqual(
      behindCursor.filter((rowKey) => seen.has(rowKey)),
      [],
    );
  });

  test('gets each row once while all of them are rewritten', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const table = await filledTable();
    let writeCount = 0;
    // Between two pages something is always written, however slow the machine is.
    const another = async (): Promise<void> => {
      const before = writeCount;
      await until({ what: 'another write', limitSeconds: 60 }, () => writeCount > before);
    };
    const reading = race(table, (client) => readPages(client, another), 4);
    const writing = race(table, (client) =>
      meanwhile(reading, async () => {
        const mode = random.chance(0.5) ? 'Replace' : 'Merge';
        await client.upsertEntity(entity(random.pick(ROWS), { written: writeCount }), mode);
        writeCount++;
      }),
    );
    for (const shown of successes(await reading)) assert.deepEqual(shown, ROWS);
    successes(await writing);
  });
});
