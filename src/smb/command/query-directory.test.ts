import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { TestShare } from '../../../test/harness/file-store.ts';
import { together } from '../../../test/harness/parallel.ts';
import { bodyOfReply, makeContext, statusNameOf, type TestClient } from '../../../test/harness/smb-context.ts';
import { openPath } from '../../../test/harness/smb-opens.ts';
import { transact } from '../../engine/transact.ts';
import { encodeJson } from '../../service/records/codec.ts';
import { nodeKey } from '../../service/records/file-keys.ts';
import type { NodeId } from '../../service/records/node-record.ts';
import type { FileOpen } from '../session/open.ts';
import { TRANSACT_BYTES_MAX } from '../session/protocol.ts';
import { READ_ATTRIBUTES } from '../wire/access.ts';
import { indexNumberOf } from '../wire/file-info.ts';
import { type QueryDirectoryRequest, REOPEN, RESTART_SCANS, RETURN_SINGLE_ENTRY } from '../wire/query-directory.ts';
import type { Reply } from './command.ts';
import { queryDirectory } from './query-directory.ts';

const NAMES_CLASS = 12;
const ID_BOTH_CLASS = 37;
const INDEX_SPECIFIED = 0x4;

let client: TestClient;
let share: TestShare;

beforeEach(async () => {
  ({ client, share } = await makeContext());
  await share.createDirectory('d');
});

afterEach(() => share.store.close());

const fill = async (...names: readonly string[]): Promise<void> => {
  for (const name of names) await share.createFile(`d/${name}`, 0);
};

async function query(open: FileOpen, request: Partial<QueryDirectoryRequest> = {}): Promise<Reply> {
  return queryDirectory.handle(client.context(), {
    infoClass: NAMES_CLASS,
    flags: 0,
    fileId: open.fileId,
    pattern: '*',
    outputBytesMax: 65_536,
    ...request,
  });
}

function namesOf(reply: Reply): string[] {
  const bytes = bodyOfReply(reply).subarray(8);
  const names: string[] = [];
  for (let at = 0; ; ) {
    const end = at + 12 + bytes.readUInt32LE(at + 8);
    names.push(bytes.toString('utf16le', at + 12, end));
    const next = bytes.readUInt32LE(at);
    if (next === 0) {
      assert.equal(end, bytes.length);
      return names;
    }
    at += next;
  }
}

const names = async (open: FileOpen, request: Partial<QueryDirectoryRequest> = {}): Promise<string[]> =>
  namesOf(await query(open, request));

/** To the end. */
async function allNames(open: FileOpen, request: Partial<QueryDirectoryRequest> = {}): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const outcome = await query(open, request).catch((error: Error) => error);
    if (outcome instanceof Error) {
      assert.equal(outcome.message, 'NO_MORE_FILES');
      return all;
    }
    all.push(...namesOf(outcome));
  }
}

const refusalOf = (open: FileOpen, request: Partial<QueryDirectoryRequest> = {}): Promise<string> =>
  statusNameOf(() => query(open, request));

