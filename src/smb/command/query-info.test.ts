import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { TestShare } from '../../../test/harness/file-store.ts';
import { bodyOfReply, makeContext, statusNameOf, TestClient } from '../../../test/harness/smb-context.ts';
import { openPath } from '../../../test/harness/smb-opens.ts';
import { parseSddl } from '../../rules/sddl.ts';
import { decodeDescriptor, encodeDescriptor, type SecurityDescriptor } from '../../rules/security-descriptor.ts';
import { NO_CHANGES } from '../../service/file/properties.ts';
import type { FileOpen, PipeOpen } from '../session/open.ts';
import { TRANSACT_BYTES_MAX } from '../session/protocol.ts';
import { SmbError } from '../statuses.ts';
import {
  ACCESS_SYSTEM_SECURITY,
  FULL_ACCESS,
  READ_ATTRIBUTES,
  READ_CONTROL,
  READ_EA,
  SYNCHRONIZE,
} from '../wire/access.ts';
import { FILE_LAYOUTS, FileClass } from '../wire/file-info.ts';
import { FS_LAYOUTS, FsClass } from '../wire/fs-info.ts';
import { InfoType, type QueryInfoRequest } from '../wire/query-info.ts';
import type { Reply } from './command.ts';
import { queryInfo } from './query-info.ts';

const SDDL = 'O:BAG:SYD:(A;;FA;;;BA)S:(AU;SA;FA;;;WD)';
const DESCRIPTOR = parseSddl(SDDL) as SecurityDescriptor;

let client: TestClient;
let share: TestShare;

beforeEach(async () => {
  ({ client, share } = await makeContext());
  await share.createDirectory('Dir');
  const permission = { kind: 'descriptor', descriptor: encodeDescriptor(DESCRIPTOR) } as const;
  await share.createFile('Dir/File', 5_000, { properties: { ...NO_CHANGES, permission } });
});

afterEach(() => share.store.close());

async function query(
  open: { fileId: FileOpen['fileId'] },
  request: Partial<QueryInfoRequest> = {},
  by: TestClient = client,
): Promise<Reply> {
  return queryInfo.handle(by.context(), {
    infoType: InfoType.FILE,
    infoClass: FileClass.BASIC,
    outputBytesMax: 65_536,
    additional: 0,
    fileId: open.fileId,
    ...request,
  });
}

const outputOf = (reply: Reply): Buffer => {
  const body = bodyOfReply(reply);
  assert.equal(body.readUInt16LE(0), 9);
  assert.equal(body.readUInt16LE(2), 72);
  assert.equal(body.readUInt32LE(4), body.length - 8);
  return body.subarray(8);
};

const output = async (open: FileOpen, request: Partial<QueryInfoRequest>): Promise<Buffer> =>
  outputOf(await query(open, request));

const statusFor = (open: { fileId: FileOpen['fileId'] }, request: Partial<QueryInfoRequest>): Promise<string> =>
  statusNameOf(() => query(open, request));

describe('room for what is told', () => {
  for (const [infoType, layouts] of [
    [InfoType.FILE, FILE_LAYOUTS],
    [InfoType.FILE_SYSTEM, FS_LAYOUTS],
  ] as const) {
    for (const [infoClass, { fixedBytes }] of layouts) {
      test(`of type ${infoType}, class ${infoClass}: too little, too little for names, enough`, async () => {
        const open = await openPath(client, share, 'Dir/File');
        const whole = await output(open, { infoType, infoClass });
        for (let outputBytesMax = 0; outputBytesMax <= whole.length; outputBytesMax++) {
          const request = { infoType, infoClass, outputBytesMax };
          const status = await statusFor(open, request);
          if (outputBytesMax < fixedBytes) {
            assert.equal(status, 'INFO_LENGTH_MISMATCH');
            continue;
          }
          assert.equal(status, outputBytesMax < whole.length ? 'BUFFER_OVERFLOW' : 'SUCCESS');
          assert.deepEqual(await output(open, request), whole.subarray(0, outputBytesMax));
        }
      });
    }
  }

  test('is no more than is ever given', async () => {
    const open = await openPath(client, share, 'Dir');
    assert.equal(await statusFor(open, { outputBytesMax: TRANSACT_BYTES_MAX + 1 }), 'INVALID_PARAMETER');
    assert.equal(await statusFor(open, { outputBytesMax: TRANSACT_BYTES_MAX }), 'SUCCESS');
  });
});

