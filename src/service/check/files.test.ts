import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NEW_SHARE, TestShare } from '../../../test/harness/file-store.ts';
import { ACCOUNT } from '../../../test/harness/store.ts';
import { asBuffer } from '../../base/bytes.ts';
import type { Entry, Key } from '../../engine/engine.ts';
import { pendingCopy } from '../../rules/copy.ts';
import { type CheckReport, checkStore } from '../check.ts';
import { createShare } from '../file/create-share.ts';
import { deleteShare } from '../file/delete-share.ts';
import type { PagesContent } from '../records/blob-record.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import {
  deletedShareKey,
  endedNodeKey,
  nodeKey,
  nodePlaceOf,
  parseEndedNodeKey,
  parsePastNodeKey,
  pastNodeKey,
  permissionKey,
  permissionOf,
  placeKey,
  rootKey,
  shareKey,
  snapshotKey,
  snapshotMomentOf,
  type TreeAddress,
  treeOfKey,
  usageKey,
} from '../records/file-keys.ts';
import { garbageKey } from '../records/keys.ts';
import {
  type DirectoryRecord,
  type FileRecord,
  type NodePlace,
  type NodeRecord,
  ROOT_ID,
} from '../records/node-record.ts';
import type { ShareRecord, ShareSnapshotRecord } from '../records/share-record.ts';
import { setServiceProperties } from '../service-properties.ts';

const UNUSED_ID = '0123456789abcdef01234567';
const UNUSED_NODE_ID = '0123456789abcdef';
const GONE = { account: ACCOUNT, share: 'gone' };

/**
 * A share with a snapshot: a file whose bytes have changed since, one that was deleted, directories in each other that were
 * renamed; and a deleted share that can be restored.
 */
async function fileStore(): Promise<TestShare> {
  const share = await TestShare.create();
  const { storage } = share.store;
  await share.createDirectory('dir');
  await share.createDirectory('dir/inner');
  await share.createFile('dir/inner/Big.bin', Buffer.alloc(20_000, 'b'));
  await share.createFile('small.txt', Buffer.from('small'));
  await share.createFile('deleted.txt', Buffer.from('deleted'));
  await share.snapshot();
  await share.write('dir/inner/Big.bin', 100, Buffer.from('changed'));
  await share.delete('file', 'deleted.txt');
  await share.rename('directory', 'dir', 'moved');
  await share.createFile('new.txt', 10);
  const retention = { shareDeleteRetention: { enabled: true, days: 7 } };
  await setServiceProperties(storage, ACCOUNT, 'f', retention);
  await createShare(storage, GONE, NEW_SHARE);
  await deleteShare(storage, { name: GONE, leaseId: null, snapshot: null, deleteSnapshots: null });
  await share.store.sweep();
  await share.store.close();
  return share;
}

const check = ({ store: { engine, content } }: TestShare): Promise<CheckReport> =>
  checkStore({ engine, content, afterCrash: false });

const put = ({ store }: TestShare, key: Key, value: Uint8Array) =>
  store.engine.commit({ checks: [], puts: [{ key, value }], deletes: [] });
const remove = ({ store }: TestShare, key: Key) => store.engine.commit({ checks: [], puts: [], deletes: [key] });

const inTable = async ({ store }: TestShare, letter: string): Promise<Entry[]> =>
  (await store.entries()).filter(({ key }) => key[0] === letter.charCodeAt(0));
const firstIn = async (share: TestShare, letter: string): Promise<Entry> => (await inTable(share, letter))[0] as Entry;

/** Puts a record back in its place, changed. */
const change =
  <T>(find: (share: TestShare) => Promise<Entry>, changed: (record: T) => object) =>
  async (share: TestShare): Promise<unknown> => {
    const { key, value } = await find(share);
    return put(share, key, encodeJson(changed(decodeJson<T>(value))));
  };

