import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../test/harness/random.ts';
import {
  dequeued,
  expiresAt,
  isExpired,
  type Message,
  NEVER_MS,
  refuseHold,
  refusePut,
  refuseUpdate,
  TTL_SECONDS_MAX,
  visibleFrom,
  visibleUntil,
} from './message.ts';

const A = 'aaaaaaaa-0000-8000-8000-000000000001';
const B = 'bbbbbbbb-0000-8000-8000-000000000002';
const NOW_MS = 1_800_000_000_000;

const message = (part: Partial<Message> = {}): Message => ({
  messageId: A,
  insertedMs: NOW_MS,
  expiresMs: NOW_MS + 60_000,
  dequeueCount: 0,
  ...part,
});

// ---- what is refused

for (const [hiddenSeconds, ttlSeconds, want] of [
  [0, 1, null],
  [0, null, null],
  [604_800, null, null],
  [4, 5, null],
  [5, 5, 'InvalidQueryParameterValue'],
  [6, 5, 'InvalidQueryParameterValue'],
  [604_800, 604_800, 'InvalidQueryParameterValue'],
  [604_800, 604_801, null],
] as const) {
  test(`a Put hidden for ${hiddenSeconds} s that lives for ${ttlSeconds} s gets ${want}`, () => {
    assert.equal(refusePut(hiddenSeconds, ttlSeconds), want);
  });
}

for (const [what, found, nowMs, want] of [
  ['nothing', null, NOW_MS, 'MessageNotFound'],
  ['another message', message({ messageId: B }), NOW_MS, 'MessageNotFound'],
  ['the message', message(), NOW_MS, null],
  ['the message in its last millisecond', message(), NOW_MS + 59_999, null],
  ['the message when it has expired', message(), NOW_MS + 60_000, 'MessageNotFound'],
  ['the message long after', message(), NOW_MS + 120_000, 'MessageNotFound'],
] as const) {
  test(`whoever presents a place with ${what} gets ${want}`, () => {
    assert.equal(refuseHold(found, { messageId: A, nowMs }), want);
  });
}

for (const [nextVisibleMs, want] of [
  [NOW_MS, null],
  [NOW_MS + 59_999, null],
  [NOW_MS + 60_000, null],
  [NOW_MS + 60_001, 'InvalidQueryParameterValue'],
] as const) {
  test(`an Update that hides until ${nextVisibleMs - NOW_MS} ms, where the end is at 60,000, gets ${want}`, () => {
    assert.equal(refuseUpdate(message(), nextVisibleMs), want);
  });
}

// ---- deadlines

for (const [ttlSeconds, want] of [
  [1, NOW_MS + 1_000],
  [604_800, NOW_MS + 604_800_000],
  [TTL_SECONDS_MAX, NOW_MS + 2_147_483_647_000],
  [null, NEVER_MS],
] as const) {
  test(`a message that lives for ${ttlSeconds} s expires at ${want}`, () => {
    assert.equal(expiresAt(NOW_MS, ttlSeconds), want);
  });
}

test('no message expires after the end of the year 9999, whose second is the last that a date can say', () => {
  assert.equal(expiresAt(NEVER_MS - 500, 1), NEVER_MS);
  assert.equal(new Date(NEVER_MS).toUTCString(), 'Fri, 31 Dec 9999 23:59:59 GMT');
});

for (const [nowMs, want] of [
  [NOW_MS - 1, false],
  [NOW_MS, true],
  [NOW_MS + 1, true],
] as const) {
  test(`at ${nowMs - NOW_MS} ms from its end a message has ${want ? '' : 'not '}expired`, () => {
    assert.equal(isExpired({ expiresMs: NOW_MS }, nowMs), want);
  });
}

test('a message that is handed out changes in its count alone', () => {
  assert.deepEqual(dequeued(message({ dequeueCount: 3 })), message({ dequeueCount: 4 }));
});

// ---- visibility

const isSeen = (placeMs: number, nowMs: number, uncertaintyMs = 0): boolean =>
  placeMs <= visibleUntil({ nowMs, uncertaintyMs });

for (const [hiddenSeconds, afterMs, want] of [
  [0, -1, false],
  [0, 0, true],
  [1, 0, false],
  [1, 999, false],
  [1, 1_000, true],
  [604_800, 604_799_999, false],
  [604_800, 604_800_000, true],
] as const) {
  test(`by one clock, what is hidden for ${hiddenSeconds} s is ${want ? '' : 'not '}seen after ${afterMs} ms`, () => {
    const placeMs = visibleFrom({ nowMs: NOW_MS, uncertaintyMs: 0 }, hiddenSeconds);
    assert.equal(isSeen(placeMs, NOW_MS + afterMs), want);
  });
}

