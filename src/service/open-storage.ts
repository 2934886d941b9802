/** Puts the services' common ground on an engine and a content store, clears up after a crash, and starts sweeping. */

import type { Clock } from '../base/clock.ts';
import { IdSource } from '../base/ids.ts';
import type { ContentStore, PlacedExtent } from '../content/content.ts';
import type { Engine } from '../engine/engine.ts';
import { expireStaging } from './blob/staging.ts';
import { Extents } from './extents/extents.ts';
import { Readers } from './extents/readers.ts';
import { Sweeper } from './extents/sweeper.ts';
import { decodeJson } from './records/codec.ts';
import type { PlacedRecord } from './records/extent-record.ts';
import { idOf, tableRange } from './records/keys.ts';
import { freshSnapshots, scanSteps } from './records/scan.ts';
import { EtagSource, type Storage } from './storage.ts';

const STEP_RECORDS = 1_000;
const HOUR_MS = 60 * 60 * 1000;

export async function openStorage(options: {
  engine: Engine;
  content: ContentStore;
  clock: Clock;
  onError: (error: unknown) => void;
}): Promise<{ storage: Storage; sweeper: Sweeper; close: () => Promise<void> }> {
  const { engine, content, clock } = options;
  await content.recover(placedExtents(engine));
  const ids = new IdSource();
  ids.startAfter(await newestId(engine));
  const readers = new Readers({ engine, content });
  const extents = new Extents({ content, ids, onGarbage: () => sweeper.wake() });
  const sweeper: Sweeper = new Sweeper({ engine, content, extents, readers, onError: options.onError });
  sweeper.wake();
  const storage: Storage = { engine, extents, readers, clock, ids, etags: new EtagSource() };
  const expiry = everyHour(() => expireStaging(storage).catch(options.onError));
  const close = async (): Promise<void> => {
    await expiry.stop();
    await sweeper.close();
  };
  return { storage, sweeper, close };
}

/** Now, and from then on every hour; `stop` waits for the run under way. */
function everyHour(run: () => Promise<unknown>): { stop(): Promise<void> } {
  let running = run();
  const timer = setInterval(() => {
    running = running.then(run);
  }, HOUR_MS).unref();
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

/** Every extent in the content store that a record makes live. */
export async function* placedExtents(engine: Engine): AsyncGenerator<PlacedExtent> {
  for await (const entries of scanSteps(freshSnapshots(engine), tableRange('X'), STEP_RECORDS)) {
    for (const { key, value } of entries) yield { id: idOf(key), ...decodeJson<PlacedRecord>(value) };
  }
}

/** Ids grow across restarts, though the clock may have been set back: garbage is swept in their order. */
async function newestId(engine: Engine): Promise<string> {
  const snapshot = engine.snapshot();
  try {
    const newest = await Promise.all(
      ['G', 'I', 'K', 'L', 'X'].map((table) => snapshot.range(tableRange(table), { limit: 1, reverse: true })),
    );
    return newest.reduce((latest, [entry]) => (entry && idOf(entry.key) > latest ? idOf(entry.key) : latest), '');
  } finally {
    snapshot.close();
  }
}
