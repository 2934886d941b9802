import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EdmValue, Properties } from './edm.ts';
import { refuseEntity, refuseKey } from './entity.ts';
import type { ErrorCode } from './error-code.ts';

const shown = (text: string): string => (text.length > 30 ? `${text.length} units` : JSON.stringify(text));

for (const [key, want] of [
  ['', null],
  ['a', null],
  ["it's a key: 100% (of 'em) & more = +;,@[]{}|^`~<>\"", null],
  ['ключ 鍵 🔑', null],
  ['\u00a0', null],
  ['\ufffe\uffff', null],
  ['k'.repeat(512), null],
  ['🔑'.repeat(256), null],
  ['k'.repeat(513), 'KeyValueTooLarge'],
  ['🔑'.repeat(256).concat('k'), 'KeyValueTooLarge'],
  ['/'.repeat(513), 'KeyValueTooLarge'],
  ['a/b', 'OutOfRangeInput'],
  ['a\\b', 'OutOfRangeInput'],
  ['#', 'OutOfRangeInput'],
  ['a?', 'OutOfRangeInput'],
  ['\u0000', 'OutOfRangeInput'],
  ['a\tb', 'OutOfRangeInput'],
  ['\u001f', 'OutOfRangeInput'],
  ['\u007f', 'OutOfRangeInput'],
  ['\u0080', 'OutOfRangeInput'],
  ['\u009f', 'OutOfRangeInput'],
  ['\ud83d', 'OutOfRangeInput'],
  ['a\ud83db', 'OutOfRangeInput'],
  ['\udd11\ud83d', 'OutOfRangeInput'],
  ['🔑\udd11', 'OutOfRangeInput'],
  ['\ud83d🔑', 'OutOfRangeInput'],
] as const) {
  test(`the key ${shown(key)} is ${want === null ? 'taken' : `refused: ${want}`}`, () => {
    assert.equal(refuseKey(key), want);
    assert.equal(refuseEntity({ partitionKey: key, rowKey: '' }, []), want);
    assert.equal(refuseEntity({ partitionKey: '', rowKey: key }, []), want);
  });
}

const string = (value: string): EdmValue => ({ type: 'Edm.String', value });
const binary = (lengthBytes: number): EdmValue => ({ type: 'Edm.Binary', value: new Uint8Array(lengthBytes) });
const key = { partitionKey: 'p', rowKey: 'r' };
const refuse = (properties: Properties): ErrorCode | null => refuseEntity(key, properties);

for (const [name, want] of [
  ['a', null],
  ['_', null],
  ['_1', null],
  ['Name9_x', null],
  ['__proto__', null],
  ['partitionkey', null],
  ['Größe', null],
  ['имя', null],
  ['名前', null],
  ['𝒳', null],
  ['Ⅷ', null],
  ['e\u0301', null],
  ['a‿b', null],
  ['x٣', null],
  ['n'.repeat(255), null],
  ['n'.repeat(256), 'PropertyNameTooLong'],
  ['-'.repeat(256), 'PropertyNameTooLong'],
  ['', 'PropertyNameInvalid'],
  ['1', 'PropertyNameInvalid'],
  ['a-b', 'PropertyNameInvalid'],
  ['a b', 'PropertyNameInvalid'],
  ['a.b', 'PropertyNameInvalid'],
  ['a:b', 'PropertyNameInvalid'],
  ['a@b', 'PropertyNameInvalid'],
  ['a"b', 'PropertyNameInvalid'],
  ['a$', 'PropertyNameInvalid'],
  ['a\u0000', 'PropertyNameInvalid'],
  ['a\u00a0b', 'PropertyNameInvalid'],
  ['٣x', 'PropertyNameInvalid'],
  ['\u0301e', 'PropertyNameInvalid'],
  ['‿a', 'PropertyNameInvalid'],
  ['a\u200db', 'PropertyNameInvalid'],
  ['a🔑', 'PropertyNameInvalid'],
  ['é-', 'PropertyNameInvalid'],
  ['a\ud835', 'PropertyNameInvalid'],
  ['PartitionKey', 'DuplicatePropertiesSpecified'],
  ['RowKey', 'DuplicatePropertiesSpecified'],
  ['Timestamp', 'DuplicatePropertiesSpecified'],
] as const) {
  test(`the property name ${shown(name)} is ${want === null ? 'taken' : `refused: ${want}`}`, () =>
    assert.equal(refuse([[name, string('')]]), want));
}

