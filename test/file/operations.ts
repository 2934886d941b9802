/**
 * Every operation of the File service as the official client asks for it, each with whom the protocol's tables let do it: by
 * a token for the account, for the share or for the file, and in which roles. Tests of credentials walk over all of them.
 * Renames are apart: the client leaves the account out of the new name's path, where that is in the path.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ShareClient, ShareFileClient, ShareServiceClient } from '@azure/storage-file-share';
import { outcome } from '../harness/clients.ts';
import { compareOutcomes, type Operation } from '../services/credentials.ts';

/** Manages shares, and sees nothing of what is in them. */
export const MANAGER = 'Storage Account Contributor';
export const CONTRIBUTOR = 'Storage File Data Privileged Contributor';
export const READER = 'Storage File Data Privileged Reader';
export const DELEGATOR = 'Storage File Delegator';

/** Clients that have nothing but the credential in question. */
export interface Guest {
  readonly service: ShareServiceClient;
  readonly share: ShareClient;
}

/** What the owner of the account has put there. */
export interface Place {
  readonly share: ShareClient;
  /** A URL of a file to copy from, with all that opens it. */
  readonly source: string;
}

interface FileOperation extends Operation {
  readonly ask: (guest: Guest, place: Place) => Promise<unknown>;
}

type Shape = Omit<FileOperation, 'operation' | 'ask'>;

/** One of the letters is enough. */
const ofShare = (letters: string): Shape => ({
  type: 'c',
  byAccountSas: letters.split(''),
  bySas: [],
  byRoles: [MANAGER],
});
const besideShares = (letters: string): Shape => ({ ...ofShare(letters), isElsewhere: true });
const ofService = (letters: string): Shape => ({ ...besideShares(letters), type: 's' });
const inShare = (type: 'c' | 'o', letters: string): Shape => ({
  type,
  byAccountSas: letters.split(''),
  bySas: letters.split(''),
  byRoles: /[rl]/.test(letters) ? [CONTRIBUTOR, READER] : [CONTRIBUTOR],
});
const ofFile = (letters: string): Shape => ({ ...inShare('o', letters), ofFile: true });

export const DIRECTORY = 'Räume (alt)';
/** In the directory. */
export const FILE = 'Küche & Bad.txt';
export const FILE_BYTES = 1024;

export const fileOf = (share: ShareClient): ShareFileClient => share.getDirectoryClient(DIRECTORY).getFileClient(FILE);

const fresh = (purpose: string): string => `${purpose}-${randomUUID()}`;
/** What directories are called that the owner makes to be deleted. */
const TO_DELETE = 'brief';
const DESCRIPTOR = 'O:SYG:SYD:(A;;FA;;;SY)';

