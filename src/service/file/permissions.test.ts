import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { TestShare } from '../../../test/harness/file-store.ts';
import { together } from '../../../test/harness/parallel.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { formatSddl, parseSddl } from '../../rules/sddl.ts';
import { decodeDescriptor, encodeDescriptor, type SecurityDescriptor } from '../../rules/security-descriptor.ts';
import { permissionsRange } from '../records/file-keys.ts';
import { StorageError } from '../storage-error.ts';
import { createShare } from './create-share.ts';
import { treeOf } from './load.ts';
import { createPermission, getPermission, type PermissionChoice } from './permissions.ts';
import { NO_CHANGES, type PropertyChanges } from './properties.ts';
import { getDirectory, setDirectoryProperties } from './use-directory.ts';
import { lookUpShare } from './use-share.ts';

const FULL = 'O:BAG:BAD:P(A;OICI;FA;;;BA)';
const READ = 'O:BAG:BUD:(A;;FR;;;BU)';

const bytesOf = (sddl: string): Uint8Array => encodeDescriptor(parseSddl(sddl) as SecurityDescriptor);
const textOf = (bytes: Uint8Array): string => formatSddl(decodeDescriptor(bytes) as SecurityDescriptor);
const withPermission = (permission: PermissionChoice): { properties: PropertyChanges } => ({
  properties: { ...NO_CHANGES, permission },
});
const descriptor = (sddl: string): PermissionChoice => ({ kind: 'descriptor', descriptor: bytesOf(sddl) });

const sddlOf = async (share: TestShare, key: string): Promise<string> =>
  textOf(await getPermission(share.store.storage, share.name, key));

async function rowCount({ store: { storage }, name }: TestShare): Promise<number> {
  const share = await lookUpShare(storage, name);
  assert.ok(share);
  const snapshot = storage.engine.snapshot();
  const rows = await snapshot.range(permissionsRange(treeOf(name, share)), { limit: 100 });
  snapshot.close();
  return rows.length;
}

const refusedAs = (code: string) => (error: unknown) => error instanceof StorageError && error.code === code;

test('what is created in a share inherits, and what has the same descriptor has the same key', async () => {
  const share = await TestShare.create();
  const directory = await share.createDirectory('d');
  const [file, below, other] = [
    await share.createFile('f', 1),
    await share.createFile('d/f', 1),
    await share.createDirectory('d/d'),
  ];
  assert.equal(file.permission, below.permission);
  assert.equal(directory.permission, other.permission);
  assert.notEqual(file.permission, directory.permission);
  assert.match(await sddlOf(share, file.permission), /^O:SYG:SYD:AI\(A;ID;FA;;;BA\)/);
  assert.match(await sddlOf(share, directory.permission), /^O:SYG:SYD:AI\(A;OICIID;FA;;;BA\)/);
  assert.match(file.permission, /^\d{1,20}\*\d{1,20}$/);
  assert.equal(await rowCount(share), 3);
});

test('what is created with a descriptor of its own hands that down', async () => {
  const share = await TestShare.create();
  const directory = await share.createDirectory('d', withPermission(descriptor(FULL)));
  assert.equal(await sddlOf(share, directory.permission), FULL);
  const file = await share.createFile('d/f', 1);
  assert.equal(await sddlOf(share, file.permission), 'O:BAG:BAD:AI(A;ID;FA;;;BA)');
});

test('what a descriptor does not say is inherited, where that is asked for', async () => {
  const share = await TestShare.create();
  await share.createDirectory('d', withPermission(descriptor(FULL)));
  const nothing = encodeDescriptor({ owner: null, group: null, dacl: null, sacl: null });
  for (const [name, said, want] of [
    ['nothing', nothing, 'O:BAG:BAD:AI(A;ID;FA;;;BA)'],
    ['owner', bytesOf('O:SY'), 'O:SYG:BAD:AI(A;ID;FA;;;BA)'],
    ['list', bytesOf('D:(A;;FR;;;BU)'), 'O:BAG:BAD:(A;;FR;;;BU)'],
    ['everybody', bytesOf('D:NO_ACCESS_CONTROL'), 'O:BAG:BAD:NO_ACCESS_CONTROL'],
    ['all', bytesOf('O:SYG:SYD:S:(AU;SA;FA;;;WD)'), 'O:SYG:SYD:S:(AU;SA;FA;;;WD)'],
  ] as const) {
    const given = withPermission({ kind: 'partial descriptor', descriptor: said });
    const { permission } = await share.createFile(`d/${name}`, 1, given);
    assert.equal(await sddlOf(share, permission), want);
  }
});

