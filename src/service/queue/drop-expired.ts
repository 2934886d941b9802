/**
 * Takes expired messages away. Nobody sees them any more, so nothing hangs on when: a Get takes those it meets, the
 * leader walks all places now and then for the rest (expiry-walk.ts).
 */
import type { Key, KeyRange } from '../../engine/engine.ts';
import { transact } from '../../engine/transact.ts';
import { isExpired } from '../../rules/message.ts';
import { tableRange } from '../records/keys.ts';
import { decodeMessage, expiresMsOf } from '../records/message-record.ts';
import { type ContentAddress, contentOf, countKey, textKey } from '../records/queue-keys.ts';
import type { Storage } from '../storage.ts';
import { addToCount } from './message-count.ts';

/** So many go with one commit. */
const DROP_COUNT_MAX = 1_000;
const WALK_STEP_RECORDS = 4_000;
/** Places are small. */
const STEP_BYTES_MAX = 1024 * 1024;

/** Those of these places, all of one content, where an expired message still stands. */
export async function dropExpired(storage: Storage, content: ContentAddress, places: readonly Key[]): Promise<void> {
  await storage.counting.use((shard) =>
    transact(storage.engine, async (tx) => {
      const [count = null, ...values] = await tx.getMany([countKey(content, shard), ...places]);
      const nowMs = storage.clock.nowMs();
      let droppedCount = 0;
      for (const [index, value] of values.entries()) {
        const message = value === null ? null : decodeMessage(value);
        if (message === null || !isExpired(message, nowMs)) continue;
        tx.delete(places[index] as Key);
        tx.delete(textKey(content, message.messageId));
        droppedCount++;
      }
      if (droppedCount > 0) addToCount(tx, { key: countKey(content, shard), value: count }, -droppedCount);
    }),
  );
}

/** Those that the range begins with, up to the first that has not expired: nobody need claim them to see that. */
export async function dropExpiredHead(storage: Storage, content: ContentAddress, range: KeyRange): Promise<void> {
  const places: Key[] = [];
  await scanExpired(storage, range, {
    stepRecords: DROP_COUNT_MAX,
    visit: (place) => {
      if (place !== null) places.push(place);
      return place !== null;
    },
  });
  if (places.length > 0) await dropExpired(storage, content, places);
}

/**
 * One walk over all queues. What was cleared or deleted and awaits the sweeper is dropped alike: whoever comes second finds
 * nothing.
 */
export async function dropAllExpired(storage: Storage, signal: AbortSignal): Promise<void> {
  const all = tableRange('v');
  for (let from: Key | null = all.from; from !== null; ) {
    const expired: Key[] = [];
    from = await scanExpired(
      storage,
      { from, to: all.to },
      {
        stepRecords: WALK_STEP_RECORDS,
        visit: (place) => {
          if (place !== null) expired.push(place);
          return true;
        },
      },
    );
    for (const places of batchesOf(expired)) {
      if (signal.aborted) return;
      await dropExpired(storage, contentOf(places[0]), places);
    }
    if (signal.aborted) return;
  }
}

/** One step from the latest state. `visit` is shown null for a message that has not expired; false ends the scan before it. */
async function scanExpired(
  { engine, clock }: Storage,
  range: KeyRange,
  { stepRecords, visit }: { readonly stepRecords: number; readonly visit: (place: Key | null) => boolean },
): Promise<Key | null> {
  const nowMs = clock.nowMs();
  const snapshot = engine.snapshot();
  try {
    return await snapshot.scan(range, { limit: stepRecords, bytesMax: STEP_BYTES_MAX }, (key, value) =>
      visit(isExpired({ expiresMs: expiresMsOf(value) }, nowMs) ? Buffer.from(key) : null),
    );
  } finally {
    snapshot.close();
  }
}

/** In their order: each batch of one content and no larger than a commit. */
function* batchesOf(places: readonly Key[]): Generator<readonly [Key, ...Key[]], void> {
  let batch: Key[] = [];
  for (const place of places) {
    const [first] = batch;
    if (first !== undefined && (batch.length === DROP_COUNT_MAX || !isSameContent(first, place))) {
      yield batch as [Key, ...Key[]];
      batch = [];
    }
    batch.push(place);
  }
  if (batch.length > 0) yield batch as [Key, ...Key[]];
}

function isSameContent(a: Key, b: Key): boolean {
  const [one, other] = [contentOf(a), contentOf(b)];
  return one.contentId === other.contentId && one.account === other.account;
}
