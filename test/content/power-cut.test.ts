/**
 * A power cut loses no acknowledged extent. Killing a process proves nothing about that, since the kernel still writes
 * what it holds. So: record what a process that writes extents does to the disk, build the folder as a cut at some
 * moment could have left it, open and recover that, and read every acknowledged extent. Seeded: LARIMAR_SEED.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ContentStore, PlacedExtent } from '../../src/content/content.ts';
import { each, get, put } from '../../src/content/contract.ts';
import { openFilesContent } from '../../src/content/files/files-content.ts';
import { Random } from '../harness/random.ts';
import { type Printed, type Span, straceArguments } from '../harness/strace-calls.ts';
import { missingTool } from '../packages.ts';
import { buildImage, type PowerCut, type Unsynced } from './disk-image.ts';
import { type DiskRecording, type Inode, readDiskRecording, TRACED_CALLS } from './disk-recording.ts';

const CUTS = 12;
const EXTENTS = 42;
const NEW_EXTENTS_BYTES = [50_000, 2_500_000];
const LOAD_PROCESS = fileURLToPath(new URL('./load-process.js', import.meta.url));

interface Acknowledged extends PlacedExtent {
  readonly hash: string;
}

/** Where a recording was made and images of it are built. */
interface Places {
  readonly folder: string;
  readonly root: string;
}

async function record({ folder, root }: Places, seed: number): Promise<DiskRecording> {
  const log = join(folder, 'strace.log');
  await mkdir(root);
  const argv = [process.execPath, LOAD_PROCESS, join(root, 'store'), String(seed)];
  const strace = [...straceArguments(TRACED_CALLS, log), ...argv];
  const { status, stderr } = spawnSync('strace', strace, { encoding: 'utf8', timeout: 60_000 });
  assert.equal(status, 0, stderr);
  const recording = readDiskRecording(await readFile(log, 'latin1'), root);
  await rm(log);
  return recording;
}

const FREED = 'freed ';

const acknowledgements = ({ printed }: DiskRecording): Printed[] =>
  printed.filter(({ line }) => !line.startsWith(FREED));

/** The extents that were acknowledged and not freed. */
function liveAt(recording: DiskRecording, cut: number): Acknowledged[] {
  const printed = recording.printed.filter(({ began }) => began < cut).map(({ line }) => line);
  const freed = new Set(printed.filter((line) => line.startsWith(FREED)).map((line) => line.slice(FREED.length)));
  const extents = acknowledgements(recording)
    .filter(({ began }) => began < cut)
    .map(({ line }) => parseExtent(line));
  return extents.filter(({ id }) => !freed.has(id));
}

function parseExtent(line: string): Acknowledged {
  const [id = '', placement = '', length = '', hash = ''] = line.split(' ');
  return { id, placement, lengthBytes: Number(length), hash };
}

/** Just before, in the middle of, or just after one of these calls. */
function cutAround(calls: readonly Span[], random: Random): number {
  const { began, ended } = random.pick(calls);
  return random.pick([began, (began + ended) / 2, ended + 0.25]);
}

async function withImage<T>(
  recording: DiskRecording,
  cut: PowerCut,
  { folder, root }: Places,
  look: (target: string) => Promise<T>,
): Promise<T> {
  const target = await mkdtemp(join(folder, 'image-'));
  await buildImage(recording, cut, { root, target });
  const result = await look(target);
  await rm(target, { recursive: true });
  return result;
}

async function extentFaults(store: ContentStore, extent: Acknowledged): Promise<string[]> {
  const verdict = await store.verify(extent);
  if (verdict !== 'ok') return [`${extent.placement} is ${verdict}`];
  const hash = createHash('sha256').update(await get(store, extent));
  return hash.digest('hex') === extent.hash ? [] : [`${extent.placement} has other bytes`];
}

