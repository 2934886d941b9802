import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantOf, ROLE_NAMES, type RoleName } from '../rules/roles.ts';
import { hasPermission, refuseNeed } from './authorize.ts';
import type { Identity, Need, PublicAccess, ServiceLetter } from './identity.ts';
import { blobNeeds, breakBlobLease, breakContainerLease, getAccountInformation, tableNeeds } from './needs.ts';

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
const bearer = (...roles: RoleName[]): Identity => bearerAt('b', roles);
const bearerAt = (service: ServiceLetter, roles: readonly RoleName[]): Identity => {
  const { permissions, controls, delegates } = grantOf(roles, service);
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

const TABLE_VERSION = '2019-02-02';
const codeAtTables = (identity: Identity, need: Need): string => codeOf(identity, need, TABLE_VERSION, 't');

/** Operation, resource type, the sets of letters of which each is enough, whether a service SAS will do. */
const tabledForTables: readonly (readonly [
  operation: keyof typeof tableNeeds,
  resourceType: string,
  letters: readonly string[],
  byServiceSas: boolean,
])[] = [
  ['getServiceProperties', 's', ['r'], false],
  ['setServiceProperties', 's', ['w'], false],
  ['getServiceStats', 's', ['r'], false],
  ['queryTables', 'c', ['l'], false],
  ['createTable', 'c', ['c', 'w'], false],
  ['deleteTable', 'c', ['d'], false],
  ['getTableAcl', '', [], false],
  ['setTableAcl', '', [], false],
  ['queryEntities', 'o', ['r'], true],
  ['insertEntity', 'o', ['a'], true],
  ['updateEntity', 'o', ['u'], true],
  ['upsertEntity', 'o', ['au'], true],
  ['deleteEntity', 'o', ['d'], true],
  ['batch', 'o', ['r', 'a', 'u', 'd'], true],
];

/** All of one or two letters, and of all but one. */
const LETTER_SETS = EVERY_LETTER.split('').flatMap((letter, index) => [
  letter,
  ...EVERY_LETTER.slice(index + 1)
    .split('')
    .map((other) => letter + other),
  EVERY_LETTER.replace(letter, ''),
]);

for (const [operation, resourceType, letters, byServiceSas] of tabledForTables) {
  test(`${operation} at tables is open to exactly the tokens that the protocol names`, () => {
    const need: Need = tableNeeds[operation];
    for (const permissions of LETTER_SETS) {
      const isEnough = letters.some((needed) => needed.split('').every((letter) => permissions.includes(letter)));
      for (const type of 'sco') {
        const isOpen = codeAtTables(accountSas('t', type, permissions), need) === 'allowed';
        assert.equal(isOpen, isEnough && type === resourceType, `account SAS ${type} ${permissions}`);
      }
      const isOpen = codeAtTables(serviceSas(permissions), need) === 'allowed';
      assert.equal(isOpen, isEnough && byServiceSas, `service SAS ${permissions}`);
    }
    assert.equal(codeAtTables(owner, need), 'allowed');
    assert.equal(codeAtTables(anonymous(null), need), 'ResourceNotFound');
    assert.equal(codeOf(anonymous(null), need, '2024-11-04', 't'), 'NoAuthenticationInformation');
    assert.notEqual(codeAtTables(accountSas('bqf', 'sco', EVERY_LETTER), need), 'allowed');
  });
}

const TABLE_ROLES = [
  'Storage Table Data Contributor',
  'Storage Table Data Reader',
  'Storage Table Delegator',
] as const satisfies readonly RoleName[];

/** Who may, from the widest role to the narrowest: the first so many of TABLE_ROLES. */
const byTableRole: readonly (readonly [roleCount: number, operations: readonly (keyof typeof tableNeeds)[]])[] = [
  [0, ['getServiceProperties', 'setServiceProperties', 'getServiceStats', 'getTableAcl', 'setTableAcl']],
  [1, ['createTable', 'deleteTable', 'insertEntity', 'updateEntity', 'upsertEntity', 'deleteEntity']],
  [2, ['queryTables', 'queryEntities', 'batch']],
];

for (const [roleCount, operations] of byTableRole) {
  for (const operation of operations) {
    test(`${operation} is open to ${TABLE_ROLES.slice(0, roleCount).join(', ') || 'no role'} and to no other`, () => {
      for (const [index, role] of [...TABLE_ROLES, ...ROLE_NAMES.slice(0, 4)].entries()) {
        const code = index < roleCount ? 'allowed' : 'AuthorizationPermissionMismatch';
        assert.equal(codeAtTables(bearerAt('t', [role]), tableNeeds[operation]), code, role);
      }
    });
  }
}

test('a user delegation key for tables is for delegators with a bearer token', () => {
  const { getUserDelegationKey: need } = tableNeeds;
  for (const identity of [owner, accountSas('t', 'sco', EVERY_LETTER), serviceSas(EVERY_LETTER)]) {
    assert.equal(codeAtTables(identity, need), 'AuthenticationFailed', identity.kind);
  }
  for (const role of ROLE_NAMES) {
    const code = role === 'Storage Table Delegator' ? 'allowed' : 'AuthorizationPermissionMismatch';
    assert.equal(codeAtTables(bearerAt('t', [role]), need), code, role);
  }
});

test('every other operation of tables stands in both tables', () => {
  const names = Object.keys(tableNeeds)
    .filter((name) => name !== 'getUserDelegationKey')
    .sort();
  assert.deepEqual(tabledForTables.map(([operation]) => operation).sort(), names);
  assert.deepEqual(byTableRole.flatMap(([, operations]) => operations).sort(), names);
});
