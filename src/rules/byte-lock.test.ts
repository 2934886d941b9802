import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ByteLock,
  type HeldLock,
  isLockable,
  isLockDenied,
  isReadDenied,
  isWriteDenied,
  overlaps,
} from './byte-lock.ts';

const range = (offset: number, length: number) => ({ offsetBytes: BigInt(offset), lengthBytes: BigInt(length) });
const shared = (offset: number, length: number): ByteLock => ({ ...range(offset, length), isExclusive: false });
const exclusive = (offset: number, length: number): ByteLock => ({ ...range(offset, length), isExclusive: true });
const by = (owner: string, lock: ByteLock): HeldLock<string> => ({ ...lock, owner });

for (const [one, other, want] of [
  [range(0, 10), range(10, 5), false],
  [range(0, 10), range(9, 1), true],
  [range(5, 0), range(0, 10), true],
  [range(0, 0), range(0, 10), false],
  [range(10, 0), range(0, 10), false],
  [range(5, 0), range(5, 0), false],
] as const) {
  test(`[${one.offsetBytes}, +${one.lengthBytes}) and [${other.offsetBytes}, +${other.lengthBytes}) ${want ? 'overlap' : 'do not overlap'}`, () => {
    assert.equal(overlaps(one, other), want);
    assert.equal(overlaps(other, one), want);
  });
}

for (const [what, held, wanted, want] of [
  ['shared beside shared of another', by('b', shared(0, 10)), shared(5, 10), false],
  ['shared over exclusive of another', by('b', exclusive(0, 10)), shared(5, 10), true],
  ['shared over exclusive of its own', by('a', exclusive(0, 10)), shared(5, 10), false],
  ['exclusive over shared of another', by('b', shared(0, 10)), exclusive(5, 10), true],
  ['exclusive over shared of its own', by('a', shared(0, 10)), exclusive(5, 10), true],
  ['exclusive over exclusive of its own', by('a', exclusive(0, 10)), exclusive(5, 10), true],
  ['exclusive behind exclusive of another', by('b', exclusive(0, 10)), exclusive(10, 10), false],
] as const) {
  test(`${what} is ${want ? 'not granted' : 'granted'}`, () => {
    assert.equal(isLockDenied([held], 'a', wanted), want);
  });
}

for (const [what, lock, read, write] of [
  ["another's shared lock", by('b', shared(0, 10)), false, true],
  ["another's exclusive lock", by('b', exclusive(0, 10)), true, true],
  ["an open's own shared lock", by('a', shared(0, 10)), false, true],
  ["an open's own exclusive lock", by('a', exclusive(0, 10)), false, false],
] as const) {
  test(`${what} ${read ? 'keeps from reading' : 'lets read'} and ${write ? 'keeps from writing' : 'lets write'}`, () => {
    assert.equal(isReadDenied([lock], 'a', range(9, 1)), read);
    assert.equal(isWriteDenied([lock], 'a', range(9, 1)), write);
    assert.equal(isReadDenied([lock], 'a', range(10, 1)), false);
    assert.equal(isWriteDenied([lock], 'a', range(10, 1)), false);
  });
}

test('REST reads have no locks of their own', () => {
  assert.equal(isReadDenied([by('a', exclusive(0, 10))], null, range(0, 1)), true);
});

test('a range may reach as far as offsets do, and not beyond', () => {
  const end = 2n ** 64n;
  assert.equal(isLockable({ offsetBytes: end - 1n, lengthBytes: 1n }), true);
  assert.equal(isLockable({ offsetBytes: end - 1n, lengthBytes: 2n }), false);
  assert.equal(isLockable({ offsetBytes: -1n, lengthBytes: 2n }), false);
});