describe('a listing', () => {
  test('begins with the directory and the one above it, and ends with a status', async () => {
    await fill('b', 'A');
    const open = await openPath(client, share, 'd');
    assert.deepEqual(await names(open), ['.', '..', 'A', 'b']);
    assert.equal(await refusalOf(open), 'NO_MORE_FILES');
    assert.equal(await refusalOf(open), 'NO_MORE_FILES');
  });

  test('has the same entries however little room there is', async () => {
    const files = Array.from({ length: 60 }, (_, index) =>
      `f${String(index).padStart(2, '0')}`.repeat(1 + (index % 7)),
    );
    await fill(...files);
    const want = ['.', '..', ...files.toSorted()];
    for (const outputBytesMax of [60, 61, 64, 100, 500, 4096, 65_536]) {
      const open = await openPath(client, share, 'd');
      assert.deepEqual(await allNames(open, { outputBytesMax }), want, String(outputBytesMax));
    }
  });

  test('in single entries tells one at a time', async () => {
    await fill('a', 'b');
    const open = await openPath(client, share, 'd');
    for (const want of ['.', '..', 'a', 'b'])
      assert.deepEqual(await names(open, { flags: RETURN_SINGLE_ENTRY }), [want]);
    assert.equal(await refusalOf(open, { flags: RETURN_SINGLE_ENTRY }), 'NO_MORE_FILES');
  });

  test('of an empty directory tells both dots, one at a time as well', async () => {
    const open = await openPath(client, share, 'd');
    assert.deepEqual(await allNames(open, { flags: RETURN_SINGLE_ENTRY }), ['.', '..']);
    assert.deepEqual(await names(open, { flags: RESTART_SCANS }), ['.', '..']);
  });

  test('goes on behind what was told, whatever index is given', async () => {
    await fill('a', 'b');
    const open = await openPath(client, share, 'd');
    await names(open, { outputBytesMax: 32 });
    assert.deepEqual(await names(open, { flags: INDEX_SPECIFIED }), ['a', 'b']);
  });

  test('tells nothing of what was removed meanwhile', async () => {
    await fill('a', 'b', 'c');
    const open = await openPath(client, share, 'd');
    assert.deepEqual(await names(open, { flags: RETURN_SINGLE_ENTRY }), ['.']);
    for (const name of ['a', 'c']) await share.delete('file', `d/${name}`);
    assert.deepEqual(await allNames(open), ['..', 'b']);
  });

  test('of a snapshot tells what was there', async () => {
    await fill('a');
    const snapshot = await share.snapshot();
    await share.delete('file', 'd/a');
    assert.deepEqual(await names(await openPath(client, share, 'd', { snapshot })), ['.', '..', 'a']);
  });

  test('that is asked for twice at once tells everything once', async () => {
    const files = Array.from({ length: 20 }, (_, index) => `f${String(index).padStart(2, '0')}`);
    await fill(...files);
    const open = await openPath(client, share, 'd');
    const outcomes = await together(4, () => names(open, { outputBytesMax: 24 * 8 }));
    const told = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    assert.deepEqual(told, ['.', '..', ...files]);
  });
});

describe('a directory of many thousands', () => {
  const COUNT = 12_000;
  let directoryId: NodeId;

  /** Rows as creating them would leave, without creating each. */
  beforeEach(async () => {
    const node = await share.createFile('like', 0);
    directoryId = (await share.createDirectory('many')).id;
    const { engine, known } = client.door.storage;
    const tree = { account: share.name.account, shareId: known.shares.idOf(share.name.account, 'share') as string };
    await transact(engine, async (tx) => {
      for (let index = 0; index < COUNT; index++) {
        const name = `F${String(index).padStart(5, '0')}`;
        tx.put(nodeKey(tree, { parentId: directoryId, name }), encodeJson({ ...node, name }));
      }
    });
  });

  test('is listed whole', async () => {
    const open = await openPath(client, share, 'many');
    const all = await allNames(open, { outputBytesMax: TRANSACT_BYTES_MAX });
    assert.equal(all.length, COUNT + 2);
    assert.deepEqual(all.slice(2), all.slice(2).toSorted());
    assert.equal(new Set(all).size, all.length);
  });

  test('is searched to its end for the few that are meant', async () => {
    const open = await openPath(client, share, 'many');
    assert.deepEqual(await names(open, { pattern: '*11999' }), ['F11999']);
    assert.equal(await refusalOf(open, { pattern: '*x', flags: REOPEN }), 'NO_SUCH_FILE');
  });

  test('is searched no further once the request is cancelled', async () => {
    const open = await openPath(client, share, 'many');
    const cancelled = AbortSignal.abort();
    const request = { infoClass: NAMES_CLASS, flags: 0, fileId: open.fileId, pattern: '*x', outputBytesMax: 4096 };
    assert.equal(await statusNameOf(() => queryDirectory.handle(client.context({ cancelled }), request)), 'CANCELLED');
  });
});

