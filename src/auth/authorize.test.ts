import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantOf, ROLE_NAMES, type RoleName } from '../rules/roles.ts';
import { hasPermission, refuseNeed } from './authorize.ts';
import type { Identity, Need, PublicAccess, ServiceLetter } from './identity.ts';
import { blobNeeds, breakBlobLease, breakContainerLease, getAccountInformation } from './needs.ts';

const account = 'a';
const owner: Identity = { kind: 'owner', account };
const accountSas = (services: string, resourceTypes: string, permissions: string): Identity => ({
  kind: 'accountSas',
  account,
  services,
  resourceTypes,
  permissions,
});
const serviceSas = (permissions: string): Identity => ({ kind: 'serviceSas', account, permissions, overrides: {} });
const bearer = (...roles: RoleName[]): Identity => {
  const { permissions, controls, delegates } = grantOf(roles, 'b');
  const delegationKey = delegates ? () => 'key' : null;
  return { kind: 'bearer', account, objectId: 'o', tenantId: 't', permissions, controls, delegationKey };
};
const anonymous = (publicAccess: PublicAccess | null): Identity => ({ kind: 'anonymous', publicAccess });

const codeOf = (identity: Identity, need: Need, version = '2024-11-04', service: ServiceLetter = 'b') =>
  refuseNeed(identity, need, { service, version })?.code ?? 'allowed';

const EVERY_LETTER = 'rwdxylacuptfimeo';
const { getBlob, putBlob, listBlobs, setContainerAcl, createContainer, setContainerMetadata } = blobNeeds;

const rows: [string, Identity, Need, string][] = [
  ['the owner reading', owner, getBlob, 'allowed'],
  ['the owner setting an ACL', owner, setContainerAcl, 'allowed'],

  ['an account SAS wrong in all', accountSas('q', 's', 'w'), getBlob, 'AuthorizationServiceMismatch'],
  [
    'an account SAS for an ACL, of another service',
    accountSas('q', 's', 'w'),
    setContainerAcl,
    'AuthorizationServiceMismatch',
  ],
  ['an account SAS for an ACL', accountSas('b', 'sco', EVERY_LETTER), setContainerAcl, 'AuthorizationFailure'],
  ['an account SAS wrong in type and letter', accountSas('b', 's', 'w'), getBlob, 'AuthorizationResourceTypeMismatch'],
  ['an account SAS wrong in letter', accountSas('b', 'o', 'wl'), getBlob, 'AuthorizationPermissionMismatch'],
  ['an account SAS right in all', accountSas('qb', 'so', 'r'), getBlob, 'allowed'],
  ['an account SAS with the first letter', accountSas('b', 'o', 'c'), putBlob, 'allowed'],
  ['an account SAS with the second letter', accountSas('b', 'o', 'w'), putBlob, 'allowed'],
  ['an account SAS creating a container', accountSas('b', 'c', 'c'), createContainer, 'allowed'],

  ['a service SAS for an ACL', serviceSas(EVERY_LETTER), setContainerAcl, 'AuthorizationFailure'],
  ['a service SAS creating a container', serviceSas(EVERY_LETTER), createContainer, 'AuthorizationFailure'],
  ['a service SAS setting container metadata', serviceSas(EVERY_LETTER), setContainerMetadata, 'AuthorizationFailure'],
  ['a service SAS wrong in letter', serviceSas('w'), getBlob, 'AuthorizationPermissionMismatch'],
  ['a service SAS right in letter', serviceSas('rw'), getBlob, 'allowed'],
  ['a service SAS listing', serviceSas('l'), listBlobs, 'allowed'],

  ['anonymous reading, public blobs', anonymous('blob'), getBlob, 'allowed'],
  ['anonymous reading, public container', anonymous('container'), getBlob, 'allowed'],
  ['anonymous reading, private', anonymous(null), getBlob, 'NoAuthenticationInformation'],
  ['anonymous listing, public blobs', anonymous('blob'), listBlobs, 'NoAuthenticationInformation'],
  ['anonymous listing, public container', anonymous('container'), listBlobs, 'allowed'],
  ['anonymous writing, public container', anonymous('container'), putBlob, 'NoAuthenticationInformation'],
];

for (const [who, identity, need, code] of rows) {
  test(`${who} gets ${code}`, () => assert.equal(codeOf(identity, need), code));
}

test('before 2019-12-12 what is private is not there for anonymous callers', () => {
  assert.equal(codeOf(anonymous(null), getBlob, '2019-10-10'), 'ResourceNotFound');
  assert.equal(codeOf(anonymous('container'), putBlob, '2019-10-10'), 'ResourceNotFound');
  assert.equal(codeOf(anonymous(null), getBlob, '2019-12-12'), 'NoAuthenticationInformation');
});

