import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { bodyOfReply, type MadeContext, makeContext, statusNameOf } from '../../../test/harness/smb-context.ts';
import { openFor } from '../../../test/harness/smb-opens.ts';
import type { FileOpen } from '../session/open.ts';
import { TRANSFER_BYTES_MAX } from '../session/protocol.ts';
import { EXECUTE, FULL_ACCESS, READ_ATTRIBUTES, READ_DATA, WRITE_DATA } from '../wire/access.ts';
import type { ReadRequest } from '../wire/read.ts';
import { read } from './read.ts';

const CONTENT = Buffer.alloc(70_000, 'r');
const INT64_MAX = 2n ** 63n - 1n;

let made: MadeContext;
let open: FileOpen;

beforeEach(async () => {
  made = await makeContext();
  await made.share.createFile('f', CONTENT);
  open = await openFor(made.client, 'f');
});

const requestOf = (request: Partial<ReadRequest> = {}): ReadRequest => ({
  fileId: open.fileId,
  offset: 0n,
  length: 10,
  minimumCount: 0,
  channel: 0,
  ...request,
});

const statusOf = (request: Partial<ReadRequest>): Promise<string> =>
  statusNameOf(() => read.handle(made.client.context(), requestOf(request)));

test('the bytes follow the fixed part, and are not copied into it', async () => {
  const reply = await read.handle(made.context, requestOf({ offset: 69_990n, length: 100 }));
  assert.equal(reply.body[0]?.length, 16);
  assert.ok(reply.body.length > 1);
  const body = bodyOfReply(reply);
  assert.deepEqual([body.readUInt16LE(0), body.readUInt8(2), body.readUInt32LE(4)], [17, 80, 10]);
  assert.equal(body.subarray(16).toString(), 'r'.repeat(10));
  assert.equal(open.positionBytes, 70_000n);
});

describe('of a file of 70,000 bytes', () => {
  for (const [what, request, status] of [
    ['its end', { offset: 70_000n }, 'END_OF_FILE'],
    ['nothing at its end', { offset: 70_000n, length: 0 }, 'SUCCESS'],
    ['nothing, and at least a byte', { offset: 70_000n, length: 0, minimumCount: 1 }, 'END_OF_FILE'],
    ['the last byte and one more', { offset: 69_999n, length: 2 }, 'SUCCESS'],
    ['less than is worth answering', { length: 5, minimumCount: 10 }, 'END_OF_FILE'],
    ['as much as is worth answering', { length: 10, minimumCount: 10 }, 'SUCCESS'],
    ['the last byte there can be', { offset: INT64_MAX - 1n, length: 1 }, 'END_OF_FILE'],
    ['what is behind that', { offset: INT64_MAX, length: 1 }, 'INVALID_PARAMETER'],
    ['nothing there', { offset: INT64_MAX, length: 0 }, 'SUCCESS'],
    ['nothing beyond', { offset: INT64_MAX + 1n, length: 0 }, 'INVALID_PARAMETER'],
    ['something at -1', { offset: 2n ** 64n - 1n }, 'INVALID_PARAMETER'],
    ['as much as can be read at once', { length: TRANSFER_BYTES_MAX }, 'SUCCESS'],
    ['more than that', { length: TRANSFER_BYTES_MAX + 1 }, 'INVALID_PARAMETER'],
    ['something by remote access', { channel: 1 }, 'INVALID_PARAMETER'],
    ['something of another handle', { fileId: { persistent: 1n, volatile: 2n } }, 'FILE_CLOSED'],
  ] as const) {
    test(`${what}: ${status}`, async () => assert.equal(await statusOf(request), status));
  }
});

test('whoever reads needs the right to read or to execute', async () => {
  for (const [access, status] of [
    [READ_DATA, 'SUCCESS'],
    [EXECUTE, 'SUCCESS'],
    [FULL_ACCESS & ~(READ_DATA | EXECUTE), 'ACCESS_DENIED'],
    [READ_ATTRIBUTES | WRITE_DATA, 'ACCESS_DENIED'],
  ] as const) {
    const { fileId } = await openFor(made.client, 'f', { access });
    assert.equal(await statusOf({ fileId }), status, access.toString(16));
  }
});

test('a directory has no bytes', async () => {
  await made.share.createDirectory('d');
  const { fileId } = await openFor(made.client, 'd');
  assert.equal(await statusOf({ fileId }), 'INVALID_DEVICE_REQUEST');
  assert.equal(await statusOf({ fileId, length: 0, minimumCount: 11 }), 'INVALID_DEVICE_REQUEST');
});

test('what another has locked is refused, but not nothing of it', async () => {
  const other = await openFor(made.client, 'f');
  const lock = { offsetBytes: 0n, lengthBytes: 10n, isExclusive: true };
  await made.storage.opens.lock(other.openId, [lock], { waitMs: 0 });
  assert.equal(await statusOf({ offset: 9n }), 'FILE_LOCK_CONFLICT');
  assert.equal(await statusOf({ offset: 5n, length: 0 }), 'SUCCESS');
  assert.equal(await statusOf({ offset: 10n }), 'SUCCESS');
});

test('what was closed by force is closed', async () => {
  const { place, openId } = open;
  assert.ok(place !== null);
  await made.storage.opens.askToClose(place, [openId], 10_000);
  assert.equal(await statusOf({}), 'FILE_CLOSED');
});
