import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { TestShare } from '../../../test/harness/file-store.ts';
import { type MadeContext, makeContext, type TestClient } from '../../../test/harness/smb-context.ts';
import { type AnsweredIoctl, type AskedIoctl, askIoctl, NO_FILE, numbersOf } from '../../../test/harness/smb-ioctl.ts';
import { openFor } from '../../../test/harness/smb-opens.ts';
import { formatGmtToken } from '../../rules/gmt-token.ts';
import { TRANSACT_BYTES_MAX } from '../session/protocol.ts';
import { FsctlCode } from '../wire/ioctl.ts';
import type { FileId } from '../wire/message.ts';

let made: MadeContext;
let share: TestShare;
let client: TestClient;

beforeEach(async () => {
  made = await makeContext();
  ({ share, client } = made);
});

afterEach(() => share.store.close());

const ask = (code: number, fileId: FileId, asked?: AskedIoctl): Promise<AnsweredIoctl> =>
  askIoctl(client, code, fileId, asked);

const statusOfAsking = async (...asked: Parameters<typeof ask>): Promise<string> => (await ask(...asked)).status;

describe('a request', () => {
  test('that is no FSCTL, names none that there is, or is too large, is refused', async () => {
    const { fileId } = await openFor(client, '');
    assert.equal(await statusOfAsking(FsctlCode.GET_COMPRESSION, fileId, { isFsctl: false }), 'NOT_SUPPORTED');
    assert.equal(await statusOfAsking(0x0009_9999, fileId), 'INVALID_DEVICE_REQUEST');
    for (const large of [{ outputBytesMax: TRANSACT_BYTES_MAX + 1 }, { inputBytesMax: TRANSACT_BYTES_MAX + 1 }]) {
      assert.equal(await statusOfAsking(FsctlCode.GET_COMPRESSION, fileId, large), 'INVALID_PARAMETER');
    }
    assert.equal(await statusOfAsking(FsctlCode.GET_COMPRESSION, NO_FILE), 'FILE_CLOSED');
  });

  for (const [name, code, status] of [
    ['referrals', FsctlCode.DFS_GET_REFERRALS, 'FS_DRIVER_REQUIRED'],
    ['more referrals', FsctlCode.DFS_GET_REFERRALS_EX, 'FS_DRIVER_REQUIRED'],
    ['network interfaces', FsctlCode.QUERY_NETWORK_INTERFACE_INFO, 'NOT_SUPPORTED'],
  ] as const) {
    test(`for ${name} is answered with ${status}, and means no file`, async () => {
      const { fileId } = await openFor(client, '');
      assert.equal(await statusOfAsking(code, NO_FILE), status);
      assert.equal(await statusOfAsking(code, fileId), 'INVALID_PARAMETER');
    });
  }

  for (const [name, code, status] of [
    ['a reparse point', FsctlCode.GET_REPARSE_POINT, 'NOT_A_REPARSE_POINT'],
    ['a new reparse point', FsctlCode.SET_REPARSE_POINT, 'NOT_SUPPORTED'],
    ['resiliency', FsctlCode.LMR_REQUEST_RESILIENCY, 'NOT_SUPPORTED'],
    ['a pipe that is none', FsctlCode.PIPE_TRANSCEIVE, 'INVALID_DEVICE_REQUEST'],
  ] as const) {
    test(`for ${name} is answered with ${status}`, async () => {
      const { fileId } = await openFor(client, '');
      assert.equal(await statusOfAsking(code, fileId), status);
    });
  }
});

const infoOf = ({ capabilities = 0, guid = '', mode = 1, dialects = [0x0311, 0x0300] } = {}): Buffer => {
  const input = Buffer.alloc(24 + 2 * dialects.length);
  input.writeUInt32LE(capabilities, 0);
  input.write(guid, 4, 'hex');
  input.writeUInt16LE(mode, 20);
  input.writeUInt16LE(dialects.length, 22);
  for (const [index, dialect] of dialects.entries()) input.writeUInt16LE(dialect, 24 + 2 * index);
  return input;
};

/** Of the client. */
const guidOf = (): string => client.connection.negotiated?.clientGuid ?? '';

describe('VALIDATE_NEGOTIATE_INFO', () => {
  test('that is as it was is answered with what the server said', async () => {
    const input = infoOf({ guid: guidOf() });
    const { status, output } = await ask(FsctlCode.VALIDATE_NEGOTIATE_INFO, NO_FILE, { input });
    assert.equal(status, 'SUCCESS');
    const expected = Buffer.concat([Buffer.alloc(4), made.door.serverGuid, Buffer.from('01001103', 'hex')]);
    assert.deepEqual(output, expected);
    assert.equal(client.connection.isClosed, false);
  });

  for (const [what, change] of [
    ['other capabilities', { capabilities: 1 }],
    ['another client', { guid: 'ff'.repeat(16) }],
    ['another security mode', { mode: 3 }],
    ['lower dialects', { dialects: [0x0302, 0x0210] }],
  ] satisfies [string, Parameters<typeof infoOf>[0]][]) {
    test(`with ${what} ends the connection`, async () => {
      const input = infoOf({ guid: guidOf(), ...change });
      assert.equal(await statusOfAsking(FsctlCode.VALIDATE_NEGOTIATE_INFO, NO_FILE, { input }), 'ACCESS_DENIED');
      assert.equal(client.connection.isClosed, true);
    });
  }

  test('that is cut off is refused', async () => {
    const input = infoOf({ guid: guidOf() }).subarray(0, -1);
    assert.equal(await statusOfAsking(FsctlCode.VALIDATE_NEGOTIATE_INFO, NO_FILE, { input }), 'INVALID_PARAMETER');
  });
});

