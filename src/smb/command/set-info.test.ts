import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { refusal, type TestShare } from '../../../test/harness/file-store.ts';
import { namesIn, pictureOf } from '../../../test/harness/file-tree.ts';
import { bodyOfReply, type MadeContext, makeContext, statusNameOf } from '../../../test/harness/smb-context.ts';
import { openNamed } from '../../../test/harness/smb-opens.ts';
import { ARCHIVE, HIDDEN, READ_ONLY } from '../../rules/file-attributes.ts';
import { ChangeFilter, type FileChange } from '../../rules/file-change.ts';
import { fileTimeAt } from '../../rules/file-time.ts';
import { INFINITE_SECONDS } from '../../rules/lease.ts';
import { parseSddl } from '../../rules/sddl.ts';
import { encodeDescriptor, type SecurityDescriptor } from '../../rules/security-descriptor.ts';
import { getFileProperties } from '../../service/file/get-file.ts';
import { leaseFile } from '../../service/file/lease-file.ts';
import type { UsedPlace } from '../../service/file/opens/open-node.ts';
import { NO_CHANGES } from '../../service/file/properties.ts';
import { setShareProperties } from '../../service/file/use-share.ts';
import type { FileRecord } from '../../service/records/node-record.ts';
import type { FileOpen } from '../session/open.ts';
import {
  DELETE,
  FULL_ACCESS,
  READ_ATTRIBUTES,
  READ_DATA,
  shareAccessOf,
  WRITE_ATTRIBUTES,
  WRITE_DAC,
  WRITE_DATA,
  WRITE_EA,
  WRITE_OWNER,
} from '../wire/access.ts';
import { InfoType } from '../wire/set-info.ts';
import { setInfo } from './set-info.ts';

const GIB = 1024 ** 3;
const LEASE_ID = 'aaaaaaaa-0000-0000-0000-000000000000';

let made: MadeContext;
let share: TestShare;
/** NON_DIRECTORY_FILE, as the open was made. */
const NON_DIRECTORY = 0x40;

beforeEach(async () => {
  made = await makeContext();
  ({ share } = made);
  await share.createDirectory('d');
  for (const path of ['f', 'd/1']) await share.createFile(path, Buffer.from(path.padEnd(10, '.')));
});

const open = (
  path: string,
  { access = FULL_ACCESS, snapshot = null }: { access?: number; snapshot?: string | null } = {},
): Promise<FileOpen> => {
  const name = share.nameOf(path, snapshot);
  return openNamed(made.client, name, { access, uses: shareAccessOf(access), mode: NON_DIRECTORY });
};

function set(
  { fileId }: FileOpen,
  infoClass: number,
  buffer: Uint8Array,
  { infoType = InfoType.FILE, additionalInformation = 0 }: { infoType?: number; additionalInformation?: number } = {},
): Promise<string> {
  const request = { infoType, infoClass, additionalInformation, fileId, buffer: Buffer.from(buffer) };
  return statusNameOf(() => setInfo.handle(made.context, request));
}

const BASIC = 4;
const RENAME = 10;
const DISPOSITION = 13;
const POSITION = 14;
const FULL_EA = 15;
const MODE = 16;
const ALLOCATION = 19;
const END_OF_FILE = 20;
const VALID_DATA_LENGTH = 39;

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function basicInfo({ createdAt = 0n, accessedAt = 0n, writtenAt = 0n, changedAt = 0n, attributes = 0 }): Buffer {
  return Buffer.concat([...[createdAt, accessedAt, writtenAt, changedAt].map(int64), uint32(attributes), uint32(0)]);
}

function renameInfo(name: string, { replaces = false } = {}): Buffer {
  const head = Buffer.alloc(20);
  head.writeUInt8(replaces ? 1 : 0, 0);
  head.writeUInt32LE(name.length * 2, 16);
  return Buffer.concat([head, Buffer.from(name, 'utf16le')]);
}

