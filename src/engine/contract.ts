/**
 * What every engine promises, as tests: run it over each adapter. A harness opens a fresh, empty store; `reopen` closes
 * the engine and opens the same store again.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../test/harness/random.ts';
import { successor } from '../base/bytes.ts';
import {
  type Check,
  type Engine,
  EngineUnavailable,
  type Entry,
  KEY_BYTES_MAX,
  type Key,
  type KeyRange,
  type Outcome,
  type Snapshot,
  VOLATILE_PREFIX,
} from './engine.ts';
import { type Transaction, transact } from './transact.ts';

export interface EngineHarness {
  readonly engine: Engine;
  reopen(): Promise<Engine>;
  dispose(): Promise<void>;
}

export const bytes = (text: string): Uint8Array => Buffer.from(text);
export const text = (value: Uint8Array): string => Buffer.from(value).toString();
export const volatile = (name: string): Key => Buffer.concat([Buffer.of(VOLATILE_PREFIX), Buffer.from(name)]);
export const everything: KeyRange = { from: new Uint8Array(0), to: new Uint8Array(16).fill(0xff) };

interface Writes {
  readonly checks?: readonly Check[];
  readonly put?: Readonly<Record<string, string>>;
  readonly delete?: readonly string[];
}

/** Names and values as text; a name that starts with `~` is volatile. */
const keyOf = (name: string): Key => (name.startsWith('~') ? volatile(name) : bytes(name));

export function commit(engine: Engine, { checks = [], put = {}, delete: deletes = [] }: Writes): Promise<Outcome> {
  const puts = Object.entries(put).map(([name, value]) => ({ key: keyOf(name), value: bytes(value) }));
  return engine.commit({ checks, puts, deletes: deletes.map(keyOf) });
}

async function withView<T, V extends Snapshot>(view: V, read: (view: V) => Promise<T>): Promise<T> {
  try {
    return await read(view);
  } finally {
    view.close();
  }
}

const entryOf = async (view: Snapshot, name: string): Promise<Entry | null> =>
  (await view.get([keyOf(name)]))[0] ?? null;

async function valueOf(view: Snapshot, name: string): Promise<string | null> {
  const entry = await entryOf(view, name);
  return entry === null ? null : text(entry.value);
}

const value = (engine: Engine, name: string): Promise<string | null> =>
  withView(engine.snapshot(), (view) => valueOf(view, name));

async function version(engine: Engine, name: string): Promise<number> {
  const entry = await withView(engine.tip(), (view) => entryOf(view, name));
  assert.ok(entry !== null, `${name} is absent`);
  return entry.version;
}

/** `from..to` as text, `name=value` for each entry. */
async function list(
  view: Snapshot,
  {
    from = '',
    to,
    limit = Infinity,
    reverse = false,
  }: { from?: string; to?: string; limit?: number; reverse?: boolean },
): Promise<string[]> {
  const range = { from: bytes(from), to: to === undefined ? everything.to : bytes(to) };
  const entries = await view.range(range, { limit, reverse });
  return entries.map((entry) => `${text(entry.key)}=${text(entry.value)}`);
}

const listAll = (engine: Engine): Promise<string[]> => withView(engine.snapshot(), (view) => list(view, {}));

