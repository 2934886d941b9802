/**
 * Where should an extent get a file of its own? Durable writes of one size, as a frame in a segment and as a file, at
 * 64 and at 4 writers; the bytes arrive in pieces of 64 KiB, as from a socket. The two ways alternate within a row, so
 * that a noisy machine blurs both alike. Run: node dist/bench/content-switch-points.js [seconds per cell]
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IdSource } from '../src/base/ids.ts';
import type { ContentStore } from '../src/content/content.ts';
import { openFilesContent } from '../src/content/files/files-content.ts';

const KIB = 1024;
const SIZES_BYTES = [4, 16, 64, 256, 1024, 2048, 4096, 16_384].map((kib) => kib * KIB);
const WRITER_COUNTS = [64, 4];
const PIECE = randomBytes(64 * KIB);
const secondsPerCell = Number(process.argv[2] ?? 0.8);

const ids = new IdSource();
const folder = await mkdtemp(join(process.env['BENCH_FOLDER'] ?? tmpdir(), 'larimar-bench-'));
try {
  console.log(
    `${'size'.padStart(9)} ${'writers'.padStart(7)}  ${cell('segment')}  ${cell('own file')}   own file : segment`,
  );
  for (const writerCount of WRITER_COUNTS) {
    for (const sizeBytes of SIZES_BYTES) {
      const segment = await measure({ sizeBytes, writerCount, segmentExtentBytesMax: Number.MAX_SAFE_INTEGER });
      const ownFile = await measure({ sizeBytes, writerCount, segmentExtentBytesMax: 0 });
      const ratio = (ownFile / segment).toFixed(2);
      const size = `${sizeBytes / KIB} KiB`;
      console.log(
        `${size.padStart(9)} ${String(writerCount).padStart(7)}  ${rate(segment, sizeBytes)}  ${rate(ownFile, sizeBytes)}   ${ratio}`,
      );
    }
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Durable writes per second. What was written is freed, so that the folder stays small. */
async function measure(run: {
  sizeBytes: number;
  writerCount: number;
  segmentExtentBytesMax: number;
}): Promise<number> {
  const path = await mkdtemp(join(folder, 'cell-'));
  const store = await openFilesContent({ path, segmentExtentBytesMax: run.segmentExtentBytesMax });
  let writeCount = 0;
  const startMs = performance.now();
  const endMs = startMs + secondsPerCell * 1000;
  const writer = async () => {
    while (performance.now() < endMs) {
      await writeAndFree(store, run.sizeBytes);
      writeCount++;
    }
  };
  await Promise.all(Array.from({ length: run.writerCount }, writer));
  const seconds = (performance.now() - startMs) / 1000;
  await store.close();
  await rm(path, { recursive: true, force: true });
  return writeCount / seconds;
}

async function writeAndFree(store: ContentStore, sizeBytes: number): Promise<void> {
  const placement = await store.write(ids.next(), pieces(sizeBytes), sizeBytes);
  await store.free(placement, sizeBytes);
}

async function* pieces(sizeBytes: number): AsyncGenerator<Uint8Array> {
  for (let leftBytes = sizeBytes; leftBytes > 0; leftBytes -= PIECE.length) yield PIECE.subarray(0, leftBytes);
}

function cell(text: string): string {
  return text.padStart(24);
}

function rate(writesPerSecond: number, sizeBytes: number): string {
  const megabytes = (writesPerSecond * sizeBytes) / 1e6;
  return cell(`${writesPerSecond.toFixed(0)}/s, ${megabytes.toFixed(0)} MB/s`);
}
