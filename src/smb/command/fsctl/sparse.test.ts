import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { TestShare } from '../../../../test/harness/file-store.ts';
import { type MadeContext, makeContext, type TestClient } from '../../../../test/harness/smb-context.ts';
import { type AnsweredIoctl, type AskedIoctl, askIoctl } from '../../../../test/harness/smb-ioctl.ts';
import { openFor } from '../../../../test/harness/smb-opens.ts';
import type { FileOpen } from '../../session/open.ts';
import { READ_DATA, WRITE_DATA } from '../../wire/access.ts';
import { FsctlCode } from '../../wire/ioctl.ts';
import type { FileId } from '../../wire/message.ts';

const KIB = 1024;

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

describe('holes', () => {
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
