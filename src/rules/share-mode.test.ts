import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Access,
  ALL_ACCESS,
  accessRights,
  conflicts,
  DELETES,
  denies,
  deniesLease,
  isDeniedByLease,
  NO_ACCESS,
  READS,
  WRITES,
} from './share-mode.ts';

const BITS = new Map([
  ['R', READS],
  ['W', WRITES],
  ['D', DELETES],
]);

const set = (letters: string): Access =>
  Array.from(letters).reduce((all, letter) => all | (BITS.get(letter) as Access), NO_ACCESS);

const SETS = ['', 'R', 'W', 'D', 'RW', 'RD', 'WD', 'RWD'] as const;

for (const [access, share, otherAccess, otherShare, want] of [
  ['R', 'W', 'W', 'R', false],
  ['W', 'R', 'W', 'W', true],
  ['W', 'W', 'W', 'R', true],
  ['R', 'R', 'R', 'R', false],
  ['R', 'RWD', 'RWD', 'R', false],
  ['R', 'RW', 'D', 'RWD', true],
  ['W', 'RWD', 'R', 'R', true],
  ['RWD', '', '', '', false],
  ['', '', 'RWD', '', false],
] as const) {
  test(`an open that does '${access}' and shares '${share}' and one with '${otherAccess}' and '${otherShare}' ${want ? 'exclude each other' : 'go together'}`, () => {
    const one = { access: set(access), share: set(share) };
    const other = { access: set(otherAccess), share: set(otherShare) };
    assert.equal(conflicts(one, other), want);
    assert.equal(conflicts(other, one), want);
  });
}

test('what is shared is allowed and nothing else, and who does nothing denies nothing', () => {
  for (const share of SETS) {
    for (const need of SETS) {
      const isShared = Array.from(need).every((letter) => share.includes(letter));
      assert.equal(denies({ access: READS, share: set(share) }, set(need)), !isShared, `${share} ${need}`);
      assert.equal(denies({ access: NO_ACCESS, share: set(share) }, set(need)), false);
    }
  }
});

for (const [access, want] of [
  ['', false],
  ['R', false],
  ['W', true],
  ['D', true],
  ['RW', true],
  ['RD', true],
  ['WD', true],
  ['RWD', true],
] as const) {
  test(`a lease ${want ? 'cannot' : 'can'} be acquired beside an open that does '${access}' and shares everything`, () => {
    assert.equal(deniesLease({ access: set(access), share: ALL_ACCESS }), want);
  });

  test(`what is leased ${want ? 'cannot' : 'can'} be opened to do '${access}', and to overwrite it in no case`, () => {
    assert.equal(isDeniedByLease({ access: set(access), overwrites: false }), want);
    assert.equal(isDeniedByLease({ access: set(access), overwrites: true }), true);
  });
}

test('a lease can be acquired beside a reader only if that shares everything', () => {
  for (const share of SETS) assert.equal(deniesLease({ access: READS, share: set(share) }), share !== 'RWD', share);
});

test('rights are named in one order', () => {
  assert.deepEqual(
    SETS.map((letters) => accessRights(set(letters)).join()),
    ['', 'Read', 'Write', 'Delete', 'Read,Write', 'Read,Delete', 'Write,Delete', 'Read,Write,Delete'],
  );
});
