import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { type EdmValue, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, type Properties } from '../../rules/edm.ts';
import { UnreadableRecord } from './codec.ts';
import { decodeEntity, type Entity, EntityCursor, encodeEntity, ticksOf } from './entity-record.ts';

const texts = fc.string({ unit: 'grapheme', maxLength: 20 });
const values: fc.Arbitrary<EdmValue> = fc.oneof(
  texts.map((value): EdmValue => ({ type: 'Edm.String', value })),
  fc.boolean().map((value): EdmValue => ({ type: 'Edm.Boolean', value })),
  fc.integer({ min: INT32_MIN, max: INT32_MAX }).map((value): EdmValue => ({ type: 'Edm.Int32', value })),
  fc.bigInt({ min: INT64_MIN, max: INT64_MAX }).map((value): EdmValue => ({ type: 'Edm.Int64', value })),
  fc.double().map((value): EdmValue => ({ type: 'Edm.Double', value })),
  fc
    .bigInt({ min: 504_911_232_000_000_000n, max: 3_155_378_975_999_999_999n })
    .map((value): EdmValue => ({ type: 'Edm.DateTime', value })),
  fc.uuid().map((value): EdmValue => ({ type: 'Edm.Guid', value })),
  fc.uint8Array({ maxLength: 40 }).map((value): EdmValue => ({ type: 'Edm.Binary', value: Uint8Array.from(value) })),
);
const entities: fc.Arbitrary<Entity> = fc.record(
  {
    ticks: fc.bigInt({ min: 0n, max: 2n ** 63n }),
    properties: fc.array(fc.tuple(texts, values), { maxLength: 8 }),
  },
  { noNullPrototype: true },
);

/** One property of each type. */
const ALL: Entity = {
  ticks: 638_501_637_961_234_567n,
  properties: [
    ['string', { type: 'Edm.String', value: 'täxt \ud83d\ude00' }],
    ['empty', { type: 'Edm.String', value: '' }],
    ['yes', { type: 'Edm.Boolean', value: true }],
    ['no', { type: 'Edm.Boolean', value: false }],
    ['int32', { type: 'Edm.Int32', value: -7 }],
    ['int64', { type: 'Edm.Int64', value: INT64_MIN }],
    ['double', { type: 'Edm.Double', value: Number.NaN }],
    ['dateTime', { type: 'Edm.DateTime', value: 638_501_637_961_234_567n }],
    ['guid', { type: 'Edm.Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' }],
    ['binary', { type: 'Edm.Binary', value: Uint8Array.of(0, 255, 1) }],
  ],
};

/** Behind format, ticks and number of properties. */
const FIRST_PROPERTY_AT = 11;
const FIRST_TYPE_AT = FIRST_PROPERTY_AT + 2;

