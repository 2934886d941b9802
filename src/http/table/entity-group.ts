/**
 * What the changes of one transaction must have in common: the table and the partition key; and what they must not: no
 * entity comes twice. Each change is judged together with those before it.
 */
import type { EntityKey } from '../../rules/edm.ts';
import { StorageError } from '../../service/storage-error.ts';

export class EntityGroup {
  #table: string | null = null;
  #partitionKey: string | null = null;
  readonly #rowKeys = new Set<string>();

  /** Names of tables are compared without regard to case. */
  refuseTable(table: string): StorageError | null {
    this.#table ??= table;
    if (this.#table === table || this.#table.toLowerCase() === table.toLowerCase()) return null;
    return new StorageError('InvalidInput', { message: 'All commands in a batch must operate on the same table.' });
  }

  refuseKey({ partitionKey, rowKey }: EntityKey): StorageError | null {
    this.#partitionKey ??= partitionKey;
    if (this.#partitionKey !== partitionKey) return new StorageError('CommandsInBatchActOnDifferentPartitions');
    if (this.#rowKeys.has(rowKey)) return new StorageError('InvalidDuplicateRow');
    this.#rowKeys.add(rowKey);
    return null;
  }
}