test('a token of one service is none of another', () => {
  assert.equal(codeOf(accountSas('b', 'o', 'r'), getBlob, '2024-11-04', 'q'), 'AuthorizationServiceMismatch');
});

test('a single letter is held by the owner, and by a token that has it', () => {
  const held = [owner, serviceSas('cw'), accountSas('b', 'o', 'w')];
  const lacked = [serviceSas('c'), accountSas('b', 'o', 'c'), anonymous('container')];
  for (const identity of held) assert.equal(hasPermission(identity, 'w'), true, JSON.stringify(identity));
  for (const identity of lacked) assert.equal(hasPermission(identity, 'w'), false, JSON.stringify(identity));
});

/** Operation, resource type, letters, whether a service SAS will do, public access. The protocol's tables, once more. */
const tabled: [keyof typeof blobNeeds, string, string, boolean, PublicAccess | null][] = [
  ['listContainers', 's', 'l', false, null],
  ['getServiceProperties', 's', 'r', false, null],
  ['setServiceProperties', 's', 'w', false, null],
  ['getServiceStats', 's', 'r', false, null],
  ['createContainer', 'c', 'cw', false, null],
  ['getContainerProperties', 'c', 'r', false, 'container'],
  ['getContainerMetadata', 'c', 'r', false, 'container'],
  ['setContainerMetadata', 'c', 'w', false, null],
  ['deleteContainer', 'c', 'd', false, null],
  ['leaseContainer', 'c', 'w', false, null],
  ['listBlobs', 'c', 'l', true, 'container'],
  ['putBlob', 'o', 'cw', true, null],
  ['copyBlob', 'o', 'cw', true, null],
  ['snapshotBlob', 'o', 'cw', true, null],
  ['putBlock', 'o', 'w', true, null],
  ['putBlockList', 'o', 'w', true, null],
  ['putPage', 'o', 'w', true, null],
  ['setBlobProperties', 'o', 'w', true, null],
  ['setBlobMetadata', 'o', 'w', true, null],
  ['setBlobTier', 'o', 'w', true, null],
  ['abortCopyBlob', 'o', 'w', true, null],
  ['undeleteBlob', 'o', 'w', true, null],
  ['leaseBlob', 'o', 'w', true, null],
  ['getBlob', 'o', 'r', true, 'blob'],
  ['getBlobProperties', 'o', 'r', true, 'blob'],
  ['getBlobMetadata', 'o', 'r', true, 'blob'],
  ['getBlockList', 'o', 'r', true, 'blob'],
  ['getPageRanges', 'o', 'r', true, 'blob'],
  ['queryBlobContents', 'o', 'r', true, null],
  ['appendBlock', 'o', 'aw', true, null],
  ['deleteBlob', 'o', 'd', true, null],
  ['deleteBlobVersion', 'o', 'x', true, null],
  ['deleteBlobPermanently', 'o', 'y', true, null],
  ['getBlobTags', 'o', 't', true, null],
  ['setBlobTags', 'o', 't', true, null],
  ['findBlobsByTags', 'o', 'f', false, null],
  ['findBlobsByTagsInContainer', 'o', 'f', true, null],
  ['setImmutabilityPolicy', 'o', 'i', true, null],
  ['setLegalHold', 'o', 'i', true, null],
];

for (const [operation, resourceType, letters, byServiceSas, publicAccess] of tabled) {
  test(`${operation} is open to exactly the tokens and callers that the protocol names`, () => {
    const need: Need = blobNeeds[operation];
    for (const letter of EVERY_LETTER) {
      const enough = letters.includes(letter);
      for (const type of 'sco') {
        const allowed = enough && type === resourceType;
        assert.equal(
          codeOf(accountSas('b', type, letter), need) === 'allowed',
          allowed,
          `account SAS ${type} ${letter}`,
        );
      }
      assert.equal(codeOf(serviceSas(letter), need) === 'allowed', enough && byServiceSas, `service SAS ${letter}`);
    }
    assert.equal(codeOf(anonymous('blob'), need) === 'allowed', publicAccess === 'blob');
    assert.equal(codeOf(anonymous('container'), need) === 'allowed', publicAccess !== null);
    assert.equal(codeOf(anonymous(null), need) === 'allowed', false);
    assert.equal(codeOf(owner, need), 'allowed');
  });
}

test('a lease is broken by write, and since 2017-07-29 by delete', () => {
  for (const [version, byDelete] of [
    ['2017-04-17', 'AuthorizationPermissionMismatch'],
    ['2017-07-29', 'allowed'],
  ] as const) {
    assert.equal(codeOf(serviceSas('d'), breakBlobLease(version)), byDelete);
    assert.equal(codeOf(accountSas('b', 'c', 'd'), breakContainerLease(version)), byDelete);
    assert.equal(codeOf(serviceSas('w'), breakBlobLease(version)), 'allowed');
    assert.equal(codeOf(serviceSas('wd'), breakContainerLease(version)), 'AuthorizationFailure');
  }
});