const shareRow = (share: TestShare): Promise<Entry> => firstIn(share, 's');
const snapshotRow = (share: TestShare): Promise<Entry> => firstIn(share, 'p');
const changeShare = (changed: (record: ShareRecord) => ShareRecord) => change<ShareRecord>(shareRow, changed);
const changeSnapshot = (changed: (record: ShareSnapshotRecord) => ShareSnapshotRecord) =>
  change<ShareSnapshotRecord>(snapshotRow, changed);

const treeIn = async (share: TestShare): Promise<TreeAddress> => ({
  account: ACCOUNT,
  shareId: decodeJson<ShareRecord>((await shareRow(share)).value).id,
});

/** By its name; of the share, not of the deleted one. */
async function nodeRow(share: TestShare, name: string, letter = 'f'): Promise<Entry> {
  const { shareId } = await treeIn(share);
  const rows = (await inTable(share, letter)).filter(({ key }) => treeOfKey(key).shareId === shareId);
  const found = rows.find(({ value }) => decodeJson<NodeRecord>(value).name === name);
  assert.ok(found !== undefined, name);
  return found;
}
const nodeAt = async <T extends NodeRecord>(share: TestShare, name: string): Promise<T> =>
  decodeJson<T>((await nodeRow(share, name)).value);
const changeNode = <T extends NodeRecord>(name: string, changed: (node: T) => NodeRecord, letter = 'f') =>
  change<T>((share) => nodeRow(share, name, letter), changed);

/** Takes a row to another key. */
async function move(share: TestShare, { key, value }: Entry, to: Key): Promise<void> {
  await put(share, to, value);
  await remove(share, key);
}

/** A whole directory, with the note of its place. */
async function addDirectory(share: TestShare, place: NodePlace, directory: Partial<DirectoryRecord>): Promise<void> {
  const tree = await treeIn(share);
  const node = { ...(await nodeAt<DirectoryRecord>(share, 'moved')), ...directory };
  await put(share, nodeKey(tree, place), encodeJson(node));
  await put(share, placeKey(tree, node.id), encodeJson(place));
}

type Fault = readonly [what: string, plant: (share: TestShare) => Promise<unknown>, finding: RegExp];

const OF_SHARES: readonly Fault[] = [
  [
    'a share that cannot be read',
    (share) => put(share, shareKey(ACCOUNT, 'share'), Buffer.from('\u0009{}')),
    /^record s saccount1\.share cannot be read: unknown record format 9/,
  ],
  [
    'a share of an impossible name',
    async (share) => {
      const record = decodeJson<ShareRecord>((await shareRow(share)).value);
      await put(share, shareKey(ACCOUNT, 'A_b'), encodeJson({ ...record, id: UNUSED_ID }));
    },
    /^"A_b" is not a valid share name/,
  ],
  [
    'two shares of one id',
    async (share) => put(share, shareKey(ACCOUNT, 'twin'), (await shareRow(share)).value),
    /^share twin has the same id as another share/,
  ],
  [
    'a share that is marked as deleted',
    changeShare((record) => ({ ...record, deleted: { atMs: 1, untilMs: 2 } })),
    /^share share is marked as deleted, but is stored as an existing share/,
  ],
  [
    'a share that awaits the sweeper',
    async (share) => {
      const { account, shareId: id } = await treeIn(share);
      await put(share, garbageKey(UNUSED_ID), encodeJson({ kind: 'tree', account, id }));
    },
    /^share share exists, but is to be swept/,
  ],
  [
    'a deleted share that is not marked as such',
    change<ShareRecord>(
      (share) => firstIn(share, 'o'),
      (record) => ({ ...record, deleted: undefined }),
    ),
    /^deleted share gone is not marked as deleted/,
  ],
  [
    'a deleted share under the id of another',
    async (share) => move(share, await firstIn(share, 'o'), deletedShareKey(ACCOUNT, 'gone', UNUSED_ID)),
    /^deleted share gone is stored under another id/,
  ],
  [
    'a deleted share whose time nobody will see pass',
    async (share) => remove(share, (await firstIn(share, 'E')).key),
    /^deleted share gone is not scheduled to expire/,
  ],
  [
    'rows of a share that is missing',
    (share) => remove(share, shareKey(ACCOUNT, 'share')),
    /^directory "moved" \(\w+\) under \w+ of account1 belongs to no share/,
  ],
];

