import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import { refuseConditions } from './conditions.ts';

const REFUSED = 'ConditionHeadersNotSupported';

function outcome(exchange: Parameters<typeof refuseConditions>[0]): string | null {
  try {
    refuseConditions(exchange);
    return null;
  } catch (error) {
    assert.ok(error instanceof StorageError);
    return error.code;
  }
}

describe('conditions', () => {
  for (const [method, name, value, isRefused] of [
    ['PUT', 'if-match', '"0x1"', true],
    ['PUT', 'if-none-match', '*', true],
    ['DELETE', 'if-modified-since', 'Fri, 02 Jan 2026 03:04:05 GMT', true],
    ['POST', 'if-unmodified-since', 'Fri, 02 Jan 2026 03:04:05 GMT', true],
    ['PUT', 'if-match', '', false],
    ['GET', 'if-none-match', '"0x1"', false],
    ['HEAD', 'if-modified-since', 'Fri, 02 Jan 2026 03:04:05 GMT', false],
  ] as const) {
    test(`${method} with ${name}: ${value || 'nothing'} is ${isRefused ? 'refused' : 'answered'}`, () => {
      assert.equal(outcome({ method, header: (asked) => (asked === name ? value : null) }), isRefused ? REFUSED : null);
    });
  }
});
