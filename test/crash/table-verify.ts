/**
 * After a restart: whether every partition of a table is in a state that the journal allows, and no row has gone back
 * behind what was read of it before. What a request under way at the crash did is then known, and the journal goes on.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Reachable } from '../harness/clients.ts';
import { tableClient, tableRefusalOf } from '../harness/table-clients.ts';
import {
  NO_ROWS,
  type Partition,
  type Properties,
  type Row,
  type Rows,
  type Stamp,
  type TableEntry,
} from './table-journal.ts';

interface ReadRow extends Stamp {
  readonly properties: Properties;
}

/** By partition, by row. */
type ReadTable = ReadonlyMap<string, ReadonlyMap<string, ReadRow>>;

const NO_READ_ROWS: ReadonlyMap<string, ReadRow> = new Map();

export class TableVerification {
  readonly #server: Reachable;
  readonly findings: string[] = [];
  /** How many partitions and tables were found as a request under way at the crash had left them. */
  tookEffectCount = 0;

  constructor(server: Reachable) {
    this.#server = server;
  }

  async table(table: TableEntry): Promise<void> {
    const read = await this.#read(table);
    const exists = read !== null;
    if (exists !== table.exists && exists !== table.pendingExists) {
      this.findings.push(`table ${table.name}: expected it to ${table.exists ? '' : 'not '}exist`);
    }
    if (exists !== table.exists) this.tookEffectCount += 1;
    table.exists = exists;
    table.pendingExists = null;
    if (read === null) {
      // All or nothing: a table goes with everything in it.
      for (const partition of table.partitions) Object.assign(partition, { acknowledged: NO_ROWS, pending: null });
      return;
    }
    for (const partition of table.partitions)
      this.#partition(table, partition, read.get(partition.key) ?? NO_READ_ROWS);
    const strangers = [...read.keys()].filter((key) => table.partitions.every((partition) => partition.key !== key));
    if (strangers.length > 0) this.findings.push(`table ${table.name}: ${strangers.join()} never was`);
  }

  /** Null: there is no such table. */
  async #read({ name, account }: TableEntry): Promise<ReadTable | null> {
    const partitions = new Map<string, Map<string, ReadRow>>();
    try {
      for await (const entity of tableClient(this.#server, name, account).listEntities()) {
        const { partitionKey = '', rowKey = '', etag, timestamp = '', ...properties } = entity;
        const rows = partitions.get(partitionKey) ?? new Map<string, ReadRow>();
        partitions.set(partitionKey, rows);
        if (rows.has(rowKey)) this.findings.push(`table ${name}: ${partitionKey}/${rowKey} was listed twice`);
        rows.set(rowKey, { etag, timestamp, properties: properties as Properties });
      }
    } catch (error) {
      if (tableRefusalOf(error).code === 'TableNotFound') return null;
      throw error;
    }
    return partitions;
  }

  #partition({ name }: TableEntry, partition: Partition, read: ReadonlyMap<string, ReadRow>): void {
    const { acknowledged, pending, lastRead } = partition;
    for (const [rowKey, row] of read) {
      const problem = stampProblem(row, lastRead.get(rowKey) ?? null);
      if (problem !== null) this.findings.push(`table ${name}: ${partition.key}/${rowKey}: ${problem}`);
      lastRead.set(rowKey, row);
    }
    const differences: string[] = [];
    for (const candidate of pending === null ? [acknowledged] : [acknowledged, pending]) {
      const difference = differenceOf(candidate, read);
      if (difference === null) {
        if (candidate !== acknowledged) this.tookEffectCount += 1;
        partition.acknowledged = withEtags(candidate, read);
        partition.pending = null;
        return;
      }
      differences.push(difference);
    }
    const sentence = differences.join('; and as the request under way would have left it: ');
    this.findings.push(`table ${name}: ${partition.key}: ${sentence}`);
  }
}

/** An ETag tells the Timestamp, and neither goes back, not even for a row that was deleted in between. */
function stampProblem({ etag, timestamp }: Stamp, before: Stamp | null): string | null {
  if (etag !== `W/"datetime'${encodeURIComponent(timestamp)}'"`) return `ETag ${etag} at ${timestamp}`;
  if (before === null || etag === before.etag || timestamp > before.timestamp) return null;
  return `Timestamp ${timestamp}, and earlier ${before.timestamp}`;
}

/** Where what was read departs from a state; null where it does not. */
function differenceOf(wanted: Rows, read: ReadonlyMap<string, ReadRow>): string | null {
  for (const rowKey of read.keys()) if (!wanted.has(rowKey)) return `${rowKey} is there`;
  for (const [rowKey, row] of wanted) {
    const difference = rowDifference(row, read.get(rowKey) ?? null);
    if (difference !== null) return `${rowKey} ${difference}`;
  }
  return null;
}

function rowDifference({ properties, etag, etagBefore }: Row, read: ReadRow | null): string | null {
  if (read === null) return 'is missing';
  if (etag === null ? read.etag === etagBefore : read.etag !== etag) {
    return `has ETag ${read.etag}, expected ${etag ?? `any but ${etagBefore}`}`;
  }
  if (isDeepStrictEqual({ ...read.properties }, { ...properties })) return null;
  return `holds turn ${read.properties['turn']}, or other properties, expected ${properties['turn']}`;
}

const withEtags = (rows: Rows, read: ReadonlyMap<string, ReadRow>): Rows =>
  new Map([...rows].map(([rowKey, row]) => [rowKey, { ...row, etag: read.get(rowKey)?.etag ?? null }]));
