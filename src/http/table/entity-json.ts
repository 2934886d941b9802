/**
 * An entity in the body of a request: a flat JSON object, in which `Name@odata.type` may say the type of Name, before or
 * behind it. What else OData has to say (`odata.etag`, `Name@odata.x`) is skipped, so an entity may be sent as it came.
 * https://learn.microsoft.com/rest/api/storageservices/inserting-and-updating-entities
 */
import { isUtf8 } from 'node:buffer';
import type { EdmValue, Properties } from '../../rules/edm.ts';
import { PROPERTY_COUNT_MAX } from '../../rules/entity.ts';
import { StorageError } from '../../service/storage-error.ts';
import { parseEdmJson, type Scalar } from './edm-json.ts';
import { FlatJson } from './flat-json.ts';
import { invalidInput, quoted } from './invalid-input.ts';

/** Keys are null where the body has none, or null. Timestamp is left out: the server sets it. */
export interface EntityBody {
  readonly partitionKey: string | null;
  readonly rowKey: string | null;
  readonly properties: Properties;
}

/** Enough for every property with its type, and as much again of what is skipped. */
const MEMBER_COUNT_MAX = 3 * PROPERTY_COUNT_MAX;

/** Throws a StorageError. */
export function parseEntity(body: Uint8Array): EntityBody {
  const { scalars, types } = readMembers(new FlatJson(decode(body)));
  let partitionKey: string | null = null;
  let rowKey: string | null = null;
  const properties: (readonly [string, EdmValue])[] = [];
  for (const scalar of scalars) {
    const type = types.get(scalar.name) ?? null;
    if (scalar.name === 'PartitionKey') partitionKey = parseKey(scalar, type);
    else if (scalar.name === 'RowKey') rowKey = parseKey(scalar, type);
    else properties.push([scalar.name, parseEdmJson(scalar, type)]);
  }
  return { partitionKey, rowKey, properties };
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

function decode(body: Uint8Array): string {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!isUtf8(bytes)) throw invalidInput('The body is not UTF-8.');
  const isMarked = BYTE_ORDER_MARK.every((byte, index) => bytes[index] === byte);
  return bytes.toString('utf8', isMarked ? BYTE_ORDER_MARK.length : 0);
}

interface Members {
  /** Those with a value that counts. */
  readonly scalars: readonly Scalar[];
  /** The annotations, by the names of properties that may or may not be there. */
  readonly types: ReadonlyMap<string, string>;
}

const TYPE_SUFFIX = '@odata.type';

function readMembers(json: FlatJson): Members {
  const scalars: Scalar[] = [];
  const types = new Map<string, string>();
  const names = new Set<string>();
  for (let memberCount = 1; json.next(); memberCount++) {
    if (memberCount > MEMBER_COUNT_MAX) throw new StorageError('TooManyProperties');
    const { name, kind, value } = json;
    if (isSkipped(name)) continue;
    if (names.has(name)) throw duplicate(name);
    names.add(name);
    if (name.endsWith(TYPE_SUFFIX)) types.set(name.slice(0, -TYPE_SUFFIX.length), kind === 'string' ? value : kind);
    else if (kind !== 'null' && name !== 'Timestamp') scalars.push({ name, kind, value });
  }
  return { scalars, types };
}

const isSkipped = (name: string): boolean =>
  name.startsWith('odata.') || (name.includes('@odata.') && !name.endsWith(TYPE_SUFFIX));

const duplicate = (name: string): StorageError =>
  new StorageError('DuplicatePropertiesSpecified', { message: `The body has ${quoted(name)} more than once.` });

function parseKey(scalar: Scalar, type: string | null): string {
  const { type: found, value } = parseEdmJson(scalar, type);
  if (found !== 'Edm.String') throw invalidInput(`${scalar.name} must be a string.`);
  return value;
}
