import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { TestShare } from '../../../../test/harness/file-store.ts';
import { type MadeContext, makeContext, TestClient } from '../../../../test/harness/smb-context.ts';
import { type AnsweredIoctl, type AskedIoctl, askIoctl, numbersOf } from '../../../../test/harness/smb-ioctl.ts';
import { openFor } from '../../../../test/harness/smb-opens.ts';
import type { FileOpen } from '../../session/open.ts';
import { EXECUTE, FULL_ACCESS, READ_ATTRIBUTES, READ_DATA, WRITE_DATA } from '../../wire/access.ts';
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

type Chunk = readonly [sourceBytes: number, targetBytes: number, lengthBytes: number];

const openWith = (path: string, access: number): Promise<FileOpen> => openFor(client, path, { access });

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

describe('copying within the server', () => {
  const CONTENT = Buffer.from(Array.from({ length: 8 * KIB }, (_, index) => index % 251));

  let source: FileOpen;
  let target: FileOpen;

  beforeEach(async () => {
    await share.createFile('source', CONTENT);
    await share.createFile('target', 0);
    [source, target] = [await openFor(client, 'source'), await openFor(client, 'target')];
  });

  interface Copying {
    readonly from?: FileOpen;
    readonly to?: FileOpen;
    readonly code?: number;
    readonly outputBytesMax?: number;
  }

  async function copy(chunks: readonly Chunk[], copying: Copying = {}): Promise<string> {
    const { from = source, to = target, code = FsctlCode.SRV_COPYCHUNK, outputBytesMax = 12 } = copying;
    const input = copyOf(await keyOf(from), chunks);
    const { status, output } = await askIoctl(client, code, to.fileId, { input, outputBytesMax });
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
    const strangers = await askIoctl(other, code, otherTarget.fileId, { input });
    assert.equal(strangers.status, 'OBJECT_NAME_NOT_FOUND');
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
    assert.equal(await copy(chunks, { from: await openWith('source', EXECUTE) }), 'SUCCESS 1 0 1');
    assert.equal(await copy(chunks, { from: await openWith('source', READ_ATTRIBUTES) }), 'ACCESS_DENIED');
    assert.equal(await copy(chunks, { to: await openWith('target', READ_DATA) }), 'ACCESS_DENIED');
    const writer = await openWith('target', WRITE_DATA);
    assert.equal(await copy(chunks, { to: writer }), 'ACCESS_DENIED');
    assert.equal(await copy(chunks, { to: writer, code: FsctlCode.SRV_COPYCHUNK_WRITE }), 'SUCCESS 1 0 1');
    assert.equal(await copy(chunks, { to: await openWith('', FULL_ACCESS) }), 'INVALID_DEVICE_REQUEST');
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
