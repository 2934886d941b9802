/** Requests that really race: all of them wait at a barrier and set off in the same turn; and what became of them. */
import assert from 'node:assert/strict';

/** Runs `act` `count` times, from one starting line; resolves with every outcome once the last has ended. */
export async function together<T>(
  count: number,
  act: (index: number) => Promise<T>,
): Promise<PromiseSettledResult<T>[]> {
  // An immediate comes after everything queued before it: by then every run waits at the barrier.
  const barrier = new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
  const runs = Array.from({ length: count }, async (_, index) => {
    await barrier;
    return act(index);
  });
  return Promise.allSettled(runs);
}

/** How often each outcome occurs: { '201': 1, '409 BlobAlreadyExists': 63 }. */
export function tally(outcomes: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/** Lets a few turns of the event loop pass, so that the rounds of a race set off in ever other orders. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Does it again and again, at least once, until work that is under way has ended, well or not. */
export async function meanwhile(work: Promise<unknown>, act: () => Promise<void>): Promise<void> {
  const progress = { isUnderWay: true };
  const end = (): void => {
    progress.isUnderWay = false;
  };
  void work.then(end, end);
  do await act();
  while (progress.isUnderWay);
}

/** The results of a race in which nobody may be refused. */
export function successes<T>(results: readonly PromiseSettledResult<T>[]): T[] {
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

/** The one index that succeeded. */
export function winnerOf(results: readonly PromiseSettledResult<unknown>[]): number {
  const winners = results.flatMap((result, index) => (result.status === 'fulfilled' ? [index] : []));
  assert.equal(winners.length, 1, `one winner, not ${winners.length}`);
  return winners[0] as number;
}
