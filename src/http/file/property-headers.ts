/**
 * The properties that files and directories share with SMB, in request headers: attributes, times, permission. Words such as
 * `now` are matched without regard to case, for clients differ.
 */
import { ARCHIVE, type EntryKind, parseAttributes } from '../../rules/file-attributes.ts';
import { type FileTime, parseFileTime } from '../../rules/file-time.ts';
import type { PropertyChanges, TimeChoice } from '../../service/file/properties.ts';
import { invalidHeader, missingHeader } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { parsePermissionHeaders } from './permission-headers.ts';

type Asked = Pick<Exchange, 'header' | 'version'>;

/** Of something new: what is not said is what is usual. */
export function parseNewProperties(exchange: Asked, kind: EntryKind): PropertyChanges {
  refuseMissing(exchange);
  const given = { ...parseProperties(exchange, kind, null), permission: parsePermissionHeaders(exchange) };
  const restores = parseRestores(exchange) && given.permission.kind !== 'unsaid' && given.permission.kind !== 'inherit';
  if (kind === 'directory' || given.attributes === null || restores) return given;
  return { ...given, attributes: given.attributes | ARCHIVE };
}

/** Of a change: what is not said, or said to be preserved, stays. */
export function parseChangedProperties(exchange: Asked, kind: EntryKind): PropertyChanges {
  refuseMissing(exchange);
  return parsePropertyChanges(exchange, kind);
}

/** The same where no version has ever asked for all of them. */
export const parsePropertyChanges = (exchange: Asked, kind: EntryKind): PropertyChanges => ({
  ...parseProperties(exchange, kind, PRESERVE),
  permission: parsePermissionHeaders(exchange),
});

const ATTRIBUTES = 'x-ms-file-attributes';
const CREATED = 'x-ms-file-creation-time';
const WRITTEN = 'x-ms-file-last-write-time';
const CHANGED = 'x-ms-file-change-time';
const PERMISSION = 'x-ms-file-permission';
const PERMISSION_KEY = 'x-ms-file-permission-key';

const SINCE_PROPERTIES = '2019-02-02';
/** Properties may be left away, and the time of the last change can be given. */
const SINCE_OPTIONAL_PROPERTIES = '2021-06-08';

function refuseMissing(exchange: Asked): void {
  if (exchange.version < SINCE_PROPERTIES || exchange.version >= SINCE_OPTIONAL_PROPERTIES) return;
  const lacks = (name: string): boolean => exchange.header(name) === null;
  const missing = [ATTRIBUTES, CREATED, WRITTEN].find(lacks);
  if (missing !== undefined) throw missingHeader(missing);
  if (lacks(PERMISSION) && lacks(PERMISSION_KEY)) throw missingHeader(PERMISSION);
}

const NOW = 'now';
const PRESERVE = 'preserve';

/** `unchanged`: the word that stands for leaving a property as it is, where there is one. */
const parseProperties = (
  exchange: Asked,
  kind: EntryKind,
  unchanged: typeof PRESERVE | null,
): Omit<PropertyChanges, 'permission'> => ({
  attributes: parseAttributesHeader(exchange, kind, unchanged),
  createdAt: parseTimeHeader(exchange, CREATED, unchanged),
  writtenAt: parseTimeHeader(exchange, WRITTEN, unchanged),
  changedAt: parseChangeTime(exchange),
});

function parseAttributesHeader(exchange: Asked, kind: EntryKind, unchanged: string | null): number | null {
  const text = exchange.header(ATTRIBUTES) || null;
  if (text === null || text.toLowerCase() === unchanged) return null;
  const attributes = parseAttributes(text, kind);
  if (attributes === null) throw invalidHeader(ATTRIBUTES, text);
  return attributes;
}

function parseTimeHeader(exchange: Asked, name: string, unchanged: string | null): TimeChoice {
  const text = exchange.header(name) || null;
  const word = text?.toLowerCase() ?? null;
  if (text === null || word === unchanged) return null;
  return word === NOW ? NOW : { at: parseTime(name, text) };
}

function parseChangeTime(exchange: Asked): FileTime | null {
  const text = exchange.header(CHANGED) || null;
  if (text === null || text.toLowerCase() === NOW || exchange.version < SINCE_OPTIONAL_PROPERTIES) return null;
  return parseTime(CHANGED, text);
}

function parseTime(name: string, text: string): FileTime {
  const time = parseFileTime(text);
  if (time === null) throw invalidHeader(name, text);
  return time;
}

/** Put Range: whether the time of the last write stays what it is. */
export function parseKeepsWriteTime(exchange: Asked): boolean {
  const text = exchange.header(WRITTEN) || null;
  if (text === null || exchange.version < SINCE_OPTIONAL_PROPERTIES) return false;
  const word = text.toLowerCase();
  if (word !== NOW && word !== PRESERVE) throw invalidHeader(WRITTEN, text);
  return word === PRESERVE;
}

const SEMANTICS = 'x-ms-file-property-semantics';

/** Something that was saved elsewhere is put back as it was; what is new is marked to be archived. */
function parseRestores(exchange: Asked): boolean {
  const text = exchange.header(SEMANTICS) || null;
  const word = text?.toLowerCase() ?? 'new';
  if (word !== 'new' && word !== 'restore') throw invalidHeader(SEMANTICS, text ?? '');
  return word === 'restore';
}
