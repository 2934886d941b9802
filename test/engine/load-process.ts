/**
 * The load in a process of its own: `load-process FOLDER COUNT`. Prints `open`, then the number of each commit once it
 * is acknowledged, with no buffer in between: what was printed was acknowledged, whatever happens next.
 */
import { writeSync } from 'node:fs';
import { openLmdbEngine } from '../../src/engine/lmdb/lmdb-engine.ts';
import { nextCommit, runCommit } from './load.ts';

const WRITERS = 8;

const [path = '', count = '0'] = process.argv.slice(2);
const engine = await openLmdbEngine({ path });
let next = await nextCommit(engine);
const end = next + Number(count);
writeSync(1, 'open\n');

async function write(): Promise<void> {
  while (next < end) {
    const commit = next++;
    await runCommit(engine, commit);
    writeSync(1, `${commit}\n`);
  }
}

await Promise.all(Array.from({ length: WRITERS }, write));
await engine.close();
