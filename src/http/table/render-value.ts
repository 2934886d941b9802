/**
 * The value of a stored property as JSON, and the type that must be named beside it because the form leaves it open. A
 * string, a boolean, an Int32 and a Double that is a number name none, at no level of metadata.
 * https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations
 */
import type { EdmType } from '../../rules/edm.ts';
import { type EntityCursor, renderGuid, TYPE } from '../../service/records/entity-record.ts';
import type { JsonBytes } from './json-bytes.ts';
import type { TicksBytes } from './ticks-bytes.ts';

const QUOTE = 0x22;

/** Of the property on which the cursor stands. */
export function writeValue(out: JsonBytes, cursor: EntityCursor, ticks: TicksBytes): void {
  const { bytes, type, valueStart: start, valueEnd: end } = cursor;
  switch (type) {
    case TYPE.string:
      out.string(bytes, start, end);
      return;
    case TYPE.binary:
      out.ascii(`"${bytes.toString('base64', start, end)}"`);
      return;
    case TYPE.false:
      out.ascii('false');
      return;
    case TYPE.true:
      out.ascii('true');
      return;
    case TYPE.int32:
      out.integer(bytes.readInt32LE(start));
      return;
    case TYPE.int64:
      out.ascii(`"${bytes.readBigInt64LE(start)}"`);
      return;
    case TYPE.double:
      out.ascii(renderDouble(bytes.readDoubleLE(start)));
      return;
    case TYPE.dateTime:
      out.byte(QUOTE);
      ticks.set(bytes.readUInt32LE(start + 4), bytes.readUInt32LE(start));
      ticks.writeShort(out);
      out.byte(QUOTE);
      return;
    default:
      out.ascii(`"${renderGuid(bytes, start)}"`);
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
