/** What the files store promises beyond the contract: bounded memory, space given back, crashes and failing disks. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdtemp, open, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { IdSource } from '../../base/ids.ts';
import { type ContentStore, ContentUnavailable, type PlacedExtent } from '../content.ts';
import { cut, each, get, put, whole } from '../contract.ts';
import type { OpenFile } from './disk.ts';
import { type FilesContentOptions, openFilesContent } from './files-content.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const SEGMENT_BYTES_MAX = MIB;
const SEGMENT_EXTENT_BYTES_MAX = 128 * KIB;
const ids = new IdSource();
const turn = () => new Promise((resolve) => setImmediate(resolve));

let path: string;
let stores: ContentStore[];

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'larimar-content-'));
  stores = [];
});

afterEach(async () => {
  for (const store of stores) await store.close();
  await rm(path, { recursive: true, force: true });
});

async function openStore(options: Partial<FilesContentOptions> = {}): Promise<ContentStore> {
  const store = await openFilesContent({
    path,
    segmentBytesMax: SEGMENT_BYTES_MAX,
    segmentExtentBytesMax: SEGMENT_EXTENT_BYTES_MAX,
    ...options,
  });
  stores.push(store);
  return store;
}

async function reopen(live: readonly PlacedExtent[]): Promise<ContentStore> {
  await stores.pop()?.close();
  const store = await openStore();
  await store.recover(each(live));
  return store;
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(join(path, folder), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function bytesOnDisk(): Promise<number> {
  const stats = await Promise.all((await filesIn('.')).map((file) => stat(file)));
  return stats.reduce((sum, { size }) => sum + size, 0);
}

async function onlyFileIn(folder: string): Promise<string> {
  const files = await filesIn(folder);
  assert.equal(files.length, 1);
  return files[0] as string;
}

/** Where the frame begins in its segment. */
const startBytesOf = ({ placement }: PlacedExtent): number =>
  Number.parseInt(placement.split('.')[1] as string, 16) * 4096;

/** A disk whose every open file passes through the test's hands. */
function diskWith(change: (handle: FileHandle, path: string, flags: string) => void): OpenFile {
  return async (path, flags) => {
    const handle = await open(path, flags);
    change(handle, path, flags);
    return handle;
  };
}

function errorOf(code: string): Error {
  return Object.assign(new Error(code), { code });
}

test('a writer reads its source no faster than the disk takes it', async () => {
  let writtenBytes = 0;
  let pulledBytes = 0;
  let heldBytesMax = 0;
  const openFile = diskWith((handle) => {
    const writev = handle.writev.bind(handle);
    handle.writev = async (pieces, position) => {
      for (let count = 0; count < 20; count++) await turn();
      const result = await writev(pieces, position);
      writtenBytes += result.bytesWritten;
      return result;
    };
  });
  const store = await openStore({ openFile });
  const bytes = randomBytes(9 * MIB + 5);
  const source = async function* () {
    for (const piece of cut(bytes, 64 * KIB)) {
      pulledBytes += piece.length;
      heldBytesMax = Math.max(heldBytesMax, pulledBytes - writtenBytes);
      yield piece;
    }
  };
  const extent = await put(store, bytes, source());
  assert.ok(heldBytesMax <= 2 * MIB + 64 * KIB, `${heldBytesMax} bytes were held`);
  assert.ok((await get(store, extent)).equals(bytes));
});

test('small pieces are gathered into large writes', async () => {
  const writeBytes: number[] = [];
  const openFile = diskWith((handle) => {
    const writev = handle.writev.bind(handle);
    handle.writev = async (pieces, position) => {
      const result = await writev(pieces, position);
      writeBytes.push(result.bytesWritten);
      return result;
    };
  });
  const store = await openStore({ openFile });
  const bytes = randomBytes(4 * MIB);
  await put(store, bytes, each(cut(bytes, 64 * KIB)));
  assert.deepEqual(writeBytes, [MIB, MIB, MIB, MIB]);
});

