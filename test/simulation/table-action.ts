/**
 * One operation of the simulation of tables: how it is done, and whether a model explains what was seen of it. What was
 * seen goes into the model as it is only where it cannot be foretold: the ticks of ETags.
 */
import { decodeEntity } from '../../src/service/records/entity-record.ts';
import type { Storage } from '../../src/service/storage.ts';
import type { StoredEntity, TableName } from '../../src/service/table/load.ts';
import { ACCOUNT } from '../harness/store.ts';
import { type Seen, watch } from './action.ts';
import { type ModelEntity, type TableModel, told } from './table-model.ts';

export interface Action {
  readonly what: string;
  /** Once it is done, `explain` knows what was seen. */
  run(storage: Storage): Promise<void>;
  /** The model after it, or what a model that is as this one does not explain. */
  explain(model: TableModel): TableModel | string;
  /** The ETags that it gave. */
  given(): readonly bigint[];
}

export function action<T>(
  what: string,
  act: (storage: Storage) => Promise<T>,
  judge: (model: TableModel, seen: Seen<T>) => TableModel | string,
  givenBy: (result: T) => readonly bigint[] = () => [],
): Action {
  const { run, seen } = watch(what, act);
  return {
    what,
    run,
    explain: (model) => judge(model, seen()),
    given() {
      const done = seen();
      return 'result' in done ? givenBy(done.result) : [];
    },
  };
}

export const nameOf = (table: string): TableName => ({ account: ACCOUNT, table });

/** By what is stored: an engine in memory hands out the same bytes again and again. */
const decoded = new WeakMap<Uint8Array, ModelEntity>();

export function toldOf({ partitionKey, rowKey, value }: StoredEntity): string {
  const known = decoded.get(value);
  if (known?.partitionKey === partitionKey && known.rowKey === rowKey) return told(known);
  const { ticks, properties } = decodeEntity(value);
  const entity: ModelEntity = { partitionKey, rowKey, ticks, properties: new Map(properties) };
  decoded.set(value, entity);
  return told(entity);
}
