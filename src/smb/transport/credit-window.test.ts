import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CreditWindow } from './credit-window.ts';

test('a client begins with one id', () => {
  const window = new CreditWindow(10);
  assert.equal(window.use(1n, 1), false);
  assert.equal(window.use(0n, 1), true);
  assert.equal(window.leftCount, 0);
});

test('an id is used once', () => {
  const window = new CreditWindow(10);
  window.use(0n, 1);
  window.grant(5);
  assert.equal(window.use(3n, 1), true);
  assert.equal(window.use(3n, 1), false);
  assert.equal(window.use(0n, 1), false);
});

test('a request that costs several ids needs all of them', () => {
  const window = new CreditWindow(10);
  window.use(0n, 1);
  window.grant(4);
  assert.equal(window.use(4n, 2), false, 'the second was not granted');
  assert.equal(window.use(2n, 1), true);
  assert.equal(window.use(1n, 2), false, 'the second was used');
  assert.equal(window.use(3n, 2), true);
  assert.equal(window.leftCount, 1);
});

test('who asks for none is granted one', () => {
  const window = new CreditWindow(10);
  window.use(0n, 1);
  assert.equal(window.grant(0), 1);
});

test('no more is granted than a client may have', () => {
  const window = new CreditWindow(10);
  window.use(0n, 1);
  assert.equal(window.grant(100), 10);
  assert.equal(window.grant(1), 0);
  window.use(1n, 3);
  assert.equal(window.grant(100), 3);
});

test('a client that leaves out an id is granted twice what it may have, and then nothing more', () => {
  const window = new CreditWindow(10);
  window.use(0n, 1);
  let high = window.grant(10);
  let next = 2n;
  for (let round = 0; round < 50; round++) {
    if (!window.use(next, 1)) break;
    next++;
    high += window.grant(1);
  }
  assert.equal(high, 20);
  assert.equal(window.use(1n, 1), true);
  assert.ok(window.grant(1) > 0, 'once it is used the window moves on');
});

test('ids beyond what numbers can tell apart are refused', () => {
  assert.equal(new CreditWindow(10).use(0xffff_ffff_ffff_fff0n, 1), false);
});