describe('a pattern', () => {
  test('narrows the listing, in any case', async () => {
    await fill('a.txt', 'b.TXT', 'c.dat');
    assert.deepEqual(await names(await openPath(client, share, 'd'), { pattern: '*.TxT' }), ['a.txt', 'b.TXT']);
    assert.deepEqual(await names(await openPath(client, share, 'd'), { pattern: 'B.txt' }), ['b.TXT']);
  });

  test('that means nothing there is told so at once', async () => {
    await fill('a');
    const open = await openPath(client, share, 'd');
    assert.equal(await refusalOf(open, { pattern: 'x*' }), 'NO_SUCH_FILE');
    assert.equal(await refusalOf(open, { pattern: '*', flags: RESTART_SCANS }), 'SUCCESS');
    assert.equal(await refusalOf(open), 'NO_MORE_FILES');
  });

  test('stays until the listing begins anew', async () => {
    await fill('a', 'b', 'b2', 'c');
    const open = await openPath(client, share, 'd');
    assert.deepEqual(await names(open, { pattern: 'b*', flags: RETURN_SINGLE_ENTRY }), ['b']);
    assert.deepEqual(await names(open, { pattern: '*' }), ['b2']);
    assert.deepEqual(await names(open, { pattern: '', flags: RESTART_SCANS }), ['b', 'b2']);
    assert.deepEqual(await names(open, { pattern: 'c', flags: RESTART_SCANS }), ['c']);
    assert.deepEqual(await names(open, { pattern: '', flags: REOPEN }), ['.', '..', 'a', 'b', 'b2', 'c']);
    assert.deepEqual(await names(open, { pattern: 'a', flags: REOPEN }), ['a']);
  });

  test('that could be no name is refused', async () => {
    assert.equal(await refusalOf(await openPath(client, share, 'd'), { pattern: 'a\\b' }), 'OBJECT_NAME_INVALID');
  });
});

test('entries have the numbers of what they name, and so has the directory above', async () => {
  const root = await openPath(client, share, '');
  const directory = (await share.createDirectory('e')).id;
  const file = (await share.createFile('e/f', 3)).id;
  const open = await openPath(client, share, 'e');
  const bytes = bodyOfReply(await query(open, { infoClass: ID_BOTH_CLASS })).subarray(8);
  const numbers: bigint[] = [];
  for (let at = 0, next = 1; next !== 0; at += next) {
    numbers.push(bytes.readBigUInt64LE(at + 96));
    next = bytes.readUInt32LE(at);
  }
  assert.deepEqual(numbers, [
    indexNumberOf({ id: directory }),
    indexNumberOf({ id: root.place?.nodeId ?? '' }),
    indexNumberOf({ id: file }),
  ]);
});

describe('it is refused', () => {
  test('of a file', async () => {
    await fill('a');
    assert.equal(await refusalOf(await openPath(client, share, 'd/a')), 'INVALID_PARAMETER');
  });

  test('with more room than is ever given', async () => {
    const open = await openPath(client, share, 'd');
    assert.equal(await refusalOf(open, { outputBytesMax: TRANSACT_BYTES_MAX + 1 }), 'INVALID_PARAMETER');
    assert.equal(await refusalOf(open, { outputBytesMax: TRANSACT_BYTES_MAX }), 'SUCCESS');
  });

  test('for a class that there is not', async () => {
    assert.equal(await refusalOf(await openPath(client, share, 'd'), { infoClass: 99 }), 'INVALID_INFO_CLASS');
  });

  test('without the right to list', async () => {
    const open = await openPath(client, share, 'd', { access: READ_ATTRIBUTES });
    assert.equal(await refusalOf(open), 'ACCESS_DENIED');
  });

  test('where there is no room for the next entry, which is told once there is', async () => {
    await fill('a-longer-name');
    const open = await openPath(client, share, 'd');
    assert.equal(await refusalOf(open, { outputBytesMax: 11 }), 'INFO_LENGTH_MISMATCH');
    assert.equal(await refusalOf(open, { outputBytesMax: 13 }), 'INFO_LENGTH_MISMATCH');
    assert.deepEqual(await names(open, { outputBytesMax: 32 }), ['.', '..']);
    assert.equal(await refusalOf(open, { outputBytesMax: 32 }), 'INFO_LENGTH_MISMATCH');
    assert.deepEqual(await names(open), ['a-longer-name']);
  });

  test('once it is closed', async () => {
    const open = await openPath(client, share, 'd');
    await client.door.storage.opens.close(open.openId);
    assert.equal(await refusalOf(open), 'FILE_CLOSED');
  });
});
