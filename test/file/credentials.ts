/** The File service as tests of credentials see it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  AccountSASPermissions,
  type AccountSASSignatureValues,
  FileSASPermissions,
  type FileSASSignatureValues,
  generateAccountSASQueryParameters,
  generateFileSASQueryParameters,
  type ShareClient,
  ShareSASPermissions,
  ShareServiceClient,
  StorageSharedKeyCredential,
} from '@azure/storage-file-share';
import { DEVELOPMENT_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { outcome } from '../harness/clients.ts';
import { FILE_CLIENT_OPTIONS } from '../harness/file-clients.ts';
import { credentialOf } from '../harness/oauth-servers.ts';
import type {
  Access,
  CredentialService,
  DelegationPeriod,
  Resource,
  SasValues,
  UserDelegation,
} from '../services/credentials.ts';
import { assertOutcomes, assertUntouched, DIRECTORY, FILE, fileOf, furnish, type Place } from './operations.ts';

const keyOf = ({ name, key }: TestAccount): StorageSharedKeyCredential => new StorageSharedKeyCredential(name, key);

/**
 * A client that has nothing but a bearer token says with every request that it means to (for backup), unless it is made
 * without.
 */
export function connect(
  { endpoint, key, bearer, sas, ca }: Access,
  { withIntent = sas === undefined }: { withIntent?: boolean } = {},
): ShareServiceClient {
  const options = { ...FILE_CLIENT_OPTIONS, ...(ca === undefined ? {} : { tlsOptions: { ca } }) };
  const url = sas === undefined ? endpoint : `${endpoint}?${sas}`;
  if (key !== undefined) {
    return new ShareServiceClient(url, keyOf(key), options);
  }
  if (bearer === undefined) return new ShareServiceClient(url, undefined, options);
  const intent = withIntent ? { fileRequestIntent: 'backup' as const } : {};
  return new ShareServiceClient(url, credentialOf(bearer), { ...options, ...intent });
}

export const shareOf = (guest: Access, name: string): ShareClient => connect(guest).getShareClient(name);

export const FILE_PATH = `${DIRECTORY}/${FILE}`;

const lettersOf = (letters: string, { filePath }: SasValues) =>
  filePath === undefined ? ShareSASPermissions.parse(letters) : FileSASPermissions.parse(letters);

const makeSas: CredentialService['makeSas'] = (signer, name, letters, values) => {
  const permissions = letters === '' ? {} : { permissions: lettersOf(letters, values) };
  const all = { shareName: name, ...permissions, ...values } as FileSASSignatureValues;
  return generateFileSASQueryParameters(all, keyOf(signer)).toString();
};

/** A share with what `furnish` puts there; its source opens by a SAS of the owner's, which must have signed by key. */
export async function freshPlace(owner: Access, name = `test-${randomUUID()}`): Promise<Place> {
  const share = shareOf(owner, name);
  await share.create();
  const sas = makeSas(owner.key ?? DEVELOPMENT_ACCOUNT, name, 'r', { expiresOn: new Date(Date.now() + 86_400_000) });
  return furnish(share, (source) => `${source.url}?${sas}`);
}

async function fresh(owner: Access, name?: string): Promise<Resource> {
  const place = await freshPlace(owner, name);
  return {
    name: place.share.name,
    assertOutcomes(guest, wanted) {
      const service = connect(guest);
      return assertOutcomes({ service, share: service.getShareClient(place.share.name) }, place, wanted);
    },
    assertUntouched: () => assertUntouched(place),
    async assertShown(guest) {
      const content = await fileOf(shareOf(guest, place.share.name)).downloadToBuffer(0, 12);
      assert.equal(content.toString(), 'of the owner');
    },
    setPolicies: (policies) =>
      place.share.setAccessPolicy(
        policies.map(({ id, ...policy }) => ({
          id,
          accessPolicy: policy as Required<typeof policy> & { startsOn: Date },
        })),
      ),
  };
}

/** Nobody is asked for an intent: a key is no data. */
export async function delegate(guest: Access, { startsOn, expiresOn }: DelegationPeriod): Promise<UserDelegation> {
  const key = await connect(guest, { withIntent: false }).getUserDelegationKey(startsOn, expiresOn);
  return {
    key,
    makeSas(name, letters, values) {
      const all = { shareName: name, permissions: lettersOf(letters, values), ...values };
      const account = new URL(guest.endpoint).pathname.slice(1);
      return generateFileSASQueryParameters(all as FileSASSignatureValues, key, account).toString();
    },
  };
}

export const FILES: CredentialService = {
  door: 'file',
  resource: 'share',
  fresh,
  outcome,
  notFound: '404 ShareNotFound',
  sasLetters: 'rcwdl',
  makeSas,
  sasParts: [{}, { filePath: FILE_PATH }],
  serviceLetter: 'f',
  accountSasLetters: [...'rwdlc'.split(''), 'aup', 'rwdlc'],
  makeAccountSas(signer, letters, values) {
    const all = { permissions: AccountSASPermissions.parse(letters), ...values } as AccountSASSignatureValues;
    return generateAccountSASQueryParameters(all, keyOf(signer)).toString();
  },
  read: (guest, name) => fileOf(shareOf(guest, name)).getProperties(),
  writeLetters: 'w',
  writes: [(guest, name) => fileOf(shareOf(guest, name)).setMetadata({ by: 'guest' })],
  changes: [
    (guest, name) => fileOf(shareOf(guest, name)).create(1),
    (guest, name) => fileOf(shareOf(guest, name)).uploadRange('x', 0, 1),
    (guest, name) => fileOf(shareOf(guest, name)).delete(),
    (guest, name) => shareOf(guest, name).delete(),
  ],
};
