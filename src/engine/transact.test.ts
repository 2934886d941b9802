import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes, commit, everything, text } from './contract.ts';
import { type Engine, EngineUnavailable, type Tip } from './engine.ts';
import { openMemoryEngine } from './memory/memory-engine.ts';
import { NOT_YET_WRITTEN, type Transaction, transact } from './transact.ts';

const range = (from: string, to: string) => ({ from: bytes(from), to: bytes(to) });

async function listed(tx: Transaction, from: string, to: string, limit = 99, reverse = false): Promise<string> {
  const entries = await tx.range(range(from, to), { limit, reverse });
  return entries.map(({ key, value }) => `${text(key)}=${text(value)}`).join(' ');
}

/** How often a body that reads so, then writes, has to run when someone else commits `put` and `delete` meanwhile. */
async function runsUnder(
  read: (tx: Transaction) => Promise<unknown>,
  meanwhile: { put?: Record<string, string>; delete?: string[] },
): Promise<number> {
  const engine = openMemoryEngine();
  await commit(engine, { put: { b: '', d: '', f: '', h: '' } });
  let runs = 0;
  await transact(engine, async (tx) => {
    runs++;
    await read(tx);
    if (runs === 1) await commit(engine, meanwhile);
    tx.put(bytes('result'), bytes(''));
  });
  return runs;
}

test('a transaction reads its own writes, by key and in ranges, both ways and within limits', async () => {
  const engine = openMemoryEngine();
  await commit(engine, { put: { a: '1', b: '1', c: '1', e: '1' } });
  await transact(engine, async (tx) => {
    tx.delete(bytes('a'));
    tx.put(bytes('b'), bytes('2'));
    tx.put(bytes('d'), bytes('2'));
    tx.put(bytes('f'), bytes('2'));
    const values = await tx.getMany(['d', 'a', 'c', 'x', 'b'].map(bytes));
    assert.deepEqual(
      values.map((value) => value && text(value)),
      ['2', null, '1', null, '2'],
    );
    assert.equal(await tx.get(bytes('a')), null);
    for (const [from, to, limit, reverse, want] of [
      ['a', 'z', 99, false, 'b=2 c=1 d=2 e=1 f=2'],
      ['a', 'z', 99, true, 'f=2 e=1 d=2 c=1 b=2'],
      ['a', 'z', 1, false, 'b=2'],
      ['a', 'z', 2, false, 'b=2 c=1'],
      ['a', 'z', 2, true, 'f=2 e=1'],
      ['a', 'z', 0, false, ''],
      ['a', 'b', 9, false, ''],
      ['d', 'e', 9, false, 'd=2'],
    ] as const) {
      assert.equal(await listed(tx, from, to, limit, reverse), want, `${from}..${to} ${limit} ${reverse}`);
    }
    assert.equal(await tx.isEmpty(range('a', 'b')), true);
    assert.equal(await tx.isEmpty(range('d', 'e')), false);
    const [own] = await tx.range(range('d', 'e'), { limit: 1 });
    assert.equal(own?.version, NOT_YET_WRITTEN);
  });
  const view = engine.snapshot();
  const entries = await view.range(everything, { limit: 99 });
  assert.equal(entries.map(({ key, value }) => text(key) + text(value)).join(' '), 'b2 c1 d2 e1 f2');
});

const readKey = (key: string) => (tx: Transaction) => tx.get(bytes(key));
const readRange = (from: string, to: string, limit: number, reverse: boolean) => (tx: Transaction) =>
  listed(tx, from, to, limit, reverse);

for (const [title, read, meanwhile, runs] of [
  ['a key that was read and overwritten', readKey('b'), { put: { b: '' } }, 2],
  ['a key that was read and deleted', readKey('b'), { delete: ['b'] }, 2],
  ['a key that was read as absent and created', readKey('c'), { put: { c: '' } }, 2],
  ['a key that was not read', readKey('b'), { put: { c: '', d: '' }, delete: ['f'] }, 1],
  ['an entry of a range that was read, overwritten', readRange('a', 'z', 9, false), { put: { d: '' } }, 2],
  ['an entry of a range that was read, deleted', readRange('a', 'z', 9, false), { delete: ['h'] }, 2],
  ['a new key before the first entry', readRange('a', 'e', 9, false), { put: { a: '' } }, 2],
  ['a new key between two entries', readRange('a', 'e', 9, false), { put: { c: '' } }, 2],
  ['a new key after the last entry', readRange('a', 'e', 9, false), { put: { dd: '' } }, 2],
  ['a new key at the end of the range', readRange('a', 'e', 9, false), { put: { e: '' } }, 1],
  ['a new key in a range that was empty', readRange('x', 'z', 9, false), { put: { y: '' } }, 2],
  ['a change beyond the limit', readRange('a', 'z', 2, false), { put: { e: '', f: '' }, delete: ['h'] }, 1],
  ['a change just beyond the limit', readRange('a', 'z', 2, false), { put: { 'd\0': '' } }, 1],
  ['a new key within the limit', readRange('a', 'z', 2, false), { put: { c: '' } }, 2],
  ['a change beyond the limit, backwards', readRange('a', 'z', 2, true), { put: { d: '', e: '' }, delete: ['b'] }, 1],
  ['a new key within the limit, backwards', readRange('a', 'z', 2, true), { put: { g: '' } }, 2],
  ['a new key after the last, backwards', readRange('a', 'z', 2, true), { put: { i: '' } }, 2],
  ['the last entry within the limit, backwards', readRange('a', 'z', 2, true), { delete: ['f'] }, 2],
  ['a key in a range asked for emptiness', (tx: Transaction) => tx.isEmpty(range('x', 'z')), { put: { y: '' } }, 2],
] as const) {
  test(`${title} makes the body run ${runs === 1 ? 'once' : 'again'}`, async () => {
    assert.equal(await runsUnder(read, meanwhile as { put?: Record<string, string>; delete?: string[] }), runs);
  });
}

