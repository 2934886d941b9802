/** Response headers that operations on files and directories share, as flat name, value, name, value lists. */

import { formatAttributes } from '../../rules/file-attributes.ts';
import { formatFileTime } from '../../rules/file-time.ts';
import type { FileRead } from '../../service/file/get-file.ts';
import type { Stored } from '../../service/file/request.ts';
import { fileIdOf } from '../../service/records/node-record.ts';
import type { AuthorizedExchange, Exchange, Reply } from '../exchange.ts';
import { metadataHeaders } from '../metadata.ts';
import { contentHeaders, etagHeaders, leaseResponseHeaders, SERVER_ENCRYPTED } from '../reply-headers.ts';
import { fileCopyHeaders } from './copy-file-headers.ts';

/** What creating, changing and reading all say of a file or directory. */
export const nodeHeaders = (exchange: Exchange, { node, parentId }: Stored): string[] => [
  ...etagHeaders(exchange, node),
  'x-ms-file-attributes',
  formatAttributes(node.attributes),
  'x-ms-file-creation-time',
  formatFileTime(node.createdAt),
  'x-ms-file-last-write-time',
  formatFileTime(node.writtenAt),
  'x-ms-file-change-time',
  formatFileTime(node.changedAt),
  'x-ms-file-permission-key',
  node.permission,
  'x-ms-file-id',
  fileIdOf(node.id),
  'x-ms-file-parent-id',
  fileIdOf(parentId),
];

/** Something was created, or its properties were set. */
export const renderStored = (exchange: Exchange, status: number, stored: Stored): Reply => ({
  status,
  headers: [...nodeHeaders(exchange, stored), ...SERVER_ENCRYPTED],
});

export const renderMetadataSet = (exchange: Exchange, { node }: Stored): Reply => ({
  status: 200,
  headers: [...etagHeaders(exchange, node), ...SERVER_ENCRYPTED],
});

export const renderMetadataRead = (exchange: Exchange, { node }: Stored): Reply => ({
  status: 200,
  headers: [...etagHeaders(exchange, node), ...metadataHeaders(node.metadata)],
});

export const READ_ENCRYPTED: readonly string[] = ['x-ms-server-encrypted', 'true'];

/** What Get File and Get File Properties both say. Content-MD5 and lengths are for the caller to place. */
export function fileHeaders(exchange: AuthorizedExchange, read: FileRead): string[] {
  const { node, nowMs } = read;
  // Leases are the file's own: what a snapshot keeps of it has none to speak of.
  const isPast = exchange.target.query.has('sharesnapshot');
  return [
    ...nodeHeaders(exchange, read),
    ...contentHeaders(exchange, node.headers),
    'Accept-Ranges',
    'bytes',
    'x-ms-type',
    'File',
    ...(isPast ? [] : leaseResponseHeaders(node.lease, nowMs)),
    ...fileCopyHeaders(node),
    ...READ_ENCRYPTED,
    ...metadataHeaders(node.metadata),
  ];
}
