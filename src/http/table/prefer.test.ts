import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePrefer, preferenceHeaders } from './prefer.ts';

for (const [text, want] of [
  [null, null],
  ['', null],
  ['return-content', 'return-content'],
  ['return-no-content', 'return-no-content'],
  [' Return-No-Content ', 'return-no-content'],
  ['respond-async, return-no-content', 'return-no-content'],
  ['return-content,return-no-content', 'return-content'],
  ['return=minimal', null],
  ['return-nothing', null],
] as const) {
  test(`Prefer: ${text} asks for ${want}`, () => {
    const preference = parsePrefer({ header: (name) => (name === 'prefer' ? text : null) });
    assert.equal(preference, want);
    assert.deepEqual(preferenceHeaders(preference), want === null ? [] : ['Preference-Applied', want]);
  });
}