const fileAt = async (path: string): Promise<FileRecord> =>
  (await getFileProperties(made.storage, share.requestOf(path))).node;

const now = (): string => fileTimeAt(share.store.clock.nowMs());

const everythingBut = (bits: number): number => FULL_ACCESS & ~bits;

describe('what an open is not allowed', () => {
  for (const [what, infoClass, buffer, access] of [
    ['attributes', BASIC, basicInfo({ attributes: HIDDEN }), WRITE_ATTRIBUTES],
    ['a name', RENAME, renameInfo('n'), DELETE],
    ['a mark for deletion', DISPOSITION, Buffer.of(1), DELETE],
    ['a length', END_OF_FILE, int64(1n), WRITE_DATA],
    ['room', ALLOCATION, int64(1n), WRITE_DATA],
    ['a valid length', VALID_DATA_LENGTH, int64(1n), WRITE_DATA],
    ['extended attributes', FULL_EA, Buffer.alloc(0), WRITE_EA],
  ] as const) {
    test(`${what} cannot be set without leave, and what cannot be read is refused before that`, async () => {
      const before = await pictureOf(share);
      const opened = await open('f', { access: everythingBut(access) });
      assert.equal(await set(opened, infoClass, buffer), 'ACCESS_DENIED');
      if (infoClass !== FULL_EA) assert.equal(await set(opened, infoClass, Buffer.alloc(0)), 'INFO_LENGTH_MISMATCH');
      assert.deepEqual(await pictureOf(share), before);
    });
  }

  for (const [what, parts, access] of [
    ['owner', 1, WRITE_OWNER],
    ['group', 2, WRITE_OWNER],
    ['DACL', 4, WRITE_DAC],
    ['SACL', 8, FULL_ACCESS],
  ] as const) {
    test(`the ${what} cannot be set without leave`, async () => {
      const opened = await open('f', { access: what === 'SACL' ? FULL_ACCESS : everythingBut(access) });
      const options = { infoType: InfoType.SECURITY, additionalInformation: parts };
      assert.equal(await set(opened, 0, Buffer.alloc(0), options), 'ACCESS_DENIED');
    });
  }

  test('nothing is set in a snapshot but what is the open’s own', async () => {
    const opened = await open('f', { snapshot: await share.snapshot() });
    for (const [infoClass, buffer] of [
      [BASIC, basicInfo({ attributes: HIDDEN })],
      [RENAME, renameInfo('n')],
      [DISPOSITION, Buffer.of(1)],
      [END_OF_FILE, int64(1n)],
      [ALLOCATION, int64(1n)],
    ] as const) {
      assert.equal(await set(opened, infoClass, buffer), 'ACCESS_DENIED');
    }
    assert.equal(await set(opened, POSITION, int64(1n)), 'SUCCESS');
  });

  test('through what is closed nothing is set', async () => {
    const opened = await open('f');
    await made.storage.opens.close(opened.openId);
    assert.equal(await set(opened, BASIC, basicInfo({ attributes: HIDDEN })), 'FILE_CLOSED');
    assert.equal(await set(opened, RENAME, renameInfo('n')), 'FILE_CLOSED');
    opened.isClosed = true;
    assert.equal(await set(opened, POSITION, int64(1n)), 'FILE_CLOSED');
  });
});

