import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Beside,
  type BreakClass,
  breakOf,
  type Caching,
  type CachingStyle,
  commonCaching,
  grantCaching,
  isCachingWithin,
  mustAnswer,
  nextStep,
  OPLOCK_LEVELS,
} from './oplock.ts';
import { NO_ACCESS, READS } from './share-mode.ts';

const HELD = ['RWH', 'RH', 'RW', 'R', ''] as const;

/** `waits X`, `goes on X`, or `-`; an empty X is written as none. */
function breaking(caching: Caching, style: CachingStyle, breakClass: BreakClass): string {
  const found = breakOf(caching, style, breakClass);
  return found === null ? '-' : `${found.isBlocking ? 'waits' : 'goes on'} ${found.to || 'none'}`;
}

describe('what a lease is broken to, from RWH, RH, RW, R and none', () => {
  for (const [breakClass, want] of [
    ['read', ['waits RH', '-', 'waits R', '-', '-']],
    ['write', ['waits none', 'goes on none', 'waits none', 'goes on none', '-']],
    ['overwrite', ['waits none', 'goes on none', 'waits none', 'goes on none', '-']],
    ['handle', ['waits RW', 'waits R', '-', '-', '-']],
    ['lease', ['waits RW', 'waits R', 'waits R', '-', '-']],
  ] as const) {
    test(`by ${breakClass}: ${want.join(', ')}`, () => {
      assert.deepEqual(
        HELD.map((caching) => breaking(caching, 'lease', breakClass)),
        want,
      );
    });
  }
});

describe('what an oplock is broken to, from Batch, Exclusive, Level II and none', () => {
  const { batch, exclusive, levelII, none } = OPLOCK_LEVELS;
  for (const [breakClass, want] of [
    ['read', ['waits R', 'waits R', '-', '-']],
    ['write', ['waits none', 'waits none', 'goes on none', '-']],
    ['overwrite', ['waits none', 'waits none', 'goes on none', '-']],
    ['handle', ['waits R', '-', '-', '-']],
    ['lease', ['waits R', 'waits R', '-', '-']],
  ] as const) {
    test(`by ${breakClass}: ${want.join(', ')}`, () => {
      assert.deepEqual(
        [batch, exclusive, levelII, none].map((caching) => breaking(caching, 'oplock', breakClass)),
        want,
      );
    });
  }
});

test('a client that has to give up its handle and its reads gives up the handle first', () => {
  assert.deepEqual(
    HELD.map((caching) => nextStep(caching, '')),
    ['', 'R', '', '', ''],
  );
  assert.equal(nextStep('RH', 'R'), 'R');
});

test('a client answers if it caches writes or its handle', () => {
  assert.deepEqual(HELD.map(mustAnswer), [true, true, true, false, false]);
});

test('what is common to two states is within both', () => {
  for (const one of HELD) {
    for (const other of HELD) {
      const common = commonCaching(one, other);
      assert.ok(isCachingWithin(common, one) && isCachingWithin(common, other), `${one} ${other}`);
      assert.equal(common, commonCaching(other, one));
    }
  }
  assert.equal(commonCaching('RW', 'RH'), 'R');
  assert.equal(isCachingWithin('RW', 'RH'), false);
});

function granted(style: CachingStyle, wishes: readonly Caching[], around: Parameters<typeof grantCaching>[1]): string {
  return wishes.map((caching) => grantCaching({ caching, style }, around) || '-').join(' ');
}

describe('what is granted', () => {
  const reader: Beside = { access: READS, caching: '', style: 'lease' };
  const looker: Beside = { access: NO_ACCESS, caching: '', style: 'lease' };
  const readCaching: Beside = { ...reader, caching: 'R' };
  const handleCaching: Beside = { ...reader, caching: 'RH' };
  const lookCaching: Beside = { ...looker, caching: 'RH' };
  const writeCaching: Beside = { ...reader, caching: 'RWH' };
  const levelII: Beside = { ...reader, style: 'oplock', caching: 'R' };
  const alone = { beside: [], hasLocks: false, isLeased: false, isDirectory: false };
  for (const [what, around, lease, oplock] of [
    // Of the wishes RWH, RH, RW, R; and Batch, Exclusive, Level II.
    ['alone', alone, 'RWH RH RW R', 'RWH RW R'],
    ['beside one who only looks', { ...alone, beside: [looker] }, 'RWH RH RW R', 'R R R'],
    ['beside one who only looks and caches', { ...alone, beside: [lookCaching] }, 'RH RH R R', '- - -'],
    ['beside one who reads', { ...alone, beside: [reader] }, 'RH RH R R', 'R R R'],
    ['beside one who caches reads', { ...alone, beside: [readCaching] }, 'RH RH R R', 'R R R'],
    ['beside one who caches its handle', { ...alone, beside: [handleCaching] }, 'RH RH R R', '- - -'],
    ['beside a Level II oplock', { ...alone, beside: [levelII] }, 'R R R R', 'R R R'],
    ['on a file with locks', { ...alone, hasLocks: true }, 'RH RH - -', '- - -'],
    ['on a file that is leased by REST', { ...alone, isLeased: true }, 'RH RH R R', 'R R R'],
    ['on a directory', { ...alone, isDirectory: true }, '- - - -', '- - -'],
  ] as const) {
    test(`${what}: leases ${lease}, oplocks ${oplock}`, () => {
      assert.equal(granted('lease', ['RWH', 'RH', 'RW', 'R'], around), lease);
      assert.equal(granted('oplock', ['RWH', 'RW', 'R'], around), oplock);
    });
  }

  test('beside one who still caches writes: nothing', () => {
    const around = { ...alone, beside: [writeCaching] };
    assert.equal(granted('lease', ['RWH', 'RH', 'RW', 'R'], around), '- - - -');
    assert.equal(granted('oplock', ['RWH', 'RW', 'R'], around), '- - -');
  });
});
