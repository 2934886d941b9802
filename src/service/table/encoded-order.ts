/**
 * How an encoded value (records/entity-record.ts) compares with a literal, as rules/entity-filter-comparison.ts has it, and
 * without decoding it where bytes can tell.
 */
import type { EdmValue } from '../../rules/edm.ts';
import { orderOfPlain } from '../../rules/entity-filter-comparison.ts';
import { TYPE } from '../records/entity-record.ts';

/** Of the value to the literal: negative, zero, positive, or NaN. Null for a value of a kind that does not compare. */
export type EncodedOrder = (bytes: Buffer, type: number, start: number, end: number) => number | null;

/** `isForEquality`: of the order only zero or not zero counts. */
export function encodedOrder(literal: EdmValue, isForEquality: boolean): EncodedOrder {
  switch (literal.type) {
    case 'Edm.String':
      return ofType(TYPE.string, orderOfText(literal.value, isForEquality));
    case 'Edm.Binary':
      return ofType(TYPE.binary, orderOfBytes(Buffer.from(literal.value)));
    case 'Edm.Guid':
      return ofType(TYPE.guid, orderOfBytes(Buffer.from(literal.value.replaceAll('-', ''), 'hex')));
    case 'Edm.DateTime':
      return ofType(TYPE.dateTime, (bytes, start) => orderOfPlain(bytes.readBigInt64LE(start), literal.value));
    case 'Edm.Boolean':
      return orderOfBoolean(literal.value);
    case 'Edm.Int32':
    case 'Edm.Int64':
    case 'Edm.Double':
      return orderOfNumber(literal.value);
  }
}

type OrderOfOneType = (bytes: Buffer, start: number, end: number) => number;

const ofType =
  (wanted: number, order: OrderOfOneType): EncodedOrder =>
  (bytes, type, start, end) =>
    type === wanted ? order(bytes, start, end) : null;

const orderOfBytes =
  (literal: Buffer): OrderOfOneType =>
  (bytes, start, end) =>
    -literal.compare(bytes, start, end);

const orderOfBoolean =
  (literal: boolean): EncodedOrder =>
  (_bytes, type) => {
    if (type !== TYPE.true && type !== TYPE.false) return null;
    return Number(type === TYPE.true) - Number(literal);
  };

const orderOfNumber =
  (literal: number | bigint): EncodedOrder =>
  (bytes, type, start) => {
    switch (type) {
      case TYPE.int32:
        return orderOfPlain(bytes.readInt32LE(start), literal);
      case TYPE.int64:
        return orderOfPlain(bytes.readBigInt64LE(start), literal);
      case TYPE.double:
        return orderOfPlain(bytes.readDoubleLE(start), literal);
      default:
        return null;
    }
  };

// ---- texts

/** Half of a character; UTF-8 has no form for it. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** UTF-8 sorts like UTF-16, but for characters beyond U+FFFF, which UTF-16 has before those from U+E000 on. */
const LEAD_OF_E000 = 0xee;
const LEAD_BEYOND_FFFF = 0xf0;

function orderOfText(text: string, isForEquality: boolean): OrderOfOneType {
  if (LONE_SURROGATE.test(text)) {
    return (bytes, start, end) => orderOfPlain(bytes.toString('utf8', start, end), text);
  }
  const literal = Buffer.from(text);
  if (isForEquality) {
    return (bytes, start, end) => (end - start === literal.length ? literal.compare(bytes, start, end) : 1);
  }
  // Two bytes that UTF-16 has the other way round are both such leads.
  return literal.some((byte) => byte >= LEAD_OF_E000) ? orderOfUnits(literal) : orderOfBytes(literal);
}

const orderOfUnits =
  (literal: Buffer): OrderOfOneType =>
  (bytes, start, end) => {
    const common = Math.min(end - start, literal.length);
    for (let at = 0; at < common; at++) {
      const found = bytes[start + at] as number;
      const wanted = literal[at] as number;
      if (found === wanted) continue;
      const isTurned = found >= LEAD_OF_E000 && wanted >= LEAD_OF_E000;
      return isTurned && found >= LEAD_BEYOND_FFFF !== wanted >= LEAD_BEYOND_FFFF ? wanted - found : found - wanted;
    }
    return end - start - literal.length;
  };
