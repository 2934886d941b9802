import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { type TestShare } from '../../../test/harness/file-store.ts';
import { turns } from '../../../test/harness/parallel.ts';
import { bodyOfReply, type MadeContext, makeContext, type TestClient } from '../../../test/harness/smb-context.ts';
import { openFor } from '../../../test/harness/smb-opens.ts';
import { ChangeFilter, WRITTEN } from '../../rules/file-change.ts';
import type { Door } from '../session/door.ts';
import { type Change, noteChange } from '../session/note-change.ts';
import type { FileOpen } from '../session/open.ts';
import { TRANSACT_BYTES_MAX } from '../session/protocol.ts';
import { statusName, statusOf } from '../statuses.ts';
import { FULL_ACCESS, READ_ATTRIBUTES, READ_DATA } from '../wire/access.ts';
import { changeNotify } from './change-notify.ts';
import type { Reply } from './command.ts';

const NAMES = ChangeFilter.FILE_NAME | ChangeFilter.DIR_NAME;

let made: MadeContext;
let share: TestShare;
let client: TestClient;
let pending: number;

beforeEach(async () => {
  made = await makeContext();
  ({ share, client } = made);
  await share.createDirectory('d');
  await share.createDirectory('d/Sub');
  await share.createFile('d/file', Buffer.from('hello'));
  await share.createFile('d/Sub/Deep', Buffer.from('hello'));
  pending = 0;
});

afterEach(() => share.store.close());

interface Asked {
  readonly isTree?: boolean;
  readonly filter?: number;
  readonly outputBytesMax?: number;
  readonly cancelled?: AbortSignal;
}

/** What the request is answered with: a status, and then what was told. */
async function ask({ fileId }: FileOpen, asked: Asked = {}): Promise<string> {
  const { isTree = false, filter = NAMES, outputBytesMax = 1_000, cancelled = new AbortController().signal } = asked;
  const context = client.context({ cancelled, onPend: () => pending++ });
  try {
    return shown(await changeNotify.handle(context, { fileId, isTree, filter, outputBytesMax }));
  } catch (error) {
    const status = statusOf(error);
    if (status === null) throw error;
    return statusName(status);
  }
}

function shown(reply: Reply): string {
  const body = bodyOfReply(reply);
  const told: string[] = [];
  for (let at = 8; at < body.length; ) {
    const name = body.toString('utf16le', at + 12, at + 12 + body.readUInt32LE(at + 8));
    told.push(`${body.readUInt32LE(at + 4)} ${name}`);
    const next = body.readUInt32LE(at);
    at = next === 0 ? body.length : at + next;
  }
  return [statusName(reply.status), ...told].join(', ');
}

async function note(...changes: readonly Change[]): Promise<void> {
  for (const change of changes) noteChange(made.door, change);
  await made.storage.fileChanges.told();
  await turns(2);
}

const added = async (path: string): Promise<Change> => ({ what: 'added', at: await openFor(client, path) });

describe('a request', () => {
  test('waits at once where there is nothing to tell, and is answered with the first change', async () => {
    const directory = await openFor(client, 'd');
    const asking = ask(directory);
    assert.equal(pending, 1);
    await note(await added('d/file'));
    assert.equal(await asking, 'SUCCESS, 1 file');
    await note(await added('d/Sub'));
    assert.equal(await ask(directory), 'SUCCESS, 1 Sub');
    assert.equal(pending, 1);
  });

  test('on something that is no directory, for too much, and without the right to list, is refused', async () => {
    const file = await openFor(client, 'd/file');
    const directory = await openFor(client, 'd');
    const blind = await openFor(client, 'd', { access: READ_ATTRIBUTES });
    const lister = await openFor(client, 'd', { access: READ_DATA });
    assert.equal(await ask(file), 'INVALID_PARAMETER');
    assert.equal(await ask(directory, { outputBytesMax: TRANSACT_BYTES_MAX + 1 }), 'INVALID_PARAMETER');
    assert.equal(await ask(blind), 'ACCESS_DENIED');
    assert.equal(await ask(lister, { cancelled: AbortSignal.abort() }), 'CANCELLED');
  });

  test('fixes with the first what is heard of, whatever later ones say', async () => {
    const directory = await openFor(client, 'd');
    assert.equal(await ask(directory, { filter: NAMES, cancelled: AbortSignal.abort() }), 'CANCELLED');
    await note(await added('d/Sub/Deep'), await added('d/file'));
    assert.equal(await ask(directory, { filter: 0, isTree: true }), 'SUCCESS, 1 file');
  });

  test('is sent away when its open is closed, and with its session or tree', async () => {
    const directory = await openFor(client, 'd');
    const asking = ask(directory);
    directory.watch?.end();
    assert.equal(await asking, 'NOTIFY_CLEANUP');
    const cancelling = new AbortController();
    const second = ask(await openFor(client, 'd'), { cancelled: cancelling.signal });
    client.session.trees.clear();
    cancelling.abort();
    assert.equal(await second, 'NOTIFY_CLEANUP');
  });
});

