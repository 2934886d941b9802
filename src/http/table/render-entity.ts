/**
 * Entities in answers, written from their records without building objects. The annotations of an entity come first, then
 * its keys and Timestamp, then its own properties as they are stored, each behind its type where that is named.
 * https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations
 */
import { asBuffer } from '../../base/bytes.ts';
import type { EdmType, EntityKey } from '../../rules/edm.ts';
import { EntityCursor } from '../../service/records/entity-record.ts';
import { type KeyBytes, keyBytesOf, keyBytesOfTexts } from '../../service/records/table-keys.ts';
import type { TableRecord } from '../../service/records/table-record.ts';
import type { StoredEntity } from '../../service/table/load.ts';
import type { EntitySink } from '../../service/table/query-entities.ts';
import { JsonBytes } from './json-bytes.ts';
import { entityPath } from './links.ts';
import type { MetadataLevel } from './metadata.ts';
import { typeToName, writeValue } from './render-value.ts';
import { TicksBytes } from './ticks-bytes.ts';

export interface EntityFormat {
  readonly level: MetadataLevel;
  /** `http://host:port/account` */
  readonly serviceUrl: string;
  readonly account: string;
  /** As it was created. */
  readonly table: string;
  /** The properties asked for, in order; null: all. */
  readonly select: readonly string[] | null;
}

/** The answer to Get Entity and Insert Entity. */
export function renderEntity(entity: StoredEntity, format: EntityFormat): Buffer {
  const out = new JsonBytes();
  out.byte(OPENING_BRACE);
  writeMetadata(out, format, '/@Element');
  new EntityWriter(out, format).members(keyBytesOfTexts(entity), entity.value);
  out.byte(CLOSING_BRACE);
  return out.whole();
}

/** The answer to Query Entities, written as the entities are found. */
export class EntityFeed implements EntitySink {
  readonly #format: Omit<EntityFormat, 'table'>;
  readonly #out = new JsonBytes(FEED_BYTES_FIRST);
  #writer: EntityWriter | null = null;
  #isEmpty = true;

  constructor(format: Omit<EntityFormat, 'table'>) {
    this.#format = format;
  }

  begin({ name }: Pick<TableRecord, 'name'>): void {
    const format = { ...this.#format, table: name };
    this.#writer = new EntityWriter(this.#out, format);
    this.#out.byte(OPENING_BRACE);
    writeMetadata(this.#out, format, '');
    this.#out.ascii('"value":[');
  }

  take(key: Uint8Array, value: Uint8Array): void {
    if (!this.#isEmpty) this.#out.byte(COMMA);
    this.#isEmpty = false;
    this.#out.byte(OPENING_BRACE);
    (this.#writer as EntityWriter).members(keyBytesOf(key), value);
    this.#out.byte(CLOSING_BRACE);
  }

  whole(): Buffer {
    this.#out.ascii(']}');
    return this.#out.whole();
  }
}

/** Some hundred small entities. */
const FEED_BYTES_FIRST = 64 * 1024;

const COMMA = 0x2c;
const QUOTE = 0x22;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** With the comma behind it; nothing where it is not asked for. */
function writeMetadata(out: JsonBytes, { level, serviceUrl, table }: EntityFormat, element: string): void {
  if (level === 'none') return;
  out.text(`"odata.metadata":${JSON.stringify(`${serviceUrl}/$metadata#${table}${element}`)},`);
}

/** What is the same for a property of this name in every entity. */
interface Column {
  readonly name: string;
  readonly nameBytes: Uint8Array;
  /** `"Name":` */
  readonly label: Buffer;
  /** `"Name@odata.type":"Edm.Int64","Name":`, by the types it was found to have. */
  readonly typedLabels: Map<EdmType, Buffer>;
  /** Its place among the selected ones; -1: not one of them. */
  readonly slot: number;
}

const PARTITION_KEY = Buffer.from('"PartitionKey":');
const ROW_KEY = Buffer.from('"RowKey":');
const TIMESTAMP = Buffer.from('"Timestamp":"');
const TYPED_TIMESTAMP = Buffer.from('"Timestamp@odata.type":"Edm.DateTime","Timestamp":"');
const ETAG_START = Buffer.from(String.raw`"odata.etag":"W/\"datetime'`);
const ETAG_END = Buffer.from(String.raw`'\"",`);

class EntityWriter {
  readonly #out: JsonBytes;
  readonly #format: EntityFormat;
  #cursor: EntityCursor | null = null;
  readonly #timestamp = new TicksBytes();
  /** Of the last property that was a time. */
  readonly #time = new TicksBytes();
  /** By the place of a property in its entity: most entities of a table have the same ones in the same places. */
  readonly #columns: Column[] = [];
  readonly #slots: ReadonlyMap<string, number>;
  /** Selected properties as they come, which is not as they were asked for. */
  readonly #aside = new JsonBytes();

  constructor(out: JsonBytes, format: EntityFormat) {
    this.#out = out;
    this.#format = format;
    this.#slots = new Map(format.select?.map((name, slot) => [name, slot]));
  }

  /** All of an entity but its braces. */
  members(keys: KeyBytes, value: Uint8Array): void {
    const cursor = this.#cursorOn(value);
    const { select, level } = this.#format;
    this.#timestamp.set(cursor.ticksHigh, cursor.ticksLow);
    if (level !== 'none') this.#annotations(keys);
    if (select === null) this.#all(keys, cursor);
    else this.#selected(keys, cursor, select);
  }

  #cursorOn(value: Uint8Array): EntityCursor {
    if (this.#cursor === null) this.#cursor = new EntityCursor(value);
    else this.#cursor.reset(value);
    return this.#cursor;
  }

  /** With the comma behind them. */
  #annotations(keys: KeyBytes): void {
    const { level, serviceUrl, account, table } = this.#format;
    if (level === 'minimal') return this.#etag();
    const path = entityPath(table, textsOf(keys));
    const type = JSON.stringify(`${account}.${table}`);
    this.#out.text(`"odata.type":${type},"odata.id":${JSON.stringify(`${serviceUrl}/${path}`)},`);
    this.#etag();
    this.#out.text(`"odata.editLink":${JSON.stringify(path)},`);
  }

  /** The same as `entityTag` (rules/entity-change.ts), within a string of JSON. */
  #etag(): void {
    this.#out.copy(ETAG_START, 0, ETAG_START.length);
    this.#timestamp.writeEncoded(this.#out);
    this.#out.copy(ETAG_END, 0, ETAG_END.length);
  }

  #all(keys: KeyBytes, cursor: EntityCursor): void {
    const out = this.#out;
    this.#writePartitionKey(keys);
    out.byte(COMMA);
    this.#writeRowKey(keys);
    out.byte(COMMA);
    this.#writeTimestamp();
    for (let place = 0; cursor.next(); place++) {
      out.byte(COMMA);
      this.#writeProperty(out, cursor, this.#column(cursor, place));
    }
  }

  #selected(keys: KeyBytes, cursor: EntityCursor, select: readonly string[]): void {
    const found = this.#readAside(cursor);
    for (const [slot, name] of select.entries()) {
      if (slot > 0) this.#out.byte(COMMA);
      const [start, end] = found[slot] ?? [0, 0];
      if (end > start) this.#out.copyFrom(this.#aside, start, end);
      else if (!this.#writeSystemProperty(name, keys)) this.#out.text(`${JSON.stringify(name)}:null`);
    }
  }

  /** Where each selected property stands aside, by slot. */
  #readAside(cursor: EntityCursor): readonly (readonly [start: number, end: number] | undefined)[] {
    const found: [number, number][] = [];
    this.#aside.clear();
    for (let place = 0; cursor.next(); place++) {
      const column = this.#column(cursor, place);
      if (column.slot < 0) continue;
      const start = this.#aside.length;
      this.#writeProperty(this.#aside, cursor, column);
      found[column.slot] = [start, this.#aside.length];
    }
    return found;
  }

  /** False: it is none of the system's. */
  #writeSystemProperty(name: string, keys: KeyBytes): boolean {
    if (name === 'PartitionKey') this.#writePartitionKey(keys);
    else if (name === 'RowKey') this.#writeRowKey(keys);
    else if (name === 'Timestamp') this.#writeTimestamp();
    else return false;
    return true;
  }

  #writePartitionKey({ bytes, partitionStart, partitionEnd }: KeyBytes): void {
    this.#out.copy(PARTITION_KEY, 0, PARTITION_KEY.length);
    this.#out.string(bytes, partitionStart, partitionEnd);
  }