const OF_SNAPSHOTS: readonly Fault[] = [
  [
    'a snapshot that is missing',
    async (share) => remove(share, (await snapshotRow(share)).key),
    /should have 1 snapshots, but has 0/,
  ],
  [
    'a share that counts a snapshot too many',
    changeShare((record) => ({ ...record, snapshotCount: 2 })),
    /^share share should have 2 snapshots, but has 1/,
  ],
  [
    'a share that does not know which epoch is kept',
    changeShare((record) => ({ ...record, keptEpoch: 0 })),
    /^the newest snapshot of share share should be of epoch 0, but it is of epoch 1/,
  ],
  [
    'a share that goes on at an epoch that is kept',
    changeShare((record) => ({ ...record, epoch: 1 })),
    /^share share is at epoch 1, which already belongs to a snapshot/,
  ],
  [
    'a snapshot of an epoch that is not over',
    changeSnapshot((record) => ({ ...record, epoch: 2 })),
    /^snapshot \S+ of share share is of epoch 2, which has not ended/,
  ],
  [
    'two snapshots of one epoch',
    async (share) => {
      const tree = await treeIn(share);
      await put(share, snapshotKey(tree, '2100-01-01T00:00:00.0000000Z'), (await snapshotRow(share)).value);
    },
    /^snapshot 2100-\S+ of share share is of epoch 1, which is no later than that of the snapshot before it/,
  ],
  [
    'a snapshot later than the last that was taken',
    async (share) => {
      const row = await snapshotRow(share);
      await move(share, row, snapshotKey(treeOfKey(row.key), '2100-01-01T00:00:00.0000000Z'));
    },
    /^share share has a snapshot that is later than its last one/,
  ],
  [
    'a snapshot of no share',
    async (share) => {
      const { key, value } = await snapshotRow(share);
      const other = { account: ACCOUNT, shareId: UNUSED_ID };
      await put(share, snapshotKey(other, snapshotMomentOf(key)), value);
    },
    /^snapshot \S+ under 0123456789abcdef01234567 of account1 belongs to no share/,
  ],
];

