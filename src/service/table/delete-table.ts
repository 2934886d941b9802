import { transact } from '../../engine/transact.ts';
import { tableKey } from '../records/table-keys.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { findTable, type TableName } from './load.ts';

/** Delete Table: gone at once with all it holds, which is swept later. */
export async function deleteTable(storage: Storage, name: TableName): Promise<void> {
  await transact(storage.engine, async (tx) => {
    const table = await findTable(tx, name);
    if (table === null) throw new StorageError('ResourceNotFound');
    storage.extents.discardLater(tx, { kind: 'table', account: name.account, id: table.id });
    tx.delete(tableKey(name.account, name.table));
  });
}