describe('an encoded entity', () => {
  test('gives back what was encoded', () => {
    fc.assert(
      fc.property(entities, (entity) => {
        const bytes = encodeEntity(entity);
        assert.deepEqual(decodeEntity(bytes), entity);
        assert.equal(ticksOf(bytes), entity.ticks);
      }),
      { numRuns: 500, ...seeded },
    );
    assert.deepEqual(decodeEntity(encodeEntity(ALL)), ALL);
    assert.deepEqual(decodeEntity(encodeEntity({ ticks: 1n, properties: [] })), { ticks: 1n, properties: [] });
  });

  test('keeps the sign of a zero', () => {
    const bytes = encodeEntity({ ticks: 1n, properties: [['zero', { type: 'Edm.Double', value: -0 }]] });
    assert.ok(Object.is(decodeEntity(bytes).properties[0]?.[1].value, -0));
  });

  test('is read alike as a view into a larger buffer', () => {
    const bytes = encodeEntity(ALL);
    const around = Buffer.concat([Buffer.from([9, 9]), bytes, Buffer.from([9])]).subarray(2, 2 + bytes.length);
    assert.deepEqual(decodeEntity(around), ALL);
    assert.equal(ticksOf(around), ALL.ticks);
  });

  test('shares no memory with the binaries that are read from it', () => {
    const bytes = Buffer.from(encodeEntity(ALL));
    const { properties } = decodeEntity(bytes);
    bytes.fill(0);
    assert.deepEqual(properties.at(-1)?.[1].value, Uint8Array.of(0, 255, 1));
  });

  test('is walked by one cursor after another', () => {
    const cursor = new EntityCursor(encodeEntity(ALL));
    assert.equal(cursor.next(), true);
    assert.equal(cursor.name, 'string');
    cursor.reset(encodeEntity({ ticks: 5n, properties: [['other', { type: 'Edm.Int32', value: 1 }]] }));
    assert.equal(cursor.ticks, 5n);
    assert.equal(cursor.next(), true);
    assert.equal(cursor.name, 'other');
    assert.deepEqual(cursor.value, { type: 'Edm.Int32', value: 1 });
    assert.equal(cursor.next(), false);
    assert.equal(cursor.next(), false);
  });

  test('holds the largest property and the most of them', () => {
    const properties: Properties = Array.from({ length: 252 }, (_, index) => [
      `${'ÿ'.repeat(250)}${index}`,
      { type: 'Edm.String', value: index === 0 ? '\uffff'.repeat(32 * 1024) : '' },
    ]);
    assert.deepEqual(decodeEntity(encodeEntity({ ticks: 1n, properties })).properties, properties);
  });
});

const only = (value: EdmValue): Buffer => Buffer.from(encodeEntity({ ticks: 1n, properties: [['a', value]] }));

describe('what cannot be read is said to be so:', () => {
  test('a record that was cut off, at any length', () => {
    const bytes = encodeEntity(ALL);
    for (let length = 0; length < bytes.length; length++) {
      assert.throws(() => decodeEntity(bytes.subarray(0, length)), UnreadableRecord, `${length} bytes`);
    }
    for (let length = 0; length < FIRST_PROPERTY_AT; length++) {
      assert.throws(() => ticksOf(bytes.subarray(0, length)), UnreadableRecord, `${length} bytes`);
    }
  });

  test('a record with something behind it', () => {
    const bytes = encodeEntity(ALL);
    for (const rest of [[0], [0, 0, 3], [1, 0, 4, 97]]) {
      assert.throws(() => decodeEntity(Buffer.concat([bytes, Buffer.from(rest)])), UnreadableRecord);
    }
  });

  test('another format', () => {
    for (const format of [0, 2, 255]) {
      const bytes = encodeEntity(ALL);
      bytes[0] = format;
      assert.throws(() => decodeEntity(bytes), /unknown entity format/);
      assert.throws(() => ticksOf(bytes), UnreadableRecord);
    }
  });

  test('a property of another type', () => {
    for (const type of [0, 10, 255]) {
      const bytes = encodeEntity(ALL);
      bytes[FIRST_TYPE_AT] = type;
      assert.throws(() => decodeEntity(bytes), /unknown property type/);
    }
  });

  test('a name or a value that reaches beyond the end', () => {
    const name = only({ type: 'Edm.Boolean', value: true });
    name.writeUInt16LE(2, FIRST_PROPERTY_AT);
    assert.throws(() => decodeEntity(name), UnreadableRecord);
    const text = only({ type: 'Edm.String', value: 'abc' });
    text.writeUInt32LE(0xffff_ffff, FIRST_TYPE_AT + 2);
    assert.throws(() => decodeEntity(text), UnreadableRecord);
  });

  test('any other damage is read as something, or refused, but never breaks the reader', () => {
    fc.assert(
      fc.property(entities, fc.nat(), fc.integer({ min: 0, max: 255 }), (entity, place, byte) => {
        const bytes = encodeEntity(entity);
        bytes[place % bytes.length] = byte;
        try {
          decodeEntity(bytes);
        } catch (error) {
          assert.ok(error instanceof UnreadableRecord, String(error));
        }
      }),
      { numRuns: 500, ...seeded },
    );
  });
});
