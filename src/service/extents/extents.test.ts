import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TestStore } from '../../../test/harness/store.ts';
import { EngineUnavailable } from '../../engine/engine.ts';
import { transact } from '../../engine/transact.ts';
import { placedExtents } from '../open-storage.ts';
import type { StagedExtent } from './extents.ts';

const LENGTH_BYTES = 20 * 1024;
const HALF_A_DAY = 12 * 60 * 60;

async function* pieces(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(LENGTH_BYTES);
}

const stage = ({ storage }: TestStore): Promise<StagedExtent> => storage.extents.stageLarge(pieces(), LENGTH_BYTES);

const publish = ({ engine, storage }: TestStore, extent: StagedExtent): Promise<void> =>
  storage.extents.publishing(extent, () =>
    transact(engine, async (tx) => {
      storage.extents.publish(tx, extent);
    }),
  );

/** How many extents the content store holds that no record names. */
const strayCount = async ({ engine, content }: TestStore): Promise<number> =>
  (await content.strays(placedExtents(engine))).extentCount;

describe('bytes that were written', () => {
  for (const [where, isShared, seconds, isPublished] of [
    ['a store of its own', false, 0, true],
    ['a store of its own', false, 1_000 * HALF_A_DAY, true],
    ['a shared store', true, 0, true],
    ['a shared store', true, HALF_A_DAY, true],
    // A recovery spares what is younger than a day.
    ['a shared store', true, HALF_A_DAY + 1, false],
  ] as const) {
    test(`to ${where} ${seconds} seconds ago are ${isPublished ? '' : 'not '}published`, async () => {
      const store = await TestStore.open({ isShared });
      const extent = await stage(store);
      store.clock.advance({ seconds });
      if (isPublished) await publish(store, extent);
      else await assert.rejects(publish(store, extent), EngineUnavailable);
      assert.equal(await strayCount(store), isPublished ? 0 : 1);
      await store.close();
    });
  }

  test('are given back when their publishing is refused', async () => {
    const store = await TestStore.open();
    const extent = await stage(store);
    const refusal = new Error('no');
    const publishing = store.storage.extents.publishing(extent, async () => {
      throw refusal;
    });
    await assert.rejects(publishing, refusal);
    assert.equal(await strayCount(store), 0);
    await store.close();
  });

  test('stay when nobody knows whether they were published', async () => {
    const store = await TestStore.open();
    const extent = await stage(store);
    const publishing = store.storage.extents.publishing(extent, async () => {
      throw new EngineUnavailable('away');
    });
    await assert.rejects(publishing, EngineUnavailable);
    assert.equal(await strayCount(store), 1);
    await store.close();
  });
});
