import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DescriptorParts, mergedDescriptor } from './merged-descriptor.ts';
import { formatSddl, parseSddl } from './sddl.ts';
import type { SecurityDescriptor } from './security-descriptor.ts';

const NONE: DescriptorParts = { owner: false, group: false, dacl: false, sacl: false };

const descriptor = (sddl: string): SecurityDescriptor => parseSddl(sddl) as SecurityDescriptor;

const STORED = 'O:SYG:SYD:(A;;FA;;;SY)S:(AU;SA;FA;;;WD)';

for (const [what, given, parts, want] of [
  ['nothing', 'O:BAG:BUD:(A;;FR;;;WD)', {}, STORED],
  ['its owner', 'O:BAG:BUD:(A;;FR;;;WD)', { owner: true }, 'O:BAG:SYD:(A;;FA;;;SY)S:(AU;SA;FA;;;WD)'],
  ['its group', 'O:BAG:BU', { group: true }, 'O:SYG:BUD:(A;;FA;;;SY)S:(AU;SA;FA;;;WD)'],
  ['an owner that is not given', 'G:BU', { owner: true }, STORED],
  ['its DACL', 'O:BAD:P(A;;FR;;;WD)', { dacl: true }, 'O:SYG:SYD:P(A;;FR;;;WD)S:(AU;SA;FA;;;WD)'],
  ['its SACL', 'S:(AU;FA;FA;;;BA)', { sacl: true }, 'O:SYG:SYD:(A;;FA;;;SY)S:(AU;FA;FA;;;BA)'],
  ['a SACL that is not given', 'O:BA', { sacl: true }, 'O:SYG:SYD:(A;;FA;;;SY)'],
  [
    'inherited entries, as noted',
    'D:ARAI(A;ID;FR;;;WD)',
    { dacl: true },
    'O:SYG:SYD:AI(A;ID;FR;;;WD)S:(AU;SA;FA;;;WD)',
  ],
  [
    'inherited entries, not asked to note',
    'D:AI(A;;FR;;;WD)',
    { dacl: true },
    'O:SYG:SYD:(A;;FR;;;WD)S:(AU;SA;FA;;;WD)',
  ],
  ['what was asked alone', 'D:AR(A;;FR;;;WD)', { dacl: true }, 'O:SYG:SYD:(A;;FR;;;WD)S:(AU;SA;FA;;;WD)'],
] as const) {
  test(`a client sets ${what}`, () => {
    const merged = mergedDescriptor(descriptor(STORED), descriptor(given), { ...NONE, ...parts });
    assert.equal(formatSddl(merged), want);
  });
}

test('a DACL that is said not to be there lets everybody in', () => {
  const { dacl } = mergedDescriptor(descriptor(STORED), descriptor('O:BA'), { ...NONE, dacl: true });
  assert.equal(dacl?.aces, null);
});