/** In an order in which each finds what it needs. */
const FILE_OPERATIONS: readonly FileOperation[] = [
  {
    operation: 'Get File Service Properties',
    ...ofService('r'),
    ask: ({ service }) => service.getProperties(),
  },
  {
    operation: 'Set File Service Properties',
    ...ofService('w'),
    ask: ({ service }) => service.setProperties({ cors: [] }),
  },
  { operation: 'List Shares', ...ofService('l'), ask: ({ service }) => service.listShares().next() },

  { operation: 'Create Share', ...besideShares('cw'), ask: ({ service }) => service.createShare(fresh('made')) },
  { operation: 'Snapshot Share', ...ofShare('cw'), ask: ({ share }) => share.createSnapshot() },
  { operation: 'Get Share Properties', ...ofShare('r'), ask: ({ share }) => share.getProperties() },
  { operation: 'Get Share Stats', ...ofShare('r'), ask: ({ share }) => share.getStatistics() },
  { operation: 'Set Share Properties', ...ofShare('w'), ask: ({ share }) => share.setQuota(2) },
  { operation: 'Set Share Metadata', ...ofShare('w'), ask: ({ share }) => share.setMetadata({ by: 'guest' }) },
  { operation: 'Get Share ACL', ...ofShare(''), ask: ({ share }) => share.getAccessPolicy() },
  {
    operation: 'Set Share ACL',
    ...ofShare(''),
    async ask({ share }, place) {
      const { signedIdentifiers } = await place.share.getAccessPolicy();
      // As they are, so that a token that goes by one stays what it is.
      return share.setAccessPolicy(signedIdentifiers);
    },
  },
  {
    operation: 'Lease Share',
    ...ofShare('w'),
    async ask({ share }, place) {
      await share.getShareLeaseClient().acquireLease(-1);
      await place.share.getShareLeaseClient().breakLease();
    },
  },
  {
    operation: 'Restore Share',
    ...besideShares('w'),
    answer: '404 ShareNotFound',
    ask: ({ service }) => service.undeleteShare(fresh('gone'), '01D64EB9886F00C4'),
  },

  { operation: 'Create Permission', ...inShare('c', 'w'), ask: ({ share }) => share.createPermission(DESCRIPTOR) },
  {
    operation: 'Get Permission',
    ...inShare('c', 'r'),
    async ask({ share }, place) {
      const { filePermissionKey = '' } = await place.share.createPermission(DESCRIPTOR);
      return share.getPermission(filePermissionKey);
    },
  },
  {
    operation: 'List Directories and Files',
    ...inShare('c', 'l'),
    ask: ({ share }) => share.rootDirectoryClient.listFilesAndDirectories().next(),
  },
  {
    operation: 'List Directories and Files of a directory',
    ...inShare('c', 'l'),
    ask: ({ share }) => share.getDirectoryClient(DIRECTORY).listFilesAndDirectories().next(),
  },

  { operation: 'Create Directory', ...inShare('o', 'cw'), ask: ({ share }) => share.createDirectory(fresh('made')) },
  {
    operation: 'Get Directory Properties',
    ...inShare('o', 'r'),
    ask: ({ share }) => share.getDirectoryClient(DIRECTORY).getProperties(),
  },
  {
    operation: 'Set Directory Properties',
    ...inShare('o', 'w'),
    ask: ({ share }) => share.getDirectoryClient(DIRECTORY).setProperties({ creationTime: new Date(0) }),
  },
  {
    operation: 'Set Directory Metadata',
    ...inShare('o', 'w'),
    ask: ({ share }) => share.getDirectoryClient(DIRECTORY).setMetadata({ by: 'guest' }),
  },
  {
    operation: 'List Handles of a directory',
    ...inShare('o', 'r'),
    ask: ({ share }) => share.getDirectoryClient(DIRECTORY).listHandles({ recursive: true }).next(),
  },
  {
    operation: 'Force Close Handles of a directory',
    ...inShare('o', 'w'),
    ask: ({ share }) => share.getDirectoryClient(DIRECTORY).forceCloseAllHandles({ recursive: true }),
  },
  {
    operation: 'Delete Directory',
    ...inShare('o', 'd'),
    async ask({ share }, place) {
      const name = fresh(TO_DELETE);
      await place.share.createDirectory(name);
      return share.deleteDirectory(name);
    },
  },

  {
    operation: 'Create File',
    ...inShare('o', 'cw'),
    ask: ({ share }) => share.createFile(fresh('made'), 10),
  },
  {
    operation: 'Copy File',
    ...inShare('o', 'cw'),
    ask: ({ share }, { source }) => share.rootDirectoryClient.getFileClient(fresh('copied')).startCopyFromURL(source),
  },
  {
    operation: 'Copy File over one that is there',
    ...ofFile('w'),
    ask: ({ share }, { source }) => fileOf(share).startCopyFromURL(source),
  },
  {
    operation: 'Abort Copy File',
    ...ofFile('w'),
    answer: '409 NoPendingCopyOperation',
    ask: ({ share }) => fileOf(share).abortCopyFromURL(randomUUID()),
  },
  {
    operation: 'Create File over one that is there',
    ...ofFile('w'),
    ask: ({ share }) => fileOf(share).create(FILE_BYTES),
  },
  { operation: 'Get File', ...ofFile('r'), ask: ({ share }) => fileOf(share).downloadToBuffer(0, 10) },
  { operation: 'Get File Properties', ...ofFile('r'), ask: ({ share }) => fileOf(share).getProperties() },
  { operation: 'List Ranges', ...ofFile('r'), ask: ({ share }) => fileOf(share).getRangeList() },
  { operation: 'List Handles', ...ofFile('r'), ask: ({ share }) => fileOf(share).listHandles().next() },
  { operation: 'Force Close Handles', ...ofFile('w'), ask: ({ share }) => fileOf(share).forceCloseAllHandles() },
  {
    operation: 'Set File Properties',
    ...ofFile('w'),
    ask: ({ share }) => fileOf(share).setHttpHeaders({ fileContentType: 'text/plain' }),
  },
  { operation: 'Resize', ...ofFile('w'), ask: ({ share }) => fileOf(share).resize(FILE_BYTES) },
  { operation: 'Set File Metadata', ...ofFile('w'), ask: ({ share }) => fileOf(share).setMetadata({ by: 'guest' }) },
  { operation: 'Put Range', ...ofFile('w'), ask: ({ share }) => fileOf(share).uploadRange('guest', 0, 5) },
  { operation: 'Clear Range', ...ofFile('w'), ask: ({ share }) => fileOf(share).clearRange(0, 512) },
  {
    operation: 'Put Range From URL',
    ...ofFile('w'),
    ask: ({ share }, { source }) => fileOf(share).uploadRangeFromURL(source, 0, 0, 5),
  },
  {
    operation: 'Lease File',
    ...ofFile('w'),
    async ask({ share }, place) {
      await fileOf(share).getShareLeaseClient().acquireLease();
      await fileOf(place.share).getShareLeaseClient().breakLease();
    },
  },
  { operation: 'Delete File', ...ofFile('d'), ask: ({ share }) => fileOf(share).delete() },
  { operation: 'Delete Share', ...ofShare('d'), ask: ({ share }) => share.delete({ deleteSnapshots: 'include' }) },
];

/** The share has a directory with a file in it, and a source beside them. `open`: makes the URL of a file one that opens it. */
export async function furnish(share: ShareClient, open: (file: ShareFileClient) => string): Promise<Place> {
  await share.createDirectory(DIRECTORY);
  await fileOf(share).create(FILE_BYTES);
  await fileOf(share).uploadRange('of the owner', 0, 12);
  const { fileClient: source } = await share.createFile('source', FILE_BYTES);
  return { share, source: open(source) };
}

export const assertOutcomes = (guest: Guest, place: Place, wanted: (operation: Operation) => string): Promise<void> =>
  compareOutcomes(FILE_OPERATIONS, ({ ask }) => outcome(ask(guest, place)), wanted);

/** That what the owner put there is as it was put, and nobody put anything beside it but the owner. */
export async function assertUntouched({ share }: Place): Promise<void> {
  const content = await fileOf(share).downloadToBuffer();
  assert.equal(content.length, FILE_BYTES);
  assert.equal(content.subarray(0, 12).toString(), 'of the owner');
  assert.deepEqual((await fileOf(share).getProperties()).metadata, {});
  const names: string[] = [];
  for await (const { name } of share.rootDirectoryClient.listFilesAndDirectories()) {
    if (!name.startsWith(TO_DELETE)) names.push(name);
  }
  assert.deepEqual(names.sort(), [DIRECTORY, 'source'].sort());
}
