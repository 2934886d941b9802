/** From boxes of keys to ranges of records. */
import { compareBytes, successor } from '../../base/bytes.ts';
import type { Key, KeyRange } from '../../engine/engine.ts';
import { KEY_UNITS_MAX } from '../../rules/entity.ts';
import type { Interval, KeyBox } from '../../rules/entity-key-ranges.ts';
import { entitiesRange, entityKey, partitionEnd, type TableAddress } from '../records/table-keys.ts';

/** In order, without overlaps, none empty; together they hold every key that is in a box. */
export function entityRanges(address: TableAddress, boxes: readonly KeyBox[]): KeyRange[] {
  const ranges = boxes.map((box) => rangeOf(address, box)).filter(({ from, to }) => compareBytes(from, to) < 0);
  return merged(ranges.sort((a, b) => compareBytes(a.from, b.from)));
}

/** From the least key of a box to its greatest. What lies in between has its partition key, but perhaps another row key. */
function rangeOf(address: TableAddress, box: KeyBox): KeyRange {
  const whole = entitiesRange(address);
  const partition = withinReach(box.partition);
  const row = withinReach(box.row);
  return {
    from: partition.low === null ? whole.from : startOf(address, partition.low, row.low),
    to: partition.high === null ? whole.to : endOf(address, partition.high, row.high),
  };
}

type Bound = NonNullable<Interval['low']>;

function startOf(address: TableAddress, { value: partitionKey, included }: Bound, row: Bound | null): Key {
  if (!included) return partitionEnd(address, partitionKey);
  const key = entityKey(address, { partitionKey, rowKey: row?.value ?? '' });
  return row === null || row.included ? key : successor(key);
}

function endOf(address: TableAddress, { value: partitionKey, included }: Bound, row: Bound | null): Key {
  if (!included) return entityKey(address, { partitionKey, rowKey: '' });
  if (row === null) return partitionEnd(address, partitionKey);
  const key = entityKey(address, { partitionKey, rowKey: row.value });
  return row.included ? successor(key) : key;
}

/** No key is longer than KEY_UNITS_MAX, and none holds a NUL. */
function withinReach({ low, high }: Interval): Interval {
  return { low: low && lowWithinReach(low), high: high && highWithinReach(high) };
}

/** A key is above a text that is no key if it is above what a key can have of it. */
function lowWithinReach(bound: Bound): Bound {
  const reached = reachedBy(bound.value);
  return reached === bound.value ? bound : { value: reached, included: false };
}

function highWithinReach(bound: Bound): Bound {
  const reached = reachedBy(bound.value);
  return reached === bound.value ? bound : { value: reached, included: true };
}

function reachedBy(text: string): string {
  const nul = text.indexOf('\0');
  return text.slice(0, nul < 0 ? KEY_UNITS_MAX : Math.min(nul, KEY_UNITS_MAX));
}

function merged(sorted: readonly KeyRange[]): KeyRange[] {
  const ranges: KeyRange[] = [];
  for (const range of sorted) {
    const last = ranges.at(-1);
    if (last === undefined || compareBytes(last.to, range.from) < 0) ranges.push(range);
    else if (compareBytes(last.to, range.to) < 0) ranges[ranges.length - 1] = { from: last.from, to: range.to };
  }
  return ranges;
}
