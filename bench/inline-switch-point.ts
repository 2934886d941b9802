/**
 * Up to which size a body should ride in the engine's own commit: 64 writers, each body once inside the commit and once
 * in a segment of the content store that the commit names. Prints commits a second of both, by size.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { IdSource } from '../src/base/ids.ts';
import { openFilesContent } from '../src/content/files/files-content.ts';
import { openLmdbEngine } from '../src/engine/lmdb/lmdb-engine.ts';
import { transact } from '../src/engine/transact.ts';

const SIZES_KIB = [2, 4, 8, 16, 32, 64];
const WRITERS = 64;
const CELL_MS = 1_500;
const ROUNDS = 3;
/** About the size of a blob's record, and how many blobs are written in turn. */
const RECORD = Buffer.alloc(400);
const RECORDS = 4_096;

mkdirSync('.cache', { recursive: true });
const folder = mkdtempSync(join('.cache', 'inline-switch-point-'));
const engine = await openLmdbEngine({ path: join(folder, 'records') });
const content = await openFilesContent({ path: join(folder, 'content') });
const ids = new IdSource();
let written = 0;

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function commit(extentKey: string, extent: Uint8Array): Promise<void> {
  const record = Buffer.from(`B${written++ % RECORDS}`);
  await transact(engine, async (tx) => {
    await tx.get(record);
    tx.put(record, RECORD);
    tx.put(Buffer.from(extentKey + ids.next()), extent);
  });
}

const inline = (bytes: Uint8Array): Promise<void> => commit('I', bytes);

async function segment(bytes: Uint8Array): Promise<void> {
  const placement = await content.write(ids.next(), one(bytes), bytes.length);
  await commit('X', Buffer.from(placement));
}

async function perSecond(write: () => Promise<void>): Promise<number> {
  const endsMs = performance.now() + CELL_MS;
  let count = 0;
  const writer = async (): Promise<void> => {
    for (; performance.now() < endsMs; count++) await write();
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  return (count * 1000) / CELL_MS;
}

const median = (figures: number[]): number => figures.sort((a, b) => a - b)[figures.length >> 1] as number;

console.log('size      inline   segment   segment : inline');
for (const sizeKib of SIZES_KIB) {
  const bytes = Buffer.alloc(sizeKib * 1024, 1);
  const figures: { inline: number[]; segment: number[] } = { inline: [], segment: [] };
  for (let round = 0; round < ROUNDS; round++) {
    figures.inline.push(await perSecond(() => inline(bytes)));
    figures.segment.push(await perSecond(() => segment(bytes)));
  }
  const [a, b] = [median(figures.inline), median(figures.segment)];
  console.log(
    `${`${sizeKib} KiB`.padEnd(7)} ${a.toFixed(0).padStart(6)}/s ${b.toFixed(0).padStart(7)}/s   ${(b / a).toFixed(2)}`,
  );
}
await engine.close();
await content.close();
rmSync(folder, { recursive: true });
