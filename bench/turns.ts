/**
 * Who takes turns in a row, and how: a contestant while the others stand still, or pgbench while all of them do. A turn
 * begins with nothing of another's left to be written to the disk.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Contestant } from './contestants.ts';
import type { Outcome } from './load.ts';
import type { Pgbench } from './pgbench.ts';
import { type Row, takesPart } from './rows/row.ts';
import type { Column, RowResult } from './table.ts';

interface Taker {
  name: Column;
  prepare(): Promise<void>;
  round(round: number): Promise<Outcome>;
  /** How its server ended, if it did so of its own accord. */
  ended(): string | null;
}

export interface Field {
  contestants: readonly Contestant[];
  /** Null: not among those compared. */
  pgbench: Pgbench | null;
}

export async function runRow(row: Row, field: Field, say: (line: string) => void): Promise<RowResult> {
  const takers = takersOf(row, field);
  const rounds = new Map(takers.map((taker) => [taker.name, [] as number[]]));
  const failures: string[] = [];
  const note = (taker: Taker, text: string): void => {
    failures.push(`${row.title.trim()}: ${taker.name}: ${taker.ended() ?? text}`);
  };

  for (const taker of takers) {
    await taker.prepare().catch((error: Error) => note(taker, `could not be prepared: ${error.message}`));
  }
  // Round -1 is the warm-up: run and thrown away.
  for (let round = row.warmsUp ? -1 : 0; round < row.rounds; round += 1) {
    for (const taker of takers) {
      const result = await attempt(taker, round);
      if (result.failure !== null) note(taker, `${result.failureCount} failed: ${result.failure}`);
      else if (round >= 0) rounds.get(taker.name)?.push(result.value);
    }
  }
  const spread = [...rounds].map(([name, values]) => `${name} ${values.map((value) => value.toFixed(0)).join(' ')}`);
  say(`${row.title.trim()} (${row.unit}): ${spread.join(' | ')}`);
  for (const failure of failures) say(`  ! ${failure}`);
  return { row, rounds, failures };
}

function takersOf(row: Row, { contestants, pgbench }: Field): Taker[] {
  const present = contestants.filter(({ name }) => takesPart(name, row));
  const takers: Taker[] = present.map((contestant) => ({
    name: contestant.name,
    prepare: () => alone(contestant, async () => row.prepare?.(contestant)),
    round: (round) => alone(contestant, () => row.round(contestant, round)),
    ended: () => contestant.ended,
  }));
  const script = row.pgbench;
  if (pgbench === null || script === undefined) return takers;
  const round = async (): Promise<Outcome> => {
    await writeOut();
    return pgbench.run(script);
  };
  return [...takers, { name: 'pgbench', prepare: async () => {}, round, ended: () => null }];
}

/** A round that breaks off is reported with its row; the others go on. */
async function attempt(taker: Taker, round: number): Promise<Outcome> {
  try {
    return await taker.round(round);
  } catch (error) {
    return { value: Number.NaN, failureCount: 1, failure: (error as Error).message };
  }
}

/** Lets one contestant run while the others stand still. */
async function alone<T>(contestant: Contestant, work: () => Promise<T>): Promise<T> {
  await writeOut();
  try {
    await contestant.resume();
    return await work();
  } finally {
    contestant.pause();
  }
}

async function writeOut(): Promise<void> {
  await promisify(execFile)('sync');
}
