import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type InUse, NOT_IN_USE, type OpenUse, type Verdict } from './in-use.ts';
import type { Caching } from './oplock.ts';
import { ALL_ACCESS, DELETES, NO_ACCESS, READS, WRITES } from './share-mode.ts';
import { judgeDeletion, judgeLock, judgeOpen, type Openable, resolveCaching, type SmbOpen } from './smb-open.ts';

const FILE: Openable = { isDirectory: false, isReadOnly: false, isLeased: false };

const OPEN: SmbOpen = {
  access: READS,
  share: ALL_ACCESS,
  overwrites: false,
  deletesOnClose: false,
  reach: 'all',
  caching: '',
  style: 'lease',
  cacheKey: 'new',
};

function openOf(open: Partial<OpenUse>): OpenUse {
  const { id = 'a' } = open;
  return {
    id,
    access: READS,
    share: ALL_ACCESS,
    caching: '',
    style: 'lease',
    cacheKey: id,
    breakingTo: null,
    ...open,
  };
}

const usedBy = (...opens: Partial<OpenUse>[]): InUse => ({ ...NOT_IN_USE, opens: opens.map(openOf) });

function shortOf(verdict: Verdict): string {
  if (verdict.verdict === 'refused') return verdict.code;
  const asked = verdict.breaks.map(({ openId, to }) => ` ${openId} to ${to || 'none'}`).join(',');
  return `${verdict.verdict === 'waits' ? 'waits' : 'ok'}${asked}`;
}

describe('what an open is refused for, first things first', () => {
  const pending: InUse = { ...usedBy({ share: NO_ACCESS }), isPending: true };
  const taken = usedBy({ share: NO_ACCESS });
  const writer = { ...OPEN, access: WRITES };
  const readOnly = { ...FILE, isReadOnly: true, isLeased: true };
  for (const [what, inUse, node, open, want] of [
    ['marked for deletion', pending, readOnly, writer, 'SMBDeletePending'],
    ['written, and read-only', taken, readOnly, writer, 'ReadOnlyAttribute'],
    ['overwritten, and read-only', taken, readOnly, { ...OPEN, overwrites: true }, 'ReadOnlyAttribute'],
    ['to be deleted, and read-only', taken, readOnly, { ...OPEN, deletesOnClose: true }, 'CannotDeleteFileOrDirectory'],
    ['a directory that is read-only', NOT_IN_USE, { ...FILE, isDirectory: true, isReadOnly: true }, writer, 'ok'],
    ['leased, and written', NOT_IN_USE, { ...FILE, isLeased: true }, writer, 'SharingViolation'],
    [
      'leased, and to be deleted',
      NOT_IN_USE,
      { ...FILE, isLeased: true },
      { ...OPEN, access: DELETES },
      'SharingViolation',
    ],
    ['leased, and read', NOT_IN_USE, { ...FILE, isLeased: true }, { ...OPEN, share: NO_ACCESS }, 'ok'],
    ['open and not shared', taken, FILE, OPEN, 'SharingViolation'],
    ['open and not shared, and looked at', taken, FILE, { ...OPEN, access: NO_ACCESS, share: NO_ACCESS }, 'ok'],
    ['open by one whom the new one excludes', usedBy({}), FILE, { ...OPEN, share: WRITES }, 'SharingViolation'],
    [
      'open by one who lets nobody write, and overwritten',
      usedBy({ share: READS }),
      FILE,
      { ...OPEN, overwrites: true },
      'SharingViolation',
    ],
    ['open and shared', usedBy({}), FILE, OPEN, 'ok'],
  ] as const) {
    test(`${what}: ${want}`, () => assert.equal(shortOf(judgeOpen(inUse, node, open)), want));
  }
});

