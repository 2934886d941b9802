import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { bodyOfReply, type MadeContext, makeContext, statusNameOf } from '../../../test/harness/smb-context.ts';
import { openFor } from '../../../test/harness/smb-opens.ts';
import type { FileNews } from '../../service/file/opens/changes.ts';
import type { FileOpen } from '../session/open.ts';
import { TRANSFER_BYTES_MAX } from '../session/protocol.ts';
import { APPEND_DATA, FULL_ACCESS, READ_DATA, WRITE_DATA } from '../wire/access.ts';
import { ALL_ONES_64 } from '../wire/message.ts';
import type { WriteRequest } from '../wire/write.ts';
import { write } from './write.ts';

const INT64_MAX = 2n ** 63n - 1n;
const NTFS_MAX = 0xfff_ffff_0000n;
const NOTHING = Buffer.alloc(0);

let made: MadeContext;
let open: FileOpen;

beforeEach(async () => {
  made = await makeContext();
  await made.share.createFile('f', Buffer.from('hello'));
  open = await openFor(made.client, 'f');
});

const requestOf = (request: Partial<WriteRequest> = {}): WriteRequest => ({
  fileId: open.fileId,
  offset: 0n,
  data: Buffer.from('x'),
  channel: 0,
  ...request,
});

const statusOf = (request: Partial<WriteRequest> = {}): Promise<string> =>
  statusNameOf(() => write.handle(made.client.context(), requestOf(request)));

const content = async (): Promise<string> => (await made.share.read('f')).toString();

test('bytes are written, counted, and noted for when the file is closed', async () => {
  const reply = await write.handle(made.context, requestOf({ offset: 5n, data: Buffer.from(' world') }));
  assert.equal(bodyOfReply(reply).toString('hex'), '11000000060000000000000000000000');
  assert.equal(await content(), 'hello world');
  assert.equal(open.hasWritten, true);
});

test('nothing is written and noted where there is nothing to write, or it is refused', async () => {
  assert.equal(await statusOf({ data: NOTHING, offset: 100n }), 'SUCCESS');
  const other = await openFor(made.client, 'f');
  const lock = { offsetBytes: 0n, lengthBytes: 1n, isExclusive: true };
  await made.storage.opens.lock(other.openId, [lock], { waitMs: 0 });
  assert.equal(await statusOf(), 'FILE_LOCK_CONFLICT');
  assert.equal(await content().catch((error: Error) => error.message), 'FileLockConflict');
  assert.equal(open.hasWritten, false);
  await made.storage.opens.close(other.openId);
  assert.equal(await content(), 'hello');
});

describe('a write', () => {
  for (const [what, request, status] of [
    ['of as much as can be written at once', { data: Buffer.alloc(TRANSFER_BYTES_MAX) }, 'SUCCESS'],
    ['of more than that', { data: Buffer.alloc(TRANSFER_BYTES_MAX + 1) }, 'INVALID_PARAMETER'],
    ['by remote access', { channel: 1 }, 'INVALID_PARAMETER'],
    ['at -1', { offset: ALL_ONES_64 }, 'INVALID_PARAMETER'],
    ['at -2', { offset: ALL_ONES_64 - 1n }, 'INVALID_PARAMETER'],
    ['of nothing where offsets end', { offset: INT64_MAX, data: NOTHING }, 'SUCCESS'],
    ['of a byte there', { offset: INT64_MAX }, 'INVALID_PARAMETER'],
    ['of nothing behind that', { offset: INT64_MAX + 1n, data: NOTHING }, 'INVALID_PARAMETER'],
    ['behind the longest file of Windows', { offset: NTFS_MAX }, 'INVALID_PARAMETER'],
    ['of nothing there', { offset: NTFS_MAX, data: NOTHING }, 'SUCCESS'],
    ['behind our longest file', { offset: NTFS_MAX - 1n }, 'DISK_FULL'],
    ['to another handle', { fileId: { persistent: 1n, volatile: 2n } }, 'FILE_CLOSED'],
  ] as const) {
    test(`${what}: ${status}`, async () => assert.equal(await statusOf(request), status));
  }
});

test('whoever writes needs the right to write or to append', async () => {
  for (const [access, status] of [
    [WRITE_DATA, 'SUCCESS'],
    [FULL_ACCESS & ~(WRITE_DATA | APPEND_DATA), 'ACCESS_DENIED'],
    [READ_DATA, 'ACCESS_DENIED'],
  ] as const) {
    const { fileId } = await openFor(made.client, 'f', { access });
    assert.equal(await statusOf({ fileId }), status, access.toString(16));
    assert.equal(await statusOf({ fileId, data: NOTHING }), status, access.toString(16));
  }
});

test('whoever may only append writes at the end, or nowhere', async () => {
  const { fileId } = await openFor(made.client, 'f', { access: APPEND_DATA });
  assert.equal(await statusOf({ fileId, offset: 4n }), 'ACCESS_DENIED');
  assert.equal(await statusOf({ fileId, offset: 5n, data: Buffer.from('!') }), 'SUCCESS');
  assert.equal(await statusOf({ fileId, offset: ALL_ONES_64, data: Buffer.from('?') }), 'SUCCESS');
  assert.equal(await content(), 'hello!?');
});

test('a directory and what is in a snapshot are not written', async () => {
  await made.share.createDirectory('d');
  const directory = await openFor(made.client, 'd');
  assert.equal(await statusOf({ fileId: directory.fileId }), 'INVALID_DEVICE_REQUEST');
  const past = await openFor(made.client, 'f', { snapshot: await made.share.snapshot() });
  assert.equal(await statusOf({ fileId: past.fileId }), 'ACCESS_DENIED');
});

test('times that the client has set to stay do so', async () => {
  const before = await made.share.createFile('g', 0);
  const frozen = await openFor(made.client, 'g');
  frozen.frozen.writtenAt = true;
  made.share.store.clock.advance({ seconds: 5 });
  assert.equal(await statusOf({ fileId: frozen.fileId }), 'SUCCESS');
  const looked = await made.storage.opens.close(frozen.openId, { looks: true });
  assert.equal(looked.node?.writtenAt, before.writtenAt);
  assert.notEqual(looked.node?.changedAt, before.changedAt);
});

test('what was closed by force is closed, and what it had written stays', async () => {
  const { place, openId } = open;
  assert.ok(place !== null);
  assert.equal(await statusOf({ data: Buffer.from('J') }), 'SUCCESS');
  await made.storage.opens.askToClose(place, [openId], 10_000);
  assert.equal(await statusOf({ data: Buffer.from('K') }), 'FILE_CLOSED');
  assert.equal(await content(), 'Jello');
});

test('whoever watches the directory hears of it once', async () => {
  const { fileChanges } = made.storage;
  const heard: FileNews[] = [];
  fileChanges.listen((news) => heard.push(news));
  fileChanges.watch(open.place?.shareId ?? '');
  await statusOf();
  await statusOf({ offset: 1n });
  await fileChanges.told();
  assert.deepEqual(
    heard.map((news) => (news.what === 'changes' ? news.changes.map(({ kind, path }) => [kind, ...path]) : news.what)),
    [[['modified', 'f']]],
  );
});
