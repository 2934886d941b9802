/** Random writes to tables of a client's own: what each partition may hold after a crash is then known. */
import assert from 'node:assert/strict';
import type { TableClient, TransactionAction } from '@azure/data-tables';
import type { Reachable } from '../harness/clients.ts';
import type { Random } from '../harness/random.ts';
import { tableClient, tableRefusal } from '../harness/table-clients.ts';
import type { Client } from './client.ts';
import { NO_ROWS, type Partition, type Properties, type Row, type TableEntry } from './table-journal.ts';

const ROW_COUNT = 12;
const BATCH_COUNT_MAX = 8;
const TEXT_CHARACTERS_MAX = 30_000;
const PASSING_ROW_COUNT = 20;
const STALE_ETAG = `W/"datetime'2001-01-01T00%3A00%3A00.0000000Z'"`;

/** A change of one row: how it is asked for, and what it leaves. Null: nothing. */
interface RowChange {
  readonly rowKey: string;
  readonly action: TransactionAction;
  readonly after: Row | null;
}

export class TableLoad {
  readonly #client: Client;
  readonly #random: Random;
  readonly #server: Reachable;
  readonly #clients = new Map<string, TableClient>();

  constructor({ client, random, server }: { client: Client; random: Random; server: Reachable }) {
    this.#client = client;
    this.#random = random;
    this.#server = server;
  }

  async change(table: TableEntry): Promise<void> {
    const partition = this.#random.pick(table.partitions);
    const dice = this.#random.next();
    if (dice < 0.15) return this.#beRefused(table, partition);
    const count = dice < 0.5 ? 1 : 2 + this.#random.below(BATCH_COUNT_MAX - 1);
    return this.#write(table, partition, this.#someChanges(partition, count));
  }

  /** Makes the table anew, with rows in it, or deletes it with all that it holds. */
  async pass(table: TableEntry): Promise<void> {
    const client = this.#tableClient(table);
    if (table.exists) {
      await this.#setExists(table, false, client.deleteTable());
      for (const partition of table.partitions) partition.acknowledged = NO_ROWS;
      return;
    }
    await this.#setExists(table, true, client.createTable());
    const left = await this.#client.answerTo(client.listEntities().next());
    assert.equal(left.done, true, `a new table ${table.name} holds entities`);
    // Other rows each time: those of an earlier table would be known by their names.
    const turn = this.#newTurn();
    for (const partition of table.partitions) {
      const rowKeys = Array.from({ length: PASSING_ROW_COUNT }, (_, index) => `${turn} ${index}`);
      await this.#write(
        table,
        partition,
        rowKeys.map((rowKey) => this.#creation(partition, rowKey, turn)),
      );
    }
  }