describe('what others give up for an open, from RWH, RH, RW and R', () => {
  const HELD: readonly Caching[] = ['RWH', 'RH', 'RW', 'R'];
  const judged = (open: SmbOpen, held: Partial<OpenUse> = {}): string[] =>
    HELD.map((caching) => shortOf(judgeOpen(usedBy({ caching, ...held }), FILE, open)));

  test('that only looks: nothing', () => {
    assert.deepEqual(judged({ ...OPEN, access: NO_ACCESS, reach: 'attributes' }), ['ok', 'ok', 'ok', 'ok']);
  });

  test('that looks at permissions: nothing of leases, and writes of oplocks', () => {
    const looker = { ...OPEN, access: NO_ACCESS, reach: 'permissions' } as const;
    assert.deepEqual(judged(looker), ['ok', 'ok', 'ok', 'ok']);
    assert.equal(shortOf(judgeOpen(usedBy({ caching: 'RWH', style: 'oplock' }), FILE, looker)), 'waits a to R');
  });

  test('that changes permissions: their writes', () => {
    assert.deepEqual(judged({ ...OPEN, access: NO_ACCESS }), ['waits a to RH', 'ok', 'waits a to R', 'ok']);
  });

  test('that is in nobody’s way: their writes', () => {
    assert.deepEqual(judged(OPEN), ['waits a to RH', 'ok', 'waits a to R', 'ok']);
  });

  test('that overwrites: everything, and their writes are waited for', () => {
    const want = ['waits a to none', 'ok a to none', 'waits a to none', 'ok a to none'];
    assert.deepEqual(judged({ ...OPEN, overwrites: true }), want);
  });

  test('that overwrites, while they are asked for less already: the rest once they have answered', () => {
    const overwriting = { ...OPEN, overwrites: true };
    const asked = (caching: Caching, breakingTo: Caching): string =>
      shortOf(judgeOpen(usedBy({ caching, breakingTo }), FILE, overwriting));
    assert.equal(asked('RWH', 'RH'), 'waits a to none');
    assert.equal(asked('RWH', ''), 'waits');
    assert.equal(asked('RH', 'R'), 'ok a to none');
    assert.equal(asked('RH', ''), 'ok');
    assert.equal(shortOf(judgeOpen(usedBy({ caching: 'RWH', breakingTo: 'R' }), FILE, OPEN)), 'waits');
  });

  test('that comes while they are asked again: it waits, whatever it is', () => {
    const askedAgain = usedBy({ caching: 'RH', breakingTo: 'R', isBreakingOn: true });
    assert.equal(shortOf(judgeOpen(askedAgain, FILE, OPEN)), 'waits');
    assert.equal(shortOf(judgeOpen(askedAgain, FILE, { ...OPEN, overwrites: true })), 'waits');
    assert.equal(shortOf(judgeOpen(askedAgain, FILE, { ...OPEN, reach: 'attributes' })), 'ok');
  });

  test('that they exclude: their handles, if those are cached', () => {
    const want = ['waits a to RW', 'waits a to R', 'SharingViolation', 'SharingViolation'];
    assert.deepEqual(judged(OPEN, { share: WRITES }), want);
  });

  test('with the same key: nothing, and what excludes it is not asked to go', () => {
    assert.deepEqual(judged({ ...OPEN, cacheKey: 'a' }), ['ok', 'ok', 'ok', 'ok']);
    const want = Array.from(HELD, () => 'SharingViolation');
    assert.deepEqual(judged({ ...OPEN, cacheKey: 'a' }, { share: WRITES }), want);
  });
});

describe('what an open gets to cache', () => {
  for (const [what, inUse, wish, want] of [
    ['alone', NOT_IN_USE, 'RWH', 'RWH'],
    ['beside others', usedBy({}), 'RWH', 'RH'],
    ['beside opens of its own', usedBy({ cacheKey: 'new', caching: 'RH' }), 'RWH', 'RWH'],
    [
      'beside opens of its own and of others, all that it wishes',
      usedBy({ cacheKey: 'new', caching: 'R' }, { id: 'b' }),
      'RH',
      'RH',
    ],
    [
      'beside opens of its own and of others, not all that it wishes',
      usedBy({ cacheKey: 'new', caching: 'R' }, { id: 'b' }),
      'RWH',
      'R',
    ],
    ['beside opens of its own that cache more', usedBy({ cacheKey: 'new', caching: 'RWH' }), 'R', 'RWH'],
    [
      'beside opens of its own that are asked to cache less',
      usedBy({ cacheKey: 'new', caching: 'RH', breakingTo: 'R' }),
      'RWH',
      'RH',
    ],
  ] as const) {
    test(`${what}: ${want}`, () => {
      assert.equal(resolveCaching(inUse, FILE, { ...OPEN, caching: wish }), want);
    });
  }
});

describe('a lock', () => {
  const lock = { offsetBytes: 0n, lengthBytes: 10n, isExclusive: true };
  const own = openOf({ id: 'own' });

  test('is refused where another is in the way, also one of the same request', () => {
    const locked: InUse = { ...usedBy({}), locks: [{ ...lock, owner: 'a' }] };
    assert.equal(shortOf(judgeLock(locked, own, [lock])), 'FileLockConflict');
    assert.equal(shortOf(judgeLock(NOT_IN_USE, own, [lock, lock])), 'FileLockConflict');
  });

  test('takes from others what they cache, and waits only for what they have not written', () => {
    assert.equal(shortOf(judgeLock(usedBy({ caching: 'RH' }), own, [lock])), 'ok a to none');
    assert.equal(shortOf(judgeLock(usedBy({ caching: 'RW' }), own, [lock])), 'waits a to none');
    assert.equal(shortOf(judgeLock(usedBy({ cacheKey: 'own', caching: 'RWH' }), own, [lock])), 'ok');
    assert.equal(shortOf(judgeLock(usedBy({ cacheKey: 'own', caching: 'R' }), own, [lock])), 'ok');
  });

  test('takes its own open a Level II oplock, and nothing more', () => {
    const oplock = { id: 'own', cacheKey: 'own', style: 'oplock' } as const;
    assert.equal(shortOf(judgeLock(usedBy({ ...oplock, caching: 'R' }), own, [lock])), 'ok own to none');
    assert.equal(shortOf(judgeLock(usedBy({ ...oplock, caching: 'RW' }), own, [lock])), 'ok');
  });
});

test('a mark for deletion takes from others the handles that they cache', () => {
  const inUse = usedBy({ id: 'own', caching: 'RH' }, { id: 'b', caching: 'RWH' }, { id: 'c', caching: 'RW' });
  assert.equal(shortOf(judgeDeletion(inUse, 'own')), 'waits b to RW');
});
