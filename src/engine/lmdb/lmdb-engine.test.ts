import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { bytes, commit, everything, text, volatile } from '../contract.ts';
import { type Engine, EngineUnavailable, type Snapshot } from '../engine.ts';
import { transact } from '../transact.ts';
import { type LmdbEngine, openLmdbEngine } from './lmdb-engine.ts';

function onLmdb(title: string, body: (engine: LmdbEngine, path: string) => Promise<void>): void {
  test(title, async () => {
    const path = await mkdtemp(join(tmpdir(), 'larimar-lmdb.'));
    const engine = await openLmdbEngine({ path });
    try {
      await body(engine, path);
    } finally {
      await engine.close();
      await rm(path, { recursive: true });
    }
  });
}

async function names(view: Snapshot): Promise<string> {
  const entries = await view.range(everything, { limit: Infinity });
  view.close();
  return entries.map(({ key }) => text(key[0] === 0xf0 ? key.subarray(1) : key)).join(' ');
}

/** The values that occur, each once. */
async function values(view: Snapshot): Promise<string> {
  const entries = await view.range(everything, { limit: Infinity });
  return [...new Set(entries.map(({ value }) => text(value)))].join();
}

const increment = (engine: Engine, key: Uint8Array): Promise<void> =>
  transact(engine, async (tx) => {
    const current = await tx.get(key);
    tx.put(key, bytes(String(Number(current === null ? 0 : text(current)) + 1)));
  });

onLmdb('a snapshot sees neither part of a commit before it is durable, a tip sees both', async (engine) => {
  const accepted = commit(engine, { put: { a: '', '~b': '' } });
  assert.equal(await names(engine.snapshot()), '');
  assert.equal(await names(engine.tip()), 'a ~b');
  await accepted;
  assert.equal(await names(engine.snapshot()), 'a ~b');
});

onLmdb('64 concurrent increments of one key share a handful of groups', async (engine) => {
  await Promise.all(Array.from({ length: 64 }, () => increment(engine, bytes('n'))));
  assert.ok(engine.groupCount < 10, `${engine.groupCount} groups`);
  const [entry] = await engine.snapshot().get([bytes('n')]);
  assert.equal(text(entry?.value as Uint8Array), '64');
});

onLmdb('64 concurrent commits of different keys share a handful of groups', async (engine) => {
  await Promise.all(Array.from({ length: 64 }, (_, index) => commit(engine, { put: { [`k${index}`]: '' } })));
  assert.ok(engine.groupCount < 10, `${engine.groupCount} groups`);
});

onLmdb('volatile commits need no group', async (engine) => {
  await Promise.all(Array.from({ length: 8 }, () => increment(engine, volatile('n'))));
  await commit(engine, { delete: ['~x'] });
  assert.equal(engine.groupCount, 0);
});

onLmdb('a volatile commit waits for the group that its checks rest on, and is not seen before', async (engine) => {
  await commit(engine, { put: { gone: '' } });
  for (const [title, check] of [
    ['a deleted key', { key: bytes('gone'), version: null }],
    ['a range', { empty: { from: bytes('g'), to: bytes('h') } }],
  ] as const) {
    const accepted = commit(engine, { delete: ['gone'], put: { x: '' } });
    const resting = commit(engine, { checks: [check], put: { '~v': '' } });
    assert.equal(await names(engine.snapshot()), 'gone', title);
    assert.equal(await names(engine.tip()), 'x ~v', title);
    await resting;
    assert.equal(await names(engine.snapshot()), 'x ~v', title);
    await accepted;
    await commit(engine, { put: { gone: '' }, delete: ['~v', 'x'] });
  }
});

onLmdb('a volatile commit that rests on nothing pending is seen at once', async (engine) => {
  const accepted = commit(engine, { put: { a: '' } });
  await commit(engine, { checks: [{ key: bytes('b'), version: null }], put: { '~v': '' } });
  assert.equal(await names(engine.snapshot()), '~v');
  await accepted;
});

onLmdb('a refusal waits for what it read to be durable, and for nothing else', async (engine) => {
  const accepted = commit(engine, { put: { a: '' } });
  const refuseAfter = (key: string) =>
    transact(engine, async (tx) => {
      await tx.get(bytes(key));
      throw new Error('refused');
    });
  await assert.rejects(refuseAfter('b'), /refused/);
  assert.equal(await names(engine.snapshot()), '');
  await assert.rejects(refuseAfter('a'), /refused/);
  assert.equal(await names(engine.snapshot()), 'a');
  await accepted;
});

onLmdb('an answer that writes nothing waits for what it read to be durable', async (engine) => {
  const accepted = commit(engine, { put: { a: '' } });
  await transact(engine, (tx) => tx.isEmpty({ from: bytes('a'), to: bytes('b') }));
  assert.equal(await names(engine.snapshot()), 'a');
  await accepted;
});

onLmdb('many snapshots keep their own states while groups come and go', async (engine) => {
  const put = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`k${index}`, 'old']));
  await commit(engine, { put });
  const old = engine.snapshot();
  const others: Snapshot[] = [];
  for (let round = 0; round < 140; round++) {
    await commit(engine, { put: Object.fromEntries(Object.keys(put).map((name) => [name, `${round}`])) });
    others.push(engine.snapshot());
  }
  assert.equal(await values(old), 'old');
  for (const [round, view] of others.entries()) assert.equal(await values(view), `${round}`);
  for (const view of [old, ...others]) view.close();
});

onLmdb('a view that outlives the engine fails, and does not crash', async (engine) => {
  await commit(engine, { put: { a: '' } });
  const view = engine.snapshot();
  await engine.close();
  await assert.rejects(view.get([bytes('a')]), EngineUnavailable);
  await assert.rejects(view.range(everything, { limit: 1 }), EngineUnavailable);
  view.close();
  await assert.rejects(engine.claim(everything, 1), EngineUnavailable);
});

test('a store outgrows the map it was opened with while a snapshot is open', async () => {
  const path = await mkdtemp(join(tmpdir(), 'larimar-lmdb.'));
  const engine = await openLmdbEngine({ path, mapSizeBytes: 2 ** 20 });
  await commit(engine, { put: { first: 'small' } });
  const old = engine.snapshot();
  const value = Buffer.alloc(2 ** 20, 'x');
  for (let index = 0; index < 12; index++) {
    await engine.commit({ checks: [], puts: [{ key: bytes(`large${index}`), value }], deletes: [] });
  }
  assert.equal(await names(old), 'first');
  const entries = await engine.snapshot().range(everything, { limit: Infinity });
  assert.equal(entries.length, 13);
  assert.ok(entries.slice(1).every((entry) => Buffer.compare(entry.value, value) === 0));
  await engine.close();
  await rm(path, { recursive: true });
});

test('a folder that cannot be a store is unavailable, with its cause', async () => {
  const opening = openLmdbEngine({ path: '/dev/null/store' });
  await assert.rejects(opening, (error: unknown) => error instanceof EngineUnavailable && error.cause instanceof Error);
});
