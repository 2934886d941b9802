import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type FileOptions, TestShare } from '../../../../test/harness/file-store.ts';
import { turns } from '../../../../test/harness/parallel.ts';
import { SmbClient } from '../../../../test/harness/smb-client.ts';
import { transact } from '../../../engine/transact.ts';
import { ARCHIVE, DIRECTORY, HIDDEN, READ_ONLY, SYSTEM } from '../../../rules/file-attributes.ts';
import { parseSddl } from '../../../rules/sddl.ts';
import { encodeDescriptor, type SecurityDescriptor } from '../../../rules/security-descriptor.ts';
import { ALL_ACCESS, DELETES, NO_ACCESS, READS, WRITES } from '../../../rules/share-mode.ts';
import { useKey } from '../../records/file-keys.ts';
import type { FileRecord } from '../../records/node-record.ts';
import { StorageError } from '../../storage-error.ts';
import { getShareStats } from '../get-share-stats.ts';
import { leaseFile } from '../lease-file.ts';
import { getPermission } from '../permissions.ts';
import { NO_CHANGES } from '../properties.ts';
import { HANDLE_COUNT_MAX, type UsedPlace } from './open-node.ts';
import { type Disposition, type OpenOrCreated, type OpenOrCreateRequest, openOrCreate } from './open-or-create.ts';
import { OpenRefused } from './open-refused.ts';
import type { Waiter } from './waits.ts';

const HELLO = Buffer.from('hello');

const DISPOSITIONS: readonly Disposition[] = [
  'supersede',
  'open',
  'create',
  'open or create',
  'overwrite',
  'overwrite or create',
];

let share: TestShare;
let client: SmbClient;

beforeEach(async () => {
  share = await TestShare.create();
  client = new SmbClient(share.store.storage, share.name);
});

afterEach(async () => {
  await share.store.close();
  assert.deepEqual(share.store.errors, []);
});

type Asked = Partial<OpenOrCreateRequest> & { readonly snapshot?: string | null };

function make(path: string, asked: Asked = {}, { by = client, ...waiter }: Waiter & { by?: SmbClient } = {}) {
  const { snapshot = null, ...rest } = asked;
  const request: OpenOrCreateRequest = {
    name: share.nameOf(path, snapshot),
    disposition: 'open or create',
    kind: null,
    access: ALL_ACCESS,
    share: ALL_ACCESS,
    isAtMost: false,
    attributes: rest.kind === 'directory' ? DIRECTORY : ARCHIVE,
    descriptor: null,
    allocationBytes: 0,
    leasedNode: () => null,
    client: { ip: '10.0.0.5:1', name: 'desktop', sessionId: '1' },
    ...rest,
  };
  return openOrCreate(share.store.storage, request, by, waiter);
}

/** What was done, or what it was refused with. */
async function outcome(act: Promise<OpenOrCreated>): Promise<string> {
  try {
    return (await act).action;
  } catch (error) {
    if (error instanceof StorageError) return error.code;
    if (error instanceof OpenRefused) return error.refusal;
    throw error;
  }
}

const close = (id: string): Promise<unknown> => client.opens.close(id);
const withAttributes = (attributes: number): FileOptions => ({ properties: { ...NO_CHANGES, attributes } });

describe('each disposition', () => {
  const WANT = {
    file: ['superseded', 'opened', 'ResourceAlreadyExists', 'opened', 'overwritten', 'overwritten'],
    directory: [
      'overwrites a directory',
      'opened',
      'ResourceAlreadyExists',
      'opened',
      'overwrites a directory',
      'overwrites a directory',
    ],
    nothing: ['created', 'ResourceNotFound', 'created', 'created', 'ResourceNotFound', 'created'],
  } as const;
  for (const [what, wanted] of Object.entries(WANT)) {
    for (const [index, disposition] of DISPOSITIONS.entries()) {
      test(`${disposition}, where there is ${what}: ${wanted[index]}`, async () => {
        await share.createFile('file', HELLO);
        await share.createDirectory('directory');
        assert.equal(await outcome(make(what, { disposition })), wanted[index]);
      });
    }
  }
});

describe('what is asked to be', () => {
  beforeEach(async () => {
    await share.createFile('f', HELLO);
    await share.createDirectory('d');
  });

  for (const [what, path, asked, want] of [
    ['a directory, and is a file', 'f', { kind: 'directory' }, 'not a directory'],
    ['a file, and is a directory', 'd', { kind: 'file' }, 'is a directory'],
    ['a new directory, and is a file', 'f', { kind: 'directory', disposition: 'create' }, 'ResourceAlreadyExists'],
    ['a directory', 'd', { kind: 'directory' }, 'opened'],
    ['the root', '', {}, 'opened'],
    ['the root, deleted', '', { deletesOnClose: true }, 'CannotDeleteFileOrDirectory'],
    ['in a directory that is not there', 'x/y', {}, 'ParentNotFound'],
    ['in a file', 'f/y', {}, 'ParentNotFound'],
  ] as const) {
    test(`${what}: ${want}`, async () => assert.equal(await outcome(make(path, asked)), want));
  }

  test('a directory that is not there is made, and REST sees it', async () => {
    const { node, action } = await make('d/e', { kind: 'directory', attributes: DIRECTORY | HIDDEN });
    assert.equal(action, 'created');
    assert.equal(node.attributes, DIRECTORY | HIDDEN);
    await share.createFile('d/e/f', 1);
  });
});

