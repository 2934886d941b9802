/** Who may do what with files: every operation against every kind of token and every role. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantOf, ROLE_NAMES, type RoleName } from '../rules/roles.ts';
import { refuseNeed } from './authorize.ts';
import type { Identity, Need } from './identity.ts';
import { fileNeeds } from './needs.ts';

const account = 'a';
const owner: Identity = { kind: 'owner', account };
const anonymous: Identity = { kind: 'anonymous', publicAccess: null };
const accountSas = (services: string, resourceTypes: string, permissions: string): Identity => ({
  kind: 'accountSas',
  account,
  services,
  resourceTypes,
  permissions,
});
const serviceSas = (permissions: string): Identity => ({ kind: 'serviceSas', account, permissions, overrides: {} });

const bearer = (...roles: RoleName[]): Identity => {
  const { permissions, controls, delegates } = grantOf(roles, 'f');
  const delegationKey = delegates ? () => 'key' : null;
  return { kind: 'bearer', account, objectId: 'o', tenantId: 't', permissions, controls, delegationKey };
};
/** A token with all letters, signed with a key of somebody in these roles. */
const delegatedBy = (...roles: RoleName[]): Identity => {
  const { permissions: holderPermissions } = grantOf(roles, 'f');
  const permissions = 'rcwdl'.split('').filter((letter) => holderPermissions.includes(letter));
  return { kind: 'serviceSas', account, permissions: permissions.join(''), overrides: {}, holderPermissions };
};

const codeOf = (identity: Identity, need: Need, version = '2024-11-04'): string =>
  refuseNeed(identity, need, { service: 'f', version })?.code ?? 'allowed';

type Operation = keyof typeof fileNeeds;

/** Operation, resource type, letters of which each is enough, whether a service SAS will do. */
const tabled: readonly (readonly [
  operation: Operation,
  resourceType: string,
  letters: string,
  byServiceSas: boolean,
])[] = [
  ['getServiceProperties', 's', 'r', false],
  ['setServiceProperties', 's', 'w', false],
  ['listShares', 's', 'l', false],
  ['createShare', 'c', 'cw', false],
  ['snapshotShare', 'c', 'cw', false],
  ['getShareProperties', 'c', 'r', false],
  ['getShareMetadata', 'c', 'r', false],
  ['getShareStats', 'c', 'r', false],
  ['setShareProperties', 'c', 'w', false],
  ['setShareMetadata', 'c', 'w', false],
  ['leaseShare', 'c', 'w', false],
  ['deleteShare', 'c', 'd', false],
  ['restoreShare', 'c', 'w', false],
  ['getShareAcl', '', '', false],
  ['setShareAcl', '', '', false],
  ['createPermission', 'c', 'w', true],
  ['getPermission', 'c', 'r', true],
  ['listDirectoriesAndFiles', 'c', 'l', true],
  ['createDirectory', 'o', 'cw', true],
  ['getDirectory', 'o', 'r', true],
  ['setDirectory', 'o', 'w', true],
  ['deleteDirectory', 'o', 'd', true],
  ['createFile', 'o', 'cw', true],
  ['getFile', 'o', 'r', true],
  ['setFile', 'o', 'w', true],
  ['copyFile', 'o', 'cw', true],
  ['deleteFile', 'o', 'd', true],
  ['leaseFile', 'o', 'w', true],
  ['rename', 'o', 'w', true],
  ['renameSource', 'o', 'd', true],
  ['listHandles', 'o', 'r', true],
  ['forceCloseHandles', 'o', 'w', true],
];

const EVERY_LETTER = 'rwdxylacuptfimeo';
/** Each letter alone, and all but one. */
const LETTER_SETS = EVERY_LETTER.split('').flatMap((letter) => [letter, EVERY_LETTER.replace(letter, '')]);

