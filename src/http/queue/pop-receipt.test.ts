import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NEVER_MS } from '../../rules/message.ts';
import { StorageError } from '../../service/storage-error.ts';
import { parsePopReceipt, renderPopReceipt } from './pop-receipt.ts';

const TICK = '0190b3c4d5e6000700a1b2c3';

describe('a place comes back from its receipt:', () => {
  for (const [visibleMs, tick] of [
    [0, '0'.repeat(24)],
    [1, TICK],
    [1_735_689_600_123, TICK],
    [NEVER_MS, TICK],
    [2 ** 48 - 1, 'f'.repeat(24)],
  ] as const) {
    test(`${visibleMs} ${tick}`, () => {
      const receipt = renderPopReceipt({ visibleMs, tick });
      assert.match(receipt, /^[\w-]{24}$/);
      assert.deepEqual(parsePopReceipt(receipt), { visibleMs, tick });
    });
  }
});

test('receipts keep the bytes of the place in order', () => {
  assert.equal(
    Buffer.from(renderPopReceipt({ visibleMs: 0x0102_0304_0506, tick: TICK }), 'base64url').toString('hex'),
    `010203040506${TICK}`,
  );
});

test('what any 24 characters of the alphabet name has no other spelling', () => {
  for (const receipt of ['AAAAAAAAAAAAAAAAAAAAAAAA', '________________________', 'AZaz09-_AZaz09-_AZaz09-_']) {
    assert.equal(renderPopReceipt(parsePopReceipt(receipt)), receipt);
  }
});

const RECEIPT = renderPopReceipt({ visibleMs: 1_735_689_600_123, tick: TICK });

describe('no receipt of ours is', () => {
  for (const [what, text] of [
    ['nothing', ''],
    ['one cut short', RECEIPT.slice(1)],
    ['one with more behind it', `${RECEIPT}A`],
    ['one with padding', `${RECEIPT.slice(0, 22)}==`],
    ['one in plain Base64', `${RECEIPT.slice(0, 22)}+/`],
    ['one with a space in it', `${RECEIPT.slice(0, 23)} `],
    ['one with a line end behind it', `${RECEIPT}\n`],
    ['one of another service', 'AgAAAAMAAAAAAAAA5rMSCqCq2QE='],
  ] as const) {
    test(what, () => {
      assert.throws(
        () => parsePopReceipt(text),
        (error) =>
          error instanceof StorageError &&
          error.code === 'InvalidQueryParameterValue' &&
          error.details.elements?.['QueryParameterName'] === 'popreceipt' &&
          error.details.elements['QueryParameterValue'] === text,
      );
    });
  }
});