describe('a new file', () => {
  test('is empty, is there at once, and inherits its permission', async () => {
    const { node } = await make('f', { attributes: ARCHIVE | HIDDEN });
    assert.equal((node as FileRecord).lengthBytes, 0);
    assert.equal(node.attributes, ARCHIVE | HIDDEN);
    assert.equal((await share.read('f')).length, 0);
    const rest = await share.createFile('g', 1);
    assert.equal(node.permission, rest.permission);
  });

  test('has the permission that it was given', async () => {
    const descriptor = encodeDescriptor(parseSddl('O:BAG:BAD:(A;;FA;;;WD)') as SecurityDescriptor);
    const { node } = await make('f', { descriptor });
    assert.deepEqual(await getPermission(share.store.storage, share.name, node.permission), descriptor);
  });

  test('that is read-only is written by whoever made it, and by nobody else', async () => {
    await make('f', { attributes: ARCHIVE | READ_ONLY });
    assert.equal(await outcome(make('f')), 'ReadOnlyAttribute');
    assert.equal(await outcome(make('f', { access: READS })), 'opened');
  });

  test('that is read-only cannot be deleted by closing it, and is not made', async () => {
    const asked = { attributes: ARCHIVE | READ_ONLY, deletesOnClose: true };
    assert.equal(await outcome(make('f', asked)), 'CannotDeleteFileOrDirectory');
    assert.equal(await outcome(make('f', { disposition: 'open' })), 'ResourceNotFound');
  });

  test('has one maker', async () => {
    for (let round = 0; round < 20; round++) {
      const made = [0, 1, 2].map(async (index) => {
        await turns((round + index) % 3);
        return outcome(make(`f${round}`, { disposition: 'create' }));
      });
      assert.deepEqual((await Promise.all(made)).toSorted(), [
        'ResourceAlreadyExists',
        'ResourceAlreadyExists',
        'created',
      ]);
    }
  });

  test('is not made where the share has no room for what is meant to be written', async () => {
    const allocationBytes = 6_000 * 1024 ** 3;
    assert.equal(await outcome(make('f', { allocationBytes })), 'ShareSizeLimitReached');
    assert.equal(await outcome(make('f', { disposition: 'open' })), 'ResourceNotFound');
  });
});

async function usedBytes(): Promise<number> {
  return (await getShareStats(share.store.storage, { name: share.name, leaseId: null })).usedBytes;
}

describe('overwriting', () => {
  test('takes the content away, and leaves what REST has said of the file', async () => {
    const before = await share.createFile('f', HELLO, { metadata: [['a', 'b']] });
    const { node } = await make('f', { disposition: 'overwrite', attributes: ARCHIVE | HIDDEN });
    const after = node as FileRecord;
    assert.equal(after.lengthBytes, 0);
    assert.equal(after.id, before.id);
    assert.equal(after.attributes, ARCHIVE | HIDDEN);
    assert.notEqual(after.etag, before.etag);
    assert.deepEqual(after.metadata, [['a', 'b']]);
    assert.equal(after.createdAt, before.createdAt);
    assert.equal(after.permission, before.permission);
    assert.equal((await share.read('f')).length, 0);
    assert.equal(await usedBytes(), 0);
  });

  test('leaves what a snapshot has', async () => {
    await share.createFile('f', HELLO);
    const snapshot = await share.snapshot();
    await make('f', { disposition: 'supersede' });
    assert.deepEqual(await share.read('f', snapshot), HELLO);
  });

  for (const [what, attributes, asked, want] of [
    ['a hidden file, by its like', HIDDEN, HIDDEN | ARCHIVE, 'overwritten'],
    ['a hidden file', HIDDEN, ARCHIVE, 'hidden or system'],
    ['a system file', SYSTEM, HIDDEN | ARCHIVE, 'hidden or system'],
    ['a read-only file', READ_ONLY, READ_ONLY | ARCHIVE, 'ReadOnlyAttribute'],
  ] as const) {
    test(`${what}: ${want}`, async () => {
      await share.createFile('f', HELLO, withAttributes(attributes));
      assert.equal(await outcome(make('f', { disposition: 'overwrite', attributes: asked })), want);
      assert.equal((await share.read('f')).length, want === 'overwritten' ? 0 : 5);
    });
  }

  test('counts as writing against those who let nobody write', async () => {
    await share.createFile('f', HELLO);
    await make('f', { access: READS, share: READS });
    assert.equal(await outcome(make('f', { access: READS, disposition: 'overwrite' })), 'SharingViolation');
    assert.deepEqual(await share.read('f'), HELLO);
  });

  test('does not care for locked bytes, as nothing is read or written', async () => {
    await share.createFile('f', HELLO);
    const { id } = await make('f');
    await client.opens.lock(id, [{ offsetBytes: 0n, lengthBytes: 1n, isExclusive: true }], { waitMs: 0 });
    assert.equal(await outcome(make('f', { disposition: 'overwrite' })), 'overwritten');
  });
});