describe('what must have been granted', () => {
  for (const [infoClass, needed] of [
    [FileClass.BASIC, READ_ATTRIBUTES],
    [FileClass.ALL, READ_ATTRIBUTES],
    [FileClass.NETWORK_OPEN, READ_ATTRIBUTES],
    [FileClass.ATTRIBUTE_TAG, READ_ATTRIBUTES],
    [FileClass.FULL_EA, READ_EA],
  ] as const) {
    test(`for class ${infoClass}`, async () => {
      const denied = await openPath(client, share, 'Dir/File', { access: FULL_ACCESS & ~needed });
      assert.equal(await statusFor(denied, { infoClass }), 'ACCESS_DENIED');
      const granted = await openPath(client, share, 'Dir/File', { access: needed });
      assert.notEqual(await statusFor(granted, { infoClass }), 'ACCESS_DENIED');
    });
  }

  for (const infoClass of [FileClass.STANDARD, FileClass.INTERNAL, FileClass.EA, FileClass.ACCESS, FileClass.STREAM]) {
    test(`is nothing for class ${infoClass}`, async () => {
      const open = await openPath(client, share, 'Dir/File', { access: SYNCHRONIZE });
      assert.equal(await statusFor(open, { infoClass }), 'SUCCESS');
    });
  }

  test('for the descriptor is the right to read it, unless nothing of it is asked for', async () => {
    const open = await openPath(client, share, 'Dir/File', { access: READ_ATTRIBUTES });
    for (const additional of [1, 2, 4, 7]) {
      assert.equal(await statusFor(open, { infoType: InfoType.SECURITY, additional }), 'ACCESS_DENIED');
    }
    const nothing = await output(open, { infoType: InfoType.SECURITY, additional: 0 });
    assert.deepEqual(decodeDescriptor(nothing), { owner: null, group: null, dacl: null, sacl: null });
  });

  test('for what is audited is a right of its own', async () => {
    const request = { infoType: InfoType.SECURITY, additional: 8 };
    const denied = await openPath(client, share, 'Dir/File', { access: FULL_ACCESS });
    assert.equal(await statusFor(denied, request), 'ACCESS_DENIED');
    const granted = await openPath(client, share, 'Dir/File', { access: ACCESS_SYSTEM_SECURITY });
    assert.deepEqual(decodeDescriptor(await output(granted, request)), {
      owner: null,
      group: null,
      dacl: null,
      sacl: DESCRIPTOR.sacl,
    });
  });
});

describe('of a descriptor', () => {
  test('those parts are told that are asked for', async () => {
    const open = await openPath(client, share, 'Dir/File', { access: READ_CONTROL });
    for (const [additional, parts] of [
      [1, ['owner']],
      [2, ['group']],
      [4, ['dacl']],
      [7, ['owner', 'group', 'dacl']],
    ] as const) {
      const told = decodeDescriptor(await output(open, { infoType: InfoType.SECURITY, additional }));
      const want = { owner: null, group: null, dacl: null, sacl: null };
      assert.deepEqual(told, { ...want, ...Object.fromEntries(parts.map((part) => [part, DESCRIPTOR[part]])) });
    }
  });

  test('nothing is cut: the client is told how much room it needs', async () => {
    const open = await openPath(client, share, 'Dir/File');
    const request = { infoType: InfoType.SECURITY, additional: 7 };
    const { length } = await output(open, request);
    for (const outputBytesMax of [0, 1, length - 1]) {
      const error = await query(open, { ...request, outputBytesMax }).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof SmbError && error.data !== null);
      assert.equal(error.message, 'BUFFER_TOO_SMALL');
      assert.equal(Buffer.from(error.data).readUInt32LE(0), length);
    }
    assert.equal(await statusFor(open, { ...request, outputBytesMax: length }), 'SUCCESS');
  });
});

