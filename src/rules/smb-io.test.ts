import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HeldLock } from './byte-lock.ts';
import { type InUse, NOT_IN_USE, type OpenId, type OpenUse, type Verdict } from './in-use.ts';
import type { Caching } from './oplock.ts';
import { ALL_ACCESS } from './share-mode.ts';
import { judgeRead, judgeResize, judgeWrite } from './smb-io.ts';

function openOf(id: OpenId, open: Partial<OpenUse> = {}): OpenUse {
  return {
    id,
    access: ALL_ACCESS,
    share: ALL_ACCESS,
    caching: '',
    style: 'lease',
    cacheKey: id,
    breakingTo: null,
    ...open,
  };
}

const OWN = openOf('own');

const lockOf = (owner: OpenId, offset: number, length: number, isExclusive: boolean): HeldLock<OpenId> => ({
  owner,
  offsetBytes: BigInt(offset),
  lengthBytes: BigInt(length),
  isExclusive,
});

const rangeOf = (offset: number, length: number) => ({ offsetBytes: BigInt(offset), lengthBytes: BigInt(length) });

function shortOf(verdict: Verdict): string {
  if (verdict.verdict === 'refused') return verdict.code;
  const asked = verdict.breaks.map(({ openId, to }) => ` ${openId} to ${to || 'none'}`).join(',');
  return `${verdict.verdict === 'waits' ? 'waits' : 'ok'}${asked}`;
}

describe('bytes 100 to 109 are locked: what reads, writes and cuts of a range meet', () => {
  const DENIED = 'FileLockConflict';
  for (const [what, owner, isExclusive, range, wanted] of [
    ['another’s exclusive lock', 'other', true, rangeOf(100, 10), [DENIED, DENIED, DENIED]],
    ['a byte of another’s exclusive lock', 'other', true, rangeOf(109, 50), [DENIED, DENIED, DENIED]],
    ['what is before it', 'other', true, rangeOf(0, 100), ['ok', 'ok', 'ok']],
    ['what is behind it', 'other', true, rangeOf(110, 1), ['ok', 'ok', 'ok']],
    ['no byte within it', 'other', true, rangeOf(105, 0), ['ok', 'ok', 'ok']],
    ['another’s shared lock', 'other', false, rangeOf(100, 10), ['ok', DENIED, DENIED]],
    ['its own exclusive lock', 'own', true, rangeOf(100, 10), ['ok', 'ok', 'ok']],
    ['its own shared lock', 'own', false, rangeOf(100, 10), ['ok', DENIED, DENIED]],
  ] as const) {
    test(what, () => {
      const inUse: InUse = {
        opens: [OWN, openOf('other')],
        locks: [lockOf(owner, 100, 10, isExclusive)],
        isPending: false,
      };
      const judged = [judgeRead, judgeWrite, judgeResize].map((judge) => shortOf(judge(inUse, OWN, range)));
      assert.deepEqual(judged, wanted);
    });
  }
});

describe('what others give up, from RWH, RH, RW and R', () => {
  const HELD: readonly Caching[] = ['RWH', 'RH', 'RW', 'R'];
  const judged = (judge: typeof judgeRead, held: Partial<OpenUse> = {}, own: OpenUse = OWN): string[] =>
    HELD.map((caching) => {
      const inUse: InUse = { ...NOT_IN_USE, opens: [own, openOf('other', { caching, ...held })] };
      return shortOf(judge(inUse, own, rangeOf(0, 1)));
    });

  test('for a read: what they have not written', () => {
    assert.deepEqual(judged(judgeRead), ['waits other to RH', 'ok', 'waits other to R', 'ok']);
  });

  for (const [what, judge] of [
    ['a write', judgeWrite],
    ['a cut', judgeResize],
  ] as const) {
    test(`for ${what}: everything, and it waits for those who may have written`, () => {
      assert.deepEqual(judged(judge), [
        'waits other to none',
        'ok other to none',
        'waits other to none',
        'ok other to none',
      ]);
    });
  }

  test('a lock refuses before anybody is asked', () => {
    const inUse: InUse = {
      opens: [OWN, openOf('other', { caching: 'RWH' })],
      locks: [lockOf('other', 0, 1, true)],
      isPending: false,
    };
    assert.equal(shortOf(judgeRead(inUse, OWN, rangeOf(0, 1))), 'FileLockConflict');
    assert.equal(shortOf(judgeWrite(inUse, OWN, rangeOf(0, 1))), 'FileLockConflict');
  });

  test('opens with its own key give up nothing, nor does it itself', () => {
    const own = openOf('own', { caching: 'RWH', cacheKey: 'key' });
    for (const judge of [judgeRead, judgeWrite, judgeResize]) {
      assert.deepEqual(judged(judge, { cacheKey: 'key' }, own), ['ok', 'ok', 'ok', 'ok']);
    }
  });

  test('whoever is asked already is waited for, and not asked twice', () => {
    assert.deepEqual(judged(judgeWrite, { breakingTo: '' }), ['waits', 'ok', 'waits', 'ok']);
  });
});
