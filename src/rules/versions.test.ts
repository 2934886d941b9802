import assert from 'node:assert/strict';
import test from 'node:test';
import * as versions from './versions.ts';
import { effectiveVersion, KNOWN_VERSIONS, NEWEST_VERSION } from './versions.ts';

test('the known versions are days in ascending order', () => {
  assert.deepEqual(KNOWN_VERSIONS, [...new Set(KNOWN_VERSIONS)].sort());
  for (const version of KNOWN_VERSIONS) assert.match(version, /^\d{4}-\d\d-\d\d$/);
});

test('every known version is served as itself', () => {
  for (const version of KNOWN_VERSIONS) assert.equal(effectiveVersion(version, 'fallback'), version);
});

test('behaviour switches on known versions only', () => {
  const switches = Object.entries(versions).filter(([name]) => name.startsWith('SINCE_'));
  assert.ok(switches.length > 10);
  for (const [name, version] of switches) assert.ok(KNOWN_VERSIONS.includes(version as string), name);
});

for (const [text, want, why] of [
  [null, '2009-09-19', 'no version named: the fallback'],
  ['2099-01-01', NEWEST_VERSION, 'still to come'],
  ['2024-06-01', '2024-06-01', 'between two known ones'],
  ['2008-10-26', null, 'before the first'],
  ['2024-13-01', null, 'no such month'],
  ['2024-02-30', null, 'no such day'],
  ['2024-1-1', null, 'too few digits'],
  ['2024-11-04T00:00Z', null, 'a time'],
  [' 2024-11-04', null, 'a space'],
  ['latest', null, 'a word'],
  ['', null, 'empty'],
] as const) {
  test(`version '${text}' (${why}) is served as ${want}`, () =>
    assert.equal(effectiveVersion(text, '2009-09-19'), want));
}
