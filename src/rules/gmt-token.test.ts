import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatGmtToken } from './gmt-token.ts';

test('a snapshot is named by the second in which it was taken', () => {
  assert.equal(formatGmtToken('2026-07-05T03:09:00.0000000Z'), '@GMT-2026.07.05-03.09.00');
  assert.equal(formatGmtToken('1999-12-31T23:59:59.9999999Z'), '@GMT-1999.12.31-23.59.59');
});
