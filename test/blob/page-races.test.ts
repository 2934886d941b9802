/**
 * Races on page blobs, with real parallel requests against a server process with its data on disk. Every round draws its
 * order from a seed (LARIMAR_SEED replays it).
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { PageBlobClient } from '@azure/storage-blob';
import { blobService, freshContainer, outcomes } from '../harness/clients.ts';
import { tally, together } from '../harness/parallel.ts';
import { Random } from '../harness/random.ts';
import { startServerProcess } from '../harness/server-process.ts';

const server = await startServerProcess();
after(() => server.stop());
const container = await freshContainer(blobService(server));
const random = new Random();
const KIB = 1024;
const PAGE = 512;

const pagesOf = (text: string, lengthBytes: number): Buffer => Buffer.alloc(lengthBytes, text);

async function freshPages(name: string, lengthBytes: number): Promise<PageBlobClient> {
  const blob = container.getPageBlobClient(name);
  await blob.create(lengthBytes);
  return blob;
}

/** Every stretch of so many bytes that is of one writer alone. */
function writersOf(bytes: Buffer, stretchBytes: number): string[] {
  const writers: string[] = [];
  for (let at = 0; at < bytes.length; at += stretchBytes) {
    const stretch = bytes.subarray(at, at + stretchBytes);
    const [first = 0] = stretch;
    assert.ok(stretch.equals(Buffer.alloc(stretch.length, first)), `torn at ${at}`);
    writers.push(first === 0 ? '' : String.fromCharCode(first));
  }
  return writers;
}

test('writers of one range never tear each other, and the last one wins it whole', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  for (let round = 0; round < 10; round++) {
    const blob = await freshPages(`one-range-${round}`, 512 * KIB);
    const results = await together(16, (index) => {
      const bytes = pagesOf(String.fromCharCode(65 + index), 300 * KIB);
      return blob.uploadPages(bytes, 64 * KIB, bytes.length);
    });
    assert.deepEqual(tally(outcomes(results)), { ok: 16 });
    const bytes = await blob.downloadToBuffer(64 * KIB, 300 * KIB);
    assert.equal(writersOf(bytes, 300 * KIB).length, 1);
  }
});

test('writers of pages side by side all keep theirs', async () => {
  const blob = await freshPages('side-by-side', 64 * PAGE);
  const results = await together(64, (index) =>
    blob.uploadPages(pagesOf(String.fromCharCode(33 + index), PAGE), index * PAGE, PAGE),
  );
  assert.deepEqual(tally(outcomes(results)), { ok: 64 });
  const want = Array.from({ length: 64 }, (_, index) => String.fromCharCode(33 + index));
  assert.deepEqual(writersOf(await blob.downloadToBuffer(), PAGE), want);
});

test('of writers with one sequence number that each raise it exactly one goes first', async () => {
  for (let round = 0; round < 10; round++) {
    const blob = await freshPages(`sequence-${round}`, KIB);
    const results = await together(16, async (index) => {
      const { etag = '' } = await blob.getProperties();
      await blob.updateSequenceNumber('increment', undefined, { conditions: { ifMatch: etag } });
      return index;
    });
    const won = results.filter((result) => result.status === 'fulfilled').length;
    assert.equal((await blob.getProperties()).blobSequenceNumber, won);
    assert.ok(won >= 1);
  }
});

test('a resize against Put Page: what was written beyond the end was written before, and is gone for good', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  for (let round = 0; round < 20; round++) {
    const blob = await freshPages(`resize-${round}`, 64 * KIB);
    const results = await together(12, async (index) => {
      if (index % 3 === 0) return blob.resize(index % 2 === 0 ? 32 * KIB : 64 * KIB);
      const at = (random.chance(0.5) ? 48 : 16) * KIB;
      return blob.uploadPages(pagesOf(String.fromCharCode(65 + index), KIB), at, KIB);
    });
    for (const outcome of outcomes(results)) assert.ok(outcome === 'ok' || outcome === '416 InvalidPageRange', outcome);
    const { contentLength = 0 } = await blob.getProperties();
    const bytes = await blob.downloadToBuffer();
    assert.equal(bytes.length, contentLength);
    writersOf(bytes, KIB);
    await blob.resize(32 * KIB);
    await blob.resize(64 * KIB);
    assert.ok(Buffer.alloc(32 * KIB).equals(await blob.downloadToBuffer(32 * KIB, 32 * KIB)));
  }
});

test('a snapshot against Put Page is the blob between two writes', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  for (let round = 0; round < 10; round++) {
    const blob = await freshPages(`snapshot-${round}`, 256 * KIB);
    const snapshots: string[] = [];
    await together(16, async (index) => {
      if (index % 2 === 0) return blob.uploadPages(pagesOf(String.fromCharCode(65 + index), 256 * KIB), 0, 256 * KIB);
      const { snapshot = '' } = await blob.createSnapshot();
      snapshots.push(snapshot);
      return snapshot;
    });
    assert.equal(new Set(snapshots).size, 8);
    for (const snapshot of snapshots) {
      writersOf(await blob.withSnapshot(snapshot).downloadToBuffer(), 256 * KIB);
    }
  }
});
