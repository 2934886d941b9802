/**
 * What each operation needs, as the protocol tables it for account SAS, service SAS, anonymous callers and roles.
 * https://learn.microsoft.com/rest/api/storageservices/create-account-sas#blob-service
 */
import { SINCE_BREAK_BY_DELETE_PERMISSION } from '../rules/versions.ts';
import type { Need } from './identity.ts';

const ANY_LETTER = 'racwdxyltfmeopiu';

/** Operations on the service, and those on a container that only an account SAS can open. */
const byAccountSas = (resourceType: Need['resourceType'], anyOf: string): Need => ({
  resourceType,
  anyOf,
  serviceSas: false,
  anonymous: null,
});

const byEitherSas = (resourceType: Need['resourceType'], anyOf: string): Need => ({
  resourceType,
  anyOf,
  serviceSas: true,
  anonymous: null,
});

const blobRead: Need = { ...byEitherSas('o', 'r'), anonymous: 'blob' };
const blobReadPrivate = byEitherSas('o', 'r');
/** With `c` alone nothing may be overwritten: that is known only once the blob is looked up. */
const blobCreate = byEitherSas('o', 'cw');
const blobWrite = byEitherSas('o', 'w');
const blobAppend = byEitherSas('o', 'aw');
const blobTags = byEitherSas('o', 't');
const blobImmutability = byEitherSas('o', 'i');
const containerRead: Need = { ...byAccountSas('c', 'r'), anonymous: 'container' };
/** Who may change who may: nobody but the owner. */
const ownerOnly: Need = { ...byAccountSas('c', ''), privilege: 'control' };
const serviceSetting = (anyOf: string): Need => ({ ...byAccountSas('s', anyOf), privilege: 'control' });
/** Of a share, and of all shares: what roles for data do not reach. */
const ofShare = (anyOf: string): Need => ({ ...byAccountSas('c', anyOf), privilege: 'control' });

export const blobNeeds = {
  listContainers: byAccountSas('s', 'l'),
  getServiceProperties: serviceSetting('r'),
  setServiceProperties: serviceSetting('w'),
  getServiceStats: serviceSetting('r'),
  getUserDelegationKey: { ...byAccountSas('s', ''), privilege: 'delegation' },
  findBlobsByTags: byAccountSas('o', 'f'),
  // Its parts are authorized one by one.
  batch: byAccountSas('s', ANY_LETTER),

  createContainer: byAccountSas('c', 'cw'),
  getContainerProperties: containerRead,
  getContainerMetadata: containerRead,
  setContainerMetadata: byAccountSas('c', 'w'),
  getContainerAcl: ownerOnly,
  setContainerAcl: ownerOnly,
  deleteContainer: byAccountSas('c', 'd'),
  restoreContainer: byAccountSas('c', 'w'),
  leaseContainer: byAccountSas('c', 'w'),
  listBlobs: { ...byEitherSas('c', 'l'), anonymous: 'container' },
  findBlobsByTagsInContainer: byEitherSas('o', 'f'),
  batchInContainer: byEitherSas('c', ANY_LETTER),

  getBlob: blobRead,
  getBlobProperties: blobRead,
  getBlobMetadata: blobRead,
  getBlockList: blobRead,
  getPageRanges: blobRead,
  queryBlobContents: blobReadPrivate,
  /** Of the blob that a copy reads. */
  copySource: blobRead,

  putBlob: blobCreate,
  putBlobFromUrl: blobCreate,
  copyBlob: blobCreate,
  copyBlobFromUrl: blobCreate,
  incrementalCopyBlob: blobCreate,
  snapshotBlob: blobCreate,

  putBlock: blobWrite,
  putBlockFromUrl: blobWrite,
  putBlockList: blobWrite,
  putPage: blobWrite,
  putPageFromUrl: blobWrite,
  setBlobProperties: blobWrite,
  setBlobMetadata: blobWrite,
  setBlobTier: blobWrite,
  setBlobExpiry: blobWrite,
  abortCopyBlob: blobWrite,
  undeleteBlob: blobWrite,
  leaseBlob: blobWrite,
  appendBlock: blobAppend,
  appendBlockFromUrl: blobAppend,
  sealAppendBlob: blobWrite,

  deleteBlob: byEitherSas('o', 'd'),
  deleteBlobVersion: byEitherSas('o', 'x'),
  deleteBlobPermanently: byEitherSas('o', 'y'),

  getBlobTags: blobTags,
  setBlobTags: blobTags,
  setImmutabilityPolicy: blobImmutability,
  deleteImmutabilityPolicy: blobImmutability,
  setLegalHold: blobImmutability,
} as const satisfies Readonly<Record<string, Need>>;