describe('basic information', () => {
  test('is answered with nothing', async () => {
    const { fileId } = await open('f');
    const buffer = basicInfo({ attributes: HIDDEN });
    const request = { infoType: 1, infoClass: BASIC, additionalInformation: 0, fileId, buffer };
    assert.deepEqual(bodyOfReply(await setInfo.handle(made.context, request)), Buffer.of(2, 0));
  });

  test('sets attributes and times, and keeps what is zero', async () => {
    const opened = await open('f', { access: WRITE_ATTRIBUTES });
    const times = { createdAt: 1n, accessedAt: 2n, writtenAt: 3n, changedAt: 4n };
    assert.equal(await set(opened, BASIC, basicInfo({ ...times, attributes: READ_ONLY })), 'SUCCESS');
    const want = { createdAt: '1', accessedAt: '2', writtenAt: '3', changedAt: '4', attributes: READ_ONLY };
    const after = await fileAt('f');
    assert.deepEqual({ ...after, ...want }, after);
    assert.equal(await set(opened, BASIC, basicInfo({ attributes: 0x80 })), 'SUCCESS');
    const none = await fileAt('f');
    assert.deepEqual({ ...none, ...want, attributes: 0 }, none);
  });

  test('with nothing to set changes nothing', async () => {
    const before = await fileAt('f');
    const opened = await open('f');
    share.store.clock.advance({ seconds: 5 });
    for (const time of [0n, -1n, -2n]) {
      const times = { createdAt: time, accessedAt: time, writtenAt: time, changedAt: time };
      assert.equal(await set(opened, BASIC, basicInfo(times)), 'SUCCESS');
      assert.deepEqual(await fileAt('f'), before);
    }
  });

  test('keeps a time that was set or is to be kept, and lets it go again', async () => {
    const opened = await open('f');
    const frozenBy = async (times: Parameters<typeof basicInfo>[0]) => {
      assert.equal(await set(opened, BASIC, basicInfo(times)), 'SUCCESS');
      return { ...opened.frozen };
    };
    assert.deepEqual(await frozenBy({ writtenAt: -1n }), { writtenAt: true, changedAt: false });
    assert.deepEqual(await frozenBy({ changedAt: 5n }), { writtenAt: true, changedAt: true });
    assert.deepEqual(await frozenBy({ attributes: HIDDEN }), { writtenAt: true, changedAt: true });
    assert.equal((await fileAt('f')).changedAt, '5');
    assert.deepEqual(await frozenBy({ writtenAt: -2n, changedAt: -2n }), { writtenAt: false, changedAt: false });
    assert.deepEqual(await frozenBy({ attributes: ARCHIVE }), { writtenAt: false, changedAt: false });
    assert.equal((await fileAt('f')).changedAt, now());
  });

  test('refuses times that mean nothing, and attributes of another kind', async () => {
    assert.equal(await set(await open('f'), BASIC, basicInfo({ createdAt: -3n })), 'INVALID_PARAMETER');
    assert.equal(await set(await open('f'), BASIC, basicInfo({ attributes: 0x10 })), 'INVALID_PARAMETER');
    assert.equal(await set(await open('d'), BASIC, basicInfo({ attributes: 0x100 })), 'INVALID_PARAMETER');
    assert.equal(await set(await open('d'), BASIC, basicInfo({ attributes: 0x12 })), 'SUCCESS');
  });
});