const elsewhere = () => ({ shareId: 'x', nodeId: 'y' });

describe('refused, first things first', () => {
  test('what is marked for deletion, whatever else is wrong', async () => {
    await share.createFile('f', HELLO);
    const { id } = await make('f');
    await client.opens.markForDeletion(id, true);
    for (const disposition of DISPOSITIONS) {
      assert.equal(await outcome(make('f', { disposition })), 'SMBDeletePending', disposition);
    }
    assert.equal(await outcome(make('f', { kind: 'directory' })), 'SMBDeletePending');
    await close(id);
    assert.equal(await outcome(make('f', { disposition: 'create' })), 'created');
  });

  test('something new in a directory that is marked for deletion', async () => {
    const { id } = await make('d', { kind: 'directory' });
    await client.opens.markForDeletion(id, true);
    assert.equal(await outcome(make('d/f')), 'SMBDeletePending');
    assert.equal(await outcome(make('d/f', { disposition: 'open' })), 'ResourceNotFound');
  });

  test('writing what REST has leased, and reading it is not', async () => {
    await share.createFile('f', HELLO);
    const action = { action: 'acquire', proposedId: null, freshId: 'l', durationSeconds: -1 } as const;
    await leaseFile(share.store.storage, { ...share.requestOf('f'), action });
    for (const access of [WRITES, DELETES, ALL_ACCESS]) {
      assert.equal(await outcome(make('f', { access })), 'SharingViolation');
    }
    assert.equal(await outcome(make('f', { access: READS, disposition: 'overwrite' })), 'SharingViolation');
    for (const access of [NO_ACCESS, READS]) assert.equal(await outcome(make('f', { access })), 'opened');
  });

  test('a lease key that the client has for another file, and nothing is made or replaced', async () => {
    await share.createFile('f', HELLO);
    assert.equal(await outcome(make('f', { leasedNode: elsewhere, disposition: 'overwrite' })), 'key of another file');
    assert.equal(await outcome(make('g', { leasedNode: elsewhere })), 'key of another file');
    assert.deepEqual(await share.read('f'), HELLO);
    assert.equal(await outcome(make('g', { disposition: 'open' })), 'ResourceNotFound');
  });

  test(`more than ${HANDLE_COUNT_MAX} handles of one file`, async () => {
    await share.createFile('f', HELLO);
    const first = await make('f');
    await copyOpen(first, HANDLE_COUNT_MAX - 1);
    assert.equal(await outcome(make('f')), 'too many handles');
    await close(first.id);
    assert.equal(await outcome(make('f')), 'opened');
  });
});

/** As many opens more of the same file. One by one each would read all that are there. */
async function copyOpen({ id, place }: OpenOrCreated, count: number): Promise<void> {
  const { engine, ids } = share.store.storage;
  const { shareId, nodeId } = place as UsedPlace;
  await transact(engine, async (tx) => {
    const record = (await tx.get(useKey(shareId, nodeId, 'open', id))) as Uint8Array;
    for (let left = count; left > 0; left--) tx.put(useKey(shareId, nodeId, 'open', ids.next()), record);
  });
}

describe('as much as there is', () => {
  test('of a read-only file is all but writing', async () => {
    await share.createFile('f', HELLO, withAttributes(READ_ONLY));
    assert.equal((await make('f', { isAtMost: true })).access, READS | DELETES);
  });

  test('of what is in a snapshot is reading', async () => {
    await share.createFile('f', HELLO);
    const snapshot = await share.snapshot();
    const { access, place } = await make('f', { isAtMost: true, snapshot });
    assert.equal(access, READS);
    assert.equal(place, null);
  });

  test('of any other file is all', async () => assert.equal((await make('f', { isAtMost: true })).access, ALL_ACCESS));
});

