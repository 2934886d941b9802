/** Waiting for what another process does, where nothing announces it. */
import { setTimeout as delay } from 'node:timers/promises';

const PAUSE_MS = 50;

/** Asks again and again until the answer is neither false nor null; an error of the question's own ends the waiting. */
export async function until<T>(
  { what, limitSeconds }: { what: string; limitSeconds: number },
  ask: () => Promise<T | false | null> | T | false | null,
): Promise<T> {
  const deadlineMs = performance.now() + limitSeconds * 1000;
  for (;;) {
    const answer = await ask();
    if (answer !== false && answer !== null) return answer;
    if (performance.now() > deadlineMs) throw new Error(`waited ${limitSeconds} s in vain until ${what}`);
    await delay(PAUSE_MS);
  }
}
