/**
 * The resource that a service SAS must have been made for if it is to open what the request addresses. It is signed,
 * so that a token replayed on another path has another string to sign, and fails.
 */

import { StorageError } from '../service/storage-error.ts';
import type { ServiceLetter } from './identity.ts';
import { authenticationFailed } from './refusals.ts';
import { refuseLineBreak, refuseMissing, refuseUnsigned, type SasFields, SINCE_SNAPSHOT_TOKENS } from './sas-token.ts';
import type { SignedRequest } from './signed-request.ts';

const SINCE_SERVICE_IN_RESOURCE = '2015-02-21';
const SINCE_DIRECTORY_TOKENS = '2020-02-10';

export const serviceNames: Record<ServiceLetter, string> = { b: 'blob', q: 'queue', t: 'table', f: 'file' };

/** `/blob/account/container/name`, decoded, the account once and without a trailing slash. */
export function signedResource(request: SignedRequest, field: SasFields, resource: readonly string[]): string {
  const path = signedPath(request, field, resource);
  refuseLineBreak('the path', path);
  const service = field('sv') >= SINCE_SERVICE_IN_RESOURCE ? `/${serviceNames[request.service]}` : '';
  return `${service}/${request.target.account}/${path}`;
}

function signedPath(request: SignedRequest, field: SasFields, resource: readonly string[]): string {
  const [container = ''] = resource;
  if (container === '' && request.service !== 't') {
    throw authenticationFailed('The token is for one resource, but the request addresses the whole service.');
  }
  switch (request.service) {
    case 'b':
      return signedBlobPath(request, field, resource);
    case 'q':
      return container;
    case 't':
      return signedTable(field, container);
    case 'f':
      return signedFilePath(request, field, resource);
  }
}

function signedBlobPath(request: SignedRequest, field: SasFields, resource: readonly string[]): string {
  const [container = '', blob = ''] = resource;
  const kind = field('sr');
  switch (kind) {
    case 'c':
      return container;
    case 'bs':
    case 'bv': {
      refuseUnsigned(field, 'sr', SINCE_SNAPSHOT_TOKENS);
      refuseMissing(field, [kind === 'bs' ? 'snapshot' : 'versionid']);
      return blobPath(kind, container, blob);
    }
    case 'b':
      return blobPath(kind, container, blob);
    case 'd':
      refuseUnsigned(field, 'sr', SINCE_DIRECTORY_TOKENS);
      return directoryPath(request, field, resource);
    default:
      throw authenticationFailed(`sr=${kind} is not one of b, bs, bv, c and d.`);
  }
}

function blobPath(kind: string, container: string, blob: string): string {
  if (blob === '')
    throw authenticationFailed(`The token is for one blob (sr=${kind}), but the request does not address a blob.`);
  return `${container}/${blob}`;
}

/** The first `sdd` segments of the blob's name; of the listing's prefix, which must then lie inside the directory. */
function directoryPath(
  request: SignedRequest,
  field: SasFields,
  [container = '', blob = '']: readonly string[],
): string {
  if (field('sdd') === '')
    throw new StorageError('QueryParameterSasMandatory', { elements: { QueryParameterName: 'sdd' } });
  if (!/^\d{1,3}$/.test(field('sdd'))) throw new StorageError('QueryParameterSddInvalid');
  const depth = Number(field('sdd'));
  const { query } = request.target;
  const listing = blob === '' && query.get('comp') === 'list';
  const segments = (listing ? (query.get('prefix') ?? '') : blob).split('/');
  const insideCount = listing ? segments.length - 1 : segments.length;
  if ((blob === '' && !listing) || insideCount < depth) {
    throw authenticationFailed(
      `The token is for a directory of depth ${depth}, but the request does not address anything in it.`,
    );
  }
  return [container, ...segments.slice(0, depth)].join('/');
}

/** Batches and queries of one table go to different paths, so the token names its table. */
function signedTable(field: SasFields, addressed: string): string {
  const table = field('tn').toLowerCase();
  if (addressed !== '' && addressed.toLowerCase() !== table) {
    throw authenticationFailed(`The token is for the table ${table}, but the request addresses ${addressed}.`);
  }
  return table;
}

/** There are no tokens for a directory: one for a file of that name does not open it. */
function signedFilePath({ target }: SignedRequest, field: SasFields, resource: readonly string[]): string {
  const [share = ''] = resource;
  if (field('sr') === 's') return share;
  if (field('sr') !== 'f') throw authenticationFailed(`sr=${field('sr')} is neither s nor f.`);
  if (resource.length < 2 || target.query.get('restype')?.toLowerCase() === 'directory')
    throw authenticationFailed('The token is for one file (sr=f), but the request does not address a file.');
  return resource.join('/');
}
