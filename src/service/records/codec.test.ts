import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { decodeJson, encodeJson, UnreadableRecord } from './codec.ts';
import { decodeInline, encodeInline } from './extent-record.ts';

const within = (bytes: Uint8Array): Uint8Array => Buffer.concat([Buffer.from([7, 7, 7]), bytes]).subarray(3);

test('a record gives back what was written, also as a view into a larger buffer', () => {
  fc.assert(
    fc.property(fc.object({ withNullPrototype: false, maxDepth: 2 }), (object) => {
      const record = JSON.parse(JSON.stringify(object)) as object;
      assert.deepEqual(decodeJson(encodeJson(record)), record);
      assert.deepEqual(decodeJson(within(encodeJson(record))), record);
    }),
    seeded,
  );
});

test('the bytes of a small extent come back as they were, also as a view into a larger buffer', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      assert.deepEqual(Buffer.from(decodeInline(encodeInline(bytes))), Buffer.from(bytes));
      assert.deepEqual(Buffer.from(decodeInline(within(encodeInline(bytes)))), Buffer.from(bytes));
    }),
    seeded,
  );
});

for (const format of [0, 2, 4, 0x7b, 0xff]) {
  test(`a record of format ${format} is refused as unreadable`, () => {
    assert.throws(() => decodeJson(Buffer.from([format, 0x7b, 0x7d])), UnreadableRecord);
    assert.throws(() => decodeInline(Buffer.from([format, 1, 2])), UnreadableRecord);
  });
}

test('a record without a single byte is refused as unreadable', () => {
  assert.throws(() => decodeJson(new Uint8Array(0)), UnreadableRecord);
  assert.throws(() => decodeInline(new Uint8Array(0)), UnreadableRecord);
});

test('a record that is cut off is refused as unreadable', () => {
  assert.throws(() => decodeJson(encodeJson({ a: 1 }).subarray(0, 4)), UnreadableRecord);
});