/** A token for a table opens what is in it; the table as such, and the service, are opened by an account SAS alone. */
export const tableNeeds = {
  getServiceProperties: serviceSetting('r'),
  setServiceProperties: serviceSetting('w'),
  getServiceStats: serviceSetting('r'),
  getUserDelegationKey: { ...byAccountSas('s', ''), privilege: 'delegation' },

  queryTables: byAccountSas('c', 'l'),
  createTable: byAccountSas('c', 'cw'),
  deleteTable: byAccountSas('c', 'd'),
  getTableAcl: ownerOnly,
  setTableAcl: ownerOnly,

  queryEntities: byEitherSas('o', 'r'),
  insertEntity: byEitherSas('o', 'a'),
  updateEntity: byEitherSas('o', 'u'),
  upsertEntity: { ...byEitherSas('o', 'au'), needsAll: true },
  deleteEntity: byEitherSas('o', 'd'),
  // Its parts are authorized one by one.
  batch: byEitherSas('o', 'raud'),
} as const satisfies Readonly<Record<string, Need>>;

/** A token for a queue opens its messages, and its metadata to be read; all else of it takes an account SAS. */
export const queueNeeds = {
  getServiceProperties: serviceSetting('r'),
  setServiceProperties: serviceSetting('w'),
  getServiceStats: serviceSetting('r'),
  getUserDelegationKey: { ...byAccountSas('s', ''), privilege: 'delegation' },

  listQueues: byAccountSas('s', 'l'),
  createQueue: byAccountSas('c', 'cw'),
  deleteQueue: byAccountSas('c', 'd'),
  // To a SAS it is reading, as peeking is. A role that reads messages need not see queues.
  getQueueMetadata: { ...byEitherSas('c', 'r'), anyOfRole: 'l' },
  setQueueMetadata: byAccountSas('c', 'w'),
  getQueueAcl: ownerOnly,
  setQueueAcl: ownerOnly,

  putMessage: byEitherSas('o', 'a'),
  getMessages: byEitherSas('o', 'p'),
  peekMessages: byEitherSas('o', 'r'),
  updateMessage: byEitherSas('o', 'u'),
  deleteMessage: byEitherSas('o', 'p'),
  clearMessages: byAccountSas('o', 'd'),
} as const satisfies Readonly<Record<string, Need>>;

/** A token for a share opens what is in it, one for a file that file; the share as such takes an account SAS. */
export const fileNeeds = {
  getServiceProperties: serviceSetting('r'),
  setServiceProperties: serviceSetting('w'),
  getUserDelegationKey: { ...byAccountSas('s', ''), privilege: 'delegation' },
  listShares: serviceSetting('l'),

  createShare: ofShare('cw'),
  snapshotShare: ofShare('cw'),
  getShareProperties: ofShare('r'),
  getShareMetadata: ofShare('r'),
  getShareStats: ofShare('r'),
  setShareProperties: ofShare('w'),
  setShareMetadata: ofShare('w'),
  leaseShare: ofShare('w'),
  deleteShare: ofShare('d'),
  restoreShare: ofShare('w'),
  getShareAcl: ownerOnly,
  setShareAcl: ownerOnly,
  createPermission: byEitherSas('c', 'w'),
  getPermission: byEitherSas('c', 'r'),

  listDirectoriesAndFiles: byEitherSas('c', 'l'),
  createDirectory: byEitherSas('o', 'cw'),
  getDirectory: byEitherSas('o', 'r'),
  setDirectory: byEitherSas('o', 'w'),
  deleteDirectory: byEitherSas('o', 'd'),

  createFile: byEitherSas('o', 'cw'),
  getFile: byEitherSas('o', 'r'),
  setFile: byEitherSas('o', 'w'),
  copyFile: byEitherSas('o', 'cw'),
  deleteFile: byEitherSas('o', 'd'),
  leaseFile: byEitherSas('o', 'w'),
  rename: byEitherSas('o', 'w'),
  /** Of what a rename moves, which is no longer there afterwards. */
  renameSource: byEitherSas('o', 'd'),
  listHandles: byEitherSas('o', 'r'),
  forceCloseHandles: byEitherSas('o', 'w'),
} as const satisfies Readonly<Record<string, Need>>;

const lettersToBreakLease = (version: string): string => (version >= SINCE_BREAK_BY_DELETE_PERMISSION ? 'wd' : 'w');

export const breakBlobLease = (version: string): Need => byEitherSas('o', lettersToBreakLease(version));

export const breakContainerLease = (version: string): Need => byAccountSas('c', lettersToBreakLease(version));

/** It can be asked of the account, of a container and of a blob, and every token that is good there will do. */
export function getAccountInformation(resource: readonly string[]): Need {
  if (resource.length === 0) return byAccountSas('s', ANY_LETTER);
  return byEitherSas(resource.length === 1 ? 'c' : 'o', ANY_LETTER);
}
