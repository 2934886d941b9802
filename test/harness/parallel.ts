/** Requests that really race: all of them wait at a barrier and set off in the same turn. */

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