describe('in a snapshot', () => {
  let snapshot: string;

  beforeEach(async () => {
    await share.createFile('f', HELLO);
    snapshot = await share.snapshot();
    await share.delete('file', 'f');
  });

  test('a file is found as it was, by the second too', async () => {
    const { node, name } = await make('f', { snapshot, access: READS });
    assert.equal((node as FileRecord).lengthBytes, 5);
    const toTheSecond = `${snapshot.slice(0, 19)}.0000000Z`;
    assert.equal((await make('f', { snapshot: toTheSecond, access: READS })).name.snapshot, name.snapshot);
  });

  for (const [what, asked, want] of [
    ['writing', { access: WRITES }, 'ReadOnlyAttribute'],
    ['overwriting', { access: READS, disposition: 'overwrite' }, 'ReadOnlyAttribute'],
    ['deleting', { access: DELETES }, 'ReadOnlyAttribute'],
  ] as const) {
    test(`${what} is refused`, async () => assert.equal(await outcome(make('f', { snapshot, ...asked })), want));
  }

  test('nothing is made, and what is not there is not found', async () => {
    assert.equal(await outcome(make('g', { snapshot })), 'ReadOnlyAttribute');
    assert.equal(await outcome(make('g', { snapshot, disposition: 'open', access: READS })), 'ResourceNotFound');
  });

  test('that there is not, nothing is found', async () => {
    const other = '1980-01-01T00:00:00.0000000Z';
    assert.equal(await outcome(make('f', { snapshot: other, access: READS })), 'ResourceNotFound');
  });
});

describe('what others cache', () => {
  test('is written before the file is opened, and the opener waits', async () => {
    const holder = new SmbClient(share.store.storage, share.name);
    const held = await make('f', { caching: 'RWH', leaseKey: 'a' }, { by: holder });
    assert.equal(held.caching, 'RWH');
    let waits = 0;
    const opening = make('f', { caching: 'RWH', leaseKey: 'b' }, { onWait: () => waits++ });
    assert.equal(await holder.told(), 'RWH to RH');
    assert.equal(await holder.opens.acknowledge(held.id, 'RH'), 'acknowledged');
    assert.equal((await opening).caching, 'RH');
    assert.equal(waits, 1);
  });

  test('is given up altogether for one who overwrites, which happens once and after that', async () => {
    await share.createFile('f', HELLO);
    const holder = new SmbClient(share.store.storage, share.name);
    const held = await make('f', { caching: 'RWH', leaseKey: 'a' }, { by: holder });
    const opening = make('f', { disposition: 'overwrite' });
    assert.equal(await holder.told(), 'RWH to none');
    assert.equal(await client.opens.acknowledge(held.id, ''), 'acknowledged');
    assert.equal((await opening).action, 'overwritten');
  });

  test('is told to an open with the same key while it is being given up', async () => {
    const holder = new SmbClient(share.store.storage, share.name);
    await make('f', { caching: 'RWH', leaseKey: 'a' }, { by: holder });
    const cancel = new AbortController();
    const opening = make('f', {}, { signal: cancel.signal });
    assert.equal(await holder.told(), 'RWH to RH');
    const again = await make('f', { caching: 'R', leaseKey: 'a' }, { by: holder });
    assert.deepEqual([again.caching, again.isBreaking], ['RWH', true]);
    cancel.abort();
    await assert.rejects(opening, { name: 'WaitCancelled' });
  });
});

describe('closing', () => {
  test('gives a file that was written through it a new ETag, and no other', async () => {
    const before = await share.createFile('f', HELLO);
    const [reader, writer] = [await make('f'), await make('f')];
    share.store.clock.advance({ seconds: 5 });
    assert.equal((await client.opens.close(reader.id, { looks: true })).node?.etag, before.etag);
    const { node } = await client.opens.close(writer.id, { hasWritten: true });
    assert.ok(node !== null && node.etag > before.etag);
    assert.equal(node.lastModifiedMs, before.lastModifiedMs + 5_000);
    assert.equal(node.writtenAt, before.writtenAt);
  });

  test('tells what was deleted with it', async () => {
    await share.createDirectory('d');
    const { id } = await make('d/f', { deletesOnClose: true });
    const { removed, node } = await client.opens.close(id, { hasWritten: true, looks: true });
    assert.equal(removed?.name, 'f');
    assert.equal(node, null);
    assert.equal(await outcome(make('d/f', { disposition: 'open' })), 'ResourceNotFound');
  });

  test('asks others for the handles that they cache, where it leaves a deletion to them', async () => {
    const holder = new SmbClient(share.store.storage, share.name);
    const held = await make('f', { caching: 'RH', leaseKey: 'a' }, { by: holder });
    const { id } = await make('f', { deletesOnClose: true });
    assert.equal((await client.opens.close(id)).isMarked, true);
    assert.deepEqual(holder.unheard, ['RH to R']);
    await client.opens.close(held.id);
    assert.equal(await outcome(make('f', { disposition: 'open' })), 'ResourceNotFound');
  });
});