const OF_NODES: readonly Fault[] = [
  ['a share without a root', async (share) => remove(share, rootKey(await treeIn(share))), /^share share has no root/],
  [
    'a file in the place of the root',
    async (share) => put(share, rootKey(await treeIn(share)), (await nodeRow(share, 'new.txt')).value),
    /^file "new\.txt" \(\w+\) of share share is stored as the root, but is not a root directory/,
  ],
  [
    'a file that takes itself for the root',
    changeNode('new.txt', (node) => ({ ...node, id: ROOT_ID })),
    /^file "new\.txt" .* has the id of the root/,
  ],
  [
    'a place that is noted for the root',
    async (share) => put(share, placeKey(await treeIn(share), ROOT_ID), encodeJson({ parentId: ROOT_ID, name: '' })),
    /^the location of entry 0{16} of share share is recorded, although it is the root/,
  ],
  [
    'a name that is not folded as it should be',
    changeNode('new.txt', (node) => ({ ...node, name: 'newer.txt' })),
    /^file "newer\.txt" .* is stored under the name "NEW\.TXT"/,
  ],
  [
    'a name that none can have',
    async (share) => {
      const row = await nodeRow(share, 'new.txt');
      const tree = treeOfKey(row.key);
      const place = { parentId: ROOT_ID, name: 'NUL' };
      const node = decodeJson<FileRecord>(row.value);
      await put(share, nodeKey(tree, place), encodeJson({ ...node, name: 'nul' }));
      await remove(share, row.key);
      await put(share, placeKey(tree, node.id), encodeJson(place));
    },
    /^file "nul" .* has an invalid name/,
  ],
  [
    'a name in bytes that are no text',
    async (share) => {
      const row = await nodeRow(share, 'new.txt');
      await put(share, Buffer.concat([row.key, Buffer.of(0xff)]), row.value);
    },
    /^file "new\.txt" .* has an invalid key/,
  ],
  [
    'a node whose place is not noted',
    async (share) => remove(share, placeKey(await treeIn(share), (await nodeAt(share, 'new.txt')).id)),
    /^file "new\.txt" .* has no recorded location/,
  ],
  [
    'a node whose place is noted elsewhere',
    async (share) => {
      const place = { parentId: ROOT_ID, name: 'SMALL.TXT' };
      await put(share, placeKey(await treeIn(share), (await nodeAt(share, 'new.txt')).id), encodeJson(place));
    },
    /^file "new\.txt" .* is not at its recorded location/,
  ],
  [
    'a place where something else stands',
    async (share) => {
      const place = { parentId: ROOT_ID, name: 'SMALL.TXT' };
      await put(share, placeKey(await treeIn(share), (await nodeAt(share, 'new.txt')).id), encodeJson(place));
    },
    /^the location of entry \w+ of share share holds entry \w+/,
  ],
  [
    'a place where nothing stands',
    async (share) => {
      const place = { parentId: ROOT_ID, name: 'NOTHING' };
      await put(share, placeKey(await treeIn(share), UNUSED_NODE_ID), encodeJson(place));
    },
    /^the location of entry 0123456789abcdef of share share is empty/,
  ],
  [
    'a node in a directory that is not there',
    async (share) => {
      const row = await nodeRow(share, 'new.txt');
      const place = { parentId: UNUSED_NODE_ID, name: 'NEW.TXT' };
      await move(share, row, nodeKey(treeOfKey(row.key), place));
      await put(share, placeKey(treeOfKey(row.key), decodeJson<NodeRecord>(row.value).id), encodeJson(place));
    },
    /^share share has an entry in directory 0123456789abcdef, which does not exist$/,
  ],
  [
    'a node in a file',
    async (share) => {
      const row = await nodeRow(share, 'new.txt');
      const place = { parentId: (await nodeAt(share, 'small.txt')).id, name: 'NEW.TXT' };
      await move(share, row, nodeKey(treeOfKey(row.key), place));
      await put(share, placeKey(treeOfKey(row.key), decodeJson<NodeRecord>(row.value).id), encodeJson(place));
    },
    /^share share has an entry in directory \w+, which does not exist$/,
  ],
  [
    'a directory in itself',
    async (share) => {
      const [row, tree] = [await nodeRow(share, 'moved'), await treeIn(share)];
      const { id } = decodeJson<NodeRecord>(row.value);
      const place = { parentId: (await nodeAt(share, 'inner')).id, name: 'MOVED' };
      await move(share, row, nodeKey(tree, place));
      await put(share, placeKey(tree, id), encodeJson(place));
    },
    /^share share has directory \w+ inside itself$/,
  ],
  [
    'a directory at two places',
    async (share) => {
      const { id } = await nodeAt(share, 'moved');
      await addDirectory(share, { parentId: ROOT_ID, name: 'TWIN' }, { id, name: 'twin' });
    },
    /^share share has directory \w+ in two places$/,
  ],
  [
    'a state of an epoch that has not come',
    changeNode('new.txt', (node) => ({ ...node, since: 3 })),
    /^file "new\.txt" .* is of epoch 3, but the share is at epoch 2/,
  ],
  [
    'a permission that is not there',
    changeNode('new.txt', (node) => ({ ...node, permission: '1*2' })),
    /^file "new\.txt" .* has permission 1\*2, which does not exist/,
  ],
  [
    'a permission that cannot be read',
    async (share) => put(share, permissionKey(await treeIn(share), '1*2'), Buffer.from('none')),
    /^permission 1\*2 of share share cannot be read/,
  ],
  [
    'a permission of no share',
    async (share) => {
      const { key, value } = await firstIn(share, 'a');
      await put(share, permissionKey({ account: ACCOUNT, shareId: UNUSED_ID }, permissionOf(key)), value);
    },
    /^permission \S+ under 0123456789abcdef01234567 of account1 belongs to no share/,
  ],
  [
    'a share that counts other bytes than its files have',
    async (share) => put(share, usageKey(await treeIn(share), 7), Buffer.from('0000000000000001', 'hex')),
    /^the byte count of share share is \d+, but its files have 20015 bytes/,
  ],
  [
    'a file that waits for a copy that nobody makes',
    changeNode<FileRecord>('new.txt', (node) => ({
      ...node,
      copy: pendingCopy({ id: 'nobody', source: 'http://127.0.0.1/', lengthBytes: 1 }),
    })),
    /^file "new\.txt" .* waits for a copy that has no job/,
  ],
  [
    'a node of a share in another account',
    async (share) => {
      const { key, value } = await nodeRow(share, 'new.txt');
      const tree = { ...treeOfKey(key), account: 'account2' };
      await put(share, nodeKey(tree, nodePlaceOf(key)), value);
    },
    /^file "new\.txt" \(\w+\) under \w+ of account2 belongs to no share/,
  ],
];

