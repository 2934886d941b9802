/**
 * The value of a stored property as JSON, and the type that must be named beside it because the form leaves it open. A
 * string, a boolean, an Int32 and a Double that is a number name none, at no level of metadata.
 * https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations
 */
import { type EdmType, formatTicksShort } from '../../rules/edm.ts';
import { type EntityCursor, renderGuid, TYPE } from '../../service/records/entity-record.ts';

/** Of the property on which the cursor stands. */
export function renderValue({ bytes, type, valueStart: start, valueEnd: end }: EntityCursor): string {
  switch (type) {
    case TYPE.string:
      return JSON.stringify(bytes.toString('utf8', start, end));
    case TYPE.binary:
      return `"${bytes.toString('base64', start, end)}"`;
    case TYPE.false:
      return 'false';
    case TYPE.true:
      return 'true';
    case TYPE.int32:
      return String(bytes.readInt32LE(start));
    case TYPE.int64:
      return `"${bytes.readBigInt64LE(start)}"`;
    case TYPE.double:
      return renderDouble(bytes.readDoubleLE(start));
    case TYPE.dateTime:
      return `"${formatTicksShort(bytes.readBigInt64LE(start))}"`;
    default:
      return `"${renderGuid(bytes, start)}"`;
  }
}

/** A point or an exponent tells a Double from an Int32. */
function renderDouble(value: number): string {
  const text = String(value);
  if (!Number.isFinite(value)) return `"${text}"`;
  return Number.isInteger(value) && !text.includes('e') ? `${text}.0` : text;
}

/** Null: the form says it. */
export function typeToName({ bytes, type, valueStart }: EntityCursor): EdmType | null {
  switch (type) {
    case TYPE.int64:
      return 'Edm.Int64';
    case TYPE.dateTime:
      return 'Edm.DateTime';
    case TYPE.guid:
      return 'Edm.Guid';
    case TYPE.binary:
      return 'Edm.Binary';
    case TYPE.double:
      return Number.isFinite(bytes.readDoubleLE(valueStart)) ? null : 'Edm.Double';
    default:
      return null;
  }
}
