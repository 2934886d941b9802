import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { refusal, type TestShare } from '../../../../test/harness/file-store.ts';
import { type SmbClient } from '../../../../test/harness/smb-client.ts';
import { TwoNodes } from '../../../../test/harness/two-nodes.ts';
import { READ_ONLY } from '../../../rules/file-attributes.ts';
import { DELETES, NO_ACCESS, READS, WRITES } from '../../../rules/share-mode.ts';
import { getFileProperties } from '../get-file.ts';
import { listEntries } from '../list-entries.ts';
import { NO_CHANGES } from '../properties.ts';
import { usedBytes } from '../usage.ts';

const HELLO = Buffer.from('hello');

let nodes: TwoNodes;
let share: TestShare;
let here: SmbClient;
let there: SmbClient;

beforeEach(async () => {
  nodes = await TwoNodes.start();
  ({ share, here, there } = nodes);
  await share.createFile('f', HELLO);
});

afterEach(() => nodes.end());

const names = async (): Promise<string[]> => {
  const request = { ...share.requestOf(''), prefix: '', from: null, limit: 100 };
  return (await listEntries(share.store.storage, request)).entries.map(({ name }) => name);
};

describe('a mark for deletion', () => {
  test('hides the file from REST until it is taken back', async () => {
    const { id } = await there.open('f');
    await there.opens.markForDeletion(id, true);
    for (const act of [
      () => nodes.read('f'),
      () => nodes.write('f'),
      () => share.createFile('f', 1),
      () => share.delete('file', 'f'),
      () => getFileProperties(share.store.storage, share.requestOf('f')),
      () => share.rename('file', 'f', 'g'),
      () => here.open('f', { access: NO_ACCESS }),
    ]) {
      assert.equal(await refusal(act()), 'SMBDeletePending');
    }
    assert.deepEqual(await names(), []);
    await there.opens.markForDeletion(id, false);
    await nodes.read('f');
    assert.deepEqual(await names(), ['f']);
    await there.opens.close(id);
    await nodes.read('f');
  });

  test('is carried out when the last client closes, on whatever node', async () => {
    const [a, b] = [await here.open('f'), await there.open('f')];
    await here.opens.markForDeletion(a.id, true);
    await here.opens.close(a.id);
    assert.equal(await refusal(nodes.read('f')), 'SMBDeletePending');
    await there.opens.close(b.id);
    assert.equal(await refusal(nodes.read('f')), 'ResourceNotFound');
    assert.equal(await nodes.usesCount(), 0);
    const shareId = await nodes.shareId();
    assert.equal(await usedBytes(nodes.cluster.engine.snapshot(), { account: share.name.account, shareId }), 0);
  });

  test('is made by the closing of an open that was made for it', async () => {
    const [a, b] = [await here.open('f', { deletesOnClose: true }), await there.open('f')];
    await nodes.read('f');
    await here.opens.close(a.id);
    assert.equal(await refusal(nodes.read('f')), 'SMBDeletePending');
    await there.opens.close(b.id);
    assert.equal(await refusal(nodes.read('f')), 'ResourceNotFound');
  });

  test('is refused for what is read-only, and for a directory that is not empty', async () => {
    const properties = { ...NO_CHANGES, attributes: READ_ONLY };
    await share.createFile('r', 1, { properties });
    assert.equal(await refusal(here.open('r', { access: READS | WRITES })), 'ReadOnlyAttribute');
    assert.equal(
      await refusal(here.open('r', { access: DELETES, deletesOnClose: true })),
      'CannotDeleteFileOrDirectory',
    );
    const file = await here.open('r', { access: DELETES });
    assert.equal(await refusal(here.opens.markForDeletion(file.id, true)), 'CannotDeleteFileOrDirectory');
    await share.createDirectory('d');
    await share.createFile('d/f', 1);
    const directory = await here.open('d');
    assert.equal(await refusal(here.opens.markForDeletion(directory.id, true)), 'DirectoryNotEmpty');
    const root = await here.open('');
    assert.equal(await refusal(here.opens.markForDeletion(root.id, true)), 'CannotDeleteFileOrDirectory');
  });

  test('keeps a directory from getting anything new, and is forgotten where it came too late', async () => {
    await share.createDirectory('d');
    const [a, b] = [await here.open('d', { deletesOnClose: true }), await there.open('d')];
    await there.opens.markForDeletion(b.id, true);
    assert.equal(await refusal(share.createFile('d/f', 1)), 'SMBDeletePending');
    assert.equal(await refusal(share.createDirectory('d/e')), 'SMBDeletePending');
    await there.opens.markForDeletion(b.id, false);
    await share.createFile('d/f', 1);
    await here.opens.close(a.id);
    await there.opens.close(b.id);
    await share.read('d/f');
  });

  test('takes from others the handles that they cache', async () => {
    const a = await here.open('f', { caching: 'RH', leaseKey: 'k' });
    const b = await there.open('f');
    const marking = there.opens.markForDeletion(b.id, true);
    assert.equal(await here.told(), 'RH to R');
    await here.opens.close(a.id);
    await marking;
    await there.opens.close(b.id);
    assert.equal(await refusal(nodes.read('f')), 'ResourceNotFound');
  });

  test('outlives a share that is gone without harm', async () => {
    const { id } = await here.open('f', { deletesOnClose: true });
    await share.store.storage.engine.commit({
      checks: [],
      puts: [],
      deletes: [Buffer.from(`s${share.name.account}\0${share.name.share}`)],
    });
    await here.opens.close(id);
  });
});
