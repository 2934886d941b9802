import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { TestShare } from '../../../../test/harness/file-store.ts';
import { turns } from '../../../../test/harness/parallel.ts';
import { SmbClient } from '../../../../test/harness/smb-client.ts';
import { parseSddl } from '../../../rules/sddl.ts';
import { encodeDescriptor, type SecurityDescriptor } from '../../../rules/security-descriptor.ts';
import { NO_ACCESS } from '../../../rules/share-mode.ts';
import { NO_CHANGES } from '../properties.ts';
import { lookAtDescriptor, lookAtNode, lookAtOpen, lookAtShare } from './look-open.ts';
import type { ThroughOpen } from './through-open.ts';
import { OpenClosed } from './use-open.ts';

let share: TestShare;
let client: SmbClient;

beforeEach(async () => {
  share = await TestShare.create();
  client = new SmbClient(share.store.storage, share.name);
  await share.createDirectory('Dir');
  await share.createDirectory('Dir/Sub');
  await share.createFile('Dir/Sub/File', 5);
});

afterEach(() => share.store.close());

async function openPath(path: string, snapshot: string | null = null): Promise<ThroughOpen> {
  const { id, place } = await client.open(path, { snapshot });
  return { openId: id, place, name: share.nameOf(path, snapshot) };
}

const look = (open: ThroughOpen) => lookAtOpen(share.store.storage, open);

test('a path is told as its names are written', async () => {
  assert.deepEqual((await look(await openPath('dir/SUB/file'))).path, ['Dir', 'Sub', 'File']);
  assert.deepEqual((await look(await openPath('dir'))).path, ['Dir']);
  assert.deepEqual((await look(await openPath(''))).path, []);
});

test('a path leads where the file is by now', async () => {
  const open = await openPath('Dir/Sub/File');
  await share.rename('file', 'Dir/Sub/File', 'Dir/Other');
  assert.deepEqual((await look(open)).path, ['Dir', 'Other']);
});

test('a file is told as it is now', async () => {
  const open = await openPath('Dir/Sub/File');
  await share.resize('Dir/Sub/File', 99);
  const { node, isPending } = await lookAtNode(share.store.storage, open);
  assert.equal(node.kind === 'file' && node.lengthBytes, 99);
  assert.equal(isPending, false);
  await client.opens.markForDeletion(open.openId, true);
  assert.equal((await look(open)).isPending, true);
});

test('in a snapshot a file is as it was, and where it was', async () => {
  const moment = await share.snapshot();
  await share.resize('Dir/Sub/File', 99);
  await share.rename('directory', 'Dir', 'Moved');
  const { node, path, isPending } = await look(await openPath('Dir/Sub/FILE', moment));
  assert.equal(node.kind === 'file' && node.lengthBytes, 5);
  assert.deepEqual(path, ['Dir', 'Sub', 'File']);
  assert.equal(isPending, false);
  assert.deepEqual((await look(await openPath('', moment))).path, []);
});

test('through what is closed nothing is seen', async () => {
  const open = await openPath('Dir');
  await client.opens.close(open.openId);
  await assert.rejects(look(open), OpenClosed);
});

test('nobody gives up for it what they cache', async () => {
  const path = 'Dir/Sub/File';
  await client.open(path, { caching: 'RWH', leaseKey: 'k' });
  const { id, place } = await client.open(path, { access: NO_ACCESS });
  await look({ openId: id, place, name: share.nameOf(path) });
  await turns(10);
  assert.deepEqual(client.unheard, []);
});

test('the descriptor is that of the file', async () => {
  const descriptor = parseSddl('O:BAG:SYD:(A;;FA;;;BA)S:(AU;SA;FA;;;WD)') as SecurityDescriptor;
  const permission = { kind: 'descriptor', descriptor: encodeDescriptor(descriptor) } as const;
  await share.createFile('Dir/own', 0, { properties: { ...NO_CHANGES, permission } });
  assert.deepEqual(await lookAtDescriptor(share.store.storage, await openPath('Dir/own')), descriptor);
});

test('a share is told with what its files have together', async () => {
  await share.createFile('g', 1_000);
  const { share: record, usedBytes } = await lookAtShare(share.store.storage, await openPath('Dir'));
  assert.equal(usedBytes, 1_005);
  assert.equal(record.quotaGiB, 5_120);
});
