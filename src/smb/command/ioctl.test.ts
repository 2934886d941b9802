import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { TestShare } from '../../../test/harness/file-store.ts';
import {
  bodyOfReply,
  type MadeContext,
  makeContext,
  messageOf,
  TestClient,
} from '../../../test/harness/smb-context.ts';
import { openFor } from '../../../test/harness/smb-opens.ts';
import { formatGmtToken } from '../../rules/gmt-token.ts';
import type { FileOpen } from '../session/open.ts';
import { TRANSFER_BYTES_MAX } from '../session/protocol.ts';
import { statusName, statusOf } from '../statuses.ts';
import { EXECUTE, FULL_ACCESS, READ_ATTRIBUTES, READ_DATA, WRITE_DATA } from '../wire/access.ts';
import { CommandCode, HEADER_BYTES } from '../wire/header.ts';
import { FsctlCode, type IoctlRequest } from '../wire/ioctl.ts';
import { ALL_ONES_64, type FileId } from '../wire/message.ts';
import { ioctl } from './ioctl.ts';

const NO_FILE: FileId = { persistent: ALL_ONES_64, volatile: ALL_ONES_64 };
const KIB = 1024;

let made: MadeContext;
let share: TestShare;
let client: TestClient;

beforeEach(async () => {
  made = await makeContext();
  ({ share, client } = made);
});

afterEach(() => share.store.close());

interface Answer {
  readonly status: string;
  readonly output: Buffer;
}

/** As it comes from a client, and as it goes to one. */
async function ask(
  code: number,
  fileId: FileId,
  {
    input = Buffer.alloc(0),
    outputBytesMax = 64 * KIB,
    by = client,
    ...rest
  }: Partial<IoctlRequest> & { by?: TestClient } = {},
): Promise<Answer> {
  const fixed = Buffer.alloc(56);
  fixed.writeUInt16LE(57, 0);
  fixed.writeUInt32LE(code, 4);
  fixed.writeBigUInt64LE(fileId.persistent, 8);
  fixed.writeBigUInt64LE(fileId.volatile, 16);
  fixed.writeUInt32LE(HEADER_BYTES + fixed.length, 24);
  fixed.writeUInt32LE(input.length, 28);
  fixed.writeUInt32LE(rest.inputBytesMax ?? 0, 32);
  fixed.writeUInt32LE(outputBytesMax, 44);
  fixed.writeUInt32LE(rest.isFsctl === false ? 0 : 1, 48);
  const request = ioctl.decode(messageOf(Buffer.concat([fixed, input]), { command: CommandCode.IOCTL }));
  try {
    const reply = await ioctl.handle(by.context(), request);
    const body = bodyOfReply(reply);
    assert.deepEqual([body.readUInt16LE(0), body.readUInt32LE(4), body.readUInt32LE(32)], [49, code, 112]);
    assert.equal(body.readUInt32LE(36), body.length - 48);
    return { status: statusName(reply.status), output: body.subarray(48) };
  } catch (error) {
    const status = statusOf(error);
    if (status === null) throw error;
    return { status: statusName(status), output: Buffer.alloc(0) };
  }
}

const statusOfAsking = async (...asked: Parameters<typeof ask>): Promise<string> => (await ask(...asked)).status;

