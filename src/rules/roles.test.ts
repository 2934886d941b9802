import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findRole, grantablePermissions, grantOf, ROLE_NAMES, type RoleName } from './roles.ts';

const EVERY_LETTER = 'racwdxyltfmeopi';
const OWNER = 'Storage Blob Data Owner';
const CONTRIBUTOR = 'Storage Blob Data Contributor';
const READER = 'Storage Blob Data Reader';
const DELEGATOR = 'Storage Blob Delegator';
const QUEUE_CONTRIBUTOR = 'Storage Queue Data Contributor';
const QUEUE_READER = 'Storage Queue Data Reader';
const PROCESSOR = 'Storage Queue Data Message Processor';
const SENDER = 'Storage Queue Data Message Sender';
const QUEUE_DELEGATOR = 'Storage Queue Delegator';
const TABLE_CONTRIBUTOR = 'Storage Table Data Contributor';
const TABLE_READER = 'Storage Table Data Reader';
const TABLE_DELEGATOR = 'Storage Table Delegator';
const ACCOUNT_CONTRIBUTOR = 'Storage Account Contributor';
const FILE_CONTRIBUTOR = 'Storage File Data Privileged Contributor';
const FILE_READER = 'Storage File Data Privileged Reader';
const FILE_DELEGATOR = 'Storage File Delegator';
const OF_SMB = [
  'Storage File Data SMB Share Elevated Contributor',
  'Storage File Data SMB Share Contributor',
  'Storage File Data SMB Share Reader',
] as const;

type Row = readonly [names: readonly RoleName[], permissions: string, controls: boolean, delegates: boolean];

const rows: readonly Row[] = [
  [[], '', false, false],
  [[OWNER], EVERY_LETTER, true, true],
  [[CONTRIBUTOR], 'racwdltfm', false, true],
  [[READER], 'rl', false, true],
  [[DELEGATOR], '', false, true],
  [[DELEGATOR, READER], 'rl', false, true],
  [[READER, CONTRIBUTOR], 'racwdltfm', false, true],
  [[READER, OWNER, DELEGATOR], EVERY_LETTER, true, true],
];

for (const [names, permissions, controls, delegates] of rows) {
  test(`${names.join(' and ') || 'no role'} allows "${permissions}"`, () => {
    assert.deepEqual(grantOf(names, 'b'), { permissions, controls, delegates });
  });
}

const queueRows: readonly Row[] = [
  [[QUEUE_CONTRIBUTOR], 'racwdlpu', false, false],
  [[QUEUE_READER], 'rl', false, false],
  [[PROCESSOR], 'rp', false, false],
  [[SENDER], 'a', false, false],
  [[QUEUE_DELEGATOR], '', false, true],
  [[SENDER, PROCESSOR], 'rap', false, false],
  [[PROCESSOR, QUEUE_READER], 'rlp', false, false],
  [[QUEUE_DELEGATOR, SENDER], 'a', false, true],
  [[SENDER, QUEUE_CONTRIBUTOR, QUEUE_DELEGATOR], 'racwdlpu', false, true],
  [[OWNER, TABLE_CONTRIBUTOR, SENDER], 'a', false, false],
];

for (const [names, permissions, controls, delegates] of queueRows) {
  test(`${names.join(' and ')} allows "${permissions}" at queues`, () => {
    assert.deepEqual(grantOf(names, 'q'), { permissions, controls, delegates });
  });
}

const tableRows: readonly Row[] = [
  [[TABLE_CONTRIBUTOR], 'racwdlu', false, false],
  [[TABLE_READER], 'rl', false, false],
  [[TABLE_DELEGATOR], '', false, true],
  [[TABLE_DELEGATOR, TABLE_READER], 'rl', false, true],
  [[TABLE_READER, TABLE_CONTRIBUTOR, TABLE_DELEGATOR], 'racwdlu', false, true],
  [[OWNER, TABLE_READER], 'rl', false, false],
];

for (const [names, permissions, controls, delegates] of tableRows) {
  test(`${names.join(' and ')} allows "${permissions}" at tables`, () => {
    assert.deepEqual(grantOf(names, 't'), { permissions, controls, delegates });
  });
}

const fileRows: readonly Row[] = [
  [[FILE_CONTRIBUTOR], 'rcwdl', false, false],
  [[FILE_READER], 'rl', false, false],
  [[FILE_DELEGATOR], '', false, true],
  [[ACCOUNT_CONTRIBUTOR], '', true, true],
  [OF_SMB, '', false, false],
  [[FILE_DELEGATOR, FILE_READER], 'rl', false, true],
  [[ACCOUNT_CONTRIBUTOR, FILE_CONTRIBUTOR], 'rcwdl', true, true],
  [[OWNER, QUEUE_CONTRIBUTOR, FILE_READER], 'rl', false, false],
];

for (const [names, permissions, controls, delegates] of fileRows) {
  test(`${names.join(' and ')} allows "${permissions}" at files`, () => {
    assert.deepEqual(grantOf(names, 'f'), { permissions, controls, delegates });
  });
}

test('a role of one service allows nothing at another', () => {
  for (const [name, services] of [
    [OWNER, ['q', 't', 'f']],
    [QUEUE_CONTRIBUTOR, ['b', 't', 'f']],
    [TABLE_CONTRIBUTOR, ['b', 'q', 'f']],
    [FILE_CONTRIBUTOR, ['b', 'q', 't']],
    [ACCOUNT_CONTRIBUTOR, ['b', 'q', 't']],
  ] as const) {
    for (const service of services) {
      assert.deepEqual(grantOf([name], service), { permissions: '', controls: false, delegates: false }, service);
    }
  }
});

test('whatever roles someone has, what they allow is among what can be granted', () => {
  assert.deepEqual(grantablePermissions('b'), [EVERY_LETTER, 'racwdltfm', 'rl', '']);
  assert.deepEqual(grantablePermissions('q'), ['racwdlpu', 'ralp', 'rlp', 'ral', 'rap', 'rl', 'rp', 'a', '']);
  assert.deepEqual(grantablePermissions('t'), ['racwdlu', 'rl', '']);
  assert.deepEqual(grantablePermissions('f'), ['rcwdl', 'rl', '']);
  for (const [service, word] of [
    ['b', 'Blob'],
    ['q', 'Queue'],
    ['t', 'Table'],
    ['f', 'File'],
  ] as const) {
    const grantable = grantablePermissions(service);
    const ofService = ROLE_NAMES.filter((name) => name.includes(` ${word} `));
    for (let chosen = 0; chosen < 2 ** ofService.length; chosen++) {
      const names = ofService.filter((_, index) => (chosen & (1 << index)) !== 0);
      assert.ok(grantable.includes(grantOf(names, service).permissions), names.join());
    }
  }
});

for (const [text, name] of [
  ['Storage Blob Data Reader', READER],
  ['StorageBlobDataReader', READER],
  ['storage.blob.data.reader', READER],
  ['STORAGE-BLOB-DATA_OWNER', OWNER],
  ['Storage Blob Delegator', DELEGATOR],
  ['storage-queue-data-message-processor', PROCESSOR],
  ['StorageQueueDataMessageSender', SENDER],
  ['Storage Table Data Contributor', TABLE_CONTRIBUTOR],
  ['storagetabledatareader', TABLE_READER],
  ['storagefiledataprivilegedreader', FILE_READER],
  ['Storage File Data SMB Share Reader', OF_SMB[2]],
  ['Reader', null],
  ['Storage Blob Data', null],
  ['', null],
] as const) {
  test(`"${text}" is ${name ?? 'no role'}`, () => assert.equal(findRole(text), name));
}
