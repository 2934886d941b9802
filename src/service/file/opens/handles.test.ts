import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { refusal, type TestShare } from '../../../../test/harness/file-store.ts';
import type { SmbClient } from '../../../../test/harness/smb-client.ts';
import { keepAwake } from '../../../../test/harness/store.ts';
import { TwoNodes } from '../../../../test/harness/two-nodes.ts';
import { NO_ACCESS, READS, WRITES } from '../../../rules/share-mode.ts';
import { fileIdOf } from '../../records/node-record.ts';
import { forceCloseHandles, type Handle, listHandles } from './handles.ts';

let nodes: TwoNodes;
let share: TestShare;
let here: SmbClient;
let there: SmbClient;

beforeEach(async () => {
  nodes = await TwoNodes.start();
  ({ share, here, there } = nodes);
  await share.createDirectory('D');
  await share.createDirectory('D/e');
  await share.createFile('D/e/F', 1);
  await share.createFile('g', 1);
});

afterEach(() => nodes.end());

async function all(path: string, recursive: boolean, limit = 100): Promise<Handle[]> {
  const handles: Handle[] = [];
  let marker: string | null = null;
  do {
    const page = await listHandles(share.store.storage, { name: share.nameOf(path), recursive, marker, limit });
    assert.ok(page.handles.length <= limit);
    handles.push(...page.handles);
    marker = page.next;
  } while (marker !== null);
  return handles;
}

const closeAll = (path: string, { recursive = false, handleId = null as string | null } = {}) =>
  forceCloseHandles(share.store.storage, { name: share.nameOf(path), recursive, handleId, marker: null });

describe('handles are listed', () => {
  test('with what is known of them', async () => {
    const opened = await there.open('d/E/f', { access: READS | WRITES });
    const [handle, ...others] = await all('d/e/f', false);
    assert.deepEqual(others, []);
    assert.deepEqual(await all('d/e', false), []);
    assert.deepEqual(handle, {
      id: opened.handleId,
      path: 'D/e/F',
      fileId: fileIdOf(opened.node.id),
      parentId: fileIdOf((await here.open('D/e', { access: NO_ACCESS })).node.id),
      sessionId: '9260087404025397253',
      clientIp: '10.0.0.5:50312',
      clientName: 'desktop',
      openedMs: nodes.cluster.clock.nowMs(),
      reconnectedMs: null,
      accessRights: ['Read', 'Write'],
    } satisfies Handle);
    assert.match(opened.handleId, /^\d{1,20}$/);
    assert.ok(BigInt(opened.handleId) < 2n ** 64n);
  });

  test('of a directory alone, or of all that is below it, wherever that was moved', async () => {
    await here.open('D');
    await there.open('D/e');
    const { id } = await here.open('D/e/F');
    await there.open('g');
    const paths = async (path: string, recursive: boolean): Promise<string[]> =>
      (await all(path, recursive)).map((handle) => handle.path).toSorted();
    assert.deepEqual(await paths('D', false), ['D']);
    assert.deepEqual(await paths('D', true), ['D', 'D/e', 'D/e/F']);
    assert.deepEqual(await paths('D/e', true), ['D/e', 'D/e/F']);
    assert.deepEqual(await paths('', true), ['D', 'D/e', 'D/e/F', 'g']);
    assert.deepEqual(await paths('', false), []);
    await share.rename('file', 'D/e/F', 'h');
    assert.deepEqual(await paths('D', true), ['D', 'D/e']);
    assert.deepEqual(await paths('h', false), ['h']);
    await here.opens.reconnect(id, { ip: '10.0.0.6:1', name: 'laptop', sessionId: '2' });
    const [handle] = await all('h', false);
    assert.equal(handle?.clientName, 'laptop');
    assert.equal(handle?.reconnectedMs, nodes.cluster.clock.nowMs());
  });

  test('in pages that leave nothing out', async () => {
    for (let count = 0; count < 5; count++) {
      await here.open('D/e/F');
      await there.open('g');
    }
    const whole = (await all('', true)).map(({ id }) => id);
    assert.equal(new Set(whole).size, 10);
    for (const limit of [1, 3, 10])
      assert.deepEqual(
        (await all('', true, limit)).map(({ id }) => id),
        whole,
      );
    assert.equal((await all('g', false, 2)).length, 5);
  });

  test('of what is marked for deletion, and not of what is not there', async () => {
    const { id } = await here.open('g');
    await here.opens.markForDeletion(id, true);
    assert.equal((await all('g', false)).length, 1);
    assert.equal(await refusal(all('x', false)), 'ResourceNotFound');
    const marker = 'x';
    const request = { name: share.nameOf('g'), recursive: false, marker, limit: 1 };
    assert.equal(await refusal(listHandles(share.store.storage, request)), 'InvalidQueryParameterValue');
  });

  test('of a snapshot: none', async () => {
    const snapshot = await share.snapshot();
    await here.open('g', { access: READS, snapshot });
    const name = share.nameOf('g', snapshot);
    const { handles } = await listHandles(share.store.storage, { name, recursive: false, marker: null, limit: 9 });
    assert.deepEqual(handles, []);
  });
});