test('a descriptor that was created before is named by its key, in its share alone', async () => {
  const share = await TestShare.create();
  const { storage } = share.store;
  const key = await createPermission(storage, share.name, bytesOf(READ));
  assert.equal(await createPermission(storage, share.name, bytesOf(READ)), key);
  assert.equal(await sddlOf(share, key), READ);
  const file = await share.createFile('f', 1, withPermission({ kind: 'key', key }));
  assert.equal(file.permission, key);
  const other = new TestShare(share.store, 'other');
  await createShare(storage, other.name, { metadata: [], quotaGiB: 1, tier: 'Hot' });
  await assert.rejects(other.createFile('f', 1, withPermission({ kind: 'key', key })), refusedAs('InvalidHeaderValue'));
  await assert.rejects(getPermission(storage, other.name, key), refusedAs('ResourceNotFound'));
});

test('a share that is not there has no permissions', async () => {
  const { store } = await TestShare.create();
  const nowhere = { account: 'acme', share: 'nowhere' };
  await assert.rejects(createPermission(store.storage, nowhere, bytesOf(READ)), refusedAs('ShareNotFound'));
  await assert.rejects(getPermission(store.storage, nowhere, '1*2'), refusedAs('ShareNotFound'));
});

test('bytes that are no descriptor are refused', async () => {
  const share = await TestShare.create();
  const garbled: PermissionChoice = { kind: 'descriptor', descriptor: Buffer.from('garbled') };
  await assert.rejects(share.createFile('f', 1, withPermission(garbled)), refusedAs('FileInvalidPermission'));
});

test('a list that would be too long for what inherits it is not handed down', async () => {
  const share = await TestShare.create();
  // For a directory, an entry about whoever creates becomes two.
  const long = `O:SYG:SYD:${'(A;OICI;FA;;;CO)'.repeat(3_000)}`;
  await share.createDirectory('d', withPermission(descriptor(long)));
  await assert.rejects(share.createDirectory('d/e'), refusedAs('FileInvalidPermission'));
  const { permission } = await share.createFile('d/f', 1);
  assert.match(await sddlOf(share, permission), /^O:SYG:SYD:AI\(A;ID;FA;;;SY\)/);
});

const changed = async (share: TestShare, path: string, permission: PermissionChoice): Promise<string> => {
  const { node } = await setDirectoryProperties(share.store.storage, {
    ...share.requestOf(path),
    ...withPermission(permission),
  });
  return sddlOf(share, node.permission);
};

describe('what is there', () => {
  test('keeps its descriptor where nothing is said, and inherits when it is told to', async () => {
    const share = await TestShare.create();
    await share.createDirectory('d', withPermission(descriptor(FULL)));
    await share.createDirectory('d/e', withPermission(descriptor(READ)));
    assert.equal(await changed(share, 'd/e', { kind: 'unsaid' }), READ);
    assert.equal(await changed(share, 'd/e', { kind: 'inherit' }), 'O:BAG:BAD:AI(A;OICIID;FA;;;BA)');
    assert.equal(await changed(share, 'd/e', descriptor(READ)), READ);
  });

  test('at the root goes back to what it was in a new share', async () => {
    const share = await TestShare.create();
    const { node: root } = await getDirectory(share.store.storage, share.requestOf(''));
    const before = await sddlOf(share, root.permission);
    assert.equal(await changed(share, '', descriptor(FULL)), FULL);
    assert.equal(await changed(share, '', { kind: 'inherit' }), before);
  });
});

test('the root of a new share has the descriptor that the service gives it', async () => {
  const share = await TestShare.create();
  const { node } = await getDirectory(share.store.storage, share.requestOf(''));
  assert.equal(
    await sddlOf(share, node.permission),
    'O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICI;0x1301bf;;;AU)(A;;FA;;;SY)(A;OICIIO;GA;;;CO)',
  );
});

test('many who create with the same new descriptor at once leave one row', async () => {
  const share = await TestShare.create();
  const results = await together(20, (index) => share.createFile(`f${index}`, 1, withPermission(descriptor(READ))));
  assert.ok(results.every(({ status }) => status === 'fulfilled'));
  assert.equal(await rowCount(share), 2);
});

test('once the row is durable, creating a file asks for no permission and writes none', async () => {
  const engine = new CountedEngine(openMemoryEngine());
  const share = await TestShare.create({ engine });
  await share.createDirectory('d');
  const costs = [];
  for (const name of ['a', 'b', 'c']) costs.push(await engine.costOf(() => share.createFile(`d/${name}`, 0)));
  const [first, second, third] = costs;
  assert.ok(first && second && third);
  assert.equal(first.puts - second.puts, 1, 'the row');
  assert.ok(first.keysAsked > second.keysAsked, 'whether it is there');
  assert.deepEqual(third, second);
});
