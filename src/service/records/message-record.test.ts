import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { type Message, NEVER_MS } from '../../rules/message.ts';
import { UnreadableRecord } from './codec.ts';
import { decodeMessage, encodeMessage, expiresMsOf, messageIdOf } from './message-record.ts';

const MESSAGE: Message = {
  messageId: '01234567-89ab-8def-8123-456789abcdef',
  insertedMs: 1_800_000_000_123,
  expiresMs: NEVER_MS,
  dequeueCount: 7,
};

const times = fc.oneof(fc.constantFrom(0, 2 ** 32, NEVER_MS), fc.integer({ min: 0, max: NEVER_MS }));
const messages: fc.Arbitrary<Message> = fc.record(
  {
    messageId: fc.uuid(),
    insertedMs: times,
    expiresMs: times,
    dequeueCount: fc.oneof(fc.constantFrom(0, 1, 2 ** 32 - 1), fc.nat()),
  },
  { noNullPrototype: true },
);

describe('the record of a message', () => {
  test('is read as it was written, whole and in parts', () => {
    fc.assert(
      fc.property(messages, (message) => {
        const value = encodeMessage(message);
        assert.deepEqual(decodeMessage(value), message);
        assert.equal(messageIdOf(value), message.messageId);
        assert.equal(expiresMsOf(value), message.expiresMs);
      }),
      seeded,
    );
  });

  test('has the bytes that it had in the first release', () => {
    const fields = ['01', '0123456789ab8def8123456789abcdef', '01a3185c507b', 'e677d21fd818', '00000007'];
    assert.equal(Buffer.from(encodeMessage(MESSAGE)).toString('hex'), fields.join(''));
  });

  const value = encodeMessage(MESSAGE);
  for (const [what, bytes] of [
    ['of another format', Uint8Array.of(2, ...value.subarray(1))],
    ['that was cut off', value.subarray(0, value.length - 1)],
    ['with something behind it', Uint8Array.of(...value, 0)],
    ['without any bytes', new Uint8Array()],
  ] as const) {
    test(`${what} is not read`, () => assert.throws(() => decodeMessage(bytes), UnreadableRecord));
  }
});
