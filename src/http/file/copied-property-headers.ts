/** What Copy File says about the properties that its destination shares with SMB. Any may be the source's: `source`. */

import { parseAttributes } from '../../rules/file-attributes.ts';
import { parseFileTime } from '../../rules/file-time.ts';
import type { CopiedProperties } from '../../service/file/copied-properties.ts';
import type { TimeChoice } from '../../service/file/properties.ts';
import { invalidHeader, missingHeader } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { parseFlag } from '../header-values.ts';
import { parsePermissionHeaders } from './permission-headers.ts';

const SOURCE = 'source';
const NOW = 'now';

export const parseCopiedProperties = (exchange: Exchange): CopiedProperties => ({
  attributes: parseAttributesHeader(exchange),
  createdAt: parseTimeHeader(exchange, 'x-ms-file-creation-time'),
  writtenAt: parseTimeHeader(exchange, 'x-ms-file-last-write-time'),
  changedAt: parseTimeHeader(exchange, 'x-ms-file-change-time'),
  permission: parsePermission(exchange),
  setsArchive: parseFlag(exchange, 'x-ms-file-copy-set-archive'),
});

const ATTRIBUTES = 'x-ms-file-attributes';

function parseAttributesHeader(exchange: Exchange): CopiedProperties['attributes'] {
  const text = exchange.header(ATTRIBUTES) || null;
  if (text === null) return null;
  if (text.toLowerCase() === SOURCE) return SOURCE;
  const attributes = parseAttributes(text, 'file');
  if (attributes === null) throw invalidHeader(ATTRIBUTES, text);
  return attributes;
}

function parseTimeHeader(exchange: Exchange, name: string): TimeChoice | typeof SOURCE {
  const text = exchange.header(name) || null;
  if (text === null) return null;
  const word = text.toLowerCase();
  if (word === SOURCE || word === NOW) return word;
  const at = parseFileTime(text);
  if (at === null) throw invalidHeader(name, text);
  return { at };
}

const MODE = 'x-ms-file-permission-copy-mode';

function parsePermission(exchange: Exchange): CopiedProperties['permission'] {
  const text = exchange.header(MODE) || null;
  const mode = text?.toLowerCase() ?? null;
  if (mode === SOURCE) return SOURCE;
  const permission = parsePermissionHeaders(exchange);
  if (text === null) return permission;
  if (mode !== 'override') throw invalidHeader(MODE, text);
  if (permission.kind === 'unsaid') throw missingHeader('x-ms-file-permission');
  return permission;
}
