import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { readMessageText, readOptionalMessageText } from './message-body.ts';

const NEW = '2024-11-04';
const KIB = 1024;

/** `announced`: whether the client tells the length before. */
const sent = (body: string, { version = NEW, announced = true } = {}): Exchange =>
  ({
    version,
    contentLengthBytes: announced ? Buffer.byteLength(body) : null,
    wholeBody: async () => Buffer.from(body),
    body: () => Readable.from(body === '' ? [] : [Buffer.from(body)]),
  }) as unknown as Exchange;

const around = (content: string): string => `<QueueMessage><MessageText>${content}</MessageText></QueueMessage>`;

const outcome = (text: Promise<string | null>): Promise<unknown> =>
  text.then(
    (read) => read,
    (error: unknown) => {
      assert.ok(error instanceof StorageError);
      const { MaxLimit } = error.details.elements ?? {};
      return MaxLimit === undefined ? error.code : `${error.code} ${MaxLimit}`;
    },
  );

describe('a text may be as long as', () => {
  for (const [what, text, content, version] of [
    ['64 KiB', 'a'.repeat(64 * KIB), 'a'.repeat(64 * KIB), NEW],
    ['64 KiB of characters of three bytes', `${'€'.repeat(21_845)}a`, `${'€'.repeat(21_845)}a`, NEW],
    ['64 KiB, every character escaped', '"'.repeat(64 * KIB), '&quot;'.repeat(64 * KIB), NEW],
    ['64 KiB since 2011-08-18', 'a'.repeat(64 * KIB), 'a'.repeat(64 * KIB), '2011-08-18'],
    ['8 KiB before', 'a'.repeat(8 * KIB), 'a'.repeat(8 * KIB), '2009-09-19'],
  ] as const) {
    test(what, async () => {
      assert.equal(await readMessageText(sent(around(content), { version })), text);
      assert.equal(await readOptionalMessageText(sent(around(content), { version })), text);
      const longer = around(`${content}&quot;`);
      const tooLarge = `RequestBodyTooLarge ${version < '2011-08-18' ? 8 * KIB : 64 * KIB}`;
      assert.equal(await outcome(readMessageText(sent(longer, { version }))), tooLarge);
      assert.equal(await outcome(readOptionalMessageText(sent(longer, { version, announced: false }))), tooLarge);
    });
  }
});

const padded = (bytes: number): string => around('a').padEnd(bytes);

test('a body that is longer than any text of 64 KiB makes it is refused as such', async () => {
  const limit = 6 * 64 * KIB + KIB;
  for (const announced of [true, false]) {
    assert.equal(await outcome(readMessageText(sent(padded(limit), { announced }))), 'a');
    assert.equal(
      await outcome(readMessageText(sent(padded(limit + 1), { announced }))),
      `RequestBodyTooLarge ${limit}`,
    );
  }
});

test('an update without a body leaves the text, and one with an empty text empties it', async () => {
  assert.equal(await readOptionalMessageText(sent('')), null);
  assert.equal(await readOptionalMessageText(sent('', { announced: false })), null);
  assert.equal(await readOptionalMessageText(sent(around(''))), '');
  assert.equal(await outcome(readMessageText(sent(''))), 'InvalidXmlDocument');
});
