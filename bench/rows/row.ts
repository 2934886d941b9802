/** What a row of the table is, and how large a run is. */

import { type Contestant, type ContestantName, isComparedOver, type Protocol } from '../contestants.ts';
import type { Outcome } from '../load.ts';

/** How large one run is; `--quick` makes everything smaller. */
export interface Scale {
  rounds: number;
  roundSeconds: number;
  /** For rounds that take seconds each whatever is done. */
  longRounds: number;
  connections: number;
  blobCount: number;
  /** Azurite stores some hundred blobs a second, so it may be given fewer to hold. */
  azuriteBlobCount: number;
  /** In the table of the rows about many entities. */
  entityCount: number;
  azuriteEntityCount: number;
  /** Messages that wait in the long queue, and in the one that is filled for Larimar only. */
  longQueueCount: number;
  deepQueueCount: number;
  /** Azurite is given as many messages as it takes in so long. */
  azuriteQueueFillSeconds: number;
  /** In the directory that is listed. */
  listedFileCount: number;
  transferBytes: number;
  singlePutBytes: number;
}

/** A one-row transaction of pgbench's: pgbench.ts. */
export type PgbenchScript = 'update' | 'insert' | 'select';

export interface Row {
  /** What `--rows` calls it. */
  name: string;
  title: string;
  unit: string;
  better: 'higher' | 'lower';
  /** `fresh`: the servers start with empty folders; `filled`: they hold the scale's count of blobs. */
  stage: 'fresh' | 'filled';
  rounds: number;
  /** Whether one round is run first and thrown away. */
  warmsUp: boolean;
  /** HTTP, unless it is said. */
  protocol?: Protocol;
  /** Who takes no part in it, of those that are compared over its protocol. */
  without?: readonly ContestantName[];
  /** Done once for each contestant, before the first round. */
  prepare?: (contestant: Contestant) => Promise<void>;
  round: (contestant: Contestant, round: number) => Promise<Outcome>;
  /** What a reader of the table must know, once it was run. */
  remarks?: () => readonly string[];
  /** What pgbench does beside it, where it has anything like it. */
  pgbench?: PgbenchScript;
}

export function takesPart(name: ContestantName, row: Row): boolean {
  return isComparedOver(row.protocol ?? 'http', name) && row.without?.includes(name) !== true;
}

export const mebibyte = 1_048_576;
