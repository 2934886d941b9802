/** Operations on a table that exists: finding it, reading and changing its access policies. */
import { transact } from '../../engine/transact.ts';
import type { AccessPolicy } from '../../rules/acl.ts';
import { encodeJson } from '../records/codec.ts';
import { snapshotReader } from '../records/record-reader.ts';
import { tableKey } from '../records/table-keys.ts';
import type { TableRecord } from '../records/table-record.ts';
import type { Storage } from '../storage.ts';
import { findTable, loadTable, type TableName } from './load.ts';

/** Null where there is none. */
export async function lookUpTable(storage: Storage, name: TableName): Promise<TableRecord | null> {
  const snapshot = storage.engine.snapshot();
  return findTable(snapshotReader(snapshot), name).finally(() => snapshot.close());
}

/** Get Table ACL. */
export async function getTable(storage: Storage, name: TableName): Promise<TableRecord> {
  const snapshot = storage.engine.snapshot();
  return loadTable(snapshotReader(snapshot), name).finally(() => snapshot.close());
}

/** Set Table ACL: replaces all policies, effective for the very next request. */
export async function setTableAcl(storage: Storage, name: TableName, policies: readonly AccessPolicy[]): Promise<void> {
  await transact(storage.engine, async (tx) => {
    const table = await loadTable(tx, name);
    tx.put(tableKey(name.account, name.table), encodeJson({ ...table, policies }));
  });
}
