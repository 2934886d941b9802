/** The File service as tests of credentials see it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  generateFileSASQueryParameters,
  type ShareClient,
  type ShareFileClient,
  ShareSASPermissions,
  ShareServiceClient,
  StorageSharedKeyCredential,
} from '@azure/storage-file-share';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { outcome } from '../harness/clients.ts';
import { FILE_CLIENT_OPTIONS } from '../harness/file-clients.ts';
import { credentialOf } from '../harness/oauth-servers.ts';
import type { Access, CredentialService, Resource } from '../services/credentials.ts';
import { assertOutcomes, assertUntouched, fileOf, furnish, type Place } from './operations.ts';

/** A client that has nothing but a bearer token says with every request that it means to: for backup. */
export function connect({ endpoint, key, bearer, sas, ca }: Access): ShareServiceClient {
  const options = { ...FILE_CLIENT_OPTIONS, ...(ca === undefined ? {} : { tlsOptions: { ca } }) };
  const url = sas === undefined ? endpoint : `${endpoint}?${sas}`;
  if (key !== undefined) {
    return new ShareServiceClient(url, new StorageSharedKeyCredential(key.name, key.key), options);
  }
  if (bearer === undefined) return new ShareServiceClient(url, undefined, options);
  const intent = sas === undefined ? { fileRequestIntent: 'backup' as const } : {};
  return new ShareServiceClient(url, credentialOf(bearer), { ...options, ...intent });
}

export const shareOf = (guest: Access, name: string): ShareClient => connect(guest).getShareClient(name);

/** A share with what `furnish` puts there; its source opens by a SAS of the owner's, which must have signed by key. */
export async function freshPlace(owner: Access, name = `test-${randomUUID()}`): Promise<Place> {
  const share = shareOf(owner, name);
  await share.create();
  const account = owner.key ?? DEVELOPMENT_ACCOUNT;
  const opened = (file: ShareFileClient): string => {
    const permissions = ShareSASPermissions.parse('r');
    const values = { shareName: name, permissions, expiresOn: new Date(Date.now() + 86_400_000) };
    const key = new StorageSharedKeyCredential(account.name, account.key);
    return `${file.url}?${generateFileSASQueryParameters(values, key).toString()}`;
  };
  return furnish(share, opened);
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

export const FILES: CredentialService = {
  door: 'file',
  resource: 'share',
  fresh,
  outcome,
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
