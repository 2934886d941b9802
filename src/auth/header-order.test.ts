import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareByteOrder, compareIcuOrder, compareServiceOrder } from './header-order.ts';

const NAMES = ['meta-b', 'meta-a-b', 'meta-ab', 'meta-aa', 'meta-a_b', 'meta-a0'];

test('the service passes over dashes, and puts signs before digits before letters', () => {
  const sorted = [...NAMES].sort(compareServiceOrder);
  assert.deepEqual(sorted, ['meta-a_b', 'meta-a0', 'meta-aa', 'meta-ab', 'meta-a-b', 'meta-b']);
});

test('bytes put the dash first and the underscore after digits', () => {
  const sorted = [...NAMES].sort(compareByteOrder);
  assert.deepEqual(sorted, ['meta-a-b', 'meta-a0', 'meta-a_b', 'meta-aa', 'meta-ab', 'meta-b']);
});

test('ICU puts the underscore before the dash before digits', () => {
  const sorted = [...NAMES].sort(compareIcuOrder);
  assert.deepEqual(sorted, ['meta-a_b', 'meta-a-b', 'meta-a0', 'meta-aa', 'meta-ab', 'meta-b']);
});

test('in the service order a name comes before its own continuation, whatever follows', () => {
  for (const [first, second] of [
    ['x-ms-meta-a', 'x-ms-meta-a-'],
    ['x-ms-meta-a', 'x-ms-meta-a_'],
    ['x-ms-meta-ab', 'x-ms-meta-a-b'],
    ['x-ms-meta-ab-c', 'x-ms-meta-a-bc'],
    ["x-ms-meta-a'b", 'x-ms-meta-a-b'],
    ["x-ms-meta-ab'", "x-ms-meta-a'b"],
  ] as const) {
    assert.ok(compareServiceOrder(first, second) < 0, `${first} before ${second}`);
    assert.ok(compareServiceOrder(second, first) > 0, `${second} after ${first}`);
    assert.equal(compareServiceOrder(first, first), 0);
  }
});
