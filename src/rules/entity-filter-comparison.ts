/**
 * How two values of properties compare: numbers by what they are, whichever of the three kinds; all else with its own kind
 * alone. Texts go code unit by code unit, binaries byte by byte, GUIDs by their text, and false comes before true.
 */
import type { EdmValue } from './edm.ts';

export type ComparisonOperator = 'eq' | 'ne' | 'gt' | 'ge' | 'lt' | 'le';

/** Negative, zero or positive; NaN where one of them is NaN. Null: values of kinds that do not compare. */
export function orderOf(a: EdmValue, b: EdmValue): number | null {
  if (a.type === 'Edm.Binary') return b.type === 'Edm.Binary' ? orderOfBytes(a.value, b.value) : null;
  if (b.type === 'Edm.Binary') return null;
  return a.type === b.type || (isNumber(a) && isNumber(b)) ? orderOfPlain(a.value, b.value) : null;
}

/** By the order of what was found to the literal. NaN is unequal to everything, and that is all that holds of it. */
export const HOLDS: Readonly<Record<ComparisonOperator, (order: number) => boolean>> = {
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
  gt: (order) => order > 0,
  ge: (order) => order >= 0,
  lt: (order) => order < 0,
  le: (order) => order <= 0,
};

/** The same comparison with its sides exchanged. */
export const TURNED_ROUND: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  eq: 'eq',
  ne: 'ne',
  gt: 'lt',
  ge: 'le',
  lt: 'gt',
  le: 'ge',
};

export const isNumber = ({ type }: EdmValue): boolean =>
  type === 'Edm.Int32' || type === 'Edm.Int64' || type === 'Edm.Double';

type Plain = string | number | bigint | boolean;

/** A bigint and a number compare exactly. */
export function orderOfPlain(a: Plain, b: Plain): number {
  if (a < b) return -1;
  if (a > b) return 1;
  // Neither is less: they are equal, or one of them is NaN.
  return a >= b ? 0 : Number.NaN;
}

function orderOfBytes(a: Uint8Array, b: Uint8Array): number {
  const common = Math.min(a.length, b.length);
  for (let at = 0; at < common; at++) {
    const order = (a[at] as number) - (b[at] as number);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}
