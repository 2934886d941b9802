/**
 * A table that all clients write to at once: accounts between which they move amounts, each with a receipt in the same
 * entity group transaction, and a counter that they count up, each with the ETag that it read. Whatever the moment of a
 * crash, the sum stays, the balances are what the receipts make of them, and every acknowledged receipt and count is there.
 */
import assert from 'node:assert/strict';
import type { TableClient } from '@azure/data-tables';
import type { Reachable } from '../harness/clients.ts';
import type { Random } from '../harness/random.ts';
import { tableClient, tableOutcomes } from '../harness/table-clients.ts';
import type { Client } from './client.ts';

const NAME = 'shared';
const ACCOUNT_COUNT = 4;
const BALANCE = 1_000;
const COUNTER = { partitionKey: 'counter', rowKey: 'counter' };

interface Receipt {
  readonly from: string;
  readonly to: string;
  readonly amount: number;
}

interface Account {
  readonly balance: number;
}

const accountOf = (index: number): string => `account ${index}`;

export class SharedTable {
  /** With an answer, or with none. */
  readonly #acknowledged = new Map<string, Receipt>();
  readonly #pending = new Map<string, Receipt>();
  #acknowledgedCount = 0;
  #pendingCount = 0;
  #serial = 0;

  async create(server: Reachable): Promise<void> {
    const table = tableClient(server, NAME);
    await table.createTable();
    for (let index = 0; index < ACCOUNT_COUNT; index++) {
      await table.createEntity({ partitionKey: 'ledger', rowKey: accountOf(index), balance: BALANCE });
    }
    await table.createEntity({ ...COUNTER, count: 0 });
  }

  async remove(server: Reachable): Promise<void> {
    await tableClient(server, NAME).deleteTable();
  }

  /** Moves an amount, if nobody else has moved one between those accounts since they were read. */
  async transfer(client: Client, server: Reachable, random: Random): Promise<void> {
    const table = tableClient(server, NAME);
    const first = random.below(ACCOUNT_COUNT);
    const [from, to] = [accountOf(first), accountOf((first + 1 + random.below(ACCOUNT_COUNT - 1)) % ACCOUNT_COUNT)];
    const [source, target] = await client.answerTo(
      Promise.all([table.getEntity<Account>('ledger', from), table.getEntity<Account>('ledger', to)]),
    );
    const receipt = { from, to, amount: 1 + random.below(50) };
    const rowKey = `receipt ${String(this.#serial++).padStart(6, '0')}`;
    this.#pending.set(rowKey, receipt);
    const isDone = await isConditionMet(
      client,
      table.submitTransaction([
        ['update', changed(from, source.balance - receipt.amount), 'Merge', { etag: source.etag }],
        ['update', changed(to, target.balance + receipt.amount), 'Replace', { etag: target.etag }],
        ['create', { partitionKey: 'ledger', rowKey, ...receipt }],
      ]),
    );
    if (isDone) this.#acknowledged.set(rowKey, receipt);
    this.#pending.delete(rowKey);
    client.kill.countAcknowledged();
  }

  async count(client: Client, server: Reachable): Promise<void> {
    const table = tableClient(server, NAME);
    const { partitionKey, rowKey } = COUNTER;
    const { count, etag } = await client.answerTo(table.getEntity<{ count: number }>(partitionKey, rowKey));
    this.#pendingCount += 1;
    const isDone = await isConditionMet(
      client,
      table.updateEntity({ ...COUNTER, count: count + 1 }, 'Merge', { etag }),
    );
    this.#pendingCount -= 1;
    if (isDone) this.#acknowledgedCount += 1;
    client.kill.countAcknowledged();
  }

  /** What is wrong, a sentence each. What was under way and is there counts as acknowledged from now on. */
  async findings(server: Reachable): Promise<string[]> {
    const table = tableClient(server, NAME);
    return [...(await this.#ledgerFindings(table)), ...(await this.#counterFindings(table))];
  }

  async #ledgerFindings(table: TableClient): Promise<string[]> {
    const findings: string[] = [];
    const balances = new Map<string, number>();
    const receipts = new Map<string, Receipt>();
    for await (const entity of table.listEntities<Account & Receipt>({
      queryOptions: { filter: `PartitionKey eq 'ledger'` },
    })) {
      const { rowKey = '', balance, from, to, amount } = entity;
      if (rowKey.startsWith('account')) balances.set(rowKey, balance);
      else receipts.set(rowKey, { from, to, amount });
    }
    for (const [rowKey, receipt] of receipts) {
      const sent = this.#acknowledged.get(rowKey) ?? this.#pending.get(rowKey);
      if (JSON.stringify(sent) !== JSON.stringify(receipt)) findings.push(`ledger: ${rowKey} was never sent so`);
    }
    for (const rowKey of this.#acknowledged.keys()) {
      if (!receipts.has(rowKey)) findings.push(`ledger: ${rowKey} was acknowledged and is missing`);
    }
    for (const [account, expected] of balancesAfter(receipts.values())) {
      const found = balances.get(account);
      if (found !== expected) findings.push(`ledger: ${account} has ${found}, by the receipts ${expected}`);
    }
    for (const [rowKey, receipt] of receipts) this.#acknowledged.set(rowKey, receipt);
    this.#pending.clear();
    return findings;
  }

  async #counterFindings(table: TableClient): Promise<string[]> {
    const { count } = await table.getEntity<{ count: number }>(COUNTER.partitionKey, COUNTER.rowKey);
    const [least, most] = [this.#acknowledgedCount, this.#acknowledgedCount + this.#pendingCount];
    this.#acknowledgedCount = count;
    this.#pendingCount = 0;
    return count >= least && count <= most ? [] : [`counter in a table: ${count}, expected ${least} to ${most}`];
  }
}

/** False: somebody else was first. */
async function isConditionMet(client: Client, request: Promise<unknown>): Promise<boolean> {
  const [outcome = ''] = await client.answerTo(Promise.allSettled([request]).then(tableOutcomes));
  assert.match(outcome, /^(?:ok|412 UpdateConditionNotSatisfied)$/);
  return outcome === 'ok';
}

const changed = (rowKey: string, balance: number) => ({ partitionKey: 'ledger', rowKey, balance });

function balancesAfter(receipts: Iterable<Receipt>): Map<string, number> {
  const balances = new Map(Array.from({ length: ACCOUNT_COUNT }, (_, index) => [accountOf(index), BALANCE]));
  for (const { from, to, amount } of receipts) {
    balances.set(from, (balances.get(from) ?? 0) - amount);
    balances.set(to, (balances.get(to) ?? 0) + amount);
  }
  return balances;
}