/** `skip`: why this engine cannot be run here. */
export function engineContract(name: string, open: () => Promise<EngineHarness>, skip: false | string = false): void {
  function contract(title: string, body: (engine: Engine, harness: EngineHarness) => Promise<void>): void {
    test(`${name}: ${title}`, { skip }, async () => {
      const harness = await open();
      try {
        await body(harness.engine, harness);
      } finally {
        await harness.dispose();
      }
    });
  }

  contract('what is committed is read back, in the order asked, and null where there is nothing', async (engine) => {
    assert.equal(await commit(engine, { put: { b: '2', a: '1' } }), 'committed');
    const entries = await withView(engine.snapshot(), (view) => view.get([bytes('b'), bytes('x'), bytes('a')]));
    assert.deepEqual(
      entries.map((entry) => entry && [text(entry.key), text(entry.value)]),
      [['b', '2'], null, ['a', '1']],
    );
  });

  contract('an overwrite changes value and version, a delete leaves nothing', async (engine) => {
    await commit(engine, { put: { a: '1' } });
    const first = await version(engine, 'a');
    await commit(engine, { put: { a: '2' } });
    assert.equal(await value(engine, 'a'), '2');
    assert.notEqual(await version(engine, 'a'), first);
    await commit(engine, { delete: ['a', 'never'] });
    assert.equal(await value(engine, 'a'), null);
  });

  contract('keys sort as unsigned bytes, a prefix before what it begins', async (engine) => {
    const keys = [[1], [1, 0], [1, 0, 0], [1, 255], [2], [127], [128], [128, 1], [0xef, 255], [0xf1], [255]];
    const puts = keys.map((key) => ({ key: Uint8Array.from(key), value: bytes('') }));
    await engine.commit({ checks: [], puts: puts.toReversed(), deletes: [] });
    for (const reverse of [false, true]) {
      const entries = await withView(engine.snapshot(), (view) => view.range(everything, { limit: 100, reverse }));
      const found = entries.map((entry) => [...entry.key]);
      assert.deepEqual(found, reverse ? keys.toReversed() : keys);
    }
  });

  contract('a range begins at its first key, ends before its last, and goes both ways', async (engine) => {
    await commit(engine, { put: { a: '', b: '', c: '', d: '', e: '' } });
    const view = engine.snapshot();
    for (const [from, to, limit, want] of [
      ['b', 'd', 9, 'b c'],
      ['b', 'd', 1, 'b'],
      ['b', 'd', 2, 'b c'],
      ['bb', 'dd', 9, 'c d'],
      ['', 'a', 9, ''],
      ['', 'aa', 9, 'a'],
      ['e', 'z', 9, 'e'],
      ['ee', 'z', 9, ''],
      ['c', 'c', 9, ''],
      ['d', 'b', 9, ''],
      ['a', 'f', 0, ''],
      ['a', 'f', 3, 'a b c'],
    ] as const) {
      const found = await list(view, { from, to, limit });
      assert.equal(found.map((row) => row[0]).join(' '), want, `${from}..${to} limit ${limit}`);
    }
    for (const [from, to, limit, want] of [
      ['b', 'd', 9, 'c b'],
      ['b', 'd', 1, 'c'],
      ['bb', 'dd', 9, 'd c'],
      ['', 'aa', 9, 'a'],
      ['', 'z', 2, 'e d'],
      ['ee', 'z', 9, ''],
      ['d', 'b', 9, ''],
      ['a', 'f', 0, ''],
    ] as const) {
      const found = await list(view, { from, to, limit, reverse: true });
      assert.equal(found.map((row) => row[0]).join(' '), want, `${from}..${to} backwards, limit ${limit}`);
    }
    view.close();
  });

  contract('a range of large values ends with the one that makes them too many bytes', async (engine) => {
    await commit(engine, { put: { a: 'xx', b: 'x', c: 'xxxx', d: '', e: 'xxx', f: 'x' } });
    const view = engine.snapshot();
    for (const [bytesMax, limit, reverse, want] of [
      [1, 9, false, 'a'],
      [3, 9, false, 'a b'],
      [4, 9, false, 'a b c'],
      [7, 9, false, 'a b c'],
      [8, 9, false, 'a b c d e'],
      [8, 2, false, 'a b'],
      [11, 9, false, 'a b c d e f'],
      [99, 9, false, 'a b c d e f'],
      [4, 9, true, 'f e'],
      [5, 9, true, 'f e d c'],
    ] as const) {
      const range = { from: bytes('a'), to: bytes('g') };
      const found = await view.range(range, { limit, reverse, bytesMax });
      const keys = found.map(({ key }) => Buffer.from(key).toString());
      assert.equal(keys.join(' '), want, `${bytesMax} bytes, limit ${limit}${reverse ? ', backwards' : ''}`);
    }
    view.close();
  });

  contract('a scan shows what a range has, as far as it is let, and says where to go on', async (engine) => {
    await commit(engine, { put: { a: 'xx', b: 'x', c: 'xxxx', d: '', e: 'xxx', f: 'x' } });
    const all = ['a=xx', 'b=x', 'c=xxxx', 'd=', 'e=xxx', 'f=x'];
    for (const view of [engine.snapshot(), engine.tip()]) {
      for (const [from, to, limit, bytesMax, until, count] of [
        ['a', 'g', 9, 99, '', 6],
        ['a', 'g', 6, 99, '', 6],
        ['a', 'g', 2, 99, '', 2],
        ['a', 'g', 9, 7, '', 3],
        ['a', 'g', 9, 99, 'c', 2],
        ['a', 'g', 9, 99, 'a', 0],
        ['a', 'd', 9, 99, '', 3],
        ['g', 'z', 9, 99, '', 0],
      ] as const) {
        const seen: string[] = [];
        const visit = (key: Key, value: Uint8Array): boolean => {
          if (Buffer.from(key).toString() === until) return false;
          return seen.push(`${Buffer.from(key).toString()}=${Buffer.from(value).toString()}`) > 0;
        };
        const what = `${from}..${to} limit ${limit}, ${bytesMax} bytes, until ${until || 'the end'}`;
        const range = { from: bytes(from), to: bytes(to) };
        const first = await view.scan(range, { limit, bytesMax }, visit);
        const start = all.findIndex((row) => row >= from);
        assert.deepEqual(seen, start < 0 ? [] : all.slice(start, start + count), what);
        // Nothing is left out, and nothing comes twice, by who goes on from there.
        for (let next = first; next !== null; ) {
          next = await view.scan({ ...range, from: next }, { limit, bytesMax }, (key, value) => {
            seen.push(`${Buffer.from(key).toString()}=${Buffer.from(value).toString()}`);
            return true;
          });
        }
        assert.deepEqual(
          seen,
          all.filter((row) => row >= from && row < to),
          what,
        );
      }
      view.close();
    }
  });

  contract('what a visitor throws ends the scan, and comes out as it is', async (engine) => {
    await commit(engine, { put: { a: '1', b: '2', c: '3' } });
    const view = engine.snapshot();
    const range = { from: bytes('a'), to: bytes('z') };
    const thrown = new RangeError('not like this');
    let seenCount = 0;
    const visit = (): boolean => {
      if (++seenCount === 2) throw thrown;
      return true;
    };
    await assert.rejects(view.scan(range, { limit: 9, bytesMax: 99 }, visit), thrown);
    assert.equal(seenCount, 2);
    // What is read afterwards is the reader's to keep.
    const [first] = await view.get([bytes('a')]);
    await view.get([bytes('b')]);
    assert.equal(Buffer.from(first?.value ?? []).toString(), '1');
    view.close();
  });

  contract('a scan shows large values whole', async (engine) => {
    const large = 'x'.repeat(3_000_000);
    await commit(engine, { put: { a: 'small', b: large, c: 'small again' } });
    const view = engine.snapshot();
    const seen: string[] = [];
    for (let start: Key | null = bytes('a'); start !== null; ) {
      start = await view.scan({ from: start, to: bytes('z') }, { limit: 9, bytesMax: 1_000 }, (_, value) => {
        seen.push(Buffer.from(value).toString());
        return true;
      });
    }
    view.close();
    assert.deepEqual(seen, ['small', large, 'small again']);
  });

  contract('the longest keys and the values of several megabytes come back whole', async (engine, harness) => {
    const long = Buffer.alloc(KEY_BYTES_MAX, 'k');
    const longer = Buffer.from(long);
    longer[KEY_BYTES_MAX - 1] = 0xff;
    const large = Buffer.alloc(5_000_000, 'large ');
    await engine.commit({ checks: [{ key: long, version: null }], puts: [{ key: long, value: large }], deletes: [] });
    await engine.commit({ checks: [], puts: [{ key: longer, value: bytes('') }], deletes: [] });
    for (const reopened of [false, true]) {
      const view = (reopened ? await harness.reopen() : engine).snapshot();
      const [byKey] = await view.get([long]);
      assert.ok(byKey !== null && byKey !== undefined && Buffer.compare(byKey.value, large) === 0);
      for (const reverse of [false, true]) {
        const range = { from: long, to: successor(longer) };
        const found = await view.range(range, { limit: 9, reverse });
        assert.deepEqual(
          found.map((entry) => entry.value.length),
          reverse ? [0, large.length] : [large.length, 0],
        );
      }
      assert.equal((await view.range({ from: successor(long), to: longer }, { limit: 9 })).length, 0);
      view.close();
    }
  });

  contract('a key that is empty or too long is refused by a commit and absent to a read', async (engine) => {
    for (const length of [0, KEY_BYTES_MAX + 1]) {
      const key = Buffer.alloc(length, 'k');
      const writes = { checks: [], puts: [{ key, value: bytes('') }], deletes: [] };
      await assert.rejects(engine.commit(writes), RangeError);
      await assert.rejects(engine.commit({ checks: [], puts: [], deletes: [key] }), RangeError);
      assert.deepEqual(await withView(engine.snapshot(), (view) => view.get([key])), [null]);
    }
  });

  contract('an empty value is a record', async (engine) => {
    await commit(engine, { put: { a: '' } });
    assert.equal(await value(engine, 'a'), '');
    const check = { key: bytes('a'), version: null };
    assert.equal(await commit(engine, { checks: [check], put: { a: '1' } }), 'conflict');
  });

  contract('values that were read stay what they were', async (engine) => {
    await commit(engine, { put: { a: 'first', b: 'x'.repeat(40_000) } });
    const entries = await withView(engine.snapshot(), (view) => view.range(everything, { limit: 9 }));
    for (let round = 0; round < 5; round++) await commit(engine, { put: { a: `${round}`, b: `${round}` } });
    await withView(engine.snapshot(), (view) => view.range(everything, { limit: 9 }));
    assert.deepEqual(
      entries.map((entry) => text(entry.value)),
      ['first', 'x'.repeat(40_000)],
    );
  });

  contract('a commit whose checks fail changes nothing at all', async (engine) => {
    await commit(engine, { put: { a: '1' } });
    const before = await version(engine, 'a');
    await commit(engine, { put: { a: '2' } });
    const stale = { key: bytes('a'), version: before };
    const fresh = { key: bytes('b'), version: null };
    assert.equal(await commit(engine, { checks: [fresh, stale], put: { b: '1', c: '1' }, delete: ['a'] }), 'conflict');
    assert.deepEqual(await listAll(engine), ['a=2']);
    const current = { key: bytes('a'), version: await version(engine, 'a') };
    assert.equal(await commit(engine, { checks: [fresh, current], put: { b: '1' }, delete: ['a'] }), 'committed');
    assert.deepEqual(await listAll(engine), ['b=1']);
  });

  contract('a check for absence fails once the key exists, and holds again after its delete', async (engine) => {
    const absent = { key: bytes('a'), version: null };
    assert.equal(await commit(engine, { checks: [absent], put: { a: '1' } }), 'committed');
    assert.equal(await commit(engine, { checks: [absent], put: { a: '2' } }), 'conflict');
    await commit(engine, { delete: ['a'] });
    assert.equal(await commit(engine, { checks: [absent], put: { a: '3' } }), 'committed');
  });

  contract('a version is not taken for that of the same key deleted and created again', async (engine) => {
    await commit(engine, { put: { a: 'same' } });
    const check = { key: bytes('a'), version: await version(engine, 'a') };
    await commit(engine, { delete: ['a'] });
    await commit(engine, { put: { a: 'same' } });
    assert.equal(await commit(engine, { checks: [check], put: { a: 'lost' } }), 'conflict');
    assert.equal(await value(engine, 'a'), 'same');
  });

  contract('a check for an empty range fails for any key inside and for none at its end', async (engine) => {
    const empty = { empty: { from: bytes('b'), to: bytes('d') } };
    await commit(engine, { put: { a: '', d: '', e: '' } });
    assert.equal(await commit(engine, { checks: [empty], put: { x: '1' } }), 'committed');
    for (const inside of ['b', 'bb', 'cz']) {
      await commit(engine, { put: { [inside]: '' } });
      assert.equal(await commit(engine, { checks: [empty], put: { x: '2' } }), 'conflict', inside);
      await commit(engine, { delete: [inside] });
    }
    assert.equal(await commit(engine, { checks: [empty], put: { x: '3' } }), 'committed');
  });

  contract('commits in flight are judged against each other: one of many creators wins', async (engine) => {
    const absent = { key: bytes('a'), version: null };
    const outcomes = await Promise.all(
      Array.from({ length: 32 }, (_, index) => commit(engine, { checks: [absent], put: { a: `${index}` } })),
    );
    assert.equal(outcomes.filter((outcome) => outcome === 'committed').length, 1);
    assert.equal(await value(engine, 'a'), `${outcomes.indexOf('committed')}`);
  });

  contract('a view sees one state, whatever is committed later', async (engine) => {
    await commit(engine, { put: { a: '1', c: '1' } });
    for (const view of [engine.snapshot(), engine.tip()]) {
      const before = await list(view, {});
      await commit(engine, { put: { a: before.join(), b: '2' }, delete: ['c'] });
      await commit(engine, { put: { c: '3' } });
      assert.deepEqual(await list(view, {}), before);
      assert.deepEqual(await list(view, { reverse: true }), before.toReversed());
      assert.equal(`a=${await valueOf(view, 'a')}`, before[0]);
      view.close();
    }
  });

  contract('a tip sees a commit from the moment it is accepted, ranges and deletes included', async (engine) => {
    await commit(engine, { put: { a: '1', b: '1', d: '1' } });
    const accepted = commit(engine, { put: { a: '2', c: '2' }, delete: ['b'] });
    const tip = engine.tip();
    assert.deepEqual(await list(tip, {}), ['a=2', 'c=2', 'd=1']);
    assert.deepEqual(await list(tip, { reverse: true, limit: 2 }), ['d=1', 'c=2']);
    assert.equal(await valueOf(tip, 'b'), null);
    await accepted;
    assert.deepEqual(await list(tip, {}), ['a=2', 'c=2', 'd=1']);
    tip.close();
    assert.deepEqual(await listAll(engine), ['a=2', 'c=2', 'd=1']);
  });

  contract('once a tip is settled, a snapshot sees all that was read through it', async (engine) => {
    await commit(engine, { put: { gone: '1' } });
    for (const read of [
      (tip: Snapshot) => valueOf(tip, 'a'),
      (tip: Snapshot) => valueOf(tip, 'gone'),
      (tip: Snapshot) => list(tip, { from: 'g', to: 'h' }),
    ]) {
      const accepted = commit(engine, { put: { a: '1' }, delete: ['gone'] });
      const tip = engine.tip();
      await read(tip);
      await tip.settled();
      assert.deepEqual(await listAll(engine), ['a=1']);
      tip.close();
      await accepted;
      await commit(engine, { put: { gone: '1' }, delete: ['a'] });
    }
  });

  contract('a view that is closed reads no more, and closing it twice is harmless', async (engine) => {
    const view = engine.snapshot();
    view.close();
    view.close();
    await assert.rejects(view.get([bytes('a')]));
    await assert.rejects(view.range(everything, { limit: 1 }));
    assert.equal(await commit(engine, { put: { a: '1' } }), 'committed');
  });

  contract('64 concurrent increments end exact', async (engine) => {
    await Promise.all(
      Array.from({ length: 64 }, () =>
        transact(engine, async (tx) => {
          const current = await tx.get(bytes('n'));
          tx.put(bytes('n'), bytes(String(Number(current === null ? 0 : text(current)) + 1)));
        }),
      ),
    );
    assert.equal(await value(engine, 'n'), '64');
  });

  contract(
    'two transactions that each read what the other writes do not both go through (write skew)',
    async (engine) => {
      await commit(engine, { put: { x: 'on', y: 'on' } });
      const turnOff = (name: string) =>
        transact(engine, async (tx) => {
          const states = await tx.getMany([bytes('x'), bytes('y')]);
          const isLast = states.filter((state) => state !== null && text(state) === 'on').length < 2;
          if (!isLast) tx.put(bytes(name), bytes('off'));
          return isLast ? 'refused' : 'turned off';
        });
      assert.deepEqual((await Promise.all([turnOff('x'), turnOff('y')])).sort(), ['refused', 'turned off']);
    },
  );

  contract(
    'of many transactions that add a record if a range has fewer than two, two add one (phantoms)',
    async (engine) => {
      const range = { from: bytes('p'), to: bytes('q') };
      const results = await Promise.all(
        Array.from({ length: 16 }, (_, index) =>
          transact(engine, async (tx) => {
            if ((await tx.range(range, { limit: 2 })).length === 2) return false;
            tx.put(bytes(`p${index}`), bytes(''));
            return true;
          }),
        ),
      );
      assert.equal(results.filter(Boolean).length, 2);
      assert.equal((await listAll(engine)).length, 2);
    },
  );

  contract('volatile records are read, ordered and checked like all others', async (engine) => {
    await commit(engine, { put: { a: '1', '~b': '2', '~a': '1' } });
    const beyond = { key: Uint8Array.of(VOLATILE_PREFIX + 1), value: bytes('3') };
    await engine.commit({ checks: [], puts: [beyond], deletes: [] });
    for (const reverse of [false, true]) {
      const entries = await withView(engine.snapshot(), (view) => view.range(everything, { limit: 9, reverse }));
      const found = entries.map((entry) => [...entry.key].map((byte) => String.fromCharCode(byte)).join(''));
      const want = ['a', '\u00f0~a', '\u00f0~b', '\u00f1'];
      assert.deepEqual(found, reverse ? want.toReversed() : want);
    }
    const absent = { key: volatile('~a'), version: null };
    assert.equal(await commit(engine, { checks: [absent], put: { a: '2' } }), 'conflict');
    const current = { key: volatile('~a'), version: await version(engine, '~a') };
    assert.equal(await commit(engine, { checks: [current], put: { a: '2' }, delete: ['~a'] }), 'committed');
    const empty = { empty: { from: volatile(''), to: beyond.key } };
    assert.equal(await commit(engine, { checks: [empty], put: { a: '3' } }), 'conflict');
    assert.equal(await commit(engine, { delete: ['~b'] }), 'committed');
    assert.equal(await commit(engine, { checks: [empty], put: { a: '3' } }), 'committed');
  });

  contract('a commit of durable and volatile records is seen whole or not at all', async (engine) => {
    const pending: Promise<Outcome>[] = [];
    for (let round = 0; round < 20; round++) {
      pending.push(commit(engine, { put: { a: `${round}`, '~a': `${round}` } }));
      pending.push(commit(engine, { put: { '~other': `${round}` } }));
      for (const view of [engine.snapshot(), engine.tip()]) {
        assert.equal(await valueOf(view, '~a'), await valueOf(view, 'a'));
        view.close();
      }
      if (round % 3 === 0) await Promise.all(pending);
    }
    await Promise.all(pending);
    assert.equal(await value(engine, '~a'), '19');
    assert.equal(await value(engine, '~other'), '19');
  });

  contract('a volatile commit that overwrites or rests on one not yet durable comes after it', async (engine) => {
    const first = commit(engine, { put: { a: '1', '~a': '1' } });
    const second = commit(engine, { put: { '~a': '2' } });
    const check = { key: bytes('a'), version: await version(engine, 'a') };
    assert.equal(await commit(engine, { checks: [check], put: { '~b': '3' } }), 'committed');
    assert.equal(await value(engine, 'a'), '1');
    assert.equal(await value(engine, '~b'), '3');
    assert.deepEqual(await Promise.all([first, second]), ['committed', 'committed']);
    assert.equal(await value(engine, '~a'), '2');
  });

  contract('a volatile record that was committed is seen by the next snapshot', async (engine) => {
    void commit(engine, { put: { unrelated: '1' } });
    await commit(engine, { put: { '~a': '1' } });
    assert.equal(await value(engine, '~a'), '1');
    await commit(engine, { delete: ['~a'] });
    assert.equal(await value(engine, '~a'), null);
  });

  contract('concurrent claims of one range never overlap, and take what is accepted, in order', async (engine) => {
    await commit(engine, { put: { a: '', b: '', c: '', z: '' } });
    const range = { from: bytes('a'), to: bytes('m') };
    const accepted = commit(engine, { put: { d: '', e: '' }, delete: ['b'] });
    const claims = await Promise.all([1, 2, 0, 9, 9].map((limit) => engine.claim(range, limit)));
    const taken = claims.map((claim) => claim.entries.map((entry) => text(entry.key)).join(' '));
    assert.deepEqual(taken, ['a', 'c d', '', 'e', '']);
    await accepted;
  });

  contract('a claim that was released can be taken again, and releasing twice frees nobody else', async (engine) => {
    await commit(engine, { put: { a: '', b: '' } });
    const first = await engine.claim(everything, 1);
    first.release();
    const second = await engine.claim(everything, 1);
    first.release();
    const third = await engine.claim(everything, 1);
    assert.deepEqual(
      [first, second, third].map((claim) => claim.entries.map((entry) => text(entry.key))),
      [['a'], ['a'], ['b']],
    );
    assert.equal(await commit(engine, { put: { a: 'claims do not hinder commits' } }), 'committed');
  });

  contract('after a restart durable records are there and volatile ones are not', async (engine, harness) => {
    await commit(engine, { put: { a: '1', b: '2', '~a': '1', '~b': '2' } });
    await commit(engine, { delete: ['b'] });
    await engine.claim(everything, 9);
    const reopened = await harness.reopen();
    assert.deepEqual(await listAll(reopened), ['a=1']);
    assert.equal((await reopened.claim(everything, 9)).entries.length, 1);
  });

  contract('no version is given twice, over restarts and deletes', async (engine, harness) => {
    const seen = new Set<number>();
    let current = engine;
    for (let round = 0; round < 4; round++) {
      for (let step = 0; step < 3; step++) {
        await commit(current, { put: { a: '' } });
        const given = await version(current, 'a');
        assert.ok(!seen.has(given), `${given} again`);
        seen.add(given);
        await commit(current, { delete: ['a'] });
      }
      current = await harness.reopen();
    }
  });

  contract('closing waits for what was accepted, and nothing is taken afterwards', async (engine, harness) => {
    const accepted = Array.from({ length: 10 }, (_, index) => commit(engine, { put: { [`k${index}`]: '' } }));
    const reopened = await harness.reopen();
    assert.equal((await listAll(reopened)).length, 10);
    assert.deepEqual(new Set(await Promise.all(accepted)), new Set(['committed']));
    await assert.rejects(commit(engine, { put: { late: '' } }), EngineUnavailable);
  });

  test(`${name}: random transactions, commits and restarts do what a plain map says`, { skip }, async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const harness = await open();
    try {
      await new Simulation(harness, random).run(SIMULATED_STEPS);
    } finally {
      await harness.dispose();
    }
  });
}

