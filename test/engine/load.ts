/**
 * A load whose traces can be judged after any crash. Commit N writes a pair of records and a mark, deletes the pair of
 * an earlier commit and adds one to a counter that all commits share: so a lost, torn or half-applied commit shows.
 */
import type { Engine, Entry, KeyRange } from '../../src/engine/engine.ts';
import { transact } from '../../src/engine/transact.ts';

const PAIRS_KEPT = 20;
const COUNTER = Buffer.from('counter');

const digits = (commit: number): string => String(commit).padStart(8, '0');
const markKey = (commit: number): Buffer => Buffer.from(`mark/${digits(commit)}`);
const pairKey = (commit: number, half: 'a' | 'b'): Buffer => Buffer.from(`pair/${digits(commit)}/${half}`);
const marks: KeyRange = { from: Buffer.from('mark/'), to: Buffer.from('mark0') };
const pairs: KeyRange = { from: Buffer.from('pair/'), to: Buffer.from('pair0') };

/** From empty to several pages long, and different for each commit and half. */
function payload(commit: number, half: 'a' | 'b'): Buffer {
  const bytes = commit % 7 === 0 ? 30_000 : (commit * 97) % 1_500;
  return Buffer.alloc(bytes, `${commit}${half} `);
}

async function readAll(engine: Engine, range: KeyRange): Promise<Entry[]> {
  const view = engine.snapshot();
  try {
    return await view.range(range, { limit: Infinity });
  } finally {
    view.close();
  }
}

const commitOf = ({ key }: Entry): number => Number(Buffer.from(key).toString().slice(5, 13));

/** The first number that no commit in the store has. */
export async function nextCommit(engine: Engine): Promise<number> {
  return Math.max(-1, ...(await readAll(engine, marks)).map(commitOf)) + 1;
}

export function runCommit(engine: Engine, commit: number): Promise<void> {
  return transact(engine, async (tx) => {
    const count = Number(Buffer.from((await tx.get(COUNTER)) ?? '0').toString());
    tx.put(COUNTER, Buffer.from(String(count + 1)));
    tx.put(markKey(commit), Buffer.alloc(0));
    for (const half of ['a', 'b'] as const) {
      tx.put(pairKey(commit, half), payload(commit, half));
      if (commit >= PAIRS_KEPT) tx.delete(pairKey(commit - PAIRS_KEPT, half));
    }
  });
}

/** What is wrong with the store, given the commits that were acknowledged; empty when nothing is. */
export async function findFaults(engine: Engine, acknowledged: Iterable<number>): Promise<string[]> {
  const faults: string[] = [];
  const marked = new Set((await readAll(engine, marks)).map(commitOf));
  for (const commit of acknowledged) if (!marked.has(commit)) faults.push(`acknowledged commit ${commit} is lost`);

  const [counter] = await readAll(engine, { from: COUNTER, to: Buffer.concat([COUNTER, Buffer.of(0)]) });
  const count = Number(Buffer.from(counter?.value ?? '0').toString());
  if (count !== marked.size) faults.push(`${marked.size} commits are marked, ${count} counted`);

  const halves = new Map((await readAll(engine, pairs)).map((entry) => [Buffer.from(entry.key).toString(), entry]));
  for (const commit of marked) {
    const isDeleted = marked.has(commit + PAIRS_KEPT);
    for (const half of ['a', 'b'] as const) {
      const name = pairKey(commit, half).toString();
      const entry = halves.get(name);
      halves.delete(name);
      if (isDeleted && entry !== undefined) faults.push(`${name} is there, though deleted`);
      if (isDeleted) continue;
      if (entry === undefined) faults.push(`${name} is missing`);
      else if (Buffer.compare(entry.value, payload(commit, half)) !== 0) faults.push(`${name} is torn`);
    }
  }
  for (const name of halves.keys()) faults.push(`${name} is there, though its commit is not`);
  return faults;
}
