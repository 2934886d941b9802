import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../test/harness/random.ts';
import { type Bounds, OrderedMap } from './ordered-map.ts';

/** A sorted array: what the tree must be indistinguishable from. Keys as hex text, which sorts like the bytes. */
class Model {
  readonly rows: readonly (readonly [string, number])[];

  constructor(rows: readonly (readonly [string, number])[] = []) {
    this.rows = rows;
  }

  set(key: string, value: number): Model {
    return new Model([...this.delete(key).rows, [key, value] as const].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  delete(key: string): Model {
    return new Model(this.rows.filter(([other]) => other !== key));
  }

  items({ from = '', to = '~', reverse = false }: { from?: string; to?: string; reverse?: boolean } = {}) {
    const found = this.rows.filter(([key]) => key >= from && key < to);
    return reverse ? found.toReversed() : found;
  }
}

const bytes = (hex: string): Uint8Array => Buffer.from(hex, 'hex');
const hex = (key: Uint8Array): string => Buffer.from(key).toString('hex');
const numbered = (index: number): Uint8Array => bytes(index.toString(16).padStart(8, '0'));
const rowsOf = (map: OrderedMap<number>, bounds?: Bounds) =>
  [...map.items(bounds)].map(({ key, value }) => [hex(key), value] as const);

const keys = fc.array(fc.constantFrom('00', '01', '7f', 'ff'), { maxLength: 3 }).map((parts) => parts.join(''));
const changes = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ set: keys, value: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ delete: keys }) },
  ),
  { maxLength: 150 },
);

function applyAll(list: readonly ({ set: string; value: number } | { delete: string })[]) {
  let map = OrderedMap.empty<number>();
  let model = new Model();
  const history = [{ map, model }];
  for (const change of list) {
    if ('set' in change) {
      map = map.set(bytes(change.set), change.value);
      model = model.set(change.set, change.value);
    } else {
      map = map.delete(bytes(change.delete));
      model = model.delete(change.delete);
    }
    history.push({ map, model });
  }
  return history;
}

test('after any changes the map, and every earlier version of it, equals a sorted array', () => {
  fc.assert(
    fc.property(changes, (list) => {
      for (const { map, model } of applyAll(list)) {
        assert.deepEqual(rowsOf(map), model.rows);
        assert.equal(map.size, model.rows.length);
        for (const [key, value] of model.rows) assert.equal(map.get(bytes(key)), value);
      }
    }),
    seeded,
  );
});

test('a range between any two keys, either way, equals that of a sorted array', () => {
  fc.assert(
    fc.property(changes, keys, keys, fc.boolean(), (list, from, to, reverse) => {
      const { map, model } = applyAll(list).at(-1) as { map: OrderedMap<number>; model: Model };
      const bounds = { from: bytes(from), to: bytes(to), reverse };
      assert.deepEqual(rowsOf(map, bounds), model.items({ from, to, reverse }));
      assert.deepEqual(rowsOf(map, { from: bytes(from), reverse }), model.items({ from, reverse }));
      assert.deepEqual(rowsOf(map, { to: bytes(to), reverse }), model.items({ to, reverse }));
    }),
    seeded,
  );
});

test('a missing key is undefined, and deleting it gives back the same map', () => {
  const map = OrderedMap.empty<number>().set(bytes('01'), 1);
  assert.equal(map.get(bytes('02')), undefined);
  assert.equal(map.delete(bytes('02')), map);
});

test('keys that arrive in order, then leave in order, are found after a logarithmic number of comparisons', (t) => {
  let map = OrderedMap.empty<number>();
  for (let index = 0; index < 4096; index++) map = map.set(numbered(index), index);
  for (let index = 0; index < 3072; index++) map = map.delete(numbered(index));
  const compare = t.mock.method(Buffer, 'compare');
  assert.equal(map.get(numbered(4000)), 4000);
  // 1,024 keys; a tree balanced to 3:1 is at most log(1024)/log(4/3) = 24 deep, where a list would need hundreds.
  assert.ok(compare.mock.callCount() <= 24, `${compare.mock.callCount()} comparisons`);
});
