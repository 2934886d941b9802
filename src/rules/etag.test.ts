import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../test/harness/random.ts';
import { nextEtag } from './etag.ts';

/** The definition, in exact arithmetic. */
const ticksAt = (ms: number): bigint => (BigInt(ms) + 62_135_596_800_000n) * 10_000n;
const exact = (ticks: bigint): string => `0x${ticks.toString(16).toUpperCase().padStart(15, '0')}`;

test('an ETag is the ticks since year one in 15 upper-case hex digits', () => {
  const start = Date.UTC(1970, 0, 1);
  const end = Date.UTC(3600, 0, 1);
  // A step that is prime to 2^24, so that the halves meet at every kind of carry.
  for (let ms = start; ms < end; ms += 5_000_000_029) {
    const etag = nextEtag(null, ms, null);
    assert.match(etag, /^0x[0-9A-F]{15}$/);
    assert.equal(etag, exact(ticksAt(ms)));
  }
});

test('a later write has the greater ETag, as text too', () => {
  const nowMs = Date.UTC(2024, 0, 1);
  assert.ok(nextEtag(null, nowMs + 1, null) > nextEtag(null, nowMs, null));
  assert.equal(nextEtag(nextEtag(null, nowMs, null), nowMs + 1, null), nextEtag(null, nowMs + 1, null));
});

test('ETags grow by one while the clock stands still', () => {
  const nowMs = Date.UTC(2024, 0, 1);
  let etag = nextEtag(null, nowMs, null);
  for (let step = 1n; step <= 20_000n; step++) {
    const next = nextEtag(etag, nowMs, null);
    assert.ok(next > etag);
    assert.equal(next, exact(ticksAt(nowMs) + step));
    etag = next;
  }
});

test('an ETag is greater than one that a clock ahead of ours gave', () => {
  const ahead = nextEtag(null, Date.UTC(2030, 0, 1), null);
  assert.equal(nextEtag(ahead, Date.UTC(2024, 0, 1), null), exact(ticksAt(Date.UTC(2030, 0, 1)) + 1n));
});

for (const [previous, want] of [
  ['0x8DC012345678900', '0x8DC012345678901'],
  ['0x8DC012345678909', '0x8DC01234567890A'],
  ['0x8DC01234567890E', '0x8DC01234567890F'],
  ['0x8DC01234567890F', '0x8DC012345678910'],
  ['0x8DC01230FFFFFFF', '0x8DC012310000000'],
  ['0x8DC9FFFFFFFFFFF', '0x8DCA00000000000'],
] as const) {
  test(`the ETag after ${previous} is ${want}`, () => assert.equal(nextEtag(previous, 0, null), want));
}

test('a fraction of a millisecond in the clock does no harm', () => {
  assert.equal(nextEtag(null, 1_704_067_200_000.75, null), nextEtag(null, 1_704_067_200_000, null));
});

describe('where nodes have slots', () => {
  // 2024-01-01, whose ticks end in C000.
  const nowMs = Date.UTC(2024, 0, 1);
  const now = '0x8DC0A5C9900C000';

  /** The previous ETag, this node's slot, and the ETag it gives. */
  const ROWS = [
    [null, null, now],
    [null, 0, '0x8DC0A5C9900C000'],
    [null, 1, '0x8DC0A5C9900C001'],
    [null, 255, '0x8DC0A5C9900C0FF'],
    ['0x8DC0A5C9900BFFF', 7, '0x8DC0A5C9900C007'],
    // Given by the same node, by nodes of lower and of higher slots, and by one without.
    ['0x8DC0A5C9900C007', 7, '0x8DC0A5C9900C107'],
    ['0x8DC0A5C9900C006', 7, '0x8DC0A5C9900C007'],
    ['0x8DC0A5C9900C008', 7, '0x8DC0A5C9900C107'],
    ['0x8DC0A5C9900C0FF', 0, '0x8DC0A5C9900C100'],
    ['0x8DC0A5C9900C0FE', 255, '0x8DC0A5C9900C0FF'],
    ['0x8DC0A5C9900C0FF', 255, '0x8DC0A5C9900C1FF'],
    ['0x8DC0A5C9900C007', null, '0x8DC0A5C9900C008'],
    // By a clock that is ahead.
    ['0x8DD000000000006', 7, '0x8DD000000000007'],
    ['0x8DD0000000000FF', 7, '0x8DD000000000107'],
    ['0x8DDFFFFFFFFFFFF', 7, '0x8DE000000000007'],
  ] as const;
  for (const [previous, slot, want] of ROWS) {
    test(`the ETag after ${previous} in slot ${slot} is ${want}`, () => {
      assert.equal(nextEtag(previous, nowMs, slot), want);
    });
  }

  for (const slot of [-1, 256, 0.5, Number.NaN]) {
    test(`there is no slot ${slot}`, () => assert.throws(() => nextEtag(null, nowMs, slot), RangeError));
  }

  const anySlot = fc.integer({ min: 0, max: 255 });
  const anyMs = fc.integer({ min: 0, max: Date.UTC(3600, 0, 1) });
  const anyEtag = fc.bigInt({ min: 0n, max: 2n ** 60n - 0x200n }).map(exact);

  test('an ETag is greater than the one before, whoever gave that, and ends in its slot', () => {
    fc.assert(
      fc.property(fc.option(anyEtag), anyMs, anySlot, (previous, ms, slot) => {
        const etag = nextEtag(previous, ms, slot);
        assert.match(etag, /^0x[0-9A-F]{15}$/);
        assert.ok(previous === null || etag > previous);
        assert.equal(Number.parseInt(etag.slice(-2), 16), slot);
      }),
      { numRuns: 2_000, ...seeded },
    );
  });

  test('an ETag is the least of its slot that is greater, and not before the time', () => {
    fc.assert(
      fc.property(fc.option(anyEtag), anyMs, anySlot, (previous, ms, slot) => {
        const least = (ticksAt(ms) & ~0xffn) | BigInt(slot);
        let want = least;
        if (previous !== null && BigInt(previous) >= least) {
          want = (BigInt(previous) & ~0xffn) | BigInt(slot);
          if (want <= BigInt(previous)) want += 0x100n;
        }
        assert.equal(nextEtag(previous, ms, slot), exact(want));
      }),
      { numRuns: 2_000, ...seeded },
    );
  });

  test('nodes with clocks of their own never give the same ETag twice', () => {
    const write = fc.record({ node: fc.nat(3), stepMs: fc.integer({ min: -2, max: 2 }), sees: fc.boolean() });
    fc.assert(
      fc.property(fc.uniqueArray(anySlot, { minLength: 4, maxLength: 4 }), fc.array(write), (slots, writes) => {
        const clocks = slots.map(() => nowMs);
        const last: (string | null)[] = slots.map(() => null);
        const given = new Set<string>();
        let newest: string | null = null;
        for (const { node, stepMs, sees } of writes) {
          clocks[node] = (clocks[node] as number) + stepMs;
          // A name that was deleted shows no ETag; its node knows only those that it gave itself.
          const floor: string | null =
            sees && (newest ?? '') > (last[node] ?? '') ? newest : (last[node] as string | null);
          const etag = nextEtag(floor, clocks[node], slots[node] as number);
          assert.ok(!given.has(etag), `${etag} is given twice`);
          given.add(etag);
          last[node] = etag;
          newest = etag;
        }
      }),
      { numRuns: 500, ...seeded },
    );
  });
});