describe('a file', () => {
  test('is told with its size, rounded up to what it takes, and whether it is marked for deletion', async () => {
    const open = await openPath(client, share, 'Dir/File');
    const before = await output(open, { infoClass: FileClass.STANDARD });
    assert.equal(before.readBigUInt64LE(0), 8192n);
    assert.equal(before.readBigUInt64LE(8), 5000n);
    assert.deepEqual([before.readUInt32LE(16), before.readUInt8(20), before.readUInt8(21)], [1, 0, 0]);
    await client.door.storage.opens.markForDeletion(open.openId, true);
    const after = await output(open, { infoClass: FileClass.STANDARD });
    assert.deepEqual([after.readUInt32LE(16), after.readUInt8(20), after.readUInt8(21)], [0, 1, 0]);
  });

  test('is told with its path as it is written', async () => {
    const open = await openPath(client, share, 'DIR/file');
    const all = await output(open, { infoClass: FileClass.ALL });
    assert.equal(all.readUInt32LE(96), all.length - 100);
    assert.equal(all.toString('utf16le', 100), '\\Dir\\File');
    assert.equal(all.readUInt32LE(76), FULL_ACCESS);
    const name = await output(open, { infoClass: FileClass.NORMALIZED_NAME });
    assert.equal(name.toString('utf16le', 4), 'Dir\\File');
  });

  test('is told with a normalized name in the newest dialect alone', async () => {
    const older = new TestClient(client.door, { dialect: 0x0302 });
    const open = await openPath(older, share, 'Dir/File');
    const request = { infoClass: FileClass.NORMALIZED_NAME };
    assert.equal(await statusNameOf(() => query(open, request, older)), 'NOT_SUPPORTED');
  });

  for (const [infoClass, want] of [
    [FileClass.FULL_EA, 'NO_EAS_ON_FILE'],
    [FileClass.PIPE, 'INVALID_PARAMETER'],
    [FileClass.NAME, 'NOT_SUPPORTED'],
    [FileClass.REPARSE_POINT, 'NOT_SUPPORTED'],
    [200, 'INVALID_INFO_CLASS'],
  ] as const) {
    test(`has nothing of class ${infoClass}: ${want}`, async () => {
      assert.equal(await statusFor(await openPath(client, share, 'Dir/File'), { infoClass }), want);
    });
  }

  test('is not told of once it is closed', async () => {
    const open = await openPath(client, share, 'Dir/File');
    await client.door.storage.opens.close(open.openId);
    assert.equal(await statusFor(open, {}), 'FILE_CLOSED');
  });

  test('in a snapshot is told as it was', async () => {
    const snapshot = await share.snapshot();
    await share.resize('Dir/File', 1);
    const open = await openPath(client, share, 'Dir/File', { snapshot });
    assert.equal((await output(open, { infoClass: FileClass.STANDARD })).readBigUInt64LE(8), 5000n);
  });
});

describe('a volume', () => {
  test('is as large as the quota of the share, and what files take of it is not free', async () => {
    const open = await openPath(client, share, '');
    const totalUnits = BigInt((5120 * 1024 ** 3) / 4096);
    const size = await output(open, { infoType: InfoType.FILE_SYSTEM, infoClass: FsClass.FULL_SIZE });
    assert.equal(size.readBigUInt64LE(0), totalUnits);
    assert.equal(size.readBigUInt64LE(8), totalUnits - 2n);
    assert.equal(size.readBigUInt64LE(16), totalUnits - 2n);
  });

  test('has the name of the share', async () => {
    const open = await openPath(client, share, 'Dir/File');
    const volume = await output(open, { infoType: InfoType.FILE_SYSTEM, infoClass: FsClass.VOLUME });
    assert.equal(volume.toString('utf16le', 18), 'share');
  });

  test('has no other classes', async () => {
    const open = await openPath(client, share, '');
    assert.equal(await statusFor(open, { infoType: InfoType.FILE_SYSTEM, infoClass: 99 }), 'INVALID_INFO_CLASS');
  });
});

test('there are no quotas of users, and no other types of information', async () => {
  const open = await openPath(client, share, '');
  assert.equal(await statusFor(open, { infoType: InfoType.QUOTA }), 'NOT_SUPPORTED');
  assert.equal(await statusFor(open, { infoType: 9 }), 'INVALID_PARAMETER');
});

test('of a pipe only the standard information is told', async () => {
  const pipe: PipeOpen = {
    fileId: { persistent: 77n, volatile: 77n },
    tree: client.tree,
    isClosed: false,
    kind: 'pipe',
    access: FULL_ACCESS,
    pipe: { name: 'srvsvc', write: async () => {}, read: async () => null, transceive: async () => null },
  };
  client.session.opens.set(77n, pipe);
  assert.equal(outputOf(await query(pipe, { infoClass: FileClass.STANDARD })).length, 24);
  assert.equal(await statusFor(pipe, { infoClass: FileClass.STANDARD, outputBytesMax: 23 }), 'INFO_LENGTH_MISMATCH');
  assert.equal(await statusFor(pipe, { infoClass: FileClass.PIPE }), 'INVALID_PARAMETER');
  assert.equal(await statusFor(pipe, { infoType: InfoType.SECURITY }), 'NOT_SUPPORTED');
});
