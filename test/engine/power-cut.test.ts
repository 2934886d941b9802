/**
 * A power cut loses no acknowledged commit. Killing a process proves nothing about that, since the kernel still writes
 * what it holds. So: record every write and sync of a process that commits, then build the file as a cut at some moment
 * could have left it (what a sync had covered, and of the rest none, any half or all, sector by sector), open that and
 * look. Seeded: LARIMAR_SEED.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openLmdbEngine } from '../../src/engine/lmdb/lmdb-engine.ts';
import { Random } from '../harness/random.ts';
import { type Span, straceArguments } from '../harness/strace-calls.ts';
import { missingTool } from '../packages.ts';
import { findFaults, nextCommit, runCommit } from './load.ts';
import { type DiskWrite, type Recording, readRecording, TRACED_CALLS } from './strace-log.ts';

const COMMITS = 250;
const CUTS = 12;
const SECTOR_BYTES = 512;
const LOAD_PROCESS = fileURLToPath(new URL('./load-process.js', import.meta.url));

/** How likely a sector that no sync covers has reached the disk all the same. */
type Unsynced = 'none' | 'half' | 'all';

async function record(folder: string): Promise<{ recording: Recording; file: Buffer }> {
  const store = join(folder, 'store');
  const log = join(folder, 'strace.log');
  await mkdir(store);
  const argv = [...straceArguments(TRACED_CALLS, log), process.execPath, LOAD_PROCESS, store, String(COMMITS)];
  const { status, stderr } = spawnSync('strace', argv, { encoding: 'utf8', timeout: 60_000 });
  assert.equal(status, 0, stderr);
  const path = join(store, 'data.mdb');
  return { recording: readRecording(await readFile(log, 'latin1'), path), file: await readFile(path) };
}

/** The pieces of a write that lie in one sector each: a disk writes a sector whole or not at all. */
function* sectorsOf({ offset, bytes }: DiskWrite): Generator<{ offset: number; bytes: Buffer }> {
  for (let at = 0; at < bytes.length; ) {
    const length = SECTOR_BYTES - ((offset + at) % SECTOR_BYTES);
    yield { offset: offset + at, bytes: bytes.subarray(at, at + length) };
    at += length;
  }
}

/** The file after a power cut at this place in the log. */
function imageAt({ writes, syncs }: Recording, cut: number, unsynced: Unsynced, random: Random): Buffer {
  const lastSync = syncs.findLast((sync) => sync.ended < cut)?.began ?? 0;
  const image = Buffer.alloc(Math.max(...writes.map(({ offset, bytes }) => offset + bytes.length)));
  let length = 0;
  for (const write of writes) {
    if (write.began >= cut) break;
    const isDurable = write.ended < lastSync || (write.isSynchronous && write.ended < cut);
    const isWhole = isDurable || unsynced === 'all';
    if (!isWhole && unsynced === 'none') continue;
    for (const { offset, bytes } of isWhole ? [write] : sectorsOf(write)) {
      if (!isWhole && random.chance(0.5)) continue;
      bytes.copy(image, offset);
      length = Math.max(length, offset + bytes.length);
    }
  }
  return image.subarray(0, length);
}

const acknowledgedBefore = ({ printed }: Recording, cut: number): number[] =>
  printed.filter(({ began, line }) => began < cut && line !== 'open').map(({ line }) => Number(line));

/** Just before, in the middle of, or just after a write, a sync or an acknowledgement, once the store is open. */
function anyCut({ writes, syncs, printed }: Recording, random: Random): number {
  const [opened, ...acknowledgements] = printed;
  const calls: Span[] = [...random.pick([writes, syncs, acknowledgements])];
  const { began, ended } = random.pick(calls.filter((call) => call.began > (opened?.ended ?? 0)));
  return random.pick([began, (began + ended) / 2, ended + 0.25]);
}

async function withImage<T>(folder: string, image: Buffer, look: (path: string) => Promise<T>): Promise<T> {
  const path = await mkdtemp(join(folder, 'image-'));
  await writeFile(join(path, 'data.mdb'), image);
  const result = await look(path);
  await rm(path, { recursive: true });
  return result;
}

/** Faults of the store in this file, as found and after one more commit and a restart. */
async function faultsOf(path: string, acknowledged: readonly number[]): Promise<string[]> {
  const engine = await openLmdbEngine({ path });
  const faults = await findFaults(engine, acknowledged);
  const next = await nextCommit(engine);
  await runCommit(engine, next);
  await engine.close();
  const reopened = await openLmdbEngine({ path });
  faults.push(...(await findFaults(reopened, [...acknowledged, next])));
  await reopened.close();
  return faults;
}

const skip = missingTool('strace');

test('a power cut at any moment loses no acknowledged commit and leaves no half of one', { skip }, async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'larimar-power-')));
  const { recording, file } = await record(folder);

  await t.test('the recording holds every byte of the file', () => {
    assert.equal(Buffer.compare(imageAt(recording, recording.length, 'all', random), file), 0);
    assert.equal(acknowledgedBefore(recording, recording.length).length, COMMITS);
  });

  for (let round = 0; round < CUTS; round++) {
    const cut = anyCut(recording, random);
    const acknowledged = acknowledgedBefore(recording, cut);
    for (const unsynced of ['none', 'half', 'all'] as const) {
      const image = imageAt(recording, cut, unsynced, random);
      const faults = await withImage(folder, image, (path) => faultsOf(path, acknowledged));
      assert.deepEqual(faults, [], `cut at ${cut} of ${recording.length}, ${unsynced} of what was not synced`);
    }
  }

  await t.test('an acknowledgement ahead of its sync would be found', async () => {
    const acknowledged = acknowledgedBefore(recording, recording.length);
    const lastAcknowledged = recording.printed.at(-1)?.began ?? 0;
    const itsSync = recording.syncs.findLast((sync) => sync.ended < lastAcknowledged)?.began ?? 0;
    const image = imageAt(recording, itsSync, 'none', random);
    const faults = await withImage(folder, image, (path) => faultsOf(path, acknowledged));
    assert.match(faults.join('\n'), /acknowledged commit \d+ is lost/);
  });

  await rm(folder, { recursive: true });
});
