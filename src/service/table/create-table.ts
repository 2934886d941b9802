import { transact } from '../../engine/transact.ts';
import { encodeJson } from '../records/codec.ts';
import { tableKey } from '../records/table-keys.ts';
import type { TableRecord } from '../records/table-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { findTable, type TableName } from './load.ts';

/** Create Table. A new table of an old name is empty, whatever its predecessor held. */
export async function createTable(storage: Storage, name: TableName): Promise<TableRecord> {
  return transact(storage.engine, async (tx) => {
    if ((await findTable(tx, name)) !== null) throw new StorageError('TableAlreadyExists');
    const id = storage.ids.next();
    const record: TableRecord = { id, name: name.table, createdMs: storage.clock.nowMs(), policies: [] };
    tx.put(tableKey(name.account, name.table), encodeJson(record));
    return record;
  });
}