test('account information is for every token, whatever its letters', () => {
  for (const letter of EVERY_LETTER) {
    assert.equal(codeOf(accountSas('b', 's', letter), getAccountInformation([])), 'allowed');
    assert.equal(codeOf(serviceSas(letter), getAccountInformation(['c'])), 'allowed');
    assert.equal(codeOf(serviceSas(letter), getAccountInformation(['c', 'b'])), 'allowed');
  }
  assert.equal(codeOf(anonymous('container'), getAccountInformation(['c'])), 'NoAuthenticationInformation');
});

/** Who may, from the widest role to the narrowest: the first so many of ROLE_NAMES. */
const byRole: readonly (readonly [roleCount: number, operations: readonly (keyof typeof blobNeeds)[]])[] = [
  [
    1,
    [
      'getServiceProperties',
      'setServiceProperties',
      'getServiceStats',
      'getContainerAcl',
      'setContainerAcl',
      'deleteBlobVersion',
      'deleteBlobPermanently',
      'setImmutabilityPolicy',
      'deleteImmutabilityPolicy',
      'setLegalHold',
    ],
  ],
  [
    2,
    [
      'createContainer',
      'deleteContainer',
      'restoreContainer',
      'setContainerMetadata',
      'leaseContainer',
      'findBlobsByTags',
      'findBlobsByTagsInContainer',
      'getBlobTags',
      'setBlobTags',
      'putBlob',
      'putBlobFromUrl',
      'copyBlob',
      'copyBlobFromUrl',
      'incrementalCopyBlob',
      'snapshotBlob',
      'putBlock',
      'putBlockFromUrl',
      'putBlockList',
      'putPage',
      'putPageFromUrl',
      'setBlobProperties',
      'setBlobMetadata',
      'setBlobTier',
      'setBlobExpiry',
      'abortCopyBlob',
      'undeleteBlob',
      'leaseBlob',
      'appendBlock',
      'appendBlockFromUrl',
      'sealAppendBlob',
      'deleteBlob',
    ],
  ],
  [
    3,
    [
      'listContainers',
      'listBlobs',
      'getContainerProperties',
      'getContainerMetadata',
      'getBlob',
      'getBlobProperties',
      'getBlobMetadata',
      'getBlockList',
      'getPageRanges',
      'queryBlobContents',
      'copySource',
      'batch',
      'batchInContainer',
    ],
  ],
  [4, ['getUserDelegationKey']],
];

for (const [roleCount, operations] of byRole) {
  for (const operation of operations) {
    test(`${operation} is open to ${ROLE_NAMES.slice(0, roleCount).join(', ')} and to no other role`, () => {
      for (const [index, role] of ROLE_NAMES.entries()) {
        const code = index < roleCount ? 'allowed' : 'AuthorizationPermissionMismatch';
        assert.equal(codeOf(bearer(role), blobNeeds[operation]), code, role);
      }
      assert.equal(codeOf(bearer(), blobNeeds[operation]), 'AuthorizationPermissionMismatch', 'no role');
    });
  }
}

test('every operation stands in the table of roles', () => {
  const tabled = byRole.flatMap(([, operations]) => operations);
  assert.deepEqual([...tabled].sort(), Object.keys(blobNeeds).sort());
});

test('roles add up', () => {
  assert.equal(codeOf(bearer('Storage Blob Delegator', 'Storage Blob Data Reader'), getBlob), 'allowed');
  assert.equal(hasPermission(bearer('Storage Blob Data Reader', 'Storage Blob Data Contributor'), 'w'), true);
  assert.equal(hasPermission(bearer('Storage Blob Data Reader'), 'w'), false);
});

test('account information is for every role that reads', () => {
  for (const [index, role] of ROLE_NAMES.entries()) {
    const code = index < 3 ? 'allowed' : 'AuthorizationPermissionMismatch';
    assert.equal(codeOf(bearer(role), getAccountInformation([])), code, role);
  }
});

test('a user delegation key is for bearer tokens alone', () => {
  const need = blobNeeds.getUserDelegationKey;
  for (const identity of [owner, accountSas('b', 'sco', EVERY_LETTER), serviceSas(EVERY_LETTER)]) {
    assert.equal(codeOf(identity, need), 'AuthenticationFailed', identity.kind);
  }
  assert.equal(codeOf(anonymous('container'), need), 'NoAuthenticationInformation');
});

test('an anonymous caller is told where tokens come from', () => {
  const refusal = refuseNeed(anonymous(null), getBlob, { service: 'b', version: '2024-11-04', challenge: 'Bearer x' });
  assert.deepEqual(refusal?.details.headers, { 'WWW-Authenticate': 'Bearer x' });
});
