/**
 * Extents written in parallel by a process of its own: `load-process FOLDER SEED`. Prints `ID PLACEMENT LENGTH SHA256`
 * for each extent once its write has resolved, and `freed ID` for a few before they are given back, with no buffer in
 * between: what was printed and not freed was acknowledged and is live, whatever happens next.
 */
import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { IdSource } from '../../src/base/ids.ts';
import { openFilesContent } from '../../src/content/files/files-content.ts';
import { Random } from '../harness/random.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const WRITERS = 8;
const PIECE_BYTES = 64 * KIB;
const SEGMENT_BYTES_MAX = MIB;
/** Up to here extents share segments. */
const SWITCH_BYTES = 2 * MIB;
const FREED_SHARE = 0.15;

const [path = '', seed = '0'] = process.argv.slice(2);
const random = new Random(Number(seed));
const ids = new IdSource();
const store = await openFilesContent({ path, segmentBytesMax: SEGMENT_BYTES_MAX });

function lengths(): number[] {
  const shared = Array.from({ length: 36 }, () => 9 * KIB + random.below(191 * KIB));
  const aroundSwitch = [SWITCH_BYTES - 1, SWITCH_BYTES, SWITCH_BYTES + 1];
  const own = Array.from({ length: 3 }, () => 3 * MIB + random.below(2 * MIB));
  const inOrder = [...shared, ...aroundSwitch, ...own].map((length) => ({ length, place: random.next() }));
  return inOrder.sort((a, b) => a.place - b.place).map(({ length }) => length);
}

async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** Always one with a file of its own, so that there is a removal that no sync covers; the larger ones stay. */
const isFreed = (length: number): boolean =>
  length === SWITCH_BYTES + 1 || (length < SWITCH_BYTES && random.chance(FREED_SHARE));

// Made ahead: with nothing to compute in between, the writers get in each other's way.
const queue = lengths().map((length) => {
  const bytes = random.bytes(length);
  return { bytes, hash: createHash('sha256').update(bytes).digest('hex'), freed: isFreed(length) };
});

async function write(): Promise<void> {
  for (let extent = queue.pop(); extent !== undefined; extent = queue.pop()) {
    const { bytes, hash, freed } = extent;
    const id = ids.next();
    const placement = await store.write(id, pieces(bytes), bytes.length);
    writeSync(1, `${id} ${placement} ${bytes.length} ${hash}\n`);
    if (!freed) continue;
    writeSync(1, `freed ${id}\n`);
    await store.free(placement, bytes.length);
  }
}

await Promise.all(Array.from({ length: WRITERS }, write));
await store.close();
