import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import { parseQuery } from '../request-target.ts';
import { parseHold } from './hold.ts';
import { renderPopReceipt } from './pop-receipt.ts';

const ID = '5974b586-0df3-4e2d-ad0c-18e3892bfca2';
const PLACE = { visibleMs: 1_735_689_600_123, tick: '0190b3c4d5e6000700a1b2c3' };
const RECEIPT = `popreceipt=${renderPopReceipt(PLACE)}`;

const parse = (messageId: string, query: string) =>
  parseHold(parseQuery(query), { kind: 'message', queue: 'work', messageId });

test('a message is named by its id, in either case, and its receipt', () => {
  assert.deepEqual(parse(ID, RECEIPT), { messageId: ID, place: PLACE });
  assert.deepEqual(parse(ID.toUpperCase(), RECEIPT), { messageId: ID, place: PLACE });
});

describe('the receipt is judged first, then the id:', () => {
  for (const [messageId, query, want] of [
    ['x', '', 'MissingRequiredQueryParameter'],
    ['x', 'popreceipt=', 'InvalidQueryParameterValue'],
    ['x', 'popreceipt=stale', 'InvalidQueryParameterValue'],
    ['x', RECEIPT, 'MessageNotFound'],
    [ID.replaceAll('-', ''), RECEIPT, 'MessageNotFound'],
    [`{${ID}}`, RECEIPT, 'MessageNotFound'],
    [`${ID}\n`, RECEIPT, 'MessageNotFound'],
    [ID.replace('5', 'g'), RECEIPT, 'MessageNotFound'],
  ] as const) {
    test(`${JSON.stringify(messageId)} with ${JSON.stringify(query)} gets ${want}`, () => {
      assert.throws(
        () => parse(messageId, query),
        (error) => error instanceof StorageError && error.code === want,
      );
    });
  }
});

test('a receipt that is missing is called by its name', () => {
  assert.throws(
    () => parse(ID, ''),
    (error) => error instanceof StorageError && error.details.elements?.['QueryParameterName'] === 'popreceipt',
  );
});
