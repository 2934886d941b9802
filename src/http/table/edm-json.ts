/**
 * A scalar of JSON as a value of a property. Without an annotation the form tells the type, as the service's own reader
 * has it: a number is an Int32 if it is written as an integer and is one, and otherwise a Double, however large. So
 * 3000000000 becomes a Double, and only an annotation makes an Int64. An annotation wins over the form, and takes
 * strings for all types, because some clients write numbers and booleans so.
 * https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations
 */
import {
  type EdmType,
  type EdmValue,
  INT32_MAX,
  INT32_MIN,
  INT64_MAX,
  INT64_MIN,
  parseGuid,
  parseTicks,
} from '../../rules/edm.ts';
import { StorageError } from '../../service/storage-error.ts';
import type { ScalarKind } from './flat-json.ts';
import { invalidInput, quoted } from './invalid-input.ts';

export interface Scalar {
  readonly name: string;
  readonly kind: Exclude<ScalarKind, 'null'>;
  /** What a string says, or how a number is written. */
  readonly value: string;
}

/** `type`: the annotation; null without one. Throws a StorageError. */
export function parseEdmJson(scalar: Scalar, type: string | null): EdmValue {
  if (type === null) return infer(scalar);
  if (!Object.hasOwn(READERS, type)) {
    throw invalidInput(`The property ${quoted(scalar.name)} has the unknown type ${quoted(type)}.`);
  }
  return READERS[type as EdmType](scalar) ?? mismatch(scalar, type);
}

function infer(scalar: Scalar): EdmValue {
  switch (scalar.kind) {
    case 'string':
      return { type: 'Edm.String', value: scalar.value };
    case 'number':
      return readInt32(scalar) ?? readDouble(scalar) ?? mismatch(scalar, 'Edm.Double');
    default:
      return { type: 'Edm.Boolean', value: scalar.kind === 'true' };
  }
}

function mismatch({ name, kind, value }: Scalar, type: string): never {
  const found = kind === 'string' ? quoted(value) : kind === 'number' ? value.slice(0, 64) : kind;
  throw invalidInput(`The property ${quoted(name)} is ${found}, which is not a value of type ${type}.`);
}

/** Null: no value of this type. */
type Reader = (scalar: Scalar) => EdmValue | null;

const READERS: Readonly<Record<EdmType, Reader>> = {
  'Edm.String': ({ kind, value }) => (kind === 'string' ? { type: 'Edm.String', value } : null),
  'Edm.Boolean': readBoolean,
  'Edm.Int32': readInt32,
  'Edm.Int64': readInt64,
  'Edm.Double': readDouble,
  'Edm.DateTime': readDateTime,
  'Edm.Guid': readGuid,
  'Edm.Binary': readBinary,
};

function readBoolean({ kind, value }: Scalar): EdmValue | null {
  const word = kind === 'string' ? value : kind;
  return word === 'true' || word === 'false' ? { type: 'Edm.Boolean', value: word === 'true' } : null;
}

const isText = ({ kind }: Scalar): boolean => kind === 'string' || kind === 'number';

/** So many digits and no more: a BigInt takes the square of their count. */
const WHOLE = /^[+-]?\d{1,40}$/;

function readInt32(scalar: Scalar): EdmValue | null {
  if (!isText(scalar) || !WHOLE.test(scalar.value)) return null;
  const value = Number(scalar.value);
  // Plus zero: there is no negative one among integers.
  return value >= INT32_MIN && value <= INT32_MAX ? { type: 'Edm.Int32', value: value + 0 } : null;
}

function readInt64(scalar: Scalar): EdmValue | null {
  if (!isText(scalar) || !WHOLE.test(scalar.value)) return null;
  const value = BigInt(scalar.value.replace('+', ''));
  return value >= INT64_MIN && value <= INT64_MAX ? { type: 'Edm.Int64', value } : null;
}

const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const UNWRITABLE: ReadonlyMap<string, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

/** A number beyond the greatest double is refused: infinity must be meant. The service knows no negative zero. */
function readDouble(scalar: Scalar): EdmValue | null {
  if (!isText(scalar)) return null;
  const unwritable = UNWRITABLE.get(scalar.value);
  if (unwritable !== undefined) return { type: 'Edm.Double', value: unwritable };
  const value = DECIMAL.test(scalar.value) ? Number(scalar.value) : Number.NaN;
  return Number.isFinite(value) ? { type: 'Edm.Double', value: value + 0 } : null;
}

function readDateTime({ name, kind, value }: Scalar): EdmValue | null {
  const ticks = kind === 'string' ? parseTicks(value) : 'malformed';
  if (ticks === 'outOfRange') {
    throw new StorageError('OutOfRangeInput', {
      message: `The property ${quoted(name)} is ${quoted(value)}, but times must be in the years 1601 to 9999.`,
    });
  }
  return ticks === 'malformed' ? null : { type: 'Edm.DateTime', value: ticks };
}

function readGuid({ kind, value }: Scalar): EdmValue | null {
  const guid = kind === 'string' ? parseGuid(value) : null;
  return guid === null ? null : { type: 'Edm.Guid', value: guid };
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** With its padding, which every client writes. */
function readBinary({ kind, value }: Scalar): EdmValue | null {
  if (kind !== 'string' || value.length % 4 !== 0 || !BASE64.test(value)) return null;
  const { buffer, byteOffset, byteLength } = Buffer.from(value, 'base64');
  return { type: 'Edm.Binary', value: new Uint8Array(buffer, byteOffset, byteLength) };
}
