import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { refusal, type TestShare } from '../../../../test/harness/file-store.ts';
import { TwoNodes } from '../../../../test/harness/two-nodes.ts';
import { ARCHIVE, DIRECTORY, HIDDEN, READ_ONLY, TEMPORARY } from '../../../rules/file-attributes.ts';
import { fileTimeAt } from '../../../rules/file-time.ts';
import { INFINITE_SECONDS } from '../../../rules/lease.ts';
import type { DescriptorParts } from '../../../rules/merged-descriptor.ts';
import { formatSddl, parseSddl } from '../../../rules/sddl.ts';
import { decodeDescriptor, encodeDescriptor, type SecurityDescriptor } from '../../../rules/security-descriptor.ts';
import { NO_ACCESS, READS } from '../../../rules/share-mode.ts';
import type { FileRecord, NodeRecord } from '../../records/node-record.ts';
import { getFileProperties } from '../get-file.ts';
import { leaseFile } from '../lease-file.ts';
import { getPermission } from '../permissions.ts';
import { allocateOpen } from './allocate-open.ts';
import { type OpenProperties, setOpenProperties, setOpenSecurity } from './set-open.ts';
import type { ThroughOpen } from './through-open.ts';
import { OpenClosed } from './use-open.ts';

const KEEP: OpenProperties = {
  attributes: null,
  createdAt: null,
  accessedAt: null,
  writtenAt: null,
  changedAt: null,
  keepsChangedAt: false,
};

const NO_PARTS: DescriptorParts = { owner: false, group: false, dacl: false, sacl: false };
const LEASE_ID = 'aaaaaaaa-0000-0000-0000-000000000000';

let nodes: TwoNodes;
let share: TestShare;

beforeEach(async () => {
  nodes = await TwoNodes.start();
  ({ share } = nodes);
  await share.createDirectory('d');
  await share.createFile('f', Buffer.from('hello'), { metadata: [['colour', 'blue']] });
});

afterEach(() => nodes.end());

async function openThrough(path: string, snapshot: string | null = null): Promise<ThroughOpen> {
  const { id, place } = await nodes.here.open(path, { access: NO_ACCESS, snapshot });
  return { openId: id, place, name: share.nameOf(path, snapshot) };
}

const set = (open: ThroughOpen, changes: Partial<OpenProperties>): Promise<NodeRecord> =>
  setOpenProperties(share.store.storage, open, { ...KEEP, ...changes }, {});

const fileAt = async (path: string): Promise<FileRecord> =>
  (await getFileProperties(share.store.storage, share.requestOf(path))).node;

const now = (): string => fileTimeAt(share.store.clock.nowMs());

