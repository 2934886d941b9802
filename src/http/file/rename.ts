/** Rename File and Rename Directory: asked of where it is to be, with where it is in a header. */

import { fileNeeds } from '../../auth/needs.ts';
import type { EntryKind } from '../../rules/file-attributes.ts';
import type { Metadata } from '../../rules/names.ts';
import { renameNode } from '../../service/file/rename.ts';
import type { Exchange } from '../exchange.ts';
import { parseFlag, parseLeaseIdHeader } from '../header-values.ts';
import { parseMetadata } from '../metadata.ts';
import { nodeRequestOf, type Operation } from './operation.ts';
import { parsePropertyChanges } from './property-headers.ts';
import { refuseNfsHeaders } from './request-headers.ts';
import { renderStored } from './response-headers.ts';

const rename = (kind: EntryKind, name: string): Operation => ({
  name,
  need: fileNeeds.rename,
  async handle(storage, exchange, resource, { resolveRenameSource }) {
    refuseNfsHeaders(exchange);
    const { name: destination, waitMs } = nodeRequestOf(exchange, resource);
    const stored = await renameNode(storage, {
      kind,
      source: { ...destination, path: await resolveRenameSource(exchange, resource) },
      destination,
      replaces: parseFlag(exchange, 'x-ms-file-rename-replace-if-exists'),
      ignoresReadOnly: parseFlag(exchange, 'x-ms-file-rename-ignore-readonly'),
      sourceLeaseId: parseLeaseIdHeader(exchange, 'x-ms-source-lease-id'),
      destinationLeaseId: parseLeaseIdHeader(exchange, 'x-ms-destination-lease-id'),
      properties: parsePropertyChanges(exchange, kind),
      metadata: parseNewMetadata(exchange),
      contentType: (kind === 'file' && exchange.header('x-ms-content-type')) || null,
      waitMs,
    });
    return renderStored(exchange, 200, stored);
  },
});

export const renameFile = rename('file', 'Rename File');

export const renameDirectory = rename('directory', 'Rename Directory');

/** Null: none is given, and what is there moves along. */
function parseNewMetadata(exchange: Exchange): Metadata | null {
  const metadata = parseMetadata(exchange);
  return metadata.length === 0 ? null : metadata;
}