/** What is wrong with a store after a cut, and after more was written and it was opened again. */
async function storeFaults(path: string, acknowledged: readonly Acknowledged[], random: Random): Promise<string[]> {
  const faults: string[] = [];
  const store = await openFilesContent({ path });
  await store.recover(each(acknowledged));
  for (const extent of acknowledged) faults.push(...(await extentFaults(store, extent)));
  const live: PlacedExtent[] = [...acknowledged];
  for (const lengthBytes of NEW_EXTENTS_BYTES) {
    const bytes = random.bytes(lengthBytes);
    const extent = await put(store, bytes);
    if (!(await get(store, extent)).equals(bytes)) faults.push(`new ${extent.placement} has other bytes`);
    live.push(extent);
  }
  const { extentCount, bytes } = await store.strays(each(live));
  if (extentCount > 0 || bytes > 0) faults.push(`${extentCount} strays of ${bytes} bytes are left`);
  await store.close();

  const reopened = await openFilesContent({ path });
  await reopened.recover(each(live));
  for (const extent of live) {
    const verdict = await reopened.verify(extent);
    if (verdict !== 'ok') faults.push(`${extent.placement} is ${verdict} after a restart`);
  }
  await reopened.close();
  return faults;
}

async function filesUnder(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const hashes = new Map<string, string>();
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const hash = entry.isFile() ? createHash('sha256').update(await readFile(path)) : null;
    hashes.set(path.slice(folder.length), hash?.digest('hex') ?? 'folder');
  }
  return hashes;
}

/** Each sync that an acknowledgement rests on, by what is synced. */
const SYNCED: Readonly<Record<string, (inode: Inode) => boolean>> = {
  'a segment': ({ firstPath }) => firstPath.endsWith('.segment'),
  "the segments' folder": ({ firstPath }) => basename(firstPath) === 'segments',
  'a large file': ({ firstPath }) => basename(dirname(firstPath)) === 'incoming',
  "a large file's folder": ({ firstPath }) => basename(dirname(firstPath)) === 'extents',
  "the large files' folders' folder": ({ firstPath }) => basename(firstPath) === 'extents',
  "the store's folder": ({ firstPath }) => basename(firstPath) === 'store',
  'the folder that the store is in': ({ firstPath }) => basename(firstPath) === 'disk',
};

test('a power cut at any moment loses no acknowledged extent', { skip: missingTool('strace') }, async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'larimar-power-')));
  t.after(() => rm(folder, { recursive: true }));
  const places = { folder, root: join(folder, 'disk') };
  const recording = await record(places, random.seed);
  const { writes, names, syncs, printed, length } = recording;

  await t.test('the recording holds every name and byte on the disk', async () => {
    const recorded = await filesUnder(places.root);
    const rebuilt = await withImage(recording, { at: length, unsynced: 'all', random }, places, filesUnder);
    assert.deepEqual(rebuilt, recorded);
    assert.equal(acknowledgements(recording).length, EXTENTS);
  });

  async function faultsAfter(of: DiskRecording, at: number, unsynced: Unsynced): Promise<string[]> {
    const live = liveAt(of, at);
    return withImage(of, { at, unsynced, random }, places, (target) =>
      storeFaults(join(target, 'store'), live, random),
    );
  }

  const renames = names.filter(({ path, oldPath }) => path !== null && oldPath !== null);
  const kinds: readonly (readonly Span[])[] = [writes, syncs, names, renames, printed];
  const cuts = Array.from({ length: CUTS }, (_, round) => {
    return cutAround(kinds[round % kinds.length] as readonly Span[], random);
  });
  for (const at of [...cuts, length]) {
    for (const unsynced of ['none', 'half', 'all'] as const) {
      const faults = await faultsAfter(recording, at, unsynced);
      assert.deepEqual(faults, [], `cut at ${at} of ${length}, ${unsynced} of what was not synced`);
    }
  }

  await t.test('an extent is durable at the moment of its acknowledgement', async () => {
    for (const { ended } of acknowledgements(recording)) {
      const faults = await faultsAfter(recording, ended, 'none');
      assert.deepEqual(faults, [], `cut at ${ended} of ${length}`);
    }
  });

  for (const [name, isOfKind] of Object.entries(SYNCED)) {
    await t.test(`a missing sync of ${name} would be found`, async () => {
      const unsafe = { ...recording, syncs: syncs.filter(({ inode }) => !isOfKind(inode)) };
      const faults = await faultsAfter(unsafe, length, 'none');
      assert.match(faults.join('\n'), /is missing|is damaged/);
    });
  }
});