  async #setExists(table: TableEntry, exists: boolean, request: Promise<unknown>): Promise<void> {
    table.pendingExists = exists;
    await this.#client.answerTo(request);
    table.exists = exists;
    table.pendingExists = null;
    this.#client.kill.countAcknowledged();
  }

  // ---- what is asked for

  /** Of different rows, all with one number. */
  #someChanges(partition: Partition, count: number): RowChange[] {
    const turn = this.#newTurn();
    const rowKeys = new Set<string>();
    while (rowKeys.size < count) rowKeys.add(`row ${this.#random.below(ROW_COUNT)}`);
    return [...rowKeys].map((rowKey) => {
      const before = partition.acknowledged.get(rowKey);
      const dice = this.#random.next();
      if (before === undefined && dice < 0.5) return this.#creation(partition, rowKey, turn);
      if (before === undefined || dice < 0.4) return this.#upsert(partition, rowKey, turn);
      return dice < 0.85 ? this.#update(partition, { rowKey, before, turn }) : deletion(partition, rowKey);
    });
  }

  #creation(partition: Partition, rowKey: string, turn: number): RowChange {
    const properties = this.#someProperties(turn);
    const entity = { partitionKey: partition.key, rowKey, ...properties };
    return { rowKey, action: ['create', entity], after: { properties, etag: null, etagBefore: null } };
  }

  #upsert(partition: Partition, rowKey: string, turn: number): RowChange {
    const mode = this.#random.pick(['Merge', 'Replace'] as const);
    const before = partition.acknowledged.get(rowKey);
    const given = this.#someProperties(turn);
    const properties = mode === 'Merge' ? { ...before?.properties, ...given } : given;
    return {
      rowKey,
      action: ['upsert', { partitionKey: partition.key, rowKey, ...given }, mode],
      after: { properties, etag: null, etagBefore: before?.etag ?? null },
    };
  }

  #update(partition: Partition, { rowKey, before, turn }: { rowKey: string; before: Row; turn: number }): RowChange {
    const mode = this.#random.pick(['Merge', 'Replace'] as const);
    const given = this.#someProperties(turn);
    const properties = mode === 'Merge' ? { ...before.properties, ...given } : given;
    return {
      rowKey,
      action: ['update', { partitionKey: partition.key, rowKey, ...given }, mode, { etag: before.etag ?? '' }],
      after: { properties, etag: null, etagBefore: before.etag },
    };
  }

  #someProperties(turn: number): Properties {
    const isLong = this.#random.chance(0.1);
    const lengthCharacters = this.#random.below(isLong ? TEXT_CHARACTERS_MAX : 100);
    const text = String.fromCharCode(97 + this.#random.below(26)).repeat(lengthCharacters);
    return { turn, ...(this.#random.chance(0.7) ? { text } : {}), ...(this.#random.chance(0.3) ? { more: turn } : {}) };
  }

  // ---- asking for it

  /** Changes that can all be made, in one request. */
  async #write(table: TableEntry, partition: Partition, changes: readonly RowChange[]): Promise<void> {
    const next = new Map(partition.acknowledged);
    for (const { rowKey, after } of changes) {
      if (after === null) next.delete(rowKey);
      else next.set(rowKey, after);
    }
    partition.pending = next;
    const etags = await this.#client.answerTo(this.#request(table, changes));
    for (const [index, { rowKey, after }] of changes.entries()) {
      if (after === null) continue;
      const etag = etags[index] ?? null;
      assert.ok(etag !== null && etag !== after.etagBefore, `a write must bring a new ETag, not ${etag}`);
      next.set(rowKey, { ...after, etag });
    }
    partition.acknowledged = next;
    partition.pending = null;
    this.#client.kill.countAcknowledged();
  }

  /** The ETags of the answer, in the order of the changes. */
  async #request(table: TableEntry, changes: readonly RowChange[]): Promise<(string | undefined)[]> {
    const client = this.#tableClient(table);
    const [only] = changes;
    if (only !== undefined && changes.length === 1) return [await requestOne(client, only.action)];
    const { subResponses } = await client.submitTransaction(changes.map(({ action }) => action));
    return subResponses.map(({ etag }) => etag);
  }

  /** Whatever the moment of the crash, these change nothing: also not what stands before the fault in a transaction. */
  async #beRefused(table: TableEntry, partition: Partition): Promise<void> {
    const client = this.#tableClient(table);
    const [rowKey] = [...partition.acknowledged.keys()];
    const missing = { partitionKey: partition.key, rowKey: 'never there' };
    const fault: { action: TransactionAction; refusal: string } =
      rowKey === undefined
        ? { action: ['update', missing, 'Merge', { etag: '*' }], refusal: '404 ResourceNotFound' }
        : this.#random.pick([
            { action: ['create', { partitionKey: partition.key, rowKey }], refusal: '409 EntityAlreadyExists' },
            {
              action: ['update', { partitionKey: partition.key, rowKey }, 'Replace', { etag: STALE_ETAG }],
              refusal: '412 UpdateConditionNotSatisfied',
            },
          ]);
    const before = this.#someChanges(partition, 3).filter((change) => change.rowKey !== rowKey);
    const actions = [...before.map(({ action }) => action), fault.action];
    const request = this.#random.chance(0.3) ? requestOne(client, fault.action) : client.submitTransaction(actions);
    partition.pending = partition.acknowledged;
    assert.equal(await this.#client.answerTo(tableRefusal(request)), fault.refusal);
    partition.pending = null;
    this.#client.kill.countAcknowledged();
  }

  #tableClient({ name, account }: TableEntry): TableClient {
    const client = this.#clients.get(name) ?? tableClient(this.#server, name, account);
    this.#clients.set(name, client);
    return client;
  }

  #newTurn(): number {
    return this.#random.below(1_000_000_000);
  }
}

const deletion = ({ key }: Partition, rowKey: string): RowChange => ({
  rowKey,
  action: ['delete', { partitionKey: key, rowKey }],
  after: null,
});

/** The same as a request of its own. */
async function requestOne(client: TableClient, action: TransactionAction): Promise<string | undefined> {
  const [kind, entity] = action;
  switch (kind) {
    case 'create':
      return (await client.createEntity(entity)).etag;
    case 'upsert':
      return (await client.upsertEntity(entity, action[2])).etag;
    case 'update':
      return (await client.updateEntity(entity, action[2], action[3])).etag;
    case 'delete':
      await client.deleteEntity(entity.partitionKey, entity.rowKey);
      return undefined;
  }
}
