import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StorageError } from '../service/storage-error.ts';
import { refuseIntent } from './file-intent.ts';
import type { Identity, Need, ServiceLetter } from './identity.ts';
import { blobNeeds, fileNeeds, queueNeeds, tableNeeds } from './needs.ts';

const bearer: Identity = {
  kind: 'bearer',
  account: 'a',
  objectId: 'o',
  tenantId: 't',
  permissions: 'rcwdl',
  controls: true,
  delegationKey: () => 'key',
};
const INTENT = 'x-ms-file-request-intent';

interface Asked {
  readonly identity?: Identity;
  readonly service?: ServiceLetter;
  readonly version?: string;
}

function refusalOf(
  need: Need,
  intent: string | null,
  { identity = bearer, service = 'f', version = '2026-04-06' }: Asked = {},
): StorageError | null {
  const header = (name: string): string | null => (name === INTENT ? intent : null);
  return refuseIntent({ identity, service, version, header }, need);
}

const DATA = [fileNeeds.getFile, fileNeeds.createFile, fileNeeds.listDirectoriesAndFiles, fileNeeds.getPermission];
const MANAGEMENT = [fileNeeds.createShare, fileNeeds.listShares, fileNeeds.setServiceProperties, fileNeeds.getShareAcl];

test('a bearer says what for on every request for data, in the one word that there is', () => {
  for (const need of DATA) {
    for (const missing of [null, '']) {
      const refusal = refusalOf(need, missing);
      assert.equal(refusal?.code, 'MissingRequiredHeader');
      assert.equal(refusal.details.elements?.['HeaderName'], INTENT);
    }
    assert.equal(refusalOf(need, 'restore')?.code, 'InvalidHeaderValue');
    assert.equal(refusalOf(need, 'backup'), null);
    assert.equal(refusalOf(need, 'Backup'), null);
  }
});

test('shares as such, and a key for tokens, take no word', () => {
  for (const need of [...MANAGEMENT, fileNeeds.getUserDelegationKey]) {
    for (const intent of [null, 'backup', 'restore']) assert.equal(refusalOf(need, intent), null);
  }
});

test('shares and the service are not managed by bearers before 2024-11-04, whatever they say', () => {
  for (const intent of [null, 'backup']) {
    for (const need of MANAGEMENT) {
      assert.equal(refusalOf(need, intent, { version: '2024-08-04' })?.code, 'FileOAuthManagementApiRestrictedToSrp');
    }
  }
  for (const need of MANAGEMENT) assert.equal(refusalOf(need, 'backup', { version: '2024-11-04' }), null);
  for (const need of DATA) assert.equal(refusalOf(need, 'backup', { version: '2022-11-02' }), null);
});

test('nobody else is asked for a word', () => {
  const account = 'a';
  for (const identity of [
    { kind: 'owner', account },
    { kind: 'accountSas', account, services: 'f', resourceTypes: 'sco', permissions: 'r' },
    { kind: 'serviceSas', account, permissions: 'r', overrides: {} },
    { kind: 'anonymous', publicAccess: null },
  ] satisfies Identity[]) {
    for (const need of [...DATA, ...MANAGEMENT]) {
      assert.equal(refusalOf(need, null, { identity, version: '2015-02-21' }), null);
    }
  }
  assert.equal(refusalOf(blobNeeds.getBlob, null, { service: 'b', version: '2017-11-09' }), null);
  assert.equal(refusalOf(queueNeeds.setServiceProperties, null, { service: 'q', version: '2017-11-09' }), null);
  assert.equal(refusalOf(tableNeeds.setTableAcl, null, { service: 't', version: '2017-11-09' }), null);
});
