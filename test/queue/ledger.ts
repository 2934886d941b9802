/**
 * Messages whose consumers, or whose servers, may die: every delivery that anybody knows of, and what became of it. A
 * message is delivered again only because nobody deleted it in time, and never after somebody did.
 */
import assert from 'node:assert/strict';
import type { Got } from './racing.ts';

/** `taken`: somebody else got it before it was deleted. `unknown`: no answer came, or nobody was left to hear it. */
export type Fate = 'deleted' | 'taken' | 'unknown';

export interface Delivery {
  readonly text: string;
  /** Counts the deliveries of this message, this one included. */
  readonly dequeueCount: number;
  fate: Fate;
}

export class Ledger {
  readonly deliveries: Delivery[] = [];

  note({ messageText, dequeueCount }: Pick<Got, 'messageText' | 'dequeueCount'>): Delivery {
    const delivery: Delivery = { text: messageText, dequeueCount, fate: 'unknown' };
    this.deliveries.push(delivery);
    return delivery;
  }

  deletedCount(): number {
    return this.deliveries.filter(({ fate }) => fate === 'deleted').length;
  }

  /**
   * Of a queue that is empty by now: whether all that was put in was handled. Gives how many messages were delivered more
   * than once, and how many deliveries are counted that nobody knows of.
   */
  settle(texts: readonly string[]): { repeatedCount: number; unheardCount: number } {
    const byText = new Map<string, Delivery[]>(texts.map((text) => [text, []]));
    for (const delivery of this.deliveries) {
      const ofText = byText.get(delivery.text);
      assert.ok(ofText !== undefined, `${delivery.text} was never put`);
      ofText.push(delivery);
    }
    const sums = { repeatedCount: 0, unheardCount: 0 };
    for (const [text, deliveries] of byText) {
      const deliveredCount = settleOne(text, deliveries);
      if (deliveredCount > 1) sums.repeatedCount++;
      sums.unheardCount += deliveredCount - deliveries.length;
    }
    return sums;
  }
}

/** Gives how often the message was delivered. */
function settleOne(text: string, deliveries: readonly Delivery[]): number {
  const ordered = deliveries.toSorted((a, b) => a.dequeueCount - b.dequeueCount);
  const told = `${text}: ${ordered.map(({ dequeueCount, fate }) => `${dequeueCount} ${fate}`).join(', ')}`;
  const last = ordered.at(-1);
  assert.ok(last !== undefined, `${text} is lost`);
  const counts = new Set(ordered.map(({ dequeueCount }) => dequeueCount));
  assert.equal(counts.size, ordered.length, `two deliveries with one count: ${told}`);
  const deleted = ordered.filter(({ fate }) => fate === 'deleted');
  assert.ok(deleted.length <= 1, `deleted twice: ${told}`);
  if (deleted.length === 1) assert.equal(deleted[0], last, `delivered after it was deleted: ${told}`);
  else
    assert.ok(
      ordered.some(({ fate }) => fate === 'unknown'),
      `gone, and nobody deleted it: ${told}`,
    );
  return last.dequeueCount;
}