const SIMULATED_STEPS = 300;

type Row = readonly [hex: string, value: string];

/** One engine and the map it must equal; keys as hex text, which sorts like the bytes. */
class Simulation {
  readonly #harness: EngineHarness;
  readonly #random: Random;
  #engine: Engine;
  #model = new Map<string, string>();
  /** The versions of the present keys, and all that were ever seen. */
  #versions = new Map<string, number>();
  readonly #seen: number[] = [0];
  #step = 0;

  constructor(harness: EngineHarness, random: Random) {
    this.#harness = harness;
    this.#engine = harness.engine;
    this.#random = random;
  }

  async run(steps: number): Promise<void> {
    for (this.#step = 0; this.#step < steps; this.#step++) {
      const dice = this.#random.next();
      if (dice < 0.02) await this.#restart();
      else if (dice < 0.5) await this.#transact();
      else await this.#commitSeveral();
      await this.#compare(this.#engine.tip());
      await this.#compare(this.#engine.snapshot());
    }
  }

  async #restart(): Promise<void> {
    this.#engine = await this.#harness.reopen();
    for (const hex of this.#model.keys()) if (hex.startsWith('f0')) this.#model.delete(hex);
  }

  /** Random reads, each compared, and writes between them; sometimes given up at the end. */
  async #transact(): Promise<void> {
    const givenUp = new Error('given up');
    const model = new Map(this.#model);
    const run = transact(this.#engine, async (tx) => {
      for (let count = this.#random.below(6); count >= 0; count--) await this.#operate(tx, model);
      if (this.#random.chance(0.2)) throw givenUp;
    });
    try {
      await run;
      this.#model = model;
    } catch (error) {
      if (error !== givenUp) throw error;
    }
  }

  async #operate(tx: Transaction, model: Map<string, string>): Promise<void> {
    const [a, b] = [this.#anyKey(), this.#anyKey()];
    switch (this.#random.below(5)) {
      case 0:
        tx.put(unhex(a), bytes(`${this.#step}`));
        model.set(a, `${this.#step}`);
        break;
      case 1:
        tx.delete(unhex(a));
        model.delete(a);
        break;
      case 2: {
        const values = await tx.getMany([unhex(a), unhex(b)]);
        const found = values.map((value) => value && text(value));
        assert.deepEqual(found, [model.get(a) ?? null, model.get(b) ?? null]);
        break;
      }
      case 3:
        assert.equal(await tx.isEmpty({ from: unhex(a), to: unhex(b) }), rowsOf(model, a, b).length === 0);
        break;
      default: {
        const [limit, reverse] = [this.#random.below(5), this.#random.chance(0.5)];
        const entries = await tx.range({ from: unhex(a), to: unhex(b) }, { limit, reverse });
        const rows = rowsOf(model, a, b);
        assert.deepEqual(entries.map(rowOf), (reverse ? rows.toReversed() : rows).slice(0, limit));
      }
    }
  }

  /** Commits that follow each other without waiting, so that later ones are judged against earlier ones. */
  async #commitSeveral(): Promise<void> {
    const outcomes: Promise<Outcome>[] = [];
    const expected: Outcome[] = [];
    for (let count = this.#random.below(4); count >= 0; count--) {
      const { checks, hold } = this.#anyChecks();
      const keys = new Set(Array.from({ length: this.#random.below(4) }, () => this.#anyKey()));
      const [puts, deletes] = [[...keys].filter(() => this.#random.chance(0.7)), [] as string[]];
      for (const key of keys) if (!puts.includes(key)) deletes.push(key);
      const value = `${this.#step}.${count}`;
      outcomes.push(
        this.#engine.commit({
          checks,
          puts: puts.map((key) => ({ key: unhex(key), value: bytes(value) })),
          deletes: deletes.map(unhex),
        }),
      );
      expected.push(hold ? 'committed' : 'conflict');
      if (hold) {
        for (const key of puts) this.#model.set(key, value);
        for (const key of deletes) this.#model.delete(key);
      }
      await this.#compare(this.#engine.tip());
    }
    assert.deepEqual(await Promise.all(outcomes), expected);
  }

  #anyChecks(): { checks: Check[]; hold: boolean } {
    const checks: Check[] = [];
    let hold = true;
    for (let count = this.#random.below(3); count > 0; count--) {
      const [a, b] = [this.#anyKey(), this.#anyKey()];
      const current = this.#versions.get(a) ?? null;
      if (this.#random.chance(0.3)) {
        checks.push({ empty: { from: unhex(a), to: unhex(b) } });
        hold &&= rowsOf(this.#model, a, b).length === 0;
      } else {
        const version = this.#random.chance(0.8) ? current : this.#random.pick([null, ...this.#seen]);
        checks.push({ key: unhex(a), version });
        hold &&= version === current;
      }
    }
    return { checks, hold };
  }

  async #compare(view: Snapshot): Promise<void> {
    const entries = await withView(view, (view) => view.range(everything, { limit: Infinity }));
    const rows = rowsOf(this.#model, '', 'ffffff');
    assert.deepEqual(entries.map(rowOf), rows, `step ${this.#step}`);
    this.#versions = new Map(entries.map((entry) => [hexOf(entry.key), entry.version]));
    this.#seen.push(...this.#versions.values());
  }

  #anyKey(): string {
    const rest = Array.from({ length: this.#random.below(3) }, () => this.#random.pick(['00', '61', 'fe']));
    return this.#random.pick(['00', '61', 'ef', 'f0', 'f1']) + rest.join('');
  }
}

const unhex = (hex: string): Key => Buffer.from(hex, 'hex');
const hexOf = (key: Key): string => Buffer.from(key).toString('hex');
const rowOf = ({ key, value }: Entry): Row => [hexOf(key), text(value)];

function rowsOf(model: ReadonlyMap<string, string>, from: string, to: string): Row[] {
  return [...model].filter(([hex]) => hex >= from && hex < to).sort(([a], [b]) => (a < b ? -1 : 1));
}