test('a disk that writes less than it is asked to is asked again', async () => {
  const openFile = diskWith((handle) => {
    handle.writev = async (pieces, position) => {
      const bytes = Buffer.concat(pieces as readonly unknown[] as readonly Uint8Array[]);
      const { bytesWritten } = await handle.write(bytes, 0, Math.min(bytes.length, 40_001), position);
      return { bytesWritten, buffers: pieces };
    };
  });
  const store = await openStore({ openFile });
  for (const lengthBytes of [100_000, 300_000]) {
    const bytes = randomBytes(lengthBytes);
    const extent = await put(store, bytes, each(cut(bytes, 7_000)));
    assert.ok((await get(store, extent)).equals(bytes));
  }
});

test('a slow reader has at most one piece read ahead of it', async () => {
  let readBytes = 0;
  let takenBytes = 0;
  let heldBytesMax = 0;
  const openFile = diskWith((handle) => {
    const read = handle.read.bind(handle) as (...args: unknown[]) => Promise<{ bytesRead: number }>;
    handle.read = (async (...args: unknown[]) => {
      const result = await read(...args);
      readBytes += result.bytesRead;
      heldBytesMax = Math.max(heldBytesMax, readBytes - takenBytes);
      return result;
    }) as typeof handle.read;
  });
  const store = await openStore({ openFile });
  const extent = await put(store, randomBytes(9 * MIB));
  for await (const piece of store.read(extent.placement, whole(extent))) {
    for (let count = 0; count < 20; count++) await turn();
    takenBytes += piece.length;
  }
  assert.equal(takenBytes, 9 * MIB);
  assert.ok(heldBytesMax <= 2 * MIB, `${heldBytesMax} bytes were held`);
});

test('every file that was opened is closed, after abandoned readers and failed writers too', async () => {
  let openCount = 0;
  const openFile = diskWith((handle) => {
    openCount++;
    const close = handle.close.bind(handle);
    handle.close = async () => {
      await close();
      openCount--;
    };
  });
  const store = await openStore({ openFile });
  for (const lengthBytes of [100 * KIB, 3 * MIB]) {
    const bytes = randomBytes(lengthBytes);
    const extent = await put(store, bytes);
    const reader = store.read(extent.placement, whole(extent))[Symbol.asyncIterator]();
    await reader.next();
    await store.free(extent.placement, lengthBytes);
    await reader.return?.();
    const unstarted = store.read(extent.placement, whole(extent))[Symbol.asyncIterator]();
    await unstarted.return?.();
    await assert.rejects(store.write(ids.next(), each([bytes.subarray(1)]), lengthBytes));
    await put(store, bytes);
  }
  await store.close();
  assert.equal(openCount, 0);
});

test('many small reads of one file open it once', async () => {
  let openCount = 0;
  const openFile = diskWith((_handle, path, flags) => {
    if (flags === 'r' && path.includes('extents') && !path.endsWith('extents')) openCount++;
  });
  const store = await openStore({ openFile });
  const extent = await put(store, randomBytes(MIB));
  const before = openCount;
  await Promise.all(
    Array.from({ length: 50 }, (_, index) => get(store, extent, { offsetBytes: index * 1000, lengthBytes: 100 })),
  );
  assert.equal(openCount - before, 1);
});

test('a folder that was there has its name made durable, as one that was not', async () => {
  for (const storePath of [path, join(path, 'new', 'store')]) {
    const syncedFolders: string[] = [];
    const openFile = diskWith((handle, folder) => {
      const sync = handle.sync.bind(handle);
      handle.sync = async () => {
        await sync();
        syncedFolders.push(folder);
      };
    });
    await openStore({ path: storePath, openFile });
    assert.ok(syncedFolders.includes(dirname(storePath)), `synced: ${syncedFolders.join()}`);
  }
});

