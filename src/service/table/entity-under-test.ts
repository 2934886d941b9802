/**
 * The entity that a filter is looking at: where its keys stand in its record's key, and where the properties stand that the
 * filter names. Nothing is looked for before it is asked for, and the record is walked at most once. One object serves all
 * entities of a query, one after the other.
 */
import type { Key } from '../../engine/engine.ts';
import { EntityCursor } from '../records/entity-record.ts';
import { partitionEndOf, partitionStartOf } from '../records/table-keys.ts';

export class EntityUnderTest {
  /** In the order of `compareNames`; a property's slot is its place here. */
  readonly #names: readonly Buffer[];
  /** By slot, as far as they are found: the type (0: none yet) and where the value is. */
  readonly #types: Uint8Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  key: Key = new Uint8Array();
  /** Both are known once the first is asked for. */
  #partitionStart = 0;
  #partitionEnd = 0;
  #value: Uint8Array = new Uint8Array();
  #cursor: EntityCursor | null = null;
  #isOpened = false;

  constructor(properties: Iterable<string>) {
    this.#names = Array.from(new Set(properties), (name) => Buffer.from(name)).sort((a, b) =>
      compareNames(a, b, 0, b.length),
    );
    this.#types = new Uint8Array(this.#names.length);
    this.starts = new Uint32Array(this.#names.length);
    this.ends = new Uint32Array(this.#names.length);
  }

  reset(key: Key, value: Uint8Array): void {
    this.key = key;
    this.#value = value;
    this.#partitionEnd = 0;
    this.#isOpened = false;
    this.#types.fill(0);
  }

  get partitionStart(): number {
    if (this.#partitionEnd === 0) this.#findKeys();
    return this.#partitionStart;
  }

  get partitionEnd(): number {
    if (this.#partitionEnd === 0) this.#findKeys();
    return this.#partitionEnd;
  }

  get ticks(): bigint {
    return this.#open().ticks;
  }

  get bytes(): Buffer {
    return this.#open().bytes;
  }

  slotOf(property: string): number {
    const name = Buffer.from(property);
    return this.#slotNamed(name, 0, name.length);
  }

  /** The type of the property, whose place is then known; 0 if the entity has none of this name. */
  find(slot: number): number {
    const known = this.#types[slot] as number;
    if (known !== 0) return known;
    const cursor = this.#open();
    while (cursor.next()) {
      const found = this.#slotNamed(cursor.bytes, cursor.nameStart, cursor.nameEnd);
      if (found < 0) continue;
      this.#types[found] = cursor.type;
      this.starts[found] = cursor.valueStart;
      this.ends[found] = cursor.valueEnd;
      if (found === slot) return cursor.type;
    }
    return 0;
  }

  #open(): EntityCursor {
    if (this.#cursor === null) this.#cursor = new EntityCursor(this.#value);
    else if (!this.#isOpened) this.#cursor.reset(this.#value);
    this.#isOpened = true;
    return this.#cursor;
  }

  #findKeys(): void {
    this.#partitionStart = partitionStartOf(this.key);
    this.#partitionEnd = partitionEndOf(this.key, this.#partitionStart);
  }

  /** Negative if the filter has no use for it. */
  #slotNamed(bytes: Uint8Array, start: number, end: number): number {
    let low = 0;
    let high = this.#names.length - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const order = compareNames(this.#names[middle] as Buffer, bytes, start, end);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}

/** Shorter ones first, which mostly tells. */
function compareNames(name: Uint8Array, bytes: Uint8Array, start: number, end: number): number {
  if (name.length !== end - start) return name.length - (end - start);
  for (let at = 0; at < name.length; at++) {
    const order = (name[at] as number) - (bytes[start + at] as number);
    if (order !== 0) return order;
  }
  return 0;
}