const pages = ({ content }: FileRecord): PagesContent => content as PagesContent;

const OF_CONTENT: readonly Fault[] = [
  [
    'content that cannot be written to',
    changeNode<FileRecord>('small.txt', (node) => ({ ...node, content: { ...pages(node), isFrozen: true } })),
    /^file "small\.txt" .* has content that is frozen/,
  ],
  [
    'earlier content that can be written to',
    changeNode<FileRecord>(
      'Big.bin',
      (node) => {
        const { isFrozen: _, ...content } = pages(node);
        return { ...node, content };
      },
      'h',
    ),
    /^file "Big\.bin" .* has content that can still be written to/,
  ],
  [
    'two files of one content',
    async (share) => {
      const { content } = await nodeAt<FileRecord>(share, 'small.txt');
      await changeNode<FileRecord>('new.txt', (node) => ({ ...node, content }))(share);
    },
    /^epoch \d+ of page map \w+ is held by two records/,
  ],
  [
    'a file at an epoch of its content that is not noted',
    changeNode<FileRecord>('small.txt', (node) => ({ ...node, content: { ...pages(node), epoch: 9 } })),
    /^a record holds epoch 9 of page map \w+, which does not exist/,
  ],
  [
    'content that no file holds',
    changeNode<FileRecord>('small.txt', (node) => ({ ...node, content: { kind: 'empty' } })),
    /^no record holds epoch \d+ of page map \w+/,
  ],
];

const pastRow = (share: TestShare): Promise<Entry> => nodeRow(share, 'deleted.txt', 'h');