test('no place is before the beginning of time, which no key can hold', () => {
  assert.equal(visibleFrom({ nowMs: 10, uncertaintyMs: 1 }, 0), 0);
  assert.equal(visibleUntil({ nowMs: 10, uncertaintyMs: Number.POSITIVE_INFINITY }), 0);
});

/** Less than this, and a Put is seen by all nodes at once: a third of what their places are put back. */
const UNCERTAINTY_MAX_MS = 330;

/** A clock that is off by a part of what it may be, from all of it behind to all of it ahead, and tells whole milliseconds. */
const clocks = fc.record(
  {
    uncertaintyMs: fc.oneof(
      fc.constantFrom(0.001, 0.5, 1, 1.5, UNCERTAINTY_MAX_MS),
      fc.double({ min: 0.001, max: UNCERTAINTY_MAX_MS, noNaN: true }),
    ),
    part: fc.oneof(fc.constantFrom(-1, 0, 1), fc.double({ min: -1, max: 1, noNaN: true })),
  },
  { noNullPrototype: true },
);
type ClockError = typeof clocks extends fc.Arbitrary<infer T> ? T : never;

const read = ({ uncertaintyMs, part }: ClockError, trueMs: number) => ({
  nowMs: Math.floor(trueMs + part * uncertaintyMs),
  uncertaintyMs,
});

const moments = fc.oneof(
  fc.integer({ min: 0, max: 3 }).map((ms) => NOW_MS + ms),
  fc.double({ min: 0, max: 3, noNaN: true }).map((ms) => NOW_MS + ms),
);

/** `offMs`: from the end of the time for which it was hidden to when it was asked for. */
interface HiddenAndAsked {
  readonly hiddenMs: number;
  readonly hiddenSeconds: number;
  readonly offMs: number;
}

function assertNotEarly(a: ClockError, b: ClockError, request: HiddenAndAsked): void {
  const { hiddenMs, hiddenSeconds, offMs } = request;
  const placeMs = visibleFrom(read(a, hiddenMs), hiddenSeconds);
  const askedMs = Math.max(hiddenMs, hiddenMs + hiddenSeconds * 1000 + offMs);
  const now = read(b, askedMs);
  if (!isSeen(placeMs, now.nowMs, now.uncertaintyMs)) return;
  const isDue = Math.floor(askedMs) >= Math.floor(hiddenMs) + hiddenSeconds * 1000;
  assert.ok(isDue, JSON.stringify({ a, b, ...request }));
}

describe('between two nodes whose clocks are off by no more than they say', () => {
  test('a message hidden by one is not handed out by the other a millisecond early', () => {
    fc.assert(
      fc.property(
        clocks,
        clocks,
        moments,
        fc.constantFrom(1, 2, 30),
        fc.double({ min: -1_000, max: 1_000, noNaN: true }),
        (a, b, hiddenMs, hiddenSeconds, offMs) => assertNotEarly(a, b, { hiddenMs, hiddenSeconds, offMs }),
      ),
      { numRuns: 5_000, ...seeded },
    );
  });

  test('nor at any turn of a millisecond, with clocks that are as far off as they can be', () => {
    const edges = [0.25, 0.5, 1, 1.25, 2, 330].flatMap((uncertaintyMs) =>
      [-1, 0, 1].map((part) => ({ uncertaintyMs, part })),
    );
    const quarters = [0, 0.25, 0.5, 0.75];
    const offs = [-2, -1, 0, 1].flatMap((ms) => quarters.map((quarter) => ms + quarter));
    for (const a of edges) {
      for (const b of edges) {
        for (const quarter of quarters) {
          for (const offMs of offs) assertNotEarly(a, b, { hiddenMs: NOW_MS + quarter, hiddenSeconds: 1, offMs });
        }
      }
    }
  });

  test('it is handed out by the other as soon as neither can be early', () => {
    fc.assert(
      fc.property(clocks, clocks, moments, fc.constantFrom(1, 2, 30), (a, b, hiddenMs, hiddenSeconds) => {
        const placeMs = visibleFrom(read(a, hiddenMs), hiddenSeconds);
        const lateMs = 2 * (Math.ceil(a.uncertaintyMs) + Math.ceil(b.uncertaintyMs)) + 1;
        const now = read(b, hiddenMs + hiddenSeconds * 1000 + lateMs);
        assert.ok(isSeen(placeMs, now.nowMs, now.uncertaintyMs));
      }),
      { numRuns: 5_000, ...seeded },
    );
  });

  test('a message that was put by one is seen by the other at once', () => {
    fc.assert(
      fc.property(clocks, clocks, moments, fc.double({ min: 0, max: 10, noNaN: true }), (a, b, putMs, laterMs) => {
        const placeMs = visibleFrom(read(a, putMs), 0);
        const now = read(b, putMs + laterMs);
        assert.ok(isSeen(placeMs, now.nowMs, now.uncertaintyMs));
      }),
      { numRuns: 5_000, ...seeded },
    );
  });
});
