/** Reading the records that table and entity operations start from, in a transaction or in a snapshot. */
import type { Id } from '../../base/ids.ts';
import type { EntityKey } from '../../rules/edm.ts';
import type { Known } from '../known.ts';
import { decodeJson } from '../records/codec.ts';
import type { RecordReader } from '../records/record-reader.ts';
import { entityKey, tableKey } from '../records/table-keys.ts';
import type { TableRecord } from '../records/table-record.ts';
import { StorageError } from '../storage-error.ts';

export interface TableName {
  readonly account: string;
  /** In any case. */
  readonly table: string;
}

export async function findTable(reader: RecordReader, { account, table }: TableName): Promise<TableRecord | null> {
  const [value] = await reader.getMany([tableKey(account, table)]);
  return value ? decodeJson<TableRecord>(value) : null;
}

export async function loadTable(reader: RecordReader, name: TableName): Promise<TableRecord> {
  const table = await findTable(reader, name);
  if (table === null) throw new StorageError('TableNotFound');
  return table;
}

/** An entity as it is stored. */
export interface StoredEntity extends EntityKey {
  /** Encoded: records/entity-record.ts. */
  readonly value: Uint8Array;
}

export interface LoadedEntities {
  readonly table: TableRecord;
  /** In the order asked for. */
  readonly entities: readonly {
    readonly key: Uint8Array;
    /** Encoded; null where there is none. */
    readonly value: Uint8Array | null;
  }[];
}

/** The table and some of its entities, in one round trip where the table's id is known. */
export async function loadEntities(
  reader: RecordReader,
  { account, table: name }: TableName,
  { keys, known }: { readonly keys: readonly EntityKey[]; readonly known: Known },
): Promise<LoadedEntities> {
  const guessedId = known.tables.idOf(account, name.toLowerCase());
  const keysIn = (tableId: Id): Uint8Array[] => keys.map((key) => entityKey({ account, tableId }, key));
  const guessed = guessedId === null ? [] : keysIn(guessedId);
  const [found, ...values] = await reader.getMany([tableKey(account, name), ...guessed]);
  if (found === null || found === undefined) throw new StorageError('TableNotFound');
  const table = decodeJson<TableRecord>(found);
  if (table.id === guessedId) return { table, entities: paired(guessed, values) };
  known.tables.note(account, name.toLowerCase(), table.id);
  const entityKeys = keysIn(table.id);
  return { table, entities: paired(entityKeys, await reader.getMany(entityKeys)) };
}

const paired = (keys: readonly Uint8Array[], values: readonly (Uint8Array | null)[]): LoadedEntities['entities'] =>
  keys.map((key, index) => ({ key, value: values[index] ?? null }));