test('an own write over a stored entry still rests on that entry when its range was read', async () => {
  const runs = await runsUnder(
    async (tx) => {
      tx.delete(bytes('b'));
      tx.put(bytes('c'), bytes('own'));
      assert.equal(await listed(tx, 'a', 'z', 1), 'c=own');
    },
    { put: { b: '' } },
  );
  assert.equal(runs, 2);
});

test('the result is that of the run that committed', async () => {
  const engine = openMemoryEngine();
  let runs = 0;
  const result = await transact(engine, async (tx) => {
    await tx.get(bytes('a'));
    if (++runs < 4) await commit(engine, { put: { a: '' } });
    tx.put(bytes('b'), bytes(''));
    return runs;
  });
  assert.equal(result, 4);
});

test('a body that always loses is given up after a hundred runs, as unavailable', async () => {
  const engine = openMemoryEngine();
  let runs = 0;
  const losing = transact(engine, async (tx) => {
    runs++;
    await tx.get(bytes('a'));
    await commit(engine, { put: { a: '' } });
    tx.put(bytes('b'), bytes(''));
  });
  await assert.rejects(losing, EngineUnavailable);
  assert.equal(runs, 100);
});

test('what a body throws comes out, and none of its writes are made', async () => {
  const engine = openMemoryEngine();
  const refusal = new Error('refused');
  const refused = transact(engine, async (tx) => {
    tx.put(bytes('a'), bytes(''));
    throw refusal;
  });
  await assert.rejects(refused, refusal);
  assert.deepEqual(await engine.snapshot().get([bytes('a')]), [null]);
});

test('every view is closed, whether the body commits, conflicts, only reads or throws', async () => {
  const inner = openMemoryEngine();
  let open = 0;
  const engine: Engine = {
    snapshot: () => inner.snapshot(),
    tip: (): Tip => {
      const tip = inner.tip();
      open++;
      return {
        get: (keys) => tip.get(keys),
        range: (range, options) => tip.range(range, options),
        scan: (...args) => tip.scan(...args),
        settled: () => tip.settled(),
        close: () => {
          open--;
          tip.close();
        },
      };
    },
    commit: (batch) => inner.commit(batch),
    claim: (range, limit) => inner.claim(range, limit),
    close: () => inner.close(),
  };
  const increments = Array.from({ length: 8 }, () =>
    transact(engine, async (tx) => {
      const current = await tx.get(bytes('n'));
      tx.put(bytes('n'), Uint8Array.of((current?.[0] ?? 0) + 1));
    }),
  );
  await Promise.all(increments);
  const count = await transact(engine, (tx) => tx.get(bytes('n')));
  assert.deepEqual([...(count as Uint8Array)], [8]);
  await assert.rejects(transact(engine, () => Promise.reject(new Error('refused'))));
  assert.equal(open, 0);
});

test('a glance shows what stands there and not the own writes, and what changes there later is no conflict', async () => {
  let seen = '';
  const read = async (tx: Transaction): Promise<void> => {
    tx.put(bytes('c'), bytes('own'));
    const entries = await tx.glance(range('a', 'e'), { limit: 9 });
    seen = entries.map(({ key }) => text(key)).join('');
  };
  assert.equal(await runsUnder(read, { put: { a: '', b: '2' }, delete: ['d'] }), 1);
  assert.equal(seen, 'bd');
});

test('what is to be done afterwards is done once, by the run that committed, and not after a refusal', async () => {
  const engine = openMemoryEngine();
  const done: string[] = [];
  let runs = 0;
  await transact(engine, async (tx) => {
    runs++;
    const run = `run ${runs}`;
    tx.afterwards(() => done.push(run));
    await tx.get(bytes('a'));
    if (runs === 1) await commit(engine, { put: { a: '' } });
    tx.put(bytes('b'), bytes(''));
    assert.deepEqual(done, []);
  });
  assert.deepEqual(done, ['run 2']);
  await transact(engine, async (tx) => tx.afterwards(() => done.push('read only')));
  await assert.rejects(
    transact(engine, async (tx) => {
      tx.afterwards(() => done.push('refused'));
      throw new Error('refused');
    }),
  );
  assert.deepEqual(done, ['run 2', 'read only']);
});
