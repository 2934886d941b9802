/**
 * A folder as a power cut could have left it: what a sync had covered is there; of the rest nothing, any half or all.
 * Bytes need a sync of their file, names one of their folder; neither brings the other. A rename happens or it does
 * not. Stricter than most file systems, which keep some order between what they write.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Random } from '../harness/random.ts';
import type { Span } from '../harness/strace-calls.ts';
import type { DiskRecording, DiskWrite, Inode } from './disk-recording.ts';

const SECTOR_BYTES = 4096;

/** What of that which no sync covers has reached the disk all the same. */
export type Unsynced = 'none' | 'half' | 'all';

export interface PowerCut {
  /** The place in the log. */
  readonly at: number;
  readonly unsynced: Unsynced;
  readonly random: Random;
}

type Durable = (inode: Inode, change: Span) => boolean;

/** A change is durable by a sync that began after it had ended, and ended before the cut. */
function durableBefore({ syncs }: DiskRecording, cut: number): Durable {
  const lastSyncs = new Map<Inode, number>();
  for (const { inode, began, ended } of syncs) {
    if (ended < cut) lastSyncs.set(inode, Math.max(began, lastSyncs.get(inode) ?? 0));
  }
  return (inode, change) => change.ended < (lastSyncs.get(inode) ?? 0);
}

/** By path, in an order in which every folder comes before what is in it. */
export function namesAfter(recording: DiskRecording, cut: PowerCut): Map<string, Inode> {
  const isDurable = durableBefore(recording, cut.at);
  const names = new Map<string, Inode>();
  for (const change of recording.names) {
    if (change.began >= cut.at || !(isDurable(change.folder, change) || isKept(cut))) continue;
    if (change.oldPath !== null) names.delete(change.oldPath);
    if (change.path !== null) names.set(change.path, change.inode);
  }
  return new Map([...names].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const isKept = ({ unsynced, random }: PowerCut): boolean =>
  unsynced === 'all' || (unsynced === 'half' && random.chance(0.5));

/** The pieces of a write that lie in one sector each: a disk writes a sector whole or not at all. */
function* sectorsOf({ offset, bytes }: DiskWrite): Generator<{ offset: number; bytes: Buffer }> {
  for (let at = 0; at < bytes.length; ) {
    const length = SECTOR_BYTES - ((offset + at) % SECTOR_BYTES);
    yield { offset: offset + at, bytes: bytes.subarray(at, at + length) };
    at += length;
  }
}

function bytesAfter(inode: Inode, isDurable: Durable, cut: PowerCut): Buffer {
  const image = Buffer.alloc(Math.max(0, ...inode.writes.map(({ offset, bytes }) => offset + bytes.length)));
  let length = 0;
  for (const write of inode.writes) {
    if (write.began >= cut.at) continue;
    const isWhole = isDurable(inode, write) || cut.unsynced === 'all';
    for (const { offset, bytes } of isWhole ? [write] : sectorsOf(write)) {
      if (!isWhole && !isKept(cut)) continue;
      bytes.copy(image, offset);
      length = Math.max(length, offset + bytes.length);
    }
  }
  return image.subarray(0, length);
}

/** Builds what was under `root` anew under `target`, which is there and empty. */
export async function buildImage(
  recording: DiskRecording,
  cut: PowerCut,
  { root, target }: { root: string; target: string },
): Promise<void> {
  const isDurable = durableBefore(recording, cut.at);
  const folders = new Set([root]);
  for (const [path, inode] of namesAfter(recording, cut)) {
    // What is in a folder that was lost is lost with it.
    if (!folders.has(dirname(path))) continue;
    const place = join(target, relative(root, path));
    if (inode.isFolder) {
      folders.add(path);
      await mkdir(place);
    } else {
      await writeFile(place, bytesAfter(inode, isDurable, cut));
    }
  }
}
