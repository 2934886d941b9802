import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findRole, grantablePermissions, grantOf, ROLE_NAMES, type RoleName } from './roles.ts';

const EVERY_LETTER = 'racwdxyltfmeopi';
const OWNER = 'Storage Blob Data Owner';
const CONTRIBUTOR = 'Storage Blob Data Contributor';
const READER = 'Storage Blob Data Reader';
const DELEGATOR = 'Storage Blob Delegator';

const rows: readonly (readonly [
  names: readonly RoleName[],
  permissions: string,
  controls: boolean,
  delegates: boolean,
])[] = [
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

test('a role of the Blob service allows nothing at another', () => {
  for (const service of ['q', 't', 'f'] as const) {
    assert.deepEqual(grantOf([OWNER], service), { permissions: '', controls: false, delegates: false });
  }
});

test('whatever roles someone has, what they allow is among what can be granted', () => {
  const grantable = grantablePermissions('b');
  assert.deepEqual(grantable, [EVERY_LETTER, 'racwdltfm', 'rl', '']);
  for (let chosen = 0; chosen < 2 ** ROLE_NAMES.length; chosen++) {
    const names = ROLE_NAMES.filter((_, index) => (chosen & (1 << index)) !== 0);
    assert.ok(grantable.includes(grantOf(names, 'b').permissions), names.join());
  }
});

for (const [text, name] of [
  ['Storage Blob Data Reader', READER],
  ['StorageBlobDataReader', READER],
  ['storage.blob.data.reader', READER],
  ['STORAGE-BLOB-DATA_OWNER', OWNER],
  ['Storage Blob Delegator', DELEGATOR],
  ['Reader', null],
  ['Storage Blob Data', null],
  ['', null],
] as const) {
  test(`"${text}" is ${name ?? 'no role'}`, () => assert.equal(findRole(text), name));
}
