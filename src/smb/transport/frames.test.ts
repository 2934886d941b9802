import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BadFrame, encodePrefix, FrameReader } from './frames.ts';

const framed = (...messages: readonly string[]): Buffer =>
  Buffer.concat(messages.flatMap((text) => [encodePrefix(text.length), Buffer.from(text)]));

const read = (reader: FrameReader, piece: Buffer): string[] => [...reader.push(piece)].map(String);

test('messages are the same however the bytes arrive', () => {
  const messages = ['a', 'two', 'x'.repeat(1000), 'last'];
  const bytes = framed(...messages);
  for (const stepBytes of [1, 2, 3, 4, 5, 7, 64, 999, bytes.length]) {
    const reader = new FrameReader(() => 1000);
    const got: string[] = [];
    for (let at = 0; at < bytes.length; at += stepBytes) got.push(...read(reader, bytes.subarray(at, at + stepBytes)));
    assert.deepEqual(got, messages, `in steps of ${stepBytes}`);
  }
});

test('a message that is too long is refused before it is taken in', () => {
  const reader = new FrameReader(() => 10);
  assert.deepEqual(read(reader, framed('0123456789')), ['0123456789']);
  assert.throws(() => read(reader, encodePrefix(11)), BadFrame);
});

test('what does not begin with a zero byte, and an empty message, is refused', () => {
  assert.throws(() => read(new FrameReader(() => 10), Buffer.from('GET / HTTP/1.1')), BadFrame);
  assert.throws(() => read(new FrameReader(() => 10), encodePrefix(0)), BadFrame);
});