describe('names', () => {
  for (const [source, destination, replaces, want] of [
    ['f', 'd\\n', false, 'SUCCESS'],
    ['f', '\\n', false, 'SUCCESS'],
    ['f', 'F', false, 'SUCCESS'],
    ['f', 'd\\1', false, 'OBJECT_NAME_COLLISION'],
    ['f', 'd\\1', true, 'SUCCESS'],
    ['f', 'd', true, 'ACCESS_DENIED'],
    ['f', 'nothing\\n', false, 'OBJECT_PATH_NOT_FOUND'],
    ['f', 'n?', false, 'OBJECT_NAME_INVALID'],
    ['f', 'n:stream', false, 'OBJECT_NAME_INVALID'],
    ['f', 'd\\', false, 'OBJECT_NAME_INVALID'],
    ['d', 'd\\n', false, 'INVALID_PARAMETER'],
    ['', 'n', false, 'ACCESS_DENIED'],
  ] as const) {
    test(`${source || 'the root'} to ${destination}${replaces ? ', replacing' : ''}: ${want}`, async () => {
      assert.equal(
        await set(await open(source, { access: DELETE }), RENAME, renameInfo(destination, { replaces })),
        want,
      );
    });
  }

  test('of a directory with something open in it, and onto what is open: ACCESS_DENIED', async () => {
    await open('d/1', { access: READ_ATTRIBUTES });
    const directory = await open('d', { access: DELETE });
    assert.equal(await set(directory, RENAME, renameInfo('n')), 'ACCESS_DENIED');
    await made.storage.opens.close(directory.openId);
    const onto = renameInfo('d\\1', { replaces: true });
    assert.equal(await set(await open('f', { access: DELETE }), RENAME, onto), 'ACCESS_DENIED');
  });

  test('in a directory that is open to be deleted, or not shared: SHARING_VIOLATION', async () => {
    const parent = await open('d', { access: DELETE | READ_DATA });
    const file = await open('d/1', { access: DELETE });
    assert.equal(await set(file, RENAME, renameInfo('d\\n')), 'SHARING_VIOLATION');
    await made.storage.opens.close(parent.openId);
    assert.equal(await set(file, RENAME, renameInfo('d\\n')), 'SUCCESS');
  });

  test('onto what REST has leased, or what is read-only', async () => {
    const action = {
      action: 'acquire',
      proposedId: LEASE_ID,
      freshId: LEASE_ID,
      durationSeconds: INFINITE_SECONDS,
    } as const;
    await leaseFile(made.storage, { ...share.requestOf('d/1'), action });
    const opened = await open('f');
    assert.equal(await set(opened, RENAME, renameInfo('d\\1', { replaces: true })), 'SHARING_VIOLATION');
    await share.createFile('r', 1, { properties: { ...NO_CHANGES, attributes: READ_ONLY } });
    assert.equal(await set(opened, RENAME, renameInfo('r', { replaces: true })), 'ACCESS_DENIED');
    const extended = renameInfo('r');
    extended.writeUInt32LE(0x41, 0);
    assert.equal(await set(opened, 65, extended), 'SUCCESS');
    assert.deepEqual(await share.read('r'), Buffer.from('f.........'));
  });

  test('cannot be given twice: there are no links', async () => {
    assert.equal(await set(await open('f'), 11, renameInfo('n')), 'NOT_SUPPORTED');
  });
});

describe('a mark for deletion', () => {
  test('is made and taken back, and carried out when the file is closed', async () => {
    const opened = await open('f', { access: DELETE });
    assert.equal(await set(opened, DISPOSITION, Buffer.of(1)), 'SUCCESS');
    assert.equal(await refusal(share.read('f')), 'SMBDeletePending');
    assert.equal(await set(opened, DISPOSITION, Buffer.of(0)), 'SUCCESS');
    await share.read('f');
    assert.equal(await set(opened, 64, uint32(1)), 'SUCCESS');
    await made.storage.opens.close(opened.openId);
    assert.deepEqual(await namesIn(share, ''), ['d']);
  });

  test('is refused for what is read-only, and for a directory that is not empty', async () => {
    await share.createFile('r', 1, { properties: { ...NO_CHANGES, attributes: READ_ONLY } });
    assert.equal(await set(await open('r', { access: DELETE }), DISPOSITION, Buffer.of(1)), 'CANNOT_DELETE');
    assert.equal(await set(await open('d', { access: DELETE }), DISPOSITION, Buffer.of(1)), 'DIRECTORY_NOT_EMPTY');
    assert.equal(await set(await open('', { access: DELETE }), DISPOSITION, Buffer.of(1)), 'CANNOT_DELETE');
  });

  test('that frees the name at once is not offered', async () => {
    assert.equal(await set(await open('f'), 64, uint32(3)), 'INVALID_INFO_CLASS');
  });
});

