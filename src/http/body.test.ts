import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { StorageError } from '../service/storage-error.ts';
import { readWhole, requireContentLength } from './body.ts';
import type { Exchange } from './exchange.ts';

/** As much of an exchange as reading a body needs. */
function upload(
  contentLengthBytes: number | null,
  pieces: readonly string[],
): { exchange: Exchange; taken: () => number } {
  let takenCount = 0;
  const body = (): Readable => {
    takenCount++;
    return Readable.from(pieces.map((piece) => Buffer.from(piece)));
  };
  const wholeBody = async (): Promise<Uint8Array> => {
    takenCount++;
    return Buffer.from(pieces.join(''));
  };
  return {
    exchange: { contentLengthBytes, body, wholeBody } as Partial<Exchange> as Exchange,
    taken: () => takenCount,
  };
}

const isTooLarge = (error: unknown): boolean =>
  error instanceof StorageError && error.code === 'RequestBodyTooLarge' && error.details.elements?.['MaxLimit'] === '6';

test('a body of exactly the limit is read whole', async () => {
  const { exchange } = upload(6, ['ab', 'cd', 'ef']);
  assert.equal((await readWhole(exchange, { maxBytes: 6 })).toString(), 'abcdef');
});

test('a body that announces more than the limit is refused before it is asked for', async () => {
  const { exchange, taken } = upload(7, ['abcdefg']);
  await assert.rejects(readWhole(exchange, { maxBytes: 6 }), isTooLarge);
  assert.equal(taken(), 0);
});

test('a body without a length is refused once it exceeds the limit', async () => {
  const { exchange } = upload(null, ['abcd', 'efg', 'never read']);
  await assert.rejects(readWhole(exchange, { maxBytes: 6 }), isTooLarge);
});

test('an empty body is empty, with a length or without', async () => {
  assert.equal((await readWhole(upload(0, []).exchange, { maxBytes: 6 })).length, 0);
  assert.equal((await readWhole(upload(null, []).exchange, { maxBytes: 6 })).length, 0);
});

test('a length of zero is a length, none is refused', () => {
  assert.equal(requireContentLength(upload(0, []).exchange), 0);
  assert.throws(
    () => requireContentLength(upload(null, []).exchange),
    (error) => error instanceof StorageError && error.code === 'MissingContentLengthHeader',
  );
});