describe('attributes and times', () => {
  test('are kept to a tenth of a microsecond, with a new ETag, and what REST has stays', async () => {
    const before = await fileAt('f');
    share.store.clock.advance({ seconds: 5 });
    const times = {
      createdAt: '100000000000000001',
      accessedAt: '100000000000000002',
      writtenAt: '100000000000000003',
    };
    const changedAt = '100000000000000004';
    await set(await openThrough('f'), { attributes: HIDDEN | READ_ONLY, ...times, changedAt });
    const after = await fileAt('f');
    assert.ok(after.etag > before.etag);
    assert.deepEqual(after, {
      ...before,
      ...times,
      changedAt,
      attributes: HIDDEN | READ_ONLY,
      etag: after.etag,
      lastModifiedMs: share.store.clock.nowMs(),
    });
    assert.deepEqual(await share.read('f'), Buffer.from('hello'));
  });

  test('change the time of change, unless that is kept', async () => {
    const before = await fileAt('f');
    const open = await openThrough('f');
    share.store.clock.advance({ seconds: 5 });
    await set(open, { attributes: HIDDEN, keepsChangedAt: true });
    assert.equal((await fileAt('f')).changedAt, before.changedAt);
    await set(open, { attributes: ARCHIVE });
    assert.deepEqual([(await fileAt('f')).changedAt, (await fileAt('f')).writtenAt], [now(), before.writtenAt]);
  });

  test('take the mark of read-only off a file, and give none to one that is to have none', async () => {
    const open = await openThrough('f');
    await set(open, { attributes: READ_ONLY });
    assert.equal(await refusal(share.write('f', 0, Buffer.from('x'))), 'ReadOnlyAttribute');
    await set(open, { attributes: 0x80 });
    assert.equal((await fileAt('f')).attributes, 0);
    await share.write('f', 0, Buffer.from('x'));
  });

  test('of a directory and of the root say that they are directories', async () => {
    for (const path of ['d', '']) {
      const open = await openThrough(path);
      assert.equal((await set(open, { attributes: HIDDEN })).attributes, HIDDEN | DIRECTORY);
      assert.equal(await refusal(set(open, { attributes: TEMPORARY })), 'InvalidInput');
    }
    assert.equal(await refusal(set(await openThrough('f'), { attributes: DIRECTORY })), 'InvalidInput');
  });

  test('are set while REST has a lease, which stays', async () => {
    const action = {
      action: 'acquire',
      proposedId: LEASE_ID,
      freshId: LEASE_ID,
      durationSeconds: INFINITE_SECONDS,
    } as const;
    await leaseFile(share.store.storage, { ...share.requestOf('f'), action });
    await set(await openThrough('f'), { attributes: HIDDEN });
    const { attributes, lease } = await fileAt('f');
    assert.deepEqual([attributes, lease.state], [HIDDEN, 'leased']);
  });

  test('take nothing from those who cache the file', async () => {
    await nodes.there.open('f', { access: READS, caching: 'RWH', leaseKey: 'k' });
    await set(await openThrough('f'), { attributes: HIDDEN });
    assert.deepEqual(nodes.there.unheard, []);
  });

  test('stay in a snapshot as they were, and are not set there', async () => {
    const before = await fileAt('f');
    const snapshot = await share.snapshot();
    assert.equal(await refusal(set(await openThrough('f', snapshot), { attributes: HIDDEN })), 'ReadOnlyAttribute');
    await set(await openThrough('f'), { attributes: HIDDEN });
    const request = { ...share.requestOf('f'), name: share.nameOf('f', snapshot) };
    assert.equal((await getFileProperties(share.store.storage, request)).node.attributes, before.attributes);
  });

  test('are not set through what is closed', async () => {
    const open = await openThrough('f');
    await nodes.here.opens.close(open.openId);
    await assert.rejects(set(open, { attributes: HIDDEN }), OpenClosed);
  });

  test('are followed to where the file was moved', async () => {
    const open = await openThrough('f');
    await share.rename('file', 'f', 'd/n');
    await set(open, { attributes: HIDDEN });
    assert.equal((await fileAt('d/n')).attributes, HIDDEN);
  });
});

const bytesOf = (sddl: string): Uint8Array => encodeDescriptor(parseSddl(sddl) as SecurityDescriptor);

async function secure(
  path: string,
  sddl: string,
  parts: Partial<DescriptorParts>,
  { keepsChangedAt = false } = {},
): Promise<string> {
  const asked = { parts: { ...NO_PARTS, ...parts }, descriptor: bytesOf(sddl), keepsChangedAt };
  const { permission } = await setOpenSecurity(share.store.storage, await openThrough(path), asked, {});
  const descriptor = decodeDescriptor(await getPermission(share.store.storage, share.name, permission));
  return formatSddl(descriptor as SecurityDescriptor);
}

