/**
 * What tables should hold, as nothing but maps, never changed in place: a write gives another model, so that several
 * orders of the same writes can be tried out.
 */
import { createHash } from 'node:crypto';
import type { AccessPolicy } from '../../src/rules/acl.ts';
import type { EdmValue, EntityKey } from '../../src/rules/edm.ts';

export interface ModelEntity extends EntityKey {
  /** Of its Timestamp, which its ETag says as well. */
  readonly ticks: bigint;
  readonly properties: ReadonlyMap<string, EdmValue>;
}

export interface ModelTable {
  /** As its creator wrote it. */
  readonly name: string;
  readonly policies: readonly AccessPolicy[];
  /** By `textOf` their keys, in no order. */
  readonly entities: ReadonlyMap<string, ModelEntity>;
}

/** Which ETag a write presents: of which state, or of any. Null: it presents none. */
export type ModelIfMatch = bigint | 'any' | null;

export interface ModelChange {
  readonly key: EntityKey;
  readonly kind: 'insert' | 'replace' | 'merge' | 'delete';
  readonly ifMatch: ModelIfMatch;
  readonly properties: ReadonlyMap<string, EdmValue>;
}

/** Without PartitionKey, RowKey and Timestamp. */
export const OWN_PROPERTIES_MAX = 252;

const SHOWN_CHARACTERS_MAX = 100;

export const textOf = ({ partitionKey, rowKey }: EntityKey): string => `${partitionKey}\0${rowKey}`;

/** The order of queries. */
export function compareKeys(a: EntityKey, b: EntityKey): number {
  if (a.partitionKey !== b.partitionKey) return a.partitionKey < b.partitionKey ? -1 : 1;
  if (a.rowKey === b.rowKey) return 0;
  return a.rowKey < b.rowKey ? -1 : 1;
}

export class TableModel {
  /** By their names in lower case. */
  readonly tables: ReadonlyMap<string, ModelTable>;

  constructor(tables: ReadonlyMap<string, ModelTable> = new Map()) {
    this.tables = tables;
  }

  find(name: string): ModelTable | null {
    return this.tables.get(name.toLowerCase()) ?? null;
  }

  with(table: ModelTable): TableModel {
    return new TableModel(new Map([...this.tables, [table.name.toLowerCase(), table]]));
  }

  without(name: string): TableModel {
    return new TableModel(new Map([...this.tables].filter(([other]) => other !== name.toLowerCase())));
  }
}

/** The first change that cannot be made, and why; null: all of them can. */
export function refusalOf(
  { entities }: ModelTable,
  changes: readonly ModelChange[],
): { readonly refusal: string; readonly index: number } | null {
  for (const [index, change] of changes.entries()) {
    const refusal = refusalOfOne(change, entities.get(textOf(change.key)) ?? null);
    if (refusal !== null) return { refusal, index };
  }
  return null;
}

function refusalOfOne(change: ModelChange, before: ModelEntity | null): string | null {
  const { kind, ifMatch } = change;
  if (kind === 'insert' && before !== null) return 'EntityAlreadyExists';
  if (ifMatch !== null && before === null) return 'ResourceNotFound';
  if (typeof ifMatch === 'bigint' && ifMatch !== before?.ticks) return 'UpdateConditionNotSatisfied';
  if (kind !== 'delete' && propertiesAfter(change, before).size > OWN_PROPERTIES_MAX) return 'TooManyProperties';
  return null;
}

export function propertiesAfter(change: ModelChange, before: ModelEntity | null): ReadonlyMap<string, EdmValue> {
  return change.kind === 'merge' && before !== null
    ? new Map([...before.properties, ...change.properties])
    : change.properties;
}

/** The table after changes that can all be made. `ticks`: those that each was given; null for deletes. */
export function changed(
  table: ModelTable,
  changes: readonly ModelChange[],
  ticks: readonly (bigint | null)[],
): ModelTable {
  const entities = new Map(table.entities);
  for (const [index, change] of changes.entries()) {
    const name = textOf(change.key);
    const given = ticks[index] ?? null;
    if (given === null) entities.delete(name);
    else {
      const properties = propertiesAfter(change, entities.get(name) ?? null);
      entities.set(name, { ...change.key, ticks: given, properties });
    }
  }
  return { ...table, entities };
}

const toldBefore = new WeakMap<ModelEntity, string>();

/** An entity in one line, by which two of them are compared. */
export function told(entity: ModelEntity): string {
  const known = toldBefore.get(entity) ?? tellAnew(entity);
  toldBefore.set(entity, known);
  return known;
}

function tellAnew({ partitionKey, rowKey, ticks, properties }: ModelEntity): string {
  const own = [...properties].map(([name, value]) => `${name}=${toldValue(value)}`).sort();
  return `${JSON.stringify([partitionKey, rowKey])} ${ticks} ${own.join(' ')}`;
}

export function toldValue({ type, value }: EdmValue): string {
  const text = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
  const shown = text.length > SHOWN_CHARACTERS_MAX ? createHash('sha256').update(text).digest('hex') : text;
  return `${type.slice('Edm.'.length)}${JSON.stringify(shown)}`;
}