for (const [operation, resourceType, letters, byServiceSas] of tabled) {
  test(`${operation} is open to exactly the tokens that the protocol names`, () => {
    const need: Need = fileNeeds[operation];
    for (const permissions of LETTER_SETS) {
      const isEnough = letters.split('').some((letter) => permissions.includes(letter));
      for (const type of 'sco') {
        const isOpen = codeOf(accountSas('f', type, permissions), need) === 'allowed';
        assert.equal(isOpen, isEnough && type === resourceType, `account SAS ${type} ${permissions}`);
      }
      const isOpen = codeOf(serviceSas(permissions), need) === 'allowed';
      assert.equal(isOpen, isEnough && byServiceSas, `service SAS ${permissions}`);
    }
    if (!byServiceSas) assert.equal(codeOf(serviceSas(EVERY_LETTER), need), 'AuthorizationFailure');
    assert.equal(codeOf(owner, need), 'allowed');
    assert.equal(codeOf(anonymous, need), 'NoAuthenticationInformation');
    assert.equal(codeOf(anonymous, need, '2019-10-10'), 'ResourceNotFound');
    assert.equal(codeOf(accountSas('bqt', 'sco', EVERY_LETTER), need), 'AuthorizationServiceMismatch');
  });
}

const ACCOUNT_CONTRIBUTOR = 'Storage Account Contributor';
const CONTRIBUTOR = 'Storage File Data Privileged Contributor';
const READER = 'Storage File Data Privileged Reader';
const DELEGATOR = 'Storage File Delegator';

const byRole: readonly (readonly [roles: readonly RoleName[], operations: readonly Operation[]])[] = [
  [
    [ACCOUNT_CONTRIBUTOR],
    [
      'getServiceProperties',
      'setServiceProperties',
      'listShares',
      'createShare',
      'snapshotShare',
      'getShareProperties',
      'getShareMetadata',
      'getShareStats',
      'setShareProperties',
      'setShareMetadata',
      'leaseShare',
      'deleteShare',
      'restoreShare',
      'getShareAcl',
      'setShareAcl',
    ],
  ],
  [
    [CONTRIBUTOR],
    [
      'createPermission',
      'createDirectory',
      'setDirectory',
      'deleteDirectory',
      'createFile',
      'setFile',
      'copyFile',
      'deleteFile',
      'leaseFile',
      'rename',
      'renameSource',
      'forceCloseHandles',
    ],
  ],
  [
    [CONTRIBUTOR, READER],
    ['getPermission', 'listDirectoriesAndFiles', 'getDirectory', 'getFile', 'listHandles'],
  ],
  [[DELEGATOR, ACCOUNT_CONTRIBUTOR], ['getUserDelegationKey']],
];

for (const [roles, operations] of byRole) {
  for (const operation of operations) {
    test(`${operation} is open to ${roles.join(', ')} and to no other`, () => {
      const need: Need = fileNeeds[operation];
      for (const role of ROLE_NAMES) {
        const code = roles.includes(role) ? 'allowed' : 'AuthorizationPermissionMismatch';
        assert.equal(codeOf(bearer(role), need), code, role);
        if (need.serviceSas) assert.equal(codeOf(delegatedBy(DELEGATOR, role), need), code, `delegated by ${role}`);
      }
    });
  }
}

test('every operation stands in both tables, and the key of delegation in that of roles', () => {
  const names = Object.keys(fileNeeds).sort();
  assert.deepEqual(byRole.flatMap(([, operations]) => operations).sort(), names);
  assert.deepEqual([...tabled.map(([operation]) => operation), 'getUserDelegationKey'].sort(), names);
});

test('a user delegation key for files is for bearer tokens alone', () => {
  const { getUserDelegationKey: need } = fileNeeds;
  for (const identity of [owner, accountSas('f', 'sco', EVERY_LETTER), serviceSas(EVERY_LETTER)]) {
    assert.equal(codeOf(identity, need), 'AuthenticationFailed', identity.kind);
  }
  assert.equal(codeOf(anonymous, need), 'NoAuthenticationInformation');
});
