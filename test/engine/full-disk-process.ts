/**
 * Runs into the limit that its parent set on the size of its files, as a full disk would, and prints what it met:
 * `full-disk-process FOLDER`.
 */
import { EngineUnavailable } from '../../src/engine/engine.ts';
import { openLmdbEngine } from '../../src/engine/lmdb/lmdb-engine.ts';

// With a listener, the write that goes over the limit fails; without one, the process ends.
process.on('SIGXFSZ', () => undefined);

const engine = await openLmdbEngine({ path: process.argv[2] ?? '' });
const put = (name: string, bytes: number) =>
  engine.commit({ checks: [], puts: [{ key: Buffer.from(name), value: Buffer.alloc(bytes) }], deletes: [] });

async function outcomeOf(commit: Promise<string>): Promise<string> {
  try {
    return await commit;
  } catch (error) {
    return error instanceof EngineUnavailable && error.cause instanceof Error ? 'unavailable' : String(error);
  }
}

async function state(view = engine.tip()) {
  const entries = await view.range({ from: Buffer.of(0), to: Buffer.of(0xff) }, { limit: 100 });
  await view.settled();
  view.close();
  return { names: entries.map(({ key }) => Buffer.from(key).toString()), versions: entries.map((one) => one.version) };
}

const before = await outcomeOf(put('before', 100));
const tooLarge = outcomeOf(put('too large', 50_000_000));
await new Promise((resolve) => setImmediate(resolve));
// The first group is being written now: this one gathers behind it, and falls with it.
const behind = outcomeOf(put('behind', 100));
const reader = engine.tip();
await reader.get([Buffer.from('too large')]);
const settled = outcomeOf(reader.settled().then(() => 'settled'));
const report = {
  before,
  tooLarge: await tooLarge,
  behind: await behind,
  settled: await settled,
  kept: await state(),
  after: await outcomeOf(put('after', 100)),
  finally: await state(),
};
reader.close();
await engine.close();
console.log(JSON.stringify(report));
