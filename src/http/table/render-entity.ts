/**
 * Entities in answers, written from their records without building objects. The annotations of an entity come first, then
 * its keys and Timestamp, then its own properties as they are stored, each behind its type where that is named.
 * https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations
 */
import { formatTicks } from '../../rules/edm.ts';
import { SYSTEM_PROPERTIES } from '../../rules/entity.ts';
import { entityTag } from '../../rules/entity-change.ts';
import { EntityCursor } from '../../service/records/entity-record.ts';
import type { StoredEntity } from '../../service/table/load.ts';
import { entityPath } from './links.ts';
import type { MetadataLevel } from './metadata.ts';
import { renderValue, typeToName } from './render-value.ts';

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
export function renderEntity(entity: StoredEntity, format: EntityFormat): string {
  return `{${metadata(format, '/@Element')}${new EntityWriter(format).members(entity)}}`;
}

/** The answer to Query Entities. */
export function renderEntities(entities: readonly StoredEntity[], format: EntityFormat): string {
  const writer = new EntityWriter(format);
  let text = '';
  for (const entity of entities) text += `${text === '' ? '' : ','}{${writer.members(entity)}}`;
  return `{${metadata(format, '')}"value":[${text}]}`;
}

/** With the comma behind it; empty where it is not asked for. */
const metadata = ({ level, serviceUrl, table }: EntityFormat, element: string): string =>
  level === 'none' ? '' : `"odata.metadata":${JSON.stringify(`${serviceUrl}/$metadata#${table}${element}`)},`;

/** What is the same for a property of this name in every entity. */
interface Column {
  readonly nameBytes: Uint8Array;
  /** `"Name":` */
  readonly label: string;
  /** `"Name@odata.type":` */
  readonly typeLabel: string;
  /** Its place among the selected ones; -1: not one of them. */
  readonly slot: number;
}

class EntityWriter {
  readonly #format: EntityFormat;
  #cursor: EntityCursor | null = null;
  /** By the place of a property in its entity: most entities of a table have the same ones in the same places. */
  readonly #columns: Column[] = [];
  readonly #slots: ReadonlyMap<string, number>;

  constructor(format: EntityFormat) {
    this.#format = format;
    this.#slots = new Map(format.select?.map((name, slot) => [name, slot]));
  }

  /** All of an entity but its braces. */
  members(entity: StoredEntity): string {
    const cursor = this.#cursorOn(entity.value);
    const { select } = this.#format;
    const values = select === null ? this.#all(entity, cursor) : this.#selected(entity, cursor, select);
    return `${this.#annotations(entity, cursor.ticks)}${values}`;
  }

  #cursorOn(value: Uint8Array): EntityCursor {
    if (this.#cursor === null) this.#cursor = new EntityCursor(value);
    else this.#cursor.reset(value);
    return this.#cursor;
  }

  /** With the comma behind them. */
  #annotations(entity: StoredEntity, ticks: bigint): string {
    const { level, serviceUrl, account, table } = this.#format;
    if (level === 'none') return '';
    const etag = `"odata.etag":${JSON.stringify(entityTag(ticks))},`;
    if (level === 'minimal') return etag;
    const path = entityPath(table, entity);
    const id = JSON.stringify(`${serviceUrl}/${path}`);
    const type = JSON.stringify(`${account}.${table}`);
    return `"odata.type":${type},"odata.id":${id},${etag}"odata.editLink":${JSON.stringify(path)},`;
  }

  #all(entity: StoredEntity, cursor: EntityCursor): string {
    const { ticks } = cursor;
    const system = SYSTEM_PROPERTIES.map((name) => this.#systemProperty(name, entity, ticks));
    let text = system.join(',');
    for (let place = 0; cursor.next(); place++) text += `,${this.#property(cursor, this.#column(cursor, place))}`;
    return text;
  }

  #selected(entity: StoredEntity, cursor: EntityCursor, select: readonly string[]): string {
    const { ticks } = cursor;
    const texts = select.map((name) => this.#systemProperty(name, entity, ticks) ?? `${JSON.stringify(name)}:null`);
    for (let place = 0; cursor.next(); place++) {
      const column = this.#column(cursor, place);
      if (column.slot >= 0) texts[column.slot] = this.#property(cursor, column);
    }
    return texts.join(',');
  }

  /** Null: none of the system. */
  #systemProperty(name: string, { partitionKey, rowKey }: StoredEntity, ticks: bigint): string | null {
    switch (name) {
      case 'PartitionKey':
        return `"PartitionKey":${JSON.stringify(partitionKey)}`;
      case 'RowKey':
        return `"RowKey":${JSON.stringify(rowKey)}`;
      case 'Timestamp': {
        const type = this.#format.level === 'full' ? '"Timestamp@odata.type":"Edm.DateTime",' : '';
        return `${type}"Timestamp":"${formatTicks(ticks)}"`;
      }
      default:
        return null;
    }
  }

  #column(cursor: EntityCursor, place: number): Column {
    const known = this.#columns[place];
    if (known !== undefined && isNamed(cursor, known.nameBytes)) return known;
    const { name, bytes, nameStart, nameEnd } = cursor;
    const column = {
      nameBytes: Uint8Array.from(bytes.subarray(nameStart, nameEnd)),
      label: `${JSON.stringify(name)}:`,
      typeLabel: `${JSON.stringify(`${name}@odata.type`)}:`,
      slot: this.#slots.get(name) ?? -1,
    };
    this.#columns[place] = column;
    return column;
  }

  #property(cursor: EntityCursor, { label, typeLabel }: Column): string {
    const type = this.#format.level === 'none' ? null : typeToName(cursor);
    const value = renderValue(cursor);
    return type === null ? `${label}${value}` : `${typeLabel}"${type}",${label}${value}`;
  }
}

/** Byte by byte: names are short, and a call into the buffer takes longer. */
function isNamed({ bytes, nameStart, nameEnd }: EntityCursor, name: Uint8Array): boolean {
  if (nameEnd - nameStart !== name.length) return false;
  for (let index = 0; index < name.length; index++) {
    if (bytes[nameStart + index] !== name[index]) return false;
  }
  return true;
}
