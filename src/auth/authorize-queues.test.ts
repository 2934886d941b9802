/** Who may do what with queues: every operation against every kind of token and every role. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantOf, ROLE_NAMES, type RoleName } from '../rules/roles.ts';
import { refuseNeed } from './authorize.ts';
import type { Identity, Need } from './identity.ts';
import { queueNeeds } from './needs.ts';

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
  const { permissions, controls, delegates } = grantOf(roles, 'q');
  const delegationKey = delegates ? () => 'key' : null;
  return { kind: 'bearer', account, objectId: 'o', tenantId: 't', permissions, controls, delegationKey };
};
/** A token with all letters, signed with a key of somebody in these roles. */
const delegatedBy = (...roles: RoleName[]): Identity => {
  const { permissions: holderPermissions } = grantOf(roles, 'q');
  const permissions = 'raup'.split('').filter((letter) => holderPermissions.includes(letter));
  return { kind: 'serviceSas', account, permissions: permissions.join(''), overrides: {}, holderPermissions };
};

const codeOf = (identity: Identity, need: Need, version = '2024-11-04'): string =>
  refuseNeed(identity, need, { service: 'q', version })?.code ?? 'allowed';

type Operation = keyof typeof queueNeeds;

/** Operation, resource type, letters of which each is enough, whether a service SAS will do. */
const tabled: readonly (readonly [
  operation: Operation,
  resourceType: string,
  letters: string,
  byServiceSas: boolean,
])[] = [
  ['getServiceProperties', 's', 'r', false],
  ['setServiceProperties', 's', 'w', false],
  ['getServiceStats', 's', 'r', false],
  ['listQueues', 's', 'l', false],
  ['createQueue', 'c', 'cw', false],
  ['deleteQueue', 'c', 'd', false],
  ['getQueueMetadata', 'c', 'r', true],
  ['setQueueMetadata', 'c', 'w', false],
  ['getQueueAcl', '', '', false],
  ['setQueueAcl', '', '', false],
  ['putMessage', 'o', 'a', true],
  ['getMessages', 'o', 'p', true],
  ['peekMessages', 'o', 'r', true],
  ['updateMessage', 'o', 'u', true],
  ['deleteMessage', 'o', 'p', true],
  ['clearMessages', 'o', 'd', false],
];

const EVERY_LETTER = 'rwdxylacuptfimeo';
/** Each letter alone, and all but one. */
const LETTER_SETS = EVERY_LETTER.split('').flatMap((letter) => [letter, EVERY_LETTER.replace(letter, '')]);

for (const [operation, resourceType, letters, byServiceSas] of tabled) {
  test(`${operation} is open to exactly the tokens that the protocol names`, () => {
    const need: Need = queueNeeds[operation];
    for (const permissions of LETTER_SETS) {
      const isEnough = letters.split('').some((letter) => permissions.includes(letter));
      for (const type of 'sco') {
        const isOpen = codeOf(accountSas('q', type, permissions), need) === 'allowed';
        assert.equal(isOpen, isEnough && type === resourceType, `account SAS ${type} ${permissions}`);
      }
      const isOpen = codeOf(serviceSas(permissions), need) === 'allowed';
      assert.equal(isOpen, isEnough && byServiceSas, `service SAS ${permissions}`);
    }
    assert.equal(codeOf(owner, need), 'allowed');
    assert.equal(codeOf(anonymous, need), 'NoAuthenticationInformation');
    assert.equal(codeOf(anonymous, need, '2019-10-10'), 'ResourceNotFound');
    assert.equal(codeOf(accountSas('btf', 'sco', EVERY_LETTER), need), 'AuthorizationServiceMismatch');
  });
}

const CONTRIBUTOR = 'Storage Queue Data Contributor';
const READER = 'Storage Queue Data Reader';
const PROCESSOR = 'Storage Queue Data Message Processor';
const SENDER = 'Storage Queue Data Message Sender';
const DELEGATOR = 'Storage Queue Delegator';

const byRole: readonly (readonly [roles: readonly RoleName[], operations: readonly Operation[]])[] = [
  [[], ['getServiceProperties', 'setServiceProperties', 'getServiceStats', 'getQueueAcl', 'setQueueAcl']],
  [[CONTRIBUTOR], ['createQueue', 'deleteQueue', 'setQueueMetadata', 'updateMessage', 'clearMessages']],
  [
    [CONTRIBUTOR, READER],
    ['listQueues', 'getQueueMetadata'],
  ],
  [[CONTRIBUTOR, READER, PROCESSOR], ['peekMessages']],
  [
    [CONTRIBUTOR, PROCESSOR],
    ['getMessages', 'deleteMessage'],
  ],
  [[CONTRIBUTOR, SENDER], ['putMessage']],
  [[DELEGATOR], ['getUserDelegationKey']],
];

for (const [roles, operations] of byRole) {
  for (const operation of operations) {
    test(`${operation} is open to ${roles.join(', ') || 'no role'} and to no other`, () => {
      const need: Need = queueNeeds[operation];
      for (const role of ROLE_NAMES) {
        const code = roles.includes(role) ? 'allowed' : 'AuthorizationPermissionMismatch';
        assert.equal(codeOf(bearer(role), need), code, role);
        if (need.serviceSas) assert.equal(codeOf(delegatedBy(DELEGATOR, role), need), code, `delegated by ${role}`);
      }
    });
  }
}

test('every operation stands in both tables, and the key of delegation in that of roles', () => {
  const names = Object.keys(queueNeeds).sort();
  assert.deepEqual(byRole.flatMap(([, operations]) => operations).sort(), names);
  assert.deepEqual([...tabled.map(([operation]) => operation), 'getUserDelegationKey'].sort(), names);
});

test('a user delegation key for queues is for bearer tokens alone', () => {
  const { getUserDelegationKey: need } = queueNeeds;
  for (const identity of [owner, accountSas('q', 'sco', EVERY_LETTER), serviceSas(EVERY_LETTER)]) {
    assert.equal(codeOf(identity, need), 'AuthenticationFailed', identity.kind);
  }
  assert.equal(codeOf(anonymous, need), 'NoAuthenticationInformation');
});
