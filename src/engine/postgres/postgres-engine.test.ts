/** What only an engine with many nodes must do: races between them, and nodes given up for dead. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { increment, put, valueOf } from '../../../test/harness/engine-steps.ts';
import { freshDatabase } from '../../../test/harness/postgres.ts';
import { Random } from '../../../test/harness/random.ts';
import { until } from '../../../test/harness/until.ts';
import { missingTool } from '../../../test/packages.ts';
import { Database } from '../../postgres/database.ts';
import { prepareSchema, SCHEMA_VERSION, SchemaError } from '../../postgres/schema.ts';
import { bytes, everything, text, volatile } from '../contract.ts';
import type { Engine } from '../engine.ts';
import { transact } from '../transact.ts';
import { openPostgresEngine, type PostgresEngine } from './postgres-engine.ts';

const skip = missingTool('postgres');

async function withNodes(count: number, run: (nodes: PostgresEngine[], url: string) => Promise<void>): Promise<void> {
  const { url, drop } = await freshDatabase();
  const nodes: PostgresEngine[] = [];
  try {
    for (let node = 0; node < count; node++) nodes.push(await openPostgresEngine({ url }));
    await run(nodes, url);
  } finally {
    await Promise.all(nodes.map((node) => node.close()));
    await drop();
  }
}

async function holds600(node: Engine): Promise<void> {
  const view = node.snapshot();
  const entries = await view.range(everything, { limit: 99 });
  view.close();
  assert.equal(
    entries.reduce((sum, entry) => sum + Number(text(entry.value)), 0),
    600,
  );
}

/** As if a node had not renewed its session for a minute. */
async function lapse(url: string, { slot }: { slot: number }): Promise<void> {
  const database = new Database({ url });
  await database.query({
    text: `UPDATE larimar_sessions SET renewed_at = now() - interval '1 minute' WHERE slot = ${slot}`,
  });
  await database.close();
}

