/**
 * Every operation of the File service as a raw request that is in order, for tests that then put it out of order. They stand
 * in an order in which each finds what it needs, and what the server gave to earlier ones (`Given`) is used by later ones.
 */
import type { RawRequest } from '../harness/http.ts';

/** Where an operation is to take place. Paths are written as in URLs. */
export interface Spot {
  readonly share: string;
  /** With a slash before it. */
  readonly directory: string;
  readonly file: string;
  /** Where something is renamed or copied to. */
  readonly target: string;
}

/** The last of each that the server gave. */
export interface Given {
  readonly snapshot: string;
  readonly permission: string;
  readonly deletedVersion: string;
}

export interface RawOperation {
  readonly name: string;
  /** What is answered where all is as it should be; absent: any success. */
  readonly refused?: string;
  readonly ask: (spot: Spot, given: Given, urlOf: (path: string) => string) => RawRequest;
}

const LEASE = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa';
const OTHER_LEASE = 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb';
const FILE_BYTES = 4096;
const RANGE = 'bytes=500-1099';
const RANGE_BYTES = 600;
export const SDDL = 'O:SYG:SYD:(A;;FA;;;SY)';

const PROPERTIES = {
  'x-ms-file-attributes': 'Archive | Hidden',
  'x-ms-file-creation-time': 'now',
  'x-ms-file-last-write-time': '2024-01-01T00:00:00.1234567Z',
  'x-ms-file-change-time': '2024-01-01T00:00:00Z',
  'x-ms-file-permission': SDDL,
};

const get = (path: string, headers = {}): RawRequest => ({ method: 'GET', path, headers });
const head = (path: string): RawRequest => ({ method: 'HEAD', path });
const put = (path: string, headers = {}, body = ''): RawRequest => ({ method: 'PUT', path, headers, body });
const remove = (path: string, headers = {}): RawRequest => ({ method: 'DELETE', path, headers });

const lease = (path: string, action: string, headers = {}): RawRequest =>
  put(path, { 'x-ms-lease-action': action, ...headers });
const ACQUIRE = { 'x-ms-lease-duration': '-1', 'x-ms-proposed-lease-id': LEASE };
const CHANGE = { 'x-ms-lease-id': LEASE, 'x-ms-proposed-lease-id': OTHER_LEASE };