test('parallel writers of middling extents share a segment and its syncs', async () => {
  let syncCount = 0;
  const openFile = diskWith((handle) => {
    const datasync = handle.datasync.bind(handle);
    handle.datasync = () => {
      syncCount++;
      return datasync();
    };
  });
  const store = await openStore({ openFile, segmentBytesMax: 64 * MIB });
  await Promise.all(Array.from({ length: 64 }, () => put(store, randomBytes(20 * KIB))));
  await onlyFileIn('segments');
  assert.ok(syncCount < 32, `${syncCount} syncs for 64 writers`);
});

test('an id that is not ours never reaches the file system', async () => {
  const store = await openStore();
  for (const id of ['../../../escape', '', 'ABCDEFABCDEFABCDEFABCDEF', `${ids.next()}/x`]) {
    for (const lengthBytes of [10, MIB]) {
      await assert.rejects(store.write(id, each([randomBytes(lengthBytes)]), lengthBytes), /not an extent's id/);
    }
  }
  assert.deepEqual(await filesIn('.'), []);
});

test('a segment is removed once it is full and nothing in it is live', async () => {
  const store = await openStore();
  const extents: PlacedExtent[] = [];
  for (let count = 0; count < 9; count++) extents.push(await put(store, randomBytes(120 * KIB)));
  assert.equal((await filesIn('segments')).length, 2);
  for (const extent of extents.slice(0, 7)) await store.free(extent.placement, extent.lengthBytes);
  assert.equal((await filesIn('segments')).length, 2);
  for (const extent of extents.slice(7)) await store.free(extent.placement, extent.lengthBytes);
  assert.equal((await filesIn('segments')).length, 1, 'only the one that is still appended to is left');
});

test('freeing one extent many times does not count others as dead', async () => {
  const store = await openStore();
  const extents: PlacedExtent[] = [];
  for (let count = 0; count < 9; count++) extents.push(await put(store, randomBytes(120 * KIB)));
  const [freed, ...kept] = extents as [PlacedExtent, ...PlacedExtent[]];
  for (let count = 0; count < 20; count++) await store.free(freed.placement, freed.lengthBytes);
  for (const extent of kept) assert.equal(await store.verify(extent), 'ok');
  assert.deepEqual(await store.worthMoving(), []);
});

test('moving the survivors of mostly dead segments gives their space back', async () => {
  let store = await openStore();
  const bodies = new Map<string, Buffer>();
  let live: PlacedExtent[] = [];
  for (let count = 0; count < 64; count++) {
    const bytes = randomBytes(100 * KIB);
    const extent = await put(store, bytes);
    bodies.set(extent.id, bytes);
    live.push(extent);
  }
  // The rest happens after a restart as well as before one.
  for (const survivorsEvery of [4, 3]) {
    const dead = live.filter((_, index) => index % survivorsEvery !== 0);
    live = live.filter((_, index) => index % survivorsEvery === 0);
    for (const extent of dead) await store.free(extent.placement, extent.lengthBytes);
    const before = await bytesOnDisk();
    const worth = await store.worthMoving();
    assert.ok(worth.length > 0);
    for (const extent of worth) {
      const index = live.findIndex(({ placement }) => placement === extent.placement);
      assert.deepEqual(live[index], extent, 'only live extents are worth moving');
      const placement = await store.write(extent.id, store.read(extent.placement, whole(extent)), extent.lengthBytes);
      live[index] = { ...extent, placement };
      await store.free(extent.placement, extent.lengthBytes);
    }
    const after = await bytesOnDisk();
    assert.ok(after < before / 2 + SEGMENT_BYTES_MAX, `${before} bytes became ${after}`);
    for (const extent of live) assert.ok((await get(store, extent)).equals(bodies.get(extent.id) as Buffer));
    store = await reopen(live);
  }
});

test('recovery removes temporary files and the files of extents that were never published, and nothing foreign', async () => {
  let store = await openStore();
  const named = await put(store, randomBytes(MIB));
  const unpublished = await put(store, randomBytes(MIB));
  await writeFile(join(path, 'incoming', `${ids.next()}.0`), randomBytes(5000));
  await writeFile(join(path, 'incoming', 'notes.txt'), 'keep');
  await stores.pop()?.close();
  store = await openStore();
  assert.deepEqual(await store.recover(each([named])), { extentCount: 2, bytes: MIB + 5000 });
  assert.equal(await store.verify(named), 'ok');
  assert.equal(await store.verify(unpublished), 'missing');
  assert.deepEqual(await readdir(join(path, 'incoming')), ['notes.txt']);
  assert.equal((await filesIn('extents')).length, 1);
});

test('a torn segment tail is never written behind, and what came before it stays', async () => {
  let store = await openStore();
  const bytes = randomBytes(50 * KIB);
  const named = await put(store, bytes);
  const torn = await put(store, randomBytes(50 * KIB));
  const segment = await onlyFileIn('segments');
  await stores.pop()?.close();
  await truncate(segment, 80 * KIB);
  store = await openStore();
  await store.recover(each([named]));
  const later = await put(store, randomBytes(50 * KIB));
  assert.equal((await stat(segment)).size, 80 * KIB);
  assert.equal((await filesIn('segments')).length, 2);
  assert.ok((await get(store, named)).equals(bytes));
  assert.equal(await store.verify(torn), 'missing');
  assert.equal(await store.verify(later), 'ok');
});

test('a free that is done again after a restart does not hit what was written since', async () => {
  let store = await openStore();
  const old = await put(store, randomBytes(50 * KIB));
  await store.free(old.placement, old.lengthBytes);
  store = await reopen([]);
  const fresh = await put(store, randomBytes(50 * KIB));
  await store.free(old.placement, old.lengthBytes);
  assert.equal(await store.verify(fresh), 'ok');
});

test('recovery refuses records of another store instead of removing everything', async () => {
  const store = await openStore();
  const extent = await put(store, randomBytes(MIB));
  await stores.pop()?.close();
  const foreign = { id: ids.next(), placement: 'bucket/key', lengthBytes: 1 };
  await assert.rejects((await openStore()).recover(each([foreign])), /never wrote/);
  assert.equal(await (await openStore()).verify(extent), 'ok');
});

test('recovery is refused once something was written', async () => {
  const store = await openStore();
  const extent = await put(store, randomBytes(10));
  await assert.rejects(store.recover(each([])), /directly after opening/);
  assert.equal(await store.verify(extent), 'ok');
});

test('a file of the wrong size is damaged, and one that is gone is missing', async () => {
  const store = await openStore();
  const extent = await put(store, randomBytes(MIB));
  const file = await onlyFileIn('extents');
  await truncate(file, MIB - 1);
  assert.equal(await store.verify(extent), 'damaged');
  await assert.rejects(get(store, extent), /ends at/);
  await rm(file);
  assert.equal(await store.verify(extent), 'missing');
});

test('a frame with a damaged header, another header or a lost tail is damaged, and without its segment missing', async () => {
  const store = await openStore();
  const first = await put(store, randomBytes(50 * KIB));
  const second = await put(store, randomBytes(50 * KIB));
  const third = await put(store, randomBytes(50 * KIB));
  const segment = await onlyFileIn('segments');
  const file = await open(segment, 'r+');
  await file.write(Buffer.from([0xff]), 0, 1, startBytesOf(first) + 20);
  const header = Buffer.alloc(32);
  await file.read(header, 0, 32, startBytesOf(third));
  await file.write(header, 0, 32, startBytesOf(second));
  await file.close();
  assert.equal(await store.verify(first), 'damaged');
  assert.equal(await store.verify(second), 'damaged');
  assert.equal(await store.verify(third), 'ok');
  await truncate(segment, startBytesOf(third) + 40 * KIB);
  assert.equal(await store.verify(third), 'damaged');
  await rm(segment);
  await stores.pop()?.close();
  assert.equal(await (await openStore()).verify(third), 'missing');
});

for (const lengthBytes of [50 * KIB, 3 * MIB]) {
  test(`a full disk rejects a write of ${lengthBytes} bytes, and the store goes on`, async () => {
    let full = true;
    const openFile = diskWith((handle) => {
      const writev = handle.writev.bind(handle);
      handle.writev = async (pieces, position) => {
        if (full) throw errorOf('ENOSPC');
        return writev(pieces, position);
      };
    });
    const store = await openStore({ openFile });
    const bytes = randomBytes(lengthBytes);
    await assert.rejects(put(store, bytes), isUnavailable('ENOSPC'));
    full = false;
    const extent = await put(store, bytes);
    assert.ok((await get(store, extent)).equals(bytes));
    assert.deepEqual(await filesIn('incoming'), []);
  });
}

test('a failed fdatasync rejects every writer that waits, and its segment is not used again', async () => {
  const syncCounts = new Map<string, number>();
  let failing = true;
  const openFile = diskWith((handle, path) => {
    const datasync = handle.datasync.bind(handle);
    handle.datasync = async () => {
      syncCounts.set(path, (syncCounts.get(path) ?? 0) + 1);
      if (failing) throw errorOf('EIO');
      await datasync();
    };
  });
  const store = await openStore({ openFile });
  const writes = await Promise.allSettled(Array.from({ length: 6 }, () => put(store, randomBytes(20 * KIB))));
  for (const write of writes) assert.equal(write.status === 'rejected' && write.reason.cause.code, 'EIO');
  assert.deepEqual([...syncCounts.values()], [1], 'a sync that failed was tried again');
  assert.deepEqual(await filesIn('segments'), []);
  failing = false;
  const bytes = randomBytes(20 * KIB);
  const extent = await put(store, bytes);
  assert.ok((await get(store, extent)).equals(bytes));
  assert.equal(syncCounts.size, 2);
});

test('extents that were durable before a segment failed stay readable', async () => {
  let failing = false;
  const openFile = diskWith((handle) => {
    const datasync = handle.datasync.bind(handle);
    handle.datasync = async () => {
      if (failing) throw errorOf('EIO');
      await datasync();
    };
  });
  const store = await openStore({ openFile });
  const bytes = randomBytes(20 * KIB);
  const durable = await put(store, bytes);
  failing = true;
  await assert.rejects(put(store, randomBytes(20 * KIB)), isUnavailable('EIO'));
  assert.ok((await get(store, durable)).equals(bytes));
  assert.equal((await filesIn('segments')).length, 1);
});

for (const [folder, lengthBytes] of [
  ['segments$', 50 * KIB],
  ['extents$', 3 * MIB],
  ['extents/[0-9a-f]{2}$', 3 * MIB],
] as const) {
  test(`a name in ${folder} that cannot be made durable rejects the write and leaves nothing`, async () => {
    let failing = false;
    const openFile = diskWith((handle, opened) => {
      if (!failing || !new RegExp(folder).test(opened)) return;
      handle.sync = async () => {
        throw errorOf('EIO');
      };
    });
    const store = await openStore({ openFile });
    failing = true;
    await assert.rejects(put(store, randomBytes(lengthBytes)), isUnavailable('EIO'));
    assert.deepEqual(await filesIn('.'), []);
    failing = false;
    assert.equal(await store.verify(await put(store, randomBytes(lengthBytes))), 'ok');
  });
}

test('a closed store refuses to be used', async () => {
  const store = await openStore();
  const extent = await put(store, randomBytes(10));
  await store.close();
  await assert.rejects(put(store, randomBytes(10)), /closed/);
  await assert.rejects(get(store, extent), /closed/);
});

/** The store says that it failed, and keeps the disk's own word on it. */
function isUnavailable(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ContentUnavailable && (error.cause as NodeJS.ErrnoException).code === code;
}
