/** The walk along objects and records: compared with sets, over chance orders; and what it refuses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../test/harness/random.ts';
import { ContentUnavailable, type PlacedExtent } from '../content.ts';
import { each } from '../contract.ts';
import { straysAmong } from './strays.ts';

const extent = (id: number, tag: string): PlacedExtent => {
  const name = id.toString(16).padStart(24, '0');
  return { id: name, placement: `${name}-${tag}-1`, lengthBytes: 1 };
};

const inOrder = (extents: readonly PlacedExtent[]): PlacedExtent[] =>
  [...extents].sort((one, other) => (one.placement < other.placement ? -1 : 1));

async function placementsOf(extents: AsyncIterable<PlacedExtent>): Promise<string[]> {
  const placements: string[] = [];
  for await (const { placement } of extents) placements.push(placement);
  return placements;
}

test('the strays are the objects that no record names, whatever is on either side', async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  for (let round = 0; round < 500; round++) {
    const idCount = 1 + random.below(20);
    const all = new Map<string, PlacedExtent>();
    for (let made = random.below(40); made > 0; made--) {
      const one = extent(random.below(idCount), random.pick(['a', 'b', 'c']));
      all.set(one.placement, one);
    }
    const objects = inOrder([...all.values()].filter(() => random.chance(0.7)));
    const live = inOrder([...all.values()].filter(() => random.chance(0.5)));
    const named = new Set(live.map(({ placement }) => placement));
    const want = objects.map(({ placement }) => placement).filter((placement) => !named.has(placement));
    assert.deepEqual(await placementsOf(straysAmong(each(objects), each(live))), want, `round ${round}`);
  }
});

test('records are read after the first object was seen, and no further than the objects go', async () => {
  const seen: string[] = [];
  const objects = async function* () {
    for (const id of [2, 4]) {
      seen.push(`object ${id}`);
      yield extent(id, 'a');
    }
  };
  const live = async function* () {
    try {
      for (const id of [1, 2, 3, 4, 5, 6, 7]) {
        seen.push(`record ${id}`);
        yield extent(id, 'a');
      }
    } finally {
      seen.push('records let go');
    }
  };
  assert.deepEqual(await placementsOf(straysAmong(objects(), live())), []);
  assert.deepEqual(seen, [
    'object 2',
    'record 1',
    'record 2',
    'record 3',
    'object 4',
    'record 4',
    'record 5',
    'records let go',
  ]);
});

test('records that come out of order are refused', async () => {
  const live = each([extent(3, 'a'), extent(2, 'a')]);
  await assert.rejects(placementsOf(straysAmong(each([extent(4, 'a')]), live)), /records name came out of order/);
});

test('a server that lists out of order is refused before anything else is called a stray', async () => {
  const strays = straysAmong(each([extent(3, 'a'), extent(2, 'a')]), each([]));
  assert.equal((await strays.next()).value?.placement, extent(3, 'a').placement);
  await assert.rejects(strays.next(), ContentUnavailable);
});