  #writeRowKey({ bytes, rowStart, rowEnd }: KeyBytes): void {
    this.#out.copy(ROW_KEY, 0, ROW_KEY.length);
    this.#out.string(bytes, rowStart, rowEnd);
  }

  #writeTimestamp(): void {
    const label = this.#format.level === 'full' ? TYPED_TIMESTAMP : TIMESTAMP;
    this.#out.copy(label, 0, label.length);
    this.#timestamp.writeFull(this.#out);
    this.#out.byte(QUOTE);
  }

  #column(cursor: EntityCursor, place: number): Column {
    const known = this.#columns[place];
    if (known !== undefined && isNamed(cursor, known.nameBytes)) return known;
    const { name, bytes, nameStart, nameEnd } = cursor;
    const column = {
      name,
      nameBytes: Uint8Array.from(bytes.subarray(nameStart, nameEnd)),
      label: Buffer.from(`${JSON.stringify(name)}:`),
      typedLabels: new Map<EdmType, Buffer>(),
      slot: this.#slots.get(name) ?? -1,
    };
    this.#columns[place] = column;
    return column;
  }

  #writeProperty(out: JsonBytes, cursor: EntityCursor, column: Column): void {
    const type = this.#format.level === 'none' ? null : typeToName(cursor);
    const label = type === null ? column.label : typedLabel(column, type);
    out.copy(label, 0, label.length);
    writeValue(out, cursor, this.#time);
  }
}

function textsOf({ bytes, partitionStart, partitionEnd, rowStart, rowEnd }: KeyBytes): EntityKey {
  const text = asBuffer(bytes);
  return {
    partitionKey: text.toString('utf8', partitionStart, partitionEnd),
    rowKey: text.toString('utf8', rowStart, rowEnd),
  };
}

function typedLabel({ name, label, typedLabels }: Column, type: EdmType): Buffer {
  const known = typedLabels.get(type);
  if (known !== undefined) return known;
  const typed = Buffer.concat([Buffer.from(`${JSON.stringify(`${name}@odata.type`)}:"${type}",`), label]);
  typedLabels.set(type, typed);
  return typed;
}

/** Byte by byte: names are short, and a call into the buffer takes longer. */
function isNamed({ bytes, nameStart, nameEnd }: EntityCursor, name: Uint8Array): boolean {
  if (nameEnd - nameStart !== name.length) return false;
  for (let index = 0; index < name.length; index++) {
    if (bytes[nameStart + index] !== name[index]) return false;
  }
  return true;
}