describe('handles are closed', () => {
  test('on whatever node, and their clients are told', async () => {
    await here.open('g', { share: NO_ACCESS, access: READS });
    await there.open('D/e/F', { share: NO_ACCESS });
    assert.deepEqual(await closeAll('', { recursive: true }), { closedCount: 2, failedCount: 0, next: null });
    assert.deepEqual([await here.told(), await there.told()], ['closed', 'closed']);
    await share.read('g');
    await share.read('D/e/F');
    assert.deepEqual(await closeAll('', { recursive: true }), { closedCount: 0, failedCount: 0, next: null });
  });

  test('one of several by its id', async () => {
    const [, two] = [await here.open('g'), await there.open('g')];
    assert.deepEqual(await closeAll('g', { handleId: two.handleId }), { closedCount: 1, failedCount: 0, next: null });
    assert.equal(await there.told(), 'closed');
    assert.deepEqual(here.unheard, []);
    assert.deepEqual(await closeAll('g', { handleId: '1' }), { closedCount: 0, failedCount: 0, next: null });
  });

  test('and with the last of them goes what was marked for deletion, but not what closing would have marked', async () => {
    await here.open('g', { deletesOnClose: true });
    await closeAll('g');
    await share.read('g');
    const { id } = await there.open('g');
    await there.opens.markForDeletion(id, true);
    await closeAll('g');
    assert.equal(await refusal(share.read('g')), 'ResourceNotFound');
  });

  test('unless their node does not do so in time', async (t) => {
    keepAwake(t);
    await there.open('g');
    await here.open('g');
    nodes.elsewhere.line.isCut = true;
    const closing = closeAll('g');
    assert.equal(await here.told(), 'closed');
    nodes.cluster.clock.advance({ seconds: 10 });
    assert.deepEqual(await closing, { closedCount: 1, failedCount: 1, next: null });
    nodes.elsewhere.line.isCut = false;
    await nodes.elsewhere.store.beat();
    assert.equal(await there.told(), 'closed');
  });
});

describe('a directory is not renamed', () => {
  test('while somebody has something open below it', async () => {
    const { id } = await there.open('D/e/F', { access: NO_ACCESS });
    assert.equal(await refusal(share.rename('directory', 'D', 'X')), 'SharingViolation');
    await there.opens.close(id);
    const outside = await there.open('g');
    await share.rename('directory', 'D', 'X');
    await share.read('X/e/F');
    await there.opens.close(outside.id);
  });

  test('while somebody has it open and does not let it go, and is renamed with those who do', async () => {
    const { id } = await there.open('D', { share: READS | WRITES });
    assert.equal(await refusal(share.rename('directory', 'D', 'X')), 'SharingViolation');
    await there.opens.close(id);
    await there.open('D');
    await share.rename('directory', 'D', 'X');
    assert.deepEqual(
      (await all('', true)).map(({ path }) => path),
      ['X'],
    );
    assert.equal(await refusal(share.delete('directory', 'X')), 'DirectoryNotEmpty');
  });
});

test('a directory that somebody has open is not deleted', async () => {
  await share.delete('file', 'D/e/F');
  const { id } = await there.open('D/e', { access: NO_ACCESS });
  assert.equal(await refusal(share.delete('directory', 'D/e')), 'SharingViolation');
  await there.opens.close(id);
  await share.delete('directory', 'D/e');
});