describe('sizes', () => {
  test('a length cuts the file or adds zeros, and counts as written', async () => {
    const opened = await open('f', { access: WRITE_DATA });
    assert.equal(await set(opened, END_OF_FILE, int64(2n)), 'SUCCESS');
    assert.equal(await set(opened, END_OF_FILE, int64(4n)), 'SUCCESS');
    assert.deepEqual(await share.read('f'), Buffer.from('f.\0\0'));
    assert.ok(opened.hasWritten);
  });

  test('a length moves the time of writing, unless that is kept', async () => {
    const opened = await open('f');
    assert.equal(await set(opened, BASIC, basicInfo({ writtenAt: 7n })), 'SUCCESS');
    share.store.clock.advance({ seconds: 5 });
    assert.equal(await set(opened, END_OF_FILE, int64(2n)), 'SUCCESS');
    const { writtenAt, changedAt } = await fileAt('f');
    assert.deepEqual([writtenAt, changedAt], ['7', now()]);
    assert.equal(await set(await open('f'), END_OF_FILE, int64(3n)), 'SUCCESS');
    assert.equal((await fileAt('f')).writtenAt, now());
  });

  test('room cuts a file that is longer, and otherwise is only told of', async () => {
    const opened = await open('f', { access: WRITE_DATA });
    assert.equal(await set(opened, ALLOCATION, int64(4096n)), 'SUCCESS');
    assert.deepEqual([(await fileAt('f')).lengthBytes, opened.hasWritten, opened.reservedBytes], [10, false, 4096]);
    assert.equal(await set(opened, ALLOCATION, int64(3n)), 'SUCCESS');
    assert.deepEqual([(await fileAt('f')).lengthBytes, opened.hasWritten, opened.reservedBytes], [3, true, 4096]);
  });

  test('room that was asked for is given back with the end of the file', async () => {
    const opened = await open('f', { access: WRITE_DATA });
    assert.equal(await set(opened, ALLOCATION, int64(8193n)), 'SUCCESS');
    assert.equal(opened.reservedBytes, 12_288);
    assert.equal(await set(opened, END_OF_FILE, int64(2n)), 'SUCCESS');
    assert.equal(opened.reservedBytes, 0);
  });

  test('more than the quota has no room', async () => {
    await setShareProperties(made.storage, { name: share.name, leaseId: null, quotaGiB: 1, tier: null });
    const opened = await open('f');
    assert.equal(await set(opened, ALLOCATION, int64(BigInt(2 * GIB))), 'DISK_FULL');
    assert.equal(await set(opened, END_OF_FILE, int64(BigInt(2 * GIB))), 'DISK_FULL');
    assert.equal(await set(opened, END_OF_FILE, int64(0x7fff_ffff_ffff_ffffn)), 'DISK_FULL');
    assert.equal((await fileAt('f')).lengthBytes, 10);
  });

  test('directories have none', async () => {
    const opened = await open('d');
    for (const infoClass of [END_OF_FILE, ALLOCATION, VALID_DATA_LENGTH]) {
      assert.equal(await set(opened, infoClass, int64(1n)), 'INVALID_PARAMETER');
    }
  });

  test('what is valid of a file is not the client’s to say', async () => {
    assert.equal(await set(await open('f'), VALID_DATA_LENGTH, int64(1n)), 'PRIVILEGE_NOT_HELD');
  });
});

describe('what is the open’s own', () => {
  test('a position is kept', async () => {
    const opened = await open('f', { access: READ_DATA });
    assert.equal(await set(opened, POSITION, int64(123_456n)), 'SUCCESS');
    assert.equal(opened.positionBytes, 123_456n);
  });

  for (const [mode, want] of [
    [2, 'SUCCESS'],
    [0x16, 'SUCCESS'],
    [0, 'SUCCESS'],
    [1, 'INVALID_PARAMETER'],
    [0x1000, 'INVALID_PARAMETER'],
    [0x30, 'INVALID_PARAMETER'],
  ] as const) {
    test(`a mode of 0x${mode.toString(16)}: ${want}`, async () => {
      const opened = await open('f');
      assert.equal(await set(opened, MODE, uint32(mode)), want);
      assert.equal(opened.mode, want === 'SUCCESS' ? 0x40 | mode : 0x40);
    });
  }
});

