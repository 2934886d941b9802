import assert from 'node:assert/strict';
import test from 'node:test';
import { refusePageBlobLength, refusePageRange } from './page-range.ts';

for (const [offsetBytes, lengthBytes, want] of [
  [0, 512, null],
  [512, 512, null],
  [0, 2048, null],
  [1536, 512, null],
  [0, 0, 'InvalidPageRange'],
  [1, 512, 'InvalidPageRange'],
  [0, 511, 'InvalidPageRange'],
  [0, 513, 'InvalidPageRange'],
  [256, 256, 'InvalidPageRange'],
  [512, 2048, 'InvalidPageRange'],
  [2048, 512, 'InvalidPageRange'],
  [0, Number.POSITIVE_INFINITY, 'InvalidPageRange'],
] as const) {
  test(`${lengthBytes} bytes at ${offsetBytes} of a page blob of 2048 get ${want ?? 'through'}`, () =>
    assert.equal(refusePageRange({ offsetBytes, lengthBytes }, 2048), want));
}

for (const [lengthBytes, want] of [
  [0, null],
  [512, null],
  [8 * 2 ** 40, null],
  [8 * 2 ** 40 + 512, 'InvalidHeaderValue'],
  [511, 'InvalidHeaderValue'],
  [513, 'InvalidHeaderValue'],
  [0.5, 'InvalidHeaderValue'],
  [-512, 'InvalidHeaderValue'],
  [Number.NaN, 'InvalidHeaderValue'],
] as const) {
  test(`a page blob of ${lengthBytes} bytes gets ${want ?? 'through'}`, () =>
    assert.equal(refusePageBlobLength(lengthBytes), want));
}
