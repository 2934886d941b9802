/**
 * Commits one record after the other, whatever fails, then opens the store again, and prints what became of each:
 * `failing-disk-process FOLDER`.
 */
import { type Engine, EngineUnavailable } from '../../src/engine/engine.ts';
import { openLmdbEngine } from '../../src/engine/lmdb/lmdb-engine.ts';

const path = process.argv[2] ?? '';
const engine = await openLmdbEngine({ path });

async function put(name: string): Promise<string> {
  const puts = [{ key: Buffer.from(name), value: Buffer.alloc(100) }];
  try {
    return await engine.commit({ checks: [], puts, deletes: [] });
  } catch (error) {
    return error instanceof EngineUnavailable ? 'unavailable' : String(error);
  }
}

async function namesIn(engine: Engine): Promise<string[]> {
  const view = engine.snapshot();
  const entries = await view.range({ from: Buffer.of(0), to: Buffer.of(0xff) }, { limit: 100 });
  view.close();
  return entries.map(({ key }) => Buffer.from(key).toString());
}

const outcomes: Record<string, string> = {};
for (const name of ['1', '2', '3', '4', '5', 'last']) outcomes[name] = await put(name);
const kept = await namesIn(engine);
await engine.close();
const again = await openLmdbEngine({ path });
console.log(JSON.stringify({ outcomes, kept, reopened: await namesIn(again) }));
await again.close();