export const RAW_OPERATIONS: readonly RawOperation[] = [
  {
    name: 'Set File Service Properties',
    ask: () =>
      put(
        '/?restype=service&comp=properties',
        {},
        '<StorageServiceProperties><Cors/><ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>1</Days></ShareDeleteRetentionPolicy></StorageServiceProperties>',
      ),
  },
  { name: 'Get File Service Properties', ask: () => get('/?restype=service&comp=properties') },
  {
    name: 'Get User Delegation Key',
    refused: '403 AuthenticationFailed',
    ask: () => ({
      method: 'POST',
      path: '/?restype=service&comp=userdelegationkey',
      headers: { 'x-ms-version': '2026-02-06' },
      body: '<KeyInfo><Start>2024-01-01T00:00:00Z</Start><Expiry>2024-01-02T00:00:00Z</Expiry></KeyInfo>',
    }),
  },
  {
    name: 'Create Share',
    ask: ({ share }) => put(`/${share}?restype=share`, { 'x-ms-share-quota': '5120', 'x-ms-meta-a': 'b' }),
  },
  {
    name: 'List Shares',
    ask: () => get('/?comp=list&prefix=f&maxresults=1&include=metadata,snapshots,deleted'),
  },
  { name: 'Get Share Properties', ask: ({ share }) => get(`/${share}?restype=share`) },
  {
    name: 'Set Share Properties',
    ask: ({ share }) =>
      put(`/${share}?restype=share&comp=properties`, { 'x-ms-share-quota': '5000', 'x-ms-access-tier': 'Cool' }),
  },
  { name: 'Get Share Metadata', ask: ({ share }) => head(`/${share}?restype=share&comp=metadata`) },
  {
    name: 'Set Share Metadata',
    ask: ({ share }) => put(`/${share}?restype=share&comp=metadata`, { 'x-ms-meta-c': 'd' }),
  },
  { name: 'Get Share ACL', ask: ({ share }) => get(`/${share}?restype=share&comp=acl`) },
  {
    name: 'Set Share ACL',
    ask: ({ share }) =>
      put(
        `/${share}?restype=share&comp=acl`,
        {},
        '<SignedIdentifiers><SignedIdentifier><Id>p</Id><AccessPolicy><Start>2024-01-01T00:00:00Z</Start><Expiry>2099-01-01</Expiry><Permission>rl</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>',
      ),
  },
  { name: 'Get Share Stats', ask: ({ share }) => get(`/${share}?restype=share&comp=stats`) },
  {
    name: 'Lease Share',
    ask: ({ share }) => lease(`/${share}?restype=share&comp=lease`, 'acquire', ACQUIRE),
  },
  {
    name: 'Lease Share, broken',
    ask: ({ share }) => lease(`/${share}?restype=share&comp=lease`, 'break', { 'x-ms-lease-break-period': '0' }),
  },
  {
    name: 'Create Permission',
    ask: ({ share }) =>
      put(
        `/${share}?restype=share&comp=filepermission`,
        { 'content-type': 'application/json' },
        JSON.stringify({ permission: SDDL, format: 'Sddl' }),
      ),
  },
  {
    name: 'Get Permission',
    ask: ({ share }, { permission }) =>
      get(`/${share}?restype=share&comp=filepermission`, {
        'x-ms-file-permission-key': permission,
        'x-ms-file-permission-format': 'Binary',
      }),
  },

  {
    name: 'Create Directory',
    ask: ({ share, directory }) =>
      put(`/${share}${directory}?restype=directory`, { ...PROPERTIES, 'x-ms-file-attributes': 'Hidden' }),
  },
  { name: 'Get Directory Properties', ask: ({ share, directory }) => get(`/${share}${directory}?restype=directory`) },
  {
    name: 'Set Directory Properties',
    ask: ({ share, directory }) =>
      put(`/${share}${directory}?restype=directory&comp=properties`, { 'x-ms-file-attributes': 'None' }),
  },
  {
    name: 'Get Directory Metadata',
    ask: ({ share, directory }) => get(`/${share}${directory}?restype=directory&comp=metadata`),
  },
  {
    name: 'Set Directory Metadata',
    ask: ({ share, directory }) => put(`/${share}${directory}?restype=directory&comp=metadata`, { 'x-ms-meta-e': 'f' }),
  },
  {
    name: 'List Handles of a directory',
    ask: ({ share, directory }) =>
      get(`/${share}${directory}/?comp=listhandles&maxresults=5`, { 'x-ms-recursive': 'true' }),
  },
  {
    name: 'Force Close Handles of a directory',
    ask: ({ share, directory }) =>
      put(`/${share}${directory}?comp=forceclosehandles`, { 'x-ms-handle-id': '*', 'x-ms-recursive': 'true' }),
  },

  {
    name: 'Create File',
    ask: ({ share, file }) =>
      put(`/${share}${file}`, {
        ...PROPERTIES,
        'x-ms-type': 'file',
        'x-ms-content-length': String(FILE_BYTES),
        'x-ms-content-type': 'text/plain',
        'x-ms-cache-control': 'no-cache',
        'x-ms-meta-g': 'h',
      }),
  },
  {
    name: 'Create File with its first bytes',
    ask: ({ share, file }) =>
      put(
        `/${share}${file}`,
        { 'x-ms-type': 'file', 'x-ms-content-length': String(FILE_BYTES), 'x-ms-version': '2026-06-06' },
        'first bytes',
      ),
  },
  {
    name: 'Put Range',
    ask: ({ share, file }) =>
      put(`/${share}${file}?comp=range`, { 'x-ms-write': 'update', 'x-ms-range': RANGE }, 'r'.repeat(RANGE_BYTES)),
  },
  { name: 'Snapshot Share', ask: ({ share }) => put(`/${share}?restype=share&comp=snapshot`, { 'x-ms-meta-i': 'j' }) },
  {
    name: 'Clear Range',
    ask: ({ share, file }) =>
      put(`/${share}${file}?comp=range`, { 'x-ms-write': 'clear', 'x-ms-range': 'bytes=512-1023' }),
  },
  {
    name: 'Get File',
    ask: ({ share, file }) => get(`/${share}${file}`, { 'x-ms-range': RANGE, 'x-ms-range-get-content-md5': 'true' }),
  },
  {
    name: 'Get File of a snapshot',
    ask: ({ share, file }, { snapshot }) => get(`/${share}${file}?sharesnapshot=${snapshot}`),
  },
  { name: 'Get File Properties', ask: ({ share, file }) => head(`/${share}${file}`) },
  {
    name: 'Set File Properties',
    ask: ({ share, file }) =>
      put(`/${share}${file}?comp=properties`, {
        ...PROPERTIES,
        'x-ms-content-length': '3000',
        'x-ms-content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==',
      }),
  },
  { name: 'Get File Metadata', ask: ({ share, file }) => get(`/${share}${file}?comp=metadata`) },
  {
    name: 'Set File Metadata',
    ask: ({ share, file }) => put(`/${share}${file}?comp=metadata`, { 'x-ms-meta-k': 'l' }),
  },
  {
    name: 'List Ranges',
    ask: ({ share, file }) =>
      get(`/${share}${file}?comp=rangelist&maxresults=1`, { 'x-ms-version': '2026-10-06', 'x-ms-range': 'bytes=0-' }),
  },
  {
    name: 'List Ranges since a snapshot',
    ask: ({ share, file }, { snapshot }) => get(`/${share}${file}?comp=rangelist&prevsharesnapshot=${snapshot}`),
  },
  { name: 'List Handles', ask: ({ share, file }) => get(`/${share}${file}?comp=listhandles`) },
  {
    name: 'Force Close Handles',
    ask: ({ share, file }) => put(`/${share}${file}?comp=forceclosehandles`, { 'x-ms-handle-id': '1' }),
  },
  {
    name: 'List Directories and Files',
    ask: ({ share }) =>
      get(`/${share}/?restype=directory&comp=list&maxresults=3&include=Timestamps,Etag,Attributes,PermissionKey`),
  },
  {
    name: 'List Directories and Files of a snapshot',
    ask: ({ share, directory }, { snapshot }) =>
      get(`/${share}${directory}?restype=directory&comp=list&prefix=f&sharesnapshot=${snapshot}`),
  },
  { name: 'Lease File', ask: ({ share, file }) => lease(`/${share}${file}?comp=lease`, 'acquire', ACQUIRE) },
  { name: 'Lease File, changed', ask: ({ share, file }) => lease(`/${share}${file}?comp=lease`, 'change', CHANGE) },
  { name: 'Lease File, broken', ask: ({ share, file }) => lease(`/${share}${file}?comp=lease`, 'break') },
  {
    name: 'Lease File, released',
    ask: ({ share, file }) => lease(`/${share}${file}?comp=lease`, 'release', { 'x-ms-lease-id': OTHER_LEASE }),
  },
  {
    name: 'Copy File',
    ask: ({ share, file, target }, _given, urlOf) =>
      put(`/${share}${target}`, {
        'x-ms-copy-source': urlOf(`/${share}${file}`),
        'x-ms-file-permission-copy-mode': 'source',
        'x-ms-file-attributes': 'source',
        'x-ms-file-copy-ignore-readonly': 'true',
      }),
  },
  {
    name: 'Abort Copy File',
    refused: '409 NoPendingCopyOperation',
    ask: ({ share, target }) => put(`/${share}${target}?comp=copy&copyid=${LEASE}`, { 'x-ms-copy-action': 'abort' }),
  },
  {
    name: 'Put Range From URL',
    ask: ({ share, file, target }, _given, urlOf) =>
      put(`/${share}${target}?comp=range`, {
        'x-ms-copy-source': urlOf(`/${share}${file}`),
        'x-ms-write': 'update',
        'x-ms-source-range': 'bytes=10-1009',
        'x-ms-range': 'bytes=1000-1999',
      }),
  },
  {
    name: 'Rename File',
    ask: ({ share, file, target }, _given, urlOf) =>
      put(`/${share}${target}?comp=rename`, {
        'x-ms-file-rename-source': urlOf(`/${share}${file}`),
        'x-ms-file-rename-replace-if-exists': 'true',
        'x-ms-file-rename-ignore-readonly': 'true',
        'x-ms-content-type': 'text/html',
      }),
  },
  { name: 'Delete File', ask: ({ share, target }) => remove(`/${share}${target}`) },
  {
    name: 'Rename Directory',
    ask: ({ share, directory, target }, _given, urlOf) =>
      put(`/${share}${target}?restype=directory&comp=rename`, {
        'x-ms-file-rename-source': urlOf(`/${share}${directory}`),
      }),
  },
  { name: 'Delete Directory', ask: ({ share, target }) => remove(`/${share}${target}?restype=directory`) },
  {
    name: 'Delete Share',
    ask: ({ share }) => remove(`/${share}?restype=share`, { 'x-ms-delete-snapshots': 'include' }),
  },
  { name: 'List Shares that are deleted', ask: () => get('/?comp=list&include=deleted') },
  {
    name: 'Restore Share',
    ask: ({ share }, { deletedVersion }) =>
      put(`/${share}?restype=share&comp=undelete`, {
        'x-ms-deleted-share-name': share,
        'x-ms-deleted-share-version': deletedVersion,
      }),
  },
];