for (const [what, value, want] of [
  ['an empty string', string(''), null],
  ['a string with anything in it', string('\u0000"\\\u2028🔑\uffff'), null],
  ['a string of 32 Ki units', string('x'.repeat(32_768)), null],
  ['a string of 16 Ki characters of two units each', string('🔑'.repeat(16_384)), null],
  ['a string of one unit more', string('x'.repeat(32_769)), 'PropertyValueTooLarge'],
  ['half a character at the end of a string', string('x\ud83d'), 'InvalidInput'],
  ['half a character at the start of a string', string('\udd11x'), 'InvalidInput'],
  ['a binary of 64 KiB', binary(65_536), null],
  ['a binary of one byte more', binary(65_537), 'PropertyValueTooLarge'],
  ['a double that is no number', { type: 'Edm.Double', value: Number.NaN }, null],
] as const) {
  test(`${what} is ${want === null ? 'taken' : `refused: ${want}`}`, () => assert.equal(refuse([['a', value]]), want));
}

const many = (count: number): Properties => Array.from({ length: count }, (_, index) => [`p${index}`, string('')]);

for (const [what, properties, want] of [
  ['no property', [], null],
  ['252 properties', many(252), null],
  ['253 properties', many(253), 'TooManyProperties'],
  ['names that differ by case', [...many(1), ['P0', string('')]], null],
  ['a name twice', [...many(3), ['p1', binary(0)]], 'DuplicatePropertiesSpecified'],
] as const) {
  test(`${what} ${want === null ? 'can be an entity' : `cannot: ${want}`}`, () =>
    assert.equal(refuse(properties), want));
}

test('what is refused first: keys, the number of properties, names, duplicates, values, size', () => {
  const tooLarge = string('x'.repeat(32_769));
  const bad: Properties = [...many(251), ['-', tooLarge], ['p0', tooLarge]];
  assert.equal(refuseEntity({ partitionKey: 'p', rowKey: '#' }, bad), 'OutOfRangeInput');
  assert.equal(refuse(bad), 'TooManyProperties');
  assert.equal(refuse(bad.slice(1)), 'PropertyNameInvalid');
  assert.equal(
    refuse([
      ['a', tooLarge],
      ['a', tooLarge],
    ]),
    'DuplicatePropertiesSpecified',
  );
  assert.equal(refuse([['a', tooLarge], ...sized(1024 * 1024 + 100)]), 'PropertyValueTooLarge');
});

/** Binaries that make an entity of just this size, with keys `p` and `r`: 8 bytes. */
function sized(entityBytes: number): Properties {
  const properties: (readonly [string, EdmValue])[] = [];
  const headBytes = 8 + 2 * 'b00'.length + 4;
  for (let left = entityBytes - 8; left > 0; left -= 65_000) {
    properties.push([`b${String(properties.length).padStart(2, '0')}`, binary(Math.min(left, 65_000) - headBytes)]);
  }
  return properties;
}

const ticks = 638_500_000_000_000_000n;
const guid = 'c9da6455-213d-42c9-9a79-3e9149a57833';

for (const [what, property, lengthBytes] of [
  ['a binary of 10 bytes', ['x', binary(10)], 8 + 2 + 14],
  ['a string of 10 units', ['x', string('abcdefgh🔑')], 8 + 2 + 24],
  ['a longer name', ['Größe', string('')], 8 + 10 + 4],
  ['a boolean', ['x', { type: 'Edm.Boolean', value: true }], 8 + 2 + 1],
  ['an Int32', ['x', { type: 'Edm.Int32', value: 1 }], 8 + 2 + 4],
  ['an Int64', ['x', { type: 'Edm.Int64', value: 1n }], 8 + 2 + 8],
  ['a Double', ['x', { type: 'Edm.Double', value: 1 }], 8 + 2 + 8],
  ['a DateTime', ['x', { type: 'Edm.DateTime', value: ticks }], 8 + 2 + 8],
  ['a GUID', ['x', { type: 'Edm.Guid', value: guid }], 8 + 2 + 16],
] as const) {
  test(`${what} counts ${lengthBytes} bytes of the 1 MiB of an entity`, () => {
    assert.equal(refuse([...sized(1024 * 1024 - lengthBytes), property]), null);
    assert.equal(refuse([...sized(1024 * 1024 - lengthBytes + 1), property]), 'EntityTooLarge');
  });
}

test('keys count two bytes for each unit', () => {
  const fits = sized(1024 * 1024 - 2);
  assert.equal(refuseEntity({ partitionKey: 'pp', rowKey: 'r' }, fits), null);
  assert.equal(refuseEntity({ partitionKey: 'p', rowKey: 'rr' }, fits), null);
  assert.equal(refuseEntity({ partitionKey: 'pp', rowKey: 'rr' }, fits), 'EntityTooLarge');
});