describe('changes', () => {
  test('below a directory are told with the way to them, to those who ask for all below', async () => {
    const [root, directory, flat] = [await openFor(client, ''), await openFor(client, 'd'), await openFor(client, 'd')];
    const asking = [ask(root, { isTree: true }), ask(directory, { isTree: true })];
    const flatly = ask(flat);
    await note(await added('d/Sub/Deep'));
    assert.deepEqual(await Promise.all(asking), ['SUCCESS, 1 d\\Sub\\Deep', 'SUCCESS, 1 Sub\\Deep']);
    await note(await added('d/file'));
    assert.equal(await flatly, 'SUCCESS, 1 file');
  });

  test('of names, of what is written and of attributes are told to those who ask for them', async () => {
    const file = await openFor(client, 'd/file');
    const { ATTRIBUTES } = ChangeFilter;
    const opens = await Promise.all([0, 1, 2].map(() => openFor(client, 'd')));
    const asking = [NAMES, WRITTEN, ATTRIBUTES].map((filter, index) => ask(opens[index] as FileOpen, { filter }));
    await note(
      { what: 'modified', at: file, filter: WRITTEN },
      { what: 'modified', at: file, filter: ATTRIBUTES },
      { what: 'added', at: file },
    );
    assert.deepEqual(await Promise.all(asking), ['SUCCESS, 1 file', 'SUCCESS, 3 file', 'SUCCESS, 3 file']);
  });

  test('a new name comes with the old one, and one in another directory as gone here and new there', async () => {
    const [directory, sub] = [await openFor(client, 'd'), await openFor(client, 'd/Sub')];
    const { place } = directory;
    assert.ok(place !== null && sub.place !== null);
    const from = { kind: 'file', tree: place, parentId: place.nodeId, name: 'file' } as const;
    const asking = ask(directory);
    await note({ what: 'renamed', from, to: { ...from, name: 'File2' } });
    assert.equal(await asking, 'SUCCESS, 4 file, 5 File2');
    const both = [ask(directory), ask(sub)];
    await note({ what: 'renamed', from, to: { ...from, parentId: sub.place.nodeId } });
    assert.deepEqual(await Promise.all(both), ['SUCCESS, 2 file', 'SUCCESS, 1 file']);
  });

  test('of what is gone are told by the directory that it was in, though that goes at once as well', async () => {
    const directory = await openFor(client, 'd');
    const deep = await openFor(client, 'd/Sub');
    const root = await openFor(client, '');
    assert.ok(deep.place !== null && directory.place !== null);
    const tree = deep.place;
    const asking = ask(root, { isTree: true });
    await share.delete('file', 'd/Sub/Deep');
    noteChange(made.door, { what: 'removed', at: { kind: 'file', tree, parentId: deep.place.nodeId, name: 'Deep' } });
    await made.storage.opens.close(deep.openId);
    await share.delete('directory', 'd/Sub');
    await note({ what: 'removed', at: { kind: 'directory', tree, parentId: directory.place.nodeId, name: 'Sub' } });
    assert.equal(await asking, 'SUCCESS, 2 d\\Sub\\Deep');
    assert.equal(await ask(root), 'SUCCESS, 2 d\\Sub');
  });

  test('of the watched directory itself, and in a snapshot, are nothing to hear of', async () => {
    const moment = await share.snapshot();
    const directory = await openFor(client, 'd');
    const then = await openFor(client, 'd', { snapshot: moment });
    const asking = [ask(directory, { filter: 0xfff }), ask(then, { filter: 0xfff })];
    await note(
      { what: 'modified', at: directory, filter: ChangeFilter.ATTRIBUTES },
      { what: 'modified', at: then, filter: ChangeFilter.ATTRIBUTES },
      { what: 'modified', at: await openFor(client, ''), filter: ChangeFilter.ATTRIBUTES },
      { what: 'added', at: await openFor(client, 'd/file') },
    );
    then.watch?.end();
    assert.deepEqual(await Promise.all(asking), ['SUCCESS, 1 file', 'NOTIFY_CLEANUP']);
  });

  test('a directory that is marked for deletion is told to those who watch it', async () => {
    const [directory, sub] = [await openFor(client, 'd'), await openFor(client, 'd/Sub')];
    const asking = ask(sub, { isTree: true });
    const above = ask(directory, { isTree: true });
    await note({ what: 'deleting', at: sub }, { what: 'deleting', at: await openFor(client, 'd/file') });
    assert.equal(await asking, 'DELETE_PENDING');
    directory.watch?.end();
    assert.equal(await above, 'NOTIFY_CLEANUP');
  });

  test('cost nothing where nobody watches the share', async () => {
    const engine = new CountedEngine(made.storage.engine);
    const door: Door = { ...made.door, storage: { ...made.storage, engine } };
    const file = await openFor(client, 'd/file', { access: FULL_ACCESS });
    const cost = () =>
      engine.costOf(async () => {
        noteChange(door, { what: 'added', at: file });
        await door.storage.fileChanges.told();
      });
    assert.equal((await cost()).keysAsked, 0);
    const directory = await openFor(client, 'd');
    const asking = ask(directory);
    assert.notEqual((await cost()).keysAsked, 0);
    assert.equal(await asking, 'SUCCESS, 1 file');
    directory.watch?.end();
    assert.equal((await cost()).keysAsked, 0);
  });
});