const OF_PAST: readonly Fault[] = [
  [
    'an earlier state that is not in the index',
    async (share) => remove(share, (await firstIn(share, 'j')).key),
    /as it was up to epoch 1, is missing from the index/,
  ],
  [
    'an index of earlier states that are not there',
    async (share) => remove(share, (await pastRow(share)).key),
    /^the index of share share lists a state of "DELETED\.TXT", up to epoch 1, that does not exist/,
  ],
  [
    'an index of another beginning',
    async (share) => {
      const { key, value } = await firstIn(share, 'j');
      await put(share, endedNodeKey(treeOfKey(key), { ...parseEndedNodeKey(key), since: 0 }), value);
    },
    /^the index of share share lists a state of ".*", up to epoch 1, that began in another epoch/,
  ],
  [
    'an earlier state that ends before it begins',
    changeNode('deleted.txt', (node) => ({ ...node, since: 2 }), 'h'),
    /^file "deleted\.txt" .* ends before it begins/,
  ],
  [
    'an earlier state of an epoch that is not over',
    async (share) => {
      const row = await pastRow(share);
      await put(share, pastNodeKey(treeOfKey(row.key), parsePastNodeKey(row.key), 2), row.value);
    },
    /up to epoch 2, is kept for an epoch that has not ended/,
  ],
  [
    'earlier states that lie over each other',
    async (share) => {
      const row = await pastRow(share);
      await put(share, pastNodeKey(treeOfKey(row.key), parsePastNodeKey(row.key), 2), row.value);
    },
    /up to epoch 2, overlaps an earlier state/,
  ],
  [
    'an earlier state that lies over the current one',
    changeNode('Big.bin', (node) => ({ ...node, since: 1 })),
    /^file "Big\.bin" .* overlaps the current state/,
  ],
  [
    'an earlier state that no snapshot sees',
    async (share) => {
      await remove(share, (await snapshotRow(share)).key);
      await changeShare((record) => ({ ...record, snapshotCount: 0, keptEpoch: 0 }))(share);
    },
    /^file "deleted\.txt" .* is kept, although no snapshot contains it/,
  ],
  [
    'a snapshot without the directory of its files',
    async (share) => {
      const { key } = await nodeRow(share, 'dir', 'h');
      await remove(share, key);
    },
    /^share share has an entry in directory \w+, which does not exist, in the snapshot of epoch 1/,
  ],
  [
    'a snapshot in which a directory stands twice',
    changeNode('moved', (node) => ({ ...node, since: 1 })),
    /^share share has directory \w+ in two places, in the snapshot of epoch 1/,
  ],
];

for (const [what, rows] of [
  ['shares', OF_SHARES],
  ['snapshots of shares', OF_SNAPSHOTS],
  ['files and directories', OF_NODES],
  ['the content of files', OF_CONTENT],
  ['earlier states of files and directories', OF_PAST],
] as const) {
  describe(`of ${what} a check finds`, () => {
    for (const [fault, plant, finding] of rows) {
      test(fault, async () => {
        const share = await fileStore();
        await plant(share);
        const { findings } = await check(share);
        assert.ok(
          findings.some((text) => finding.test(text)),
          findings.join('\n'),
        );
      });
    }
  });
}

describe('a check', () => {
  test('finds nothing wrong with shares, and counts what they have', async () => {
    const report = await check(await fileStore());
    assert.deepEqual(report.findings, []);
    const { shares, directories, files, pastFiles } = report;
    assert.deepEqual({ shares, directories, files, pastFiles }, { shares: 2, directories: 2, files: 3, pastFiles: 3 });
  });

  test('takes what awaits the sweeper for what it is', async () => {
    const share = await fileStore();
    await share.store.reopen();
    const { storage } = share.store;
    const { moment } = { moment: snapshotMomentOf((await snapshotRow(share)).key) };
    await share.deleteSnapshot(moment);
    const afterSnapshot = await check(share);
    assert.deepEqual(afterSnapshot.findings, []);
    assert.ok(afterSnapshot.awaitingSweep > 0);
    await setServiceProperties(storage, ACCOUNT, 'f', { shareDeleteRetention: { enabled: false } });
    await deleteShare(storage, { name: share.name, leaseId: null, snapshot: null, deleteSnapshots: null });
    const afterShare = await check(share);
    assert.deepEqual(afterShare.findings, []);
    assert.deepEqual([afterShare.shares, afterShare.files], [1, 0]);
    await share.store.sweep();
    assert.deepEqual((await check(share)).findings, []);
    const left = (await share.store.entries()).map(({ key }) => asBuffer(key).toString('latin1', 0, 1));
    assert.deepEqual([...new Set(left)].sort(), ['E', 'P', 'a', 'f', 'o']);
    await share.store.close();
  });
});