describe('several nodes on one database', { skip }, () => {
  test('increments from three nodes at once end exact, and no result is given twice', () =>
    withNodes(3, async (nodes) => {
      const results = await Promise.all(
        nodes.flatMap((node) => Array.from({ length: 20 }, () => increment(node, bytes('n')))),
      );
      assert.deepEqual(
        results.toSorted((a, b) => a - b),
        Array.from({ length: 60 }, (_, index) => index + 1),
      );
      for (const node of nodes) assert.equal(await valueOf(node, bytes('n')), '60');
    }));

  test('one of many creators on three nodes wins, round after round', () =>
    withNodes(3, async (nodes) => {
      for (let round = 0; round < 20; round++) {
        const key = bytes(`round ${round}`);
        const outcomes = await Promise.all(
          nodes.flatMap((node, index) =>
            Array.from({ length: 8 }, (_, turn) =>
              node.commit({
                checks: [{ key, version: null }],
                puts: [{ key, value: bytes(`${index}.${turn}`) }],
                deletes: [],
              }),
            ),
          ),
        );
        assert.equal(outcomes.filter((outcome) => outcome === 'committed').length, 1);
      }
    }));

  test('what one node committed every other reads at once', () =>
    withNodes(3, async (nodes) => {
      for (let round = 0; round < 30; round++) {
        const writer = nodes[round % 3] as PostgresEngine;
        await put(writer, bytes('a'), `${round}`);
        for (const node of nodes) assert.equal(await valueOf(node, bytes('a')), `${round}`);
      }
    }));

  test('no two nodes both go through when each has read what the other writes', () =>
    withNodes(2, async (nodes) => {
      for (let round = 0; round < 20; round++) {
        const [x, y] = [bytes(`x${round}`), bytes(`y${round}`)];
        const take = (node: Engine, own: Uint8Array) =>
          transact(node, async (tx) => {
            const taken = await tx.getMany([x, y]);
            if (taken.some((value) => value !== null)) return false;
            tx.put(own, bytes('taken'));
            return true;
          });
        const results = await Promise.all([take(nodes[0] as Engine, x), take(nodes[1] as Engine, y)]);
        assert.equal(results.filter(Boolean).length, 1);
      }
    }));

  test('sums stay what they are under random transfers, and every reader sees them whole', async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const accounts = Array.from({ length: 6 }, (_, index) => bytes(`account ${index}`));
    await withNodes(3, async (nodes) => {
      await (nodes[0] as Engine).commit({
        checks: [],
        puts: accounts.map((key) => ({ key, value: bytes('100') })),
        deletes: [],
      });
      const refused = new Error('not enough');
      const transfer = (node: Engine) =>
        transact(node, async (tx) => {
          const [from, to] = [random.pick(accounts), random.pick(accounts)];
          const amount = 1 + random.below(80);
          const [has, had] = (await tx.getMany([from, to])).map((value) => Number(text(value as Uint8Array)));
          if ((has as number) < amount) throw refused;
          if (from === to) return;
          tx.put(from, bytes(String((has as number) - amount)));
          tx.put(to, bytes(String((had as number) + amount)));
        }).catch((error: unknown) => {
          if (error !== refused) throw error;
        });
      for (let round = 0; round < 15; round++) {
        await Promise.all(
          nodes.flatMap((node) => [...Array.from({ length: 6 }, () => transfer(node)), holds600(node), holds600(node)]),
        );
      }
    });
  });

  test('a refusal that rests on a commit which another node has made void is not given', () =>
    withNodes(2, async (nodes) => {
      const [a, b] = nodes as [PostgresEngine, PostgresEngine];
      await put(a, bytes('k'), '1');
      const view = a.tip();
      const [stale] = await view.get([bytes('k')]);
      view.close();
      await put(b, bytes('k'), '2');
      const voided = a.commit({
        checks: [{ key: bytes('k'), version: stale?.version ?? null }],
        puts: [{ key: bytes('flag'), value: bytes('set') }],
        deletes: [],
      });
      const sawFlag: boolean[] = [];
      const result = transact(a, async (tx) => {
        const flag = await tx.get(bytes('flag'));
        sawFlag.push(flag !== null);
        if (flag !== null) throw new Error('the flag is set');
        return 'no flag';
      });
      assert.equal(await voided, 'conflict');
      assert.equal(await result, 'no flag');
      assert.deepEqual(sawFlag, [true, false]);
    }));

  test('a node that has long been alone with its records notices at once that another changes them', () =>
    withNodes(2, async (nodes) => {
      const [a, b] = nodes as [PostgresEngine, PostgresEngine];
      const refused = new Error('not as expected');
      const swap = (node: Engine, from: string, to: string): Promise<void> =>
        transact(node, async (tx) => {
          const current = await tx.get(bytes('k'));
          if (current === null || text(current) !== from) throw refused;
          tx.put(bytes('k'), bytes(to));
        });
      await put(a, bytes('k'), '0');
      // By now it relies on what it has seen.
      for (let round = 0; round < 100; round++) await swap(a, `${round}`, `${round + 1}`);
      for (let round = 100; round < 120; round++) {
        await swap(b, `${round}`, 'b');
        await swap(a, 'b', `${round + 1}`);
        await assert.rejects(swap(a, 'b', 'lost'), refused);
      }
      await swap(b, '120', 'b');
      await assert.rejects(swap(a, '120', 'lost'), refused);
      assert.equal(await valueOf(a, bytes('k')), 'b');
    }));

  test('keys that differ only far behind the length that an index takes stand apart and in order', () =>
    withNodes(1, async ([node]) => {
      const engine = node as PostgresEngine;
      const names = ['', 'a', 'b', `b${'x'.repeat(1_500)}`, 'c', 'ca'];
      const keys = names.map((name) => Buffer.from(`B${'k'.repeat(1_999)}${name}`));
      await engine.commit({
        checks: keys.map((key) => ({ key, version: null })),
        puts: keys.toReversed().map((key) => ({ key, value: key.subarray(2_000) })),
        deletes: [],
      });
      const read = async (from: Uint8Array, to: Uint8Array, limit: number, reverse: boolean): Promise<string[]> => {
        const view = engine.snapshot();
        const entries = await view.range({ from, to }, { limit, reverse });
        view.close();
        return entries.map((entry) => text(entry.value));
      };
      const end = Buffer.from('C');
      for (let limit = 1; limit <= names.length; limit++) {
        assert.deepEqual(await read(bytes('B'), end, limit, false), names.slice(0, limit));
        assert.deepEqual(await read(bytes('B'), end, limit, true), names.toReversed().slice(0, limit));
      }
      for (const [index, key] of keys.entries()) {
        assert.deepEqual(await read(key, end, 9, false), names.slice(index));
        assert.deepEqual(await read(bytes('B'), key, 9, false), names.slice(0, index));
      }
      const gap = { from: Buffer.concat([keys[1] as Buffer, Buffer.of(0)]), to: keys[2] as Buffer };
      const inGap = [{ empty: gap }];
      assert.equal(await engine.commit({ checks: inGap, puts: [], deletes: [] }), 'committed');
      await put(engine, Buffer.concat([keys[1] as Buffer, bytes('!')]), '');
      assert.equal(await engine.commit({ checks: inGap, puts: [], deletes: [] }), 'conflict');
    }));

  test('two nodes claim different records, and what a node that left had claimed is free again', () =>
    withNodes(2, async (nodes, url) => {
      const [a, b] = nodes as [PostgresEngine, PostgresEngine];
      for (let index = 0; index < 40; index++) await put(a, bytes(`m${String(index).padStart(2, '0')}`), '');
      const third = await openPostgresEngine({ url });
      assert.equal((await third.claim(everything, 10)).entries.length, 10);
      const claims = await Promise.all([a.claim(everything, 12), b.claim(everything, 12), a.claim(everything, 3)]);
      const names = claims.flatMap((claim) => claim.entries.map((entry) => text(entry.key)));
      assert.equal(new Set(names).size, 27);
      await third.close();
      assert.equal((await b.claim(everything, 99)).entries.length, 13);
    }));

  test('ten nodes that start at once on an empty database make its tables once, and each gets its own slot', async () => {
    const { url, drop } = await freshDatabase();
    const nodes = await Promise.all(Array.from({ length: 10 }, () => openPostgresEngine({ url })));
    assert.equal(new Set(nodes.map((node) => node.slot())).size, 10);
    assert.equal(new Set(nodes.map((node) => node.storeId)).size, 1);
    assert.equal(await nodes[0]?.otherNodes(), 9);
    await Promise.all(nodes.map((node, index) => put(node, bytes(`k${index}`), '')));
    await Promise.all(nodes.map((node) => node.close()));
    await drop();
  });

  test('a database of a later release is refused', async () => {
    const { url, drop } = await freshDatabase();
    const database = new Database({ url });
    await prepareSchema(database);
    await database.query({
      text: `UPDATE larimar_settings SET value = '${SCHEMA_VERSION + 1}' WHERE name = 'schema'`,
    });
    await assert.rejects(openPostgresEngine({ url }), SchemaError);
    await database.close();
    await drop();
  });

  test('the volatile records and claims of a dead node are removed, those of the living stay', () =>
    withNodes(2, async (nodes, url) => {
      const [dead, living] = nodes as [PostgresEngine, PostgresEngine];
      await put(dead, volatile('dead'), '1');
      await put(living, volatile('living'), '1');
      await put(living, bytes('record'), '1');
      assert.equal((await dead.claim(everything, 9)).entries.length, 1);
      await lapse(url, { slot: dead.slot() });
      await living.beat();
      const view = living.snapshot();
      const names = (await view.range(everything, { limit: 9 })).map((entry) => text(entry.key.subarray(1)));
      view.close();
      assert.deepEqual(names, ['ecord', 'living']);
      assert.equal((await living.claim(everything, 9)).entries.length, 1);
    }));

  test('a node that writes volatile records alone, without a pause, renews its session all the same', () =>
    withNodes(1, async (nodes, url) => {
      const [node] = nodes as [PostgresEngine];
      const database = new Database({ url });
      const [row] = await database.query({ text: `SELECT id FROM larimar_sessions WHERE slot = ${node.slot()}` });
      // A session that lapsed is not renewed but replaced.
      const own = `id = ${String(row?.[0])}`;
      const isRenewed = async (): Promise<boolean> => {
        const rows = await database.query({
          text: `SELECT count(*) FROM larimar_sessions WHERE ${own} AND renewed_at > now() - interval '8 seconds'`,
        });
        return Number(rows[0]?.[0]) === 1;
      };
      await database.query({
        text: `UPDATE larimar_sessions SET renewed_at = now() - interval '10 seconds' WHERE ${own}`,
      });
      assert.equal(await isRenewed(), false);
      await until({ what: 'the session is renewed', limitSeconds: 10 }, async () => {
        await put(node, volatile('open'), 'x');
        await node.beat();
        return isRenewed();
      });
      await database.close();
    }));

  test('a node that was given up for dead and comes back goes on under a new session', () =>
    withNodes(2, async (nodes, url) => {
      const [paused, living] = nodes as [PostgresEngine, PostgresEngine];
      await put(paused, volatile('claim'), 'mine');
      const view = paused.tip();
      const [claim] = await view.get([volatile('claim')]);
      view.close();
      await lapse(url, { slot: paused.slot() });
      await living.beat();
      const rested = await paused.commit({
        checks: [{ key: volatile('claim'), version: claim?.version ?? null }],
        puts: [{ key: bytes('fenced work'), value: bytes('') }],
        deletes: [],
      });
      assert.equal(rested, 'conflict');
      assert.equal(await put(paused, bytes('a'), 'again'), 'committed');
      assert.equal(await valueOf(living, bytes('a')), 'again');
      assert.equal(await valueOf(living, bytes('fenced work')), null);
      assert.notEqual(paused.slot(), living.slot());
    }));

  test('the node of a slot that lapsed does not share it with the one that took it', () =>
    withNodes(1, async ([paused], url) => {
      await lapse(url, { slot: 0 });
      const next = await openPostgresEngine({ url });
      try {
        await next.beat();
        await put(paused as PostgresEngine, bytes('a'), '1');
        const later = await openPostgresEngine({ url });
        const slots = [paused, next, later].map((node) => node?.slot());
        assert.equal(new Set(slots).size, 3, slots.join());
        await later.close();
      } finally {
        await next.close();
      }
    }));
});