describe('a security descriptor', () => {
  test('is set part by part, and what is not said stays', async () => {
    await secure('f', 'O:BAG:BUD:(A;;FA;;;WD)', { owner: true, group: true, dacl: true });
    assert.equal(await secure('f', 'D:P(A;;FR;;;SY)', { dacl: true }), 'O:BAG:BUD:P(A;;FR;;;SY)');
    assert.equal(await secure('f', 'O:SY', { owner: true }), 'O:SYG:BUD:P(A;;FR;;;SY)');
    assert.equal(
      await secure('f', 'O:WDG:WDS:(AU;SA;FA;;;WD)', { sacl: true }),
      'O:SYG:BUD:P(A;;FR;;;SY)S:(AU;SA;FA;;;WD)',
    );
  });

  test('has the same key as one that REST creates', async () => {
    await secure('f', 'O:BAG:BUD:P(A;;FA;;;WD)', { owner: true, group: true, dacl: true });
    await secure('d', 'O:BAG:BUD:P(A;;FA;;;WD)', { owner: true, group: true, dacl: true });
    const { permission } = await fileAt('f');
    assert.equal((await set(await openThrough('d'), { attributes: HIDDEN })).permission, permission);
  });

  test('of a directory is inherited by what is created in it, by whatever door', async () => {
    await secure('d', 'O:BAG:BUD:(A;OICI;FA;;;WD)', { owner: true, group: true, dacl: true });
    const { permission } = await share.createFile('d/new', 1);
    const descriptor = decodeDescriptor(await getPermission(share.store.storage, share.name, permission));
    assert.equal(formatSddl(descriptor as SecurityDescriptor), 'O:BAG:BUD:AI(A;ID;FA;;;WD)');
  });

  test('can be set on the root', async () => {
    assert.equal(await secure('', 'D:(A;;FA;;;WD)', { dacl: true }), 'O:SYG:SYD:(A;;FA;;;WD)');
  });

  test('gives a new ETag, and a time of change unless that is kept', async () => {
    const before = await fileAt('f');
    share.store.clock.advance({ seconds: 5 });
    await secure('f', 'O:BA', { owner: true }, { keepsChangedAt: true });
    const kept = await fileAt('f');
    assert.ok(kept.etag > before.etag);
    assert.equal(kept.changedAt, before.changedAt);
    await secure('f', 'O:SY', { owner: true });
    assert.equal((await fileAt('f')).changedAt, now());
  });

  test('that cannot be read is refused', async () => {
    const asked = { parts: { ...NO_PARTS, dacl: true }, descriptor: Buffer.alloc(8), keepsChangedAt: false };
    const setting = setOpenSecurity(share.store.storage, await openThrough('f'), asked, {});
    assert.equal(await refusal(setting), 'FileInvalidPermission');
  });
});

const allocate = async (path: string, allocationBytes: number, keepsChangedAt = false): Promise<boolean> =>
  allocateOpen(share.store.storage, await openThrough(path), { allocationBytes, keepsChangedAt }, {});

describe('room that is asked for in advance', () => {
  test('changes the time of change alone, unless that is kept', async () => {
    const before = await fileAt('f');
    share.store.clock.advance({ seconds: 5 });
    assert.equal(await allocate('f', 1_000, true), true);
    assert.deepEqual(await fileAt('f'), before);
    assert.equal(await allocate('f', 1_000), true);
    assert.deepEqual(await fileAt('f'), { ...before, changedAt: now() });
  });

  test('is not enough where the file is longer', async () => {
    assert.equal(await allocate('f', 4), false);
    assert.equal(await allocate('f', 5), true);
  });

  test('is refused beyond the quota, and beyond what a file can have', async () => {
    const GIB = 1024 ** 3;
    assert.equal(await refusal(allocate('f', 5_121 * GIB)), 'ShareSizeLimitReached');
    assert.equal(await refusal(allocate('f', 4_097 * GIB)), 'ShareSizeLimitReached');
    assert.equal(await allocate('f', 4_000 * GIB), true);
  });

  test('is not for directories', async () => {
    assert.equal(await refusal(allocate('d', 1)), 'ResourceTypeMismatch');
  });
});
