import assert from 'node:assert/strict';
import test from 'node:test';
import { parseRange, resolveRange } from './range-header.ts';

const ENDLESS = '9'.repeat(400);

for (const [text, lengthBytes, want] of [
  ['bytes=0-9', 100, { offsetBytes: 0, lengthBytes: 10 }],
  ['bytes=5-5', 100, { offsetBytes: 5, lengthBytes: 1 }],
  ['bytes=10-', 100, { offsetBytes: 10, lengthBytes: 90 }],
  ['bytes=0-', 100, { offsetBytes: 0, lengthBytes: 100 }],
  ['bytes=90-99', 100, { offsetBytes: 90, lengthBytes: 10 }],
  ['bytes=90-1000', 100, { offsetBytes: 90, lengthBytes: 10 }],
  ['bytes=0-99999999999999999999999', 100, { offsetBytes: 0, lengthBytes: 100 }],
  ['bytes=99-', 100, { offsetBytes: 99, lengthBytes: 1 }],
  ['Bytes=0-0', 100, { offsetBytes: 0, lengthBytes: 1 }],
  [' bytes=0-0 ', 100, { offsetBytes: 0, lengthBytes: 1 }],
  ['bytes=100-', 100, 'unsatisfiable'],
  ['bytes=100-200', 100, 'unsatisfiable'],
  ['bytes=99999999999999999999999-', 100, 'unsatisfiable'],
  [`bytes=${ENDLESS}-${ENDLESS}`, 100, 'unsatisfiable'],
  [`bytes=50-${ENDLESS}`, 100, { offsetBytes: 50, lengthBytes: 50 }],
  ['bytes=0-', 0, 'unsatisfiable'],
  ['bytes=0-9', 0, 'unsatisfiable'],
  ['bytes=-10', 100, null],
  ['bytes=0-9,20-29', 100, null],
  ['bytes=9-0', 100, null],
  ['bytes=-', 100, null],
  ['bytes=', 100, null],
  ['bytes=a-b', 100, null],
  ['bytes=1.5-2', 100, null],
  ['items=0-9', 100, null],
  ['0-9', 100, null],
  ['', 100, null],
] as const) {
  const words = want === null ? 'is ignored' : `gives ${JSON.stringify(want)}`;
  test(`the range '${text.slice(0, 40)}' of ${lengthBytes} bytes ${words}`, () => {
    const range = parseRange(text);
    assert.deepEqual(range === null ? null : resolveRange(range, lengthBytes), want);
  });
}

test('a range between numbers of any length has a length that is a number', () => {
  const { firstOffsetBytes, lastOffsetBytes } = parseRange(`bytes=${ENDLESS}-${ENDLESS}`) ?? {};
  assert.equal(Number(lastOffsetBytes) - Number(firstOffsetBytes) + 1, 1);
});
