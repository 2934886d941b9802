/**
 * Tables and their entities: a table stands under its own name and is the only one with its id; an entity can be read to
 * its end, stands under keys that an entity can have, and belongs to a table that is there or awaits the sweeper.
 */
import type { Id } from '../../base/ids.ts';
import type { Entry, Key } from '../../engine/engine.ts';
import type { EntityKey } from '../../rules/edm.ts';
import { refuseKey } from '../../rules/entity.ts';
import { refuseTableName } from '../../rules/names.ts';
import { decodeJson } from '../records/codec.ts';
import { decodeEntity } from '../records/entity-record.ts';
import { accountOf, ownNameOf } from '../records/keys.ts';
import { entityKey, entityTableIdOf, parseEntityKey, tableKey } from '../records/table-keys.ts';
import type { TableRecord } from '../records/table-record.ts';
import type { Awaited } from './awaited.ts';

export class Tables {
  tableCount = 0;
  /** Without those that await the sweeper. */
  entityCount = 0;
  readonly #findings: string[];
  /** The accounts of tables, by their ids. */
  readonly #accounts = new Map<Id, string>();

  constructor(findings: string[]) {
    this.#findings = findings;
  }

  table({ key, value }: Entry, awaited: Awaited): void {
    const { id, name } = decodeJson<TableRecord>(value);
    const account = accountOf(key);
    this.tableCount++;
    if (refuseTableName(name) !== null) this.#findings.push(`${JSON.stringify(name)} is not a valid table name`);
    if (!isSame(tableKey(account, name), key)) {
      this.#findings.push(`table ${name} is stored under the name ${ownNameOf(key)}`);
    }
    if (this.#accounts.has(id)) this.#findings.push(`table ${name} has the same id as another table`);
    if (awaited.tables.has(id)) this.#findings.push(`table ${name} exists, but is to be swept`);
    this.#accounts.set(id, account);
  }

  /** After all tables. */
  entity({ key, value }: Entry, awaited: Awaited): void {
    const address = { account: accountOf(key), tableId: entityTableIdOf(key) };
    const keys = parseEntityKey(key);
    decodeEntity(value);
    if (!isPossible(keys) || !isSame(entityKey(address, keys), key)) {
      this.#findings.push(`${described(keys)} has invalid keys`);
    }
    // Until the sweeper comes to it, it stays.
    if (awaited.tables.has(address.tableId)) return;
    this.entityCount++;
    if (this.#accounts.get(address.tableId) !== address.account) {
      this.#findings.push(`${described(keys)} belongs to no table`);
    }
  }
}

const isPossible = ({ partitionKey, rowKey }: EntityKey): boolean =>
  refuseKey(partitionKey) === null && refuseKey(rowKey) === null;

const isSame = (a: Key, b: Key): boolean => Buffer.compare(a, b) === 0;

const described = ({ partitionKey, rowKey }: EntityKey): string =>
  `entity ${JSON.stringify(partitionKey)} ${JSON.stringify(rowKey)}`;
