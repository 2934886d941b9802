/**
 * Which File operation a request asks for: one closed list by method, `comp` and what path and `restype` name. Names are
 * judged here too, so that no operation ever sees an impossible one.
 */
import type { Path } from '../../service/file/load.ts';
import { invalidQuery, StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { compOf, unknownOperation } from '../routing.ts';
import { copyFile } from './copy-file.ts';
import { directoryOperations, fileOperations } from './file-routes.ts';
import { listShares } from './list-shares.ts';
import type { FileResource, Operation, Operations } from './operation.ts';
import { keepsTrailingDots, parsePath, parseWrittenPath } from './path.ts';
import { createPermission, getPermission } from './permission.ts';
import { putRangeFromUrl } from './put-range-from-url.ts';
import { restoreShare } from './restore-share.ts';
import { getServiceProperties, setServiceProperties } from './service.ts';
import {
  createShare,
  deleteShare,
  getShareMetadata,
  getShareProperties,
  setShareMetadata,
  setShareProperties,
} from './share.ts';
import { getShareAcl, setShareAcl } from './share-acl.ts';
import { leaseShare } from './share-lease.ts';
import { getShareStats } from './share-stats.ts';
import { snapshotShare } from './snapshot-share.ts';
import { getUserDelegationKey } from './user-delegation-key.ts';

type ResourceKind = FileResource['kind'];

const OPERATIONS: Readonly<Record<ResourceKind, Operations>> = {
  service: {
    'GET list': listShares,
    'GET properties': getServiceProperties,
    'PUT properties': setServiceProperties,
    'POST userdelegationkey': getUserDelegationKey,
  },
  share: {
    'PUT ': createShare,
    'GET ': getShareProperties,
    'HEAD ': getShareProperties,
    'DELETE ': deleteShare,
    'PUT properties': setShareProperties,
    'GET metadata': getShareMetadata,
    'HEAD metadata': getShareMetadata,
    'PUT metadata': setShareMetadata,
    'GET acl': getShareAcl,
    'HEAD acl': getShareAcl,
    'PUT acl': setShareAcl,
    'GET stats': getShareStats,
    'PUT snapshot': snapshotShare,
    'PUT undelete': restoreShare,
    'PUT lease': leaseShare,
    'PUT filepermission': createPermission,
    'GET filepermission': getPermission,
  },
  directory: directoryOperations,
  file: fileOperations,
};

/** What is not there for older versions, by `comp`. */
const SINCE: Readonly<Record<ResourceKind, Readonly<Record<string, string>>>> = {
  service: {},
  share: {
    properties: '2015-02-21',
    acl: '2015-02-21',
    snapshot: '2017-04-17',
    filepermission: '2019-02-02',
    undelete: '2019-12-12',
    lease: '2020-02-10',
  },
  directory: {
    metadata: '2015-02-21',
    properties: '2019-02-02',
    listhandles: '2018-11-09',
    forceclosehandles: '2018-11-09',
    rename: '2021-04-10',
  },
  file: {
    copy: '2015-02-21',
    lease: '2019-02-02',
    listhandles: '2018-11-09',
    forceclosehandles: '2018-11-09',
    rename: '2021-04-10',
  },
};

export interface Asked {
  readonly operation: Operation;
  readonly resource: FileResource;
  /** What is addressed, as it was written: what a token is for. */
  readonly names: readonly string[];
}

export function findOperation(exchange: Exchange): Asked {
  const { resource, names } = parseResource(exchange);
  const operations = OPERATIONS[resource.kind];
  const comp = compOf(exchange);
  const listed = operations[`${exchange.method} ${comp}`];
  if (listed === undefined) throw unknownOperation(exchange, operations);
  if (exchange.version < (SINCE[resource.kind][comp] ?? '')) throw tooOld('comp', comp);
  const operation = resource.kind === 'file' ? bySource(exchange, listed) : listed;
  if (operation.takesSnapshot !== true) refuseSnapshot(exchange);
  return { operation, resource, names };
}

/** The copies share their URLs with Create File and Put Range. */
function bySource(exchange: Exchange, listed: Operation): Operation {
  if (exchange.method !== 'PUT' || exchange.header('x-ms-copy-source') === null) return listed;
  const comp = compOf(exchange);
  if (comp === '') return copyFile;
  return comp === 'range' ? putRangeFromUrl : listed;
}

/** A snapshot is there to be read: to most writes it is no target. */
function refuseSnapshot({ target: { query } }: Exchange): void {
  const snapshot = query.get('sharesnapshot');
  if (snapshot !== null) throw invalidQuery('sharesnapshot', snapshot, 'This operation does not accept a snapshot.');
}

const tooOld = (name: string, value: string): StorageError => invalidQuery(name, value, 'The version is too old.');

function parseResource(exchange: Exchange): Pick<Asked, 'resource' | 'names'> {
  const { resourcePath, query } = exchange.target;
  const restype = query.get('restype')?.toLowerCase() ?? '';
  if (resourcePath === '') {
    if (restype !== '' && restype !== 'service') throw invalidQuery('restype', restype);
    return { resource: { kind: 'service' }, names: [] };
  }
  const { share, path: written } = parseWrittenPath(resourcePath);
  const kind = kindOf(exchange, restype, written);
  const below = kind !== 'file' && written.at(-1) === '' ? written.slice(0, -1) : written;
  if (kind === 'share') {
    if (below.length > 0) throw invalidQuery('restype', restype, 'It is for a share, not for what is in it.');
    return { resource: { kind, share }, names: [share] };
  }
  const path = parsePath(below, { trailingDots: keepsTrailingDots(exchange) });
  return { resource: { kind, share, path }, names: path.length === 0 ? [share] : [share, below.join('/')] };
}

const HANDLE_WORDS: ReadonlySet<string> = new Set(['listhandles', 'forceclosehandles']);

/** Handles are asked for without saying of what: a path that cannot be a file's is a directory's. */
function kindOf(exchange: Exchange, restype: string, written: Path): Exclude<ResourceKind, 'service'> {
  if (restype === 'share' || restype === 'directory') return restype;
  if (restype !== '' && restype !== 'file') throw invalidQuery('restype', restype);
  const last = written.at(-1) ?? '';
  if (last === '' && HANDLE_WORDS.has(compOf(exchange))) return 'directory';
  if (written.length === 0 || (written.length === 1 && last === '')) throw missingRestype();
  return 'file';
}

const missingRestype = (): StorageError =>
  new StorageError('MissingRequiredQueryParameter', { elements: { QueryParameterName: 'restype' } });