describe('an object id', () => {
  test('stays with a file, and no other has it', async () => {
    await share.createDirectory('d');
    const ids: string[] = [];
    for (const path of ['', 'd', 'd']) {
      const { fileId } = await openFor(client, path);
      const { status, output } = await ask(FsctlCode.CREATE_OR_GET_OBJECT_ID, fileId, { outputBytesMax: 64 });
      assert.deepEqual([status, output.length], ['SUCCESS', 64]);
      assert.deepEqual(output.subarray(32, 48), output.subarray(0, 16));
      ids.push(output.toString('hex', 0, 16));
    }
    assert.equal(ids[1], ids[2]);
    assert.notEqual(ids[0], ids[1]);
  });

  test('needs room', async () => {
    const { fileId } = await openFor(client, '');
    const asked = { outputBytesMax: 63 };
    assert.equal(await statusOfAsking(FsctlCode.CREATE_OR_GET_OBJECT_ID, fileId, asked), 'INVALID_PARAMETER');
  });
});

describe('compression', () => {
  test('is nowhere', async () => {
    const { fileId } = await openFor(client, '');
    const { output } = await ask(FsctlCode.GET_COMPRESSION, fileId, { outputBytesMax: 2 });
    assert.deepEqual(output, Buffer.alloc(2));
    assert.equal(await statusOfAsking(FsctlCode.GET_COMPRESSION, fileId, { outputBytesMax: 1 }), 'INVALID_PARAMETER');
  });

  for (const [format, status] of [
    ['0000', 'SUCCESS'],
    ['0100', 'NOT_SUPPORTED'],
    ['0200', 'NOT_SUPPORTED'],
    ['4200', 'INVALID_PARAMETER'],
    ['00', 'INVALID_PARAMETER'],
  ] as const) {
    test(`set to ${format}: ${status}`, async () => {
      const { fileId } = await openFor(client, '');
      assert.equal(
        await statusOfAsking(FsctlCode.SET_COMPRESSION, fileId, { input: Buffer.from(format, 'hex') }),
        status,
      );
    });
  }
});

describe('SRV_ENUMERATE_SNAPSHOTS', () => {
  test('first tells how long the list is, then lists from the newest on', async () => {
    const { fileId } = await openFor(client, '');
    const none = await ask(FsctlCode.SRV_ENUMERATE_SNAPSHOTS, fileId);
    assert.deepEqual(numbersOf(none.output), [0, 0, 2]);
    const moments = [await share.snapshot(), await share.snapshot()];
    const short = await ask(FsctlCode.SRV_ENUMERATE_SNAPSHOTS, fileId, { outputBytesMax: 16 });
    assert.equal(short.status, 'SUCCESS');
    assert.deepEqual([numbersOf(short.output), short.output.length], [[2, 0, 102], 16]);
    const { output } = await ask(FsctlCode.SRV_ENUMERATE_SNAPSHOTS, fileId, { outputBytesMax: 12 + 102 });
    assert.deepEqual(numbersOf(output), [2, 2, 102]);
    const names = output.toString('utf16le', 12).split('\0');
    assert.deepEqual(names, [...moments.toReversed().map(formatGmtToken), '', '']);
  });

  test('needs room for its numbers', async () => {
    const { fileId } = await openFor(client, '');
    const asked = { outputBytesMax: 15 };
    assert.equal(await statusOfAsking(FsctlCode.SRV_ENUMERATE_SNAPSHOTS, fileId, asked), 'INVALID_PARAMETER');
  });
});

describe('PIPE_WAIT', () => {
  for (const [name, where, status] of [
    ['srvsvc', 'IPC$', 'SUCCESS'],
    ['lsarpc', 'IPC$', 'OBJECT_NAME_NOT_FOUND'],
    ['srvsvc', 'a share', 'INVALID_DEVICE_REQUEST'],
  ] as const) {
    test(`for ${name} in ${where}: ${status}`, async () => {
      const text = Buffer.from(name, 'utf16le');
      const fixed = Buffer.alloc(14);
      fixed.writeUInt32LE(text.length, 8);
      const input = Buffer.concat([fixed, text]);
      const tree = { ...client.tree, share: where === 'IPC$' ? null : 'share' };
      assert.equal(await statusOfAsking(FsctlCode.PIPE_WAIT, NO_FILE, { input, tree }), status);
      const cut = { input: input.subarray(0, -1), tree: { ...tree, share: null } };
      assert.equal(await statusOfAsking(FsctlCode.PIPE_WAIT, NO_FILE, cut), 'INVALID_PARAMETER');
    });
  }
});
