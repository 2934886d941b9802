/**
 * Which keys an entity can have that a filter matches. Every entity has both keys, and both are texts; so what a filter says
 * of keys alone is known without looking at an entity, and so is what `not` makes of it. Of all other properties nothing
 * is known.
 */
import { type ComparisonOperator, type Filter, partsOf } from './entity-filter.ts';

/** Null: open. Texts compare code unit by code unit of UTF-16, as JavaScript compares them. */
export interface Interval {
  readonly low: { readonly value: string; readonly included: boolean } | null;
  readonly high: { readonly value: string; readonly included: boolean } | null;
}

export interface KeyBox {
  readonly partition: Interval;
  readonly row: Interval;
}

/** What a filter of as many keys as it may have comes to; more come only from lists that are combined. */
const BOX_COUNT_MAX = 1_000;

const OPEN: Interval = { low: null, high: null };
const OPEN_BOX: KeyBox = { partition: OPEN, row: OPEN };
const EVERYWHERE: readonly KeyBox[] = [OPEN_BOX];
const NOWHERE: readonly KeyBox[] = [];

/** Every match is in one of them, but not all in them need be a match. */
export const keyBoxes = (filter: Filter): readonly KeyBox[] => boxesOf(filter, true);

/** Where the filter may be found to be true, or false. */
function boxesOf(filter: Filter, wanted: boolean): readonly KeyBox[] {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const parts = partsOf(filter).map((part) => boxesOf(part, wanted));
      return (filter.kind === 'and') === wanted ? parts.reduce(inBoth, EVERYWHERE) : inAny(parts);
    }
    case 'not':
      return boxesOf(filter.operand, !wanted);
    case 'compare':
      return boxesOfComparison(filter, wanted);
    case 'isTrue':
      // A key is a text, and never true.
      return isKey(filter.property) && wanted ? NOWHERE : EVERYWHERE;
    case 'constant':
      return filter.value === wanted ? EVERYWHERE : NOWHERE;
  }
}

const isKey = (property: string): boolean => property === 'PartitionKey' || property === 'RowKey';

function boxesOfComparison(
  { property, operator, literal }: Extract<Filter, { kind: 'compare' }>,
  wanted: boolean,
): readonly KeyBox[] {
  if (!isKey(property)) return EVERYWHERE;
  if (literal.type !== 'Edm.String') return wanted ? NOWHERE : EVERYWHERE;
  const interval = intervalOf(wanted ? operator : OPPOSITE[operator], literal.value);
  return [property === 'PartitionKey' ? { partition: interval, row: OPEN } : { partition: OPEN, row: interval }];
}

const OPPOSITE: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  eq: 'ne',
  ne: 'eq',
  gt: 'le',
  ge: 'lt',
  lt: 'ge',
  le: 'gt',
};

function intervalOf(operator: ComparisonOperator, value: string): Interval {
  const bound = { value, included: operator !== 'gt' && operator !== 'lt' };
  switch (operator) {
    case 'eq':
      return { low: bound, high: bound };
    case 'ne':
      return OPEN;
    case 'gt':
    case 'ge':
      return { low: bound, high: null };
    case 'lt':
    case 'le':
      return { low: null, high: bound };
  }
}

function inAny(parts: readonly (readonly KeyBox[])[]): readonly KeyBox[] {
  const boxes = parts.flat();
  if (boxes.some(isOpenBox)) return EVERYWHERE;
  return boxes.length > BOX_COUNT_MAX ? [hullOf(boxes)] : boxes;
}

function inBoth(a: readonly KeyBox[], b: readonly KeyBox[]): readonly KeyBox[] {
  if (a.length * b.length <= BOX_COUNT_MAX) return intersections(a, b);
  // One list is kept, and of the other only how far it reaches: rather the one that has partitions to go to.
  const isFirstKept = hasPartitions(a) === hasPartitions(b) ? a.length >= b.length : hasPartitions(a);
  return isFirstKept ? intersections(a, [hullOf(b)]) : intersections([hullOf(a)], b);
}

const hasPartitions = (boxes: readonly KeyBox[]): boolean => boxes.every(({ partition }) => !isOpen(partition));

function intersections(a: readonly KeyBox[], b: readonly KeyBox[]): KeyBox[] {
  const boxes: KeyBox[] = [];
  for (const one of a) {
    for (const other of b) {
      const partition = intersection(one.partition, other.partition);
      const row = intersection(one.row, other.row);
      if (!isEmpty(partition) && !isEmpty(row)) boxes.push({ partition, row });
    }
  }
  return boxes;
}

const intersection = (a: Interval, b: Interval): Interval => ({
  low: a.low === null || b.low === null ? (a.low ?? b.low) : startsBefore(a.low, b.low) ? b.low : a.low,
  high: a.high === null || b.high === null ? (a.high ?? b.high) : endsBefore(a.high, b.high) ? a.high : b.high,
});

const hullOf = (boxes: readonly KeyBox[]): KeyBox =>
  boxes.reduce((a, b) => ({ partition: hull(a.partition, b.partition), row: hull(a.row, b.row) }));

const hull = (a: Interval, b: Interval): Interval => ({
  low: a.low === null || b.low === null ? null : startsBefore(a.low, b.low) ? a.low : b.low,
  high: a.high === null || b.high === null ? null : endsBefore(a.high, b.high) ? b.high : a.high,
});

type Bound = NonNullable<Interval['low']>;

const startsBefore = (a: Bound, b: Bound): boolean => (a.value === b.value ? a.included : a.value < b.value);
const endsBefore = (a: Bound, b: Bound): boolean => (a.value === b.value ? !a.included : a.value < b.value);

const isOpen = ({ low, high }: Interval): boolean => low === null && high === null;
const isOpenBox = ({ partition, row }: KeyBox): boolean => isOpen(partition) && isOpen(row);

const isEmpty = ({ low, high }: Interval): boolean =>
  low !== null &&
  high !== null &&
  (low.value > high.value || (low.value === high.value && !(low.included && high.included)));