describe('a request', () => {
  test('that is no FSCTL, names none that there is, or is too large, is refused', async () => {
    const { fileId } = await openFor(client, '');
    assert.equal(await statusOfAsking(FsctlCode.GET_COMPRESSION, fileId, { isFsctl: false }), 'NOT_SUPPORTED');
    assert.equal(await statusOfAsking(0x0009_9999, fileId), 'INVALID_DEVICE_REQUEST');
    for (const large of [{ outputBytesMax: TRANSFER_BYTES_MAX + 1 }, { inputBytesMax: TRANSFER_BYTES_MAX + 1 }]) {
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
    ['an object id', FsctlCode.CREATE_OR_GET_OBJECT_ID, 'NOT_SUPPORTED'],
    ['resiliency', FsctlCode.LMR_REQUEST_RESILIENCY, 'NOT_SUPPORTED'],
    ['a pipe that is none', FsctlCode.PIPE_TRANSCEIVE, 'INVALID_DEVICE_REQUEST'],
  ] as const) {
    test(`for ${name} is answered with ${status}`, async () => {
      const { fileId } = await openFor(client, '');
      assert.equal(await statusOfAsking(code, fileId), status);
    });
  }
});

describe('VALIDATE_NEGOTIATE_INFO', () => {
  const infoOf = ({ capabilities = 0, guid = '', mode = 1, dialects = [0x0311, 0x0300] } = {}): Buffer => {
    const input = Buffer.alloc(24 + 2 * dialects.length);
    input.writeUInt32LE(capabilities, 0);
    input.write(guid, 4, 'hex');
    input.writeUInt16LE(mode, 20);
    input.writeUInt16LE(dialects.length, 22);
    for (const [index, dialect] of dialects.entries()) input.writeUInt16LE(dialect, 24 + 2 * index);
    return input;
  };

  const guidOf = (): string => client.connection.negotiated?.clientGuid ?? '';

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
  ] as const) {
    test(`with ${what} ends the connection`, async () => {
      const input = infoOf({
        guid: guidOf(),
        ...change,
        dialects: [...(('dialects' in change && change.dialects) || [0x0311])],
      });
      assert.equal(await statusOfAsking(FsctlCode.VALIDATE_NEGOTIATE_INFO, NO_FILE, { input }), 'ACCESS_DENIED');
      assert.equal(client.connection.isClosed, true);
    });
  }

  test('that is cut off is refused', async () => {
    const input = infoOf({ guid: guidOf() }).subarray(0, -1);
    assert.equal(await statusOfAsking(FsctlCode.VALIDATE_NEGOTIATE_INFO, NO_FILE, { input }), 'INVALID_PARAMETER');
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

const numbersOf = (output: Buffer): number[] => [0, 4, 8].map((at) => output.readUInt32LE(at));

describe('copying within the server', () => {
  const CONTENT = Buffer.from(Array.from({ length: 8 * KIB }, (_, index) => index % 251));

  let source: FileOpen;
  let target: FileOpen;

  beforeEach(async () => {
    await share.createFile('source', CONTENT);
    await share.createFile('target', 0);
    [source, target] = [await openFor(client, 'source'), await openFor(client, 'target')];
  });

  type Chunk = readonly [sourceBytes: number, targetBytes: number, lengthBytes: number];

  async function keyOf(open: FileOpen): Promise<Buffer> {
    const { output } = await ask(FsctlCode.SRV_REQUEST_RESUME_KEY, open.fileId, { outputBytesMax: 32 });
    assert.equal(output.length, 32);
    return output.subarray(0, 24);
  }

  function copyOf(key: Buffer, chunks: readonly Chunk[]): Buffer {
    const head = Buffer.alloc(32);
    key.copy(head);
    head.writeUInt32LE(chunks.length, 24);
    const rest = chunks.map(([from, to, lengthBytes]) => {
      const chunk = Buffer.alloc(24);
      chunk.writeBigUInt64LE(BigInt(from), 0);
      chunk.writeBigUInt64LE(BigInt(to), 8);
      chunk.writeUInt32LE(lengthBytes, 16);
      return chunk;
    });
    return Buffer.concat([head, ...rest]);
  }

  interface Copying {
    readonly from?: FileOpen;
    readonly to?: FileOpen;
    readonly code?: number;
    readonly outputBytesMax?: number;
    readonly by?: TestClient;
  }

  async function copy(chunks: readonly Chunk[], copying: Copying = {}): Promise<string> {
    const { from = source, to = target, code = FsctlCode.SRV_COPYCHUNK, outputBytesMax = 12, by = client } = copying;
    const input = copyOf(await keyOf(from), chunks);
    const { status, output } = await ask(code, to.fileId, { input, outputBytesMax, by });
    return output.length === 0 ? status : `${status} ${numbersOf(output).join(' ')}`;
  }

  test('puts chunks where they belong, in their order', async () => {
    assert.equal(
      await copy([
        [0, 0, 4096],
        [4096, 8192, 4096],
        [1, 0, 10],
      ]),
      'SUCCESS 3 0 8202',
    );
    const expected = Buffer.concat([CONTENT.subarray(0, 4096), Buffer.alloc(4096), CONTENT.subarray(4096)]);
    CONTENT.copy(expected, 0, 1, 11);
    assert.deepEqual(await share.read('target'), expected);
    assert.equal(target.hasWritten, true);
  });

  test('reads all of a chunk before it writes any of it', async () => {
    assert.equal(await copy([[0, 2040, 2048]], { to: source }), 'SUCCESS 1 0 2048');
    const expected = Buffer.from(CONTENT);
    CONTENT.copy(expected, 2040, 0, 2048);
    assert.deepEqual(await share.read('source'), expected);
  });

  test('of nothing is nothing', async () => {
    assert.equal(await copy([]), 'SUCCESS 0 0 0');
  });

  test('a key names its open, again and again, until that is closed', async () => {
    assert.deepEqual(await keyOf(source), await keyOf(source));
    const key = await keyOf(source);
    const input = copyOf(key, [[0, 0, 1]]);
    const strange = copyOf(Buffer.concat([key.subarray(0, 8), Buffer.alloc(16)]), [[0, 0, 1]]);
    const ofNobody = copyOf(Buffer.from('deadbeefdeadbeefdeadbeef'), [[0, 0, 1]]);
    const other = new TestClient(made.door);
    const otherTarget = await openFor(other, 'target');
    const code = FsctlCode.SRV_COPYCHUNK;
    assert.equal(await statusOfAsking(code, target.fileId, { input: strange }), 'OBJECT_NAME_NOT_FOUND');
    assert.equal(await statusOfAsking(code, target.fileId, { input: ofNobody }), 'OBJECT_NAME_NOT_FOUND');
    assert.equal(await statusOfAsking(code, otherTarget.fileId, { input, by: other }), 'OBJECT_NAME_NOT_FOUND');
    assert.equal(await statusOfAsking(code, target.fileId, { input }), 'SUCCESS');
    client.session.opens.delete(source.fileId.volatile);
    assert.equal(await statusOfAsking(code, target.fileId, { input }), 'OBJECT_NAME_NOT_FOUND');
    const asked = { outputBytesMax: 31 };
    assert.equal(await statusOfAsking(FsctlCode.SRV_REQUEST_RESUME_KEY, target.fileId, asked), 'INVALID_PARAMETER');
  });

  test('too much at once is refused with what is allowed, and nothing is copied', async () => {
    const limits = `INVALID_PARAMETER 256 ${1024 * KIB} ${16 * 1024 * KIB}`;
    assert.equal(
      await copy([
        [0, 0, 10],
        [0, 0, 0xffff_ffff],
      ]),
      limits,
    );
    assert.equal(await copy([[0, 0, 0]]), limits);
    assert.equal(await copy(Array.from({ length: 257 }, () => [0, 0, 1] as const)), limits);
    assert.equal(await copy([[0, 0, 10]], { outputBytesMax: 11 }), 'INVALID_PARAMETER');
    assert.equal((await share.read('target')).length, 0);
  });

  test('an input that is cut off is refused', async () => {
    const whole = copyOf(await keyOf(source), [[0, 0, 1]]);
    for (const input of [whole.subarray(0, -5), whole.subarray(0, 20), Buffer.alloc(0)]) {
      assert.equal(await statusOfAsking(FsctlCode.SRV_COPYCHUNK, target.fileId, { input }), 'INVALID_PARAMETER');
    }
  });

  test('a chunk that goes beyond the end of the source is not copied, and those before it are', async () => {
    assert.equal(
      await copy([
        [0, 0, 4096],
        [4096, 4096, 4097],
      ]),
      'INVALID_VIEW_SIZE 1 0 4096',
    );
    assert.equal(await copy([[8192, 0, 1]]), 'INVALID_VIEW_SIZE 0 0 0');
    assert.deepEqual(await share.read('target'), CONTENT.subarray(0, 4096));
  });

  test('the source must be open for reading or executing, the target for writing, and for reading unless it says so', async () => {
    const chunks = [[0, 0, 1]] as const;
    const only = (path: string, access: number): Promise<FileOpen> => openFor(client, path, { access });
    assert.equal(await copy(chunks, { from: await only('source', EXECUTE) }), 'SUCCESS 1 0 1');
    assert.equal(await copy(chunks, { from: await only('source', READ_ATTRIBUTES) }), 'ACCESS_DENIED');
    assert.equal(await copy(chunks, { to: await only('target', READ_DATA) }), 'ACCESS_DENIED');
    const writer = await only('target', WRITE_DATA);
    assert.equal(await copy(chunks, { to: writer }), 'ACCESS_DENIED');
    assert.equal(await copy(chunks, { to: writer, code: FsctlCode.SRV_COPYCHUNK_WRITE }), 'SUCCESS 1 0 1');
    assert.equal(await copy(chunks, { to: await only('', FULL_ACCESS) }), 'INVALID_DEVICE_REQUEST');
  });

  test('locks of others stand in the way, at the source and at the target', async () => {
    for (const path of ['source', 'target']) {
      const other = await openFor(client, path);
      const lock = { offsetBytes: 4096n, lengthBytes: 1n, isExclusive: true };
      await made.storage.opens.lock(other.openId, [lock], { waitMs: 0 });
      assert.equal(
        await copy([
          [0, 0, 10],
          [4090, 4090, 10],
        ]),
        'FILE_LOCK_CONFLICT 1 0 10',
      );
      await made.storage.opens.unlock(other.openId, [lock]);
    }
    assert.equal(await copy([[4090, 4090, 10]]), 'SUCCESS 1 0 10');
  });
});

describe('holes', () => {
  const range = (one: number | bigint, other: number | bigint): Buffer => {
    const input = Buffer.alloc(16);
    input.writeBigInt64LE(BigInt(one), 0);
    input.writeBigInt64LE(BigInt(other), 8);
    return input;
  };

  const rangesOf = (output: Buffer): string[] =>
    Array.from({ length: output.length / 16 }, (_, index) => {
      const [offset, length] = [output.readBigUInt64LE(index * 16), output.readBigUInt64LE(index * 16 + 8)];
      return `${offset}+${length}`;
    });

  async function ranges(open: FileOpen, from: number, lengthBytes: number, outputBytesMax = 1024): Promise<string> {
    const asked = { input: range(from, lengthBytes), outputBytesMax };
    const { status, output } = await ask(FsctlCode.QUERY_ALLOCATED_RANGES, open.fileId, asked);
    return [status, ...rangesOf(output)].join(' ');
  }

  test('every file may be said to be sparse, a directory not', async () => {
    await share.createFile('f', 0);
    const input = Buffer.of(1);
    const readOnly = await openFor(client, 'f', { access: READ_DATA });
    const { SET_SPARSE } = FsctlCode;
    assert.equal(await statusOfAsking(SET_SPARSE, (await openFor(client, 'f')).fileId, { input }), 'SUCCESS');
    assert.equal(await statusOfAsking(SET_SPARSE, readOnly.fileId, { input }), 'ACCESS_DENIED');
    assert.equal(await statusOfAsking(SET_SPARSE, (await openFor(client, '')).fileId, { input }), 'INVALID_PARAMETER');
  });

  test('are made by clearing a range, as far as the file goes', async () => {
    await share.createFile('f', Buffer.alloc(4 * KIB, 1));
    const open = await openFor(client, 'f');
    const zero = (from: number, to: number): Promise<string> =>
      statusOfAsking(FsctlCode.SET_ZERO_DATA, open.fileId, { input: range(from, to) });
    assert.equal(await zero(100, 100), 'SUCCESS');
    assert.equal(open.hasWritten, false);
    assert.equal(await zero(1000, 3000), 'SUCCESS');
    assert.equal(open.hasWritten, true);
    assert.equal(await zero(4000, 100_000), 'SUCCESS');
    const expected = Buffer.alloc(4 * KIB, 1)
      .fill(0, 1000, 3000)
      .fill(0, 4000);
    assert.deepEqual(await share.read('f'), expected);
    assert.equal(await ranges(open, 0, 100_000), 'SUCCESS 0+1024 2560+1536');
    for (const [from, to] of [
      [2, 1],
      [-1, 1],
    ] as const)
      assert.equal(await zero(from, to), 'INVALID_PARAMETER');
    const { SET_ZERO_DATA } = FsctlCode;
    assert.equal(await statusOfAsking(SET_ZERO_DATA, open.fileId, { input: Buffer.alloc(15) }), 'INVALID_PARAMETER');
    const reader = await openFor(client, 'f', { access: READ_DATA });
    assert.equal(await statusOfAsking(SET_ZERO_DATA, reader.fileId, { input: range(0, 1) }), 'ACCESS_DENIED');
  });

  test('are what is between the ranges that a file has, within what is asked for', async () => {
    await share.createFile('f', 100 * KIB + 10);
    for (const kib of [8, 64, 100]) await share.write('f', kib * KIB, Buffer.alloc(kib === 100 ? 10 : KIB, 1));
    const open = await openFor(client, 'f');
    assert.equal(await ranges(open, 0, 1024 * KIB), 'SUCCESS 8192+1024 65536+1024 102400+10');
    assert.equal(await ranges(open, 0, 8 * KIB), 'SUCCESS');
    assert.equal(await ranges(open, 8 * KIB + 100, 200), 'SUCCESS 8292+200');
    assert.equal(await ranges(open, 200 * KIB, KIB), 'SUCCESS');
    assert.equal(await ranges(open, 0, 0), 'SUCCESS');
  });

  test('that do not fit are asked for from where the last ones ended', async () => {
    await share.createFile('f', 100 * KIB);
    for (const kib of [8, 64, 90]) await share.write('f', kib * KIB, Buffer.alloc(KIB, 1));
    const open = await openFor(client, 'f');
    assert.equal(await ranges(open, 0, 100 * KIB, 47), 'BUFFER_OVERFLOW 8192+1024 65536+1024');
    assert.equal(await ranges(open, 66560, 100 * KIB, 47), 'SUCCESS 92160+1024');
    assert.equal(await ranges(open, 0, 100 * KIB, 15), 'BUFFER_TOO_SMALL');
    assert.equal(await ranges(open, 0, KIB, 0), 'SUCCESS');
  });

  test('of a range that is none, or without the right to read, are not told', async () => {
    await share.createFile('f', KIB);
    const open = await openFor(client, 'f');
    const { QUERY_ALLOCATED_RANGES } = FsctlCode;
    for (const input of [range(-1, 1), range(1, -1), range(2n ** 63n - 1n, 1), Buffer.alloc(15)]) {
      assert.equal(await statusOfAsking(QUERY_ALLOCATED_RANGES, open.fileId, { input }), 'INVALID_PARAMETER');
    }
    const writer = await openFor(client, 'f', { access: WRITE_DATA });
    assert.equal(await statusOfAsking(QUERY_ALLOCATED_RANGES, writer.fileId, { input: range(0, 1) }), 'ACCESS_DENIED');
  });
});

describe('pipes', () => {
  const wait = (name: string): Buffer => {
    const text = Buffer.from(name, 'utf16le');
    const input = Buffer.alloc(14);
    input.writeUInt32LE(text.length, 8);
    return Buffer.concat([input, text]);
  };

  const asked = (name: string, share: string | null): Promise<string> => {
    const tree = { ...client.tree, share };
    const request = {
      code: FsctlCode.PIPE_WAIT,
      fileId: NO_FILE,
      input: wait(name),
      inputBytesMax: 0,
      outputBytesMax: 0,
      isFsctl: true,
    };
    return Promise.resolve(ioctl.handle(client.context({ tree }), request)).then(
      ({ status }) => statusName(status),
      (error: unknown) => statusName(statusOf(error) ?? 0),
    );
  };

  test('that there are need not be waited for', async () => {
    assert.equal(await asked('srvsvc', null), 'SUCCESS');
    assert.equal(await asked('lsarpc', null), 'OBJECT_NAME_NOT_FOUND');
    assert.equal(await asked('srvsvc', 'share'), 'INVALID_DEVICE_REQUEST');
  });
});