describe('what there is not', () => {
  for (const [what, infoClass, options, want] of [
    ['extended attributes', FULL_EA, {}, 'EAS_NOT_SUPPORTED'],
    ['a class to ask for', 5, {}, 'INVALID_INFO_CLASS'],
    ['a label of the volume', 2, { infoType: InfoType.FILESYSTEM }, 'NOT_SUPPORTED'],
    ['the size of the volume', 3, { infoType: InfoType.FILESYSTEM }, 'INVALID_INFO_CLASS'],
    ['quotas', 0, { infoType: InfoType.QUOTA }, 'NOT_SUPPORTED'],
    ['another type', 0, { infoType: 9 }, 'INVALID_PARAMETER'],
    ['an integrity label', 0, { infoType: InfoType.SECURITY, additionalInformation: 0x10 }, 'NOT_SUPPORTED'],
    ['no part of a descriptor', 0, { infoType: InfoType.SECURITY }, 'SUCCESS'],
  ] as const) {
    test(`${what}: ${want}`, async () => {
      assert.equal(await set(await open('f'), infoClass, Buffer.alloc(12), options), want);
    });
  }

  test('no extended attributes can be set', async () => {
    assert.equal(await set(await open('f'), FULL_EA, Buffer.alloc(0)), 'SUCCESS');
  });
});

describe('security', () => {
  const descriptor = encodeDescriptor(parseSddl('O:BAG:BUD:P(A;;FA;;;WD)') as SecurityDescriptor);

  test('is set with the parts that are asked for', async () => {
    const before = await fileAt('f');
    const opened = await open('f', { access: WRITE_DAC });
    const options = { infoType: InfoType.SECURITY, additionalInformation: 4 };
    assert.equal(await set(opened, 0, descriptor, options), 'SUCCESS');
    assert.notEqual((await fileAt('f')).permission, before.permission);
    assert.equal(await set(opened, 0, descriptor.subarray(0, 30), options), 'INVALID_SECURITY_DESCR');
  });
});

describe('whoever watches', () => {
  test('is told of names, attributes and sizes, and of security', async () => {
    const opened = await open('f');
    const { fileChanges } = made.storage;
    const told: FileChange[] = [];
    fileChanges.watch((opened.place as UsedPlace).shareId);
    fileChanges.listen((news) => {
      if (news.what === 'changes') told.push(...news.changes);
    });
    const heard = async (): Promise<string[]> => {
      await fileChanges.told();
      return told.splice(0).map(({ kind, path, filter }) => `${kind} ${path.join('/')} ${filter}`);
    };
    await set(opened, BASIC, basicInfo({ createdAt: 1n, attributes: HIDDEN }));
    assert.deepEqual(await heard(), [`modified f ${ChangeFilter.ATTRIBUTES | ChangeFilter.CREATION}`]);
    await set(opened, RENAME, renameInfo('d\\1', { replaces: true }));
    assert.deepEqual((await heard()).slice(0, 3), ['removed d/1 1', 'removed f 1', 'added d/1 1']);
    await set(opened, END_OF_FILE, int64(1n));
    assert.deepEqual(await heard(), [`modified d/1 ${ChangeFilter.SIZE | ChangeFilter.LAST_WRITE}`]);
    const descriptor = encodeDescriptor(parseSddl('O:BA') as SecurityDescriptor);
    await set(opened, 0, descriptor, { infoType: InfoType.SECURITY, additionalInformation: 1 });
    assert.deepEqual(await heard(), [`modified d/1 ${ChangeFilter.SECURITY}`]);
  });
});
