import type { EntityKey } from '../../rules/edm.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { TableRecord } from '../records/table-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { loadEntities, type StoredEntity, type TableName } from './load.ts';

/** Get Entity: one, by its key. */
export async function getEntity(
  storage: Storage,
  name: TableName,
  key: EntityKey,
): Promise<{ readonly table: TableRecord; readonly entity: StoredEntity }> {
  const snapshot = storage.engine.snapshot();
  try {
    const loaded = await loadEntities(snapshotReader(snapshot), name, { keys: [key], known: storage.known });
    const value = loaded.entities[0]?.value ?? null;
    if (value === null) throw new StorageError('ResourceNotFound');
    return { table: loaded.table, entity: { ...key, value } };
  } finally {
    snapshot.close();
  }
}
