/**
 * Which Blob operation a request asks for. Azure decides by method, `restype`, `comp` and a few headers, so this is one
 * closed list of them; names are judged here too, so that no operation ever sees an impossible one.
 */
import type { ErrorCode } from '../../rules/error-code.ts';
import { ROOT_CONTAINER, refuseBlobName, refuseContainerName } from '../../rules/names.ts';
import { invalidQuery, StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { decodePercent } from '../request-target.ts';
import { compOf, unknownOperation } from '../routing.ts';
import { abortCopyBlob } from './abort-copy-blob.ts';
import { appendBlock, sealAppendBlob } from './append-block.ts';
import { appendBlockFromUrl } from './append-block-from-url.ts';
import { batch, batchInContainer } from './batch.ts';
import {
  createContainer,
  deleteContainer,
  getContainerMetadata,
  getContainerProperties,
  setContainerMetadata,
} from './container.ts';
import { getContainerAcl, setContainerAcl } from './container-acl.ts';
import { copyBlob } from './copy-blob.ts';
import { copyBlobFromUrl } from './copy-blob-from-url.ts';
import { deleteBlob } from './delete-blob.ts';
import { getBlob } from './get-blob.ts';
import { getBlobMetadata, getBlobProperties } from './get-blob-properties.ts';
import { getBlockList } from './get-block-list.ts';
import { getPageRanges } from './get-page-ranges.ts';
import { deleteImmutabilityPolicy, setImmutabilityPolicy, setLegalHold } from './immutability.ts';
import { incrementalCopyBlob } from './incremental-copy.ts';
import { leaseBlob, leaseContainer } from './lease.ts';
import { listBlobs } from './list-blobs.ts';
import { listContainers } from './list-containers.ts';
import type { BlobResource, Operation } from './operation.ts';
import { putBlob } from './put-blob.ts';
import { putBlobFromUrl } from './put-blob-from-url.ts';
import { putBlock } from './put-block.ts';
import { putBlockFromUrl } from './put-block-from-url.ts';
import { putBlockList } from './put-block-list.ts';
import { putPage } from './put-page.ts';
import { putPageFromUrl } from './put-page-from-url.ts';
import { queryBlobContents } from './query-blob-contents.ts';
import { restoreContainer } from './restore-container.ts';
import { getAccountInformation, getServiceProperties, getServiceStats, setServiceProperties } from './service.ts';
import { setBlobMetadata, setBlobProperties } from './set-blob.ts';
import { setBlobExpiry } from './set-blob-expiry.ts';
import { setBlobTier } from './set-blob-tier.ts';
import { snapshotBlob } from './snapshot-blob.ts';
import { findBlobsByTags, findBlobsByTagsInContainer, getBlobTags, setBlobTags } from './tags.ts';
import { undeleteBlob } from './undelete-blob.ts';
import { getUserDelegationKey } from './user-delegation-key.ts';

const SERVICE: Readonly<Record<string, Operation>> = {
  'GET list': listContainers,
  'GET properties': getServiceProperties,
  'PUT properties': setServiceProperties,
  'GET stats': getServiceStats,
  'GET blobs': findBlobsByTags,
  'POST batch': batch,
  'POST userdelegationkey': getUserDelegationKey,
};

const CONTAINER: Readonly<Record<string, Operation>> = {
  'PUT ': createContainer,
  'GET ': getContainerProperties,
  'HEAD ': getContainerProperties,
  'DELETE ': deleteContainer,
  'GET metadata': getContainerMetadata,
  'HEAD metadata': getContainerMetadata,
  'PUT metadata': setContainerMetadata,
  'GET acl': getContainerAcl,
  'HEAD acl': getContainerAcl,
  'PUT acl': setContainerAcl,
  'PUT lease': leaseContainer,
  'GET list': listBlobs,
  'PUT undelete': restoreContainer,
  'GET blobs': findBlobsByTagsInContainer,
  'POST batch': batchInContainer,
};

const BLOB: Readonly<Record<string, Operation>> = {
  'PUT ': putBlob,
  'GET ': getBlob,
  'HEAD ': getBlobProperties,
  'DELETE ': deleteBlob,
  'GET metadata': getBlobMetadata,
  'HEAD metadata': getBlobMetadata,
  'PUT metadata': setBlobMetadata,
  'PUT properties': setBlobProperties,
  'PUT lease': leaseBlob,
  'PUT block': putBlock,
  'PUT blocklist': putBlockList,
  'GET blocklist': getBlockList,
  'GET tags': getBlobTags,
  'PUT tags': setBlobTags,
  'PUT tier': setBlobTier,
  'PUT expiry': setBlobExpiry,
  'PUT immutabilitypolicies': setImmutabilityPolicy,
  'DELETE immutabilitypolicies': deleteImmutabilityPolicy,
  'PUT legalhold': setLegalHold,
  'PUT snapshot': snapshotBlob,
  'PUT copy': abortCopyBlob,
  'PUT undelete': undeleteBlob,
  'POST query': queryBlobContents,
  'PUT page': putPage,
  'GET pagelist': getPageRanges,
  'PUT incrementalcopy': incrementalCopyBlob,
  'PUT appendblock': appendBlock,
  'PUT seal': sealAppendBlob,
};

const OPERATIONS = { service: SERVICE, container: CONTAINER, blob: BLOB } as const;

export function findOperation(exchange: Exchange): { operation: Operation; resource: BlobResource } {
  const { query } = exchange.target;
  const restype = query.get('restype');
  if (restype === 'account') return { operation: accountOperation(exchange), resource: parseAnyResource(exchange) };
  const resource = parseResource(exchange, restype);
  const operation = OPERATIONS[resource.kind][`${exchange.method} ${compOf(exchange)}`];
  if (operation === undefined) throw unknownOperation(exchange, OPERATIONS[resource.kind]);
  if (resource.kind === 'blob') return { operation: byHeaderAndVersion(exchange, operation), resource };
  return { operation, resource };
}

/** The copies share their URLs with Put Blob and Put Block; a snapshot or version is named beside the blob. */
function byHeaderAndVersion(exchange: Exchange, operation: Operation): Operation {
  if (operation.takesPast !== true) refusePast(exchange);
  if (exchange.header('x-ms-copy-source') === null) return operation;
  if (operation === putBlob) return exchange.header('x-ms-blob-type') === null ? copyOf(exchange) : putBlobFromUrl;
  return FROM_URL.get(operation) ?? operation;
}

const FROM_URL: ReadonlyMap<Operation, Operation> = new Map([
  [putBlock, putBlockFromUrl],
  [putPage, putPageFromUrl],
  [appendBlock, appendBlockFromUrl],
]);

const copyOf = (exchange: Exchange): Operation =>
  exchange.header('x-ms-requires-sync')?.toLowerCase() === 'true' ? copyBlobFromUrl : copyBlob;

/** A snapshot or version is there to be read: to most writes it is no target. */
function refusePast({ target: { query } }: Exchange): void {
  for (const name of ['snapshot', 'versionid'] as const) {
    const value = query.get(name);
    if (value !== null) throw invalidQuery(name, value, 'This operation does not accept a snapshot or a version.');
  }
}

function accountOperation(exchange: Exchange): Operation {
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') throw new StorageError('UnsupportedHttpVerb');
  const comp = exchange.target.query.get('comp');
  if (comp !== 'properties') throw invalidQuery('comp', comp ?? '');
  return getAccountInformation;
}

function parseResource(exchange: Exchange, restype: string | null): BlobResource {
  const path = exchange.target.resourcePath;
  // A client that takes the account in a path for a container asks for a batch of the container without a name.
  const isBatch = path === '' && exchange.target.query.get('comp') === 'batch';
  if (restype === 'service' || (path === '' && restype === null) || isBatch) return { kind: 'service' };
  const cut = path.indexOf('/');
  if (restype === 'container') return container(decodePercent(cut === -1 ? path : path.slice(0, cut)));
  if (restype !== null) throw invalidQuery('restype', restype);
  if (cut === -1) return blob(ROOT_CONTAINER, decodePercent(path));
  return blob(decodePercent(path.slice(0, cut)), decodePercent(path.slice(cut + 1)));
}

/** Account information may be asked of anything, even of what does not exist. */
function parseAnyResource(exchange: Exchange): BlobResource {
  const [first = '', ...rest] = exchange.target.resourcePath.split('/');
  if (first === '') return { kind: 'service' };
  const name = decodePercent(rest.join('/'));
  return name === '' ? container(decodePercent(first)) : blob(decodePercent(first), name);
}

function container(name: string): BlobResource {
  refuseName(refuseContainerName(name));
  return { kind: 'container', container: name };
}

function blob(containerName: string, name: string): BlobResource {
  refuseName(refuseContainerName(containerName) ?? refuseBlobName(name, { container: containerName }));
  return { kind: 'blob', container: containerName, blob: name };
}

function refuseName(code: ErrorCode | null): void {
  if (code !== null) throw new StorageError(code);
}
