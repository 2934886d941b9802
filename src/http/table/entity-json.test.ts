import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import type { EdmValue } from '../../rules/edm.ts';
import { StorageError } from '../../service/storage-error.ts';
import { type EntityBody, parseEntity } from './entity-json.ts';

const MIB = 1024 * 1024;

const parse = (text: string): EntityBody => parseEntity(Buffer.from(text));
const shown = (text: string): string => (text.length > 90 ? `${text.slice(0, 60)}… (${text.length})` : text);

function refusal(body: string | Uint8Array): { code: string; message: string } {
  try {
    parseEntity(Buffer.from(body as string));
  } catch (error) {
    assert.ok(error instanceof StorageError, String(error));
    return { code: error.code, message: error.message };
  }
  return assert.fail('taken');
}

const string = (value: string): EdmValue => ({ type: 'Edm.String', value });
const int32 = (value: number): EdmValue => ({ type: 'Edm.Int32', value });
const int64 = (value: bigint): EdmValue => ({ type: 'Edm.Int64', value });
const double = (value: number): EdmValue => ({ type: 'Edm.Double', value });
const boolean = (value: boolean): EdmValue => ({ type: 'Edm.Boolean', value });
const dateTime = (value: bigint): EdmValue => ({ type: 'Edm.DateTime', value });
const guid = (value: string): EdmValue => ({ type: 'Edm.Guid', value });
const binary = (...bytes: number[]): EdmValue => ({ type: 'Edm.Binary', value: Uint8Array.from(bytes) });

for (const [json, want] of [
  ['"text"', string('text')],
  ['""', string('')],
  ['"2024-05-01T12:34:56Z"', string('2024-05-01T12:34:56Z')],
  ['"12"', string('12')],
  ['"true"', string('true')],
  ['"null"', string('null')],
  ['"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\ud83d\\udd11"', string('"\\/\b\f\n\r\tA🔑')],
  ['"ключ 鍵 🔑 \u2028\u2029\u007f"', string('ключ 鍵 🔑 \u2028\u2029\u007f')],
  ['"\\u0000"', string('\0')],
  ['true', boolean(true)],
  ['false', boolean(false)],
  ['0', int32(0)],
  ['-0', int32(0)],
  ['3', int32(3)],
  ['-17', int32(-17)],
  ['2147483647', int32(2_147_483_647)],
  ['-2147483648', int32(-2_147_483_648)],
  ['2147483648', double(2_147_483_648)],
  ['-2147483649', double(-2_147_483_649)],
  ['9223372036854775807', double(2 ** 63)],
  ['100000000000000000000000000000', double(1e29)],
  ['3.0', double(3)],
  ['3e0', double(3)],
  ['3E0', double(3)],
  ['-0.0', double(0)],
  ['-0e0', double(0)],
  ['1.5', double(1.5)],
  ['-1.5e-3', double(-0.0015)],
  ['1e+20', double(1e20)],
  ['1.7976931348623157e308', double(Number.MAX_VALUE)],
  ['5e-324', double(Number.MIN_VALUE)],
  ['1e-999', double(0)],
  [`0.${'0'.repeat(MIB)}1`, double(0)],
  [`1.${'0'.repeat(MIB)}1`, double(1)],
] as const) {
  test(`without an annotation ${shown(json)} is an ${want.type}`, () => {
    assert.deepEqual(parse(`{"a":${json}}`).properties, [['a', want]]);
  });
}

const GUID = 'c9da6455-213d-42c9-9a79-3e9149a57833';
const TICKS = 638_501_636_961_234_567n;

for (const [type, json, want] of [
  ['Edm.String', '"text"', string('text')],
  ['Edm.Boolean', 'true', boolean(true)],
  ['Edm.Boolean', '"false"', boolean(false)],
  ['Edm.Int32', '3', int32(3)],
  ['Edm.Int32', '"3"', int32(3)],
  ['Edm.Int32', '"+3"', int32(3)],
  ['Edm.Int32', '"-2147483648"', int32(-2_147_483_648)],
  ['Edm.Int64', '"3"', int64(3n)],
  ['Edm.Int64', '3', int64(3n)],
  ['Edm.Int64', '"-0"', int64(0n)],
  ['Edm.Int64', '"+7"', int64(7n)],
  ['Edm.Int64', '"007"', int64(7n)],
  ['Edm.Int64', '9007199254740993', int64(9_007_199_254_740_993n)],
  ['Edm.Int64', '"9223372036854775807"', int64(9_223_372_036_854_775_807n)],
  ['Edm.Int64', '"-9223372036854775808"', int64(-9_223_372_036_854_775_808n)],
  ['Edm.Double', '3', double(3)],
  ['Edm.Double', '3.5', double(3.5)],
  ['Edm.Double', '6824053932181', double(6_824_053_932_181)],
  ['Edm.Double', '"3"', double(3)],
  ['Edm.Double', '"-3.5e+2"', double(-350)],
  ['Edm.Double', '".5"', double(0.5)],
  ['Edm.Double', '"5."', double(5)],
  ['Edm.Double', '"-0"', double(0)],
  ['Edm.Double', '"NaN"', double(Number.NaN)],
  ['Edm.Double', '"Infinity"', double(Number.POSITIVE_INFINITY)],
  ['Edm.Double', '"-Infinity"', double(Number.NEGATIVE_INFINITY)],
  ['Edm.DateTime', '"2024-05-01T12:34:56.1234567Z"', dateTime(TICKS)],
  ['Edm.DateTime', '"2024-05-01T12:34:56"', dateTime(638_501_636_960_000_000n)],
  ['Edm.DateTime', '"1601-01-01T00:00:00Z"', dateTime(504_911_232_000_000_000n)],
  ['Edm.DateTime', '"9999-12-31T23:59:59.9999999Z"', dateTime(3_155_378_975_999_999_999n)],
  ['Edm.Guid', `"${GUID}"`, guid(GUID)],
  ['Edm.Guid', `"${GUID.toUpperCase()}"`, guid(GUID)],
  ['Edm.Binary', '""', binary()],
  ['Edm.Binary', '"AA=="', binary(0)],
  ['Edm.Binary', '"AP8="', binary(0, 255)],
  ['Edm.Binary', '"+/+/"', binary(251, 255, 191)],
  ['Edm.Binary', '"\\u0041A=="', binary(0)],
] as const) {
  test(`as ${type}, ${json} is taken, with the annotation before or behind it`, () => {
    assert.deepEqual(parse(`{"a@odata.type":"${type}","a":${json}}`).properties, [['a', want]]);
    assert.deepEqual(parse(`{"a":${json},"b":1,"a@odata.type":"${type}"}`).properties, [
      ['a', want],
      ['b', int32(1)],
    ]);
  });
}

for (const [type, json, code = 'InvalidInput'] of [
  ['Edm.String', '1'],
  ['Edm.String', 'true'],
  ['Edm.Boolean', '1'],
  ['Edm.Boolean', '"True"'],
  ['Edm.Boolean', '""'],
  ['Edm.Int32', '2147483648'],
  ['Edm.Int32', '"-2147483649"'],
  ['Edm.Int32', '3.0'],
  ['Edm.Int32', '"3e0"'],
  ['Edm.Int32', '""'],
  ['Edm.Int32', '" 3"'],
  ['Edm.Int32', '"0x3"'],
  ['Edm.Int32', '"NaN"'],
  ['Edm.Int32', 'true'],
  ['Edm.Int64', '"9223372036854775808"'],
  ['Edm.Int64', '"-9223372036854775809"'],
  ['Edm.Int64', '"1.0"'],
  ['Edm.Int64', '1e3'],
  ['Edm.Int64', '""'],
  ['Edm.Int64', '"-"'],
  ['Edm.Int64', '"1L"'],
  ['Edm.Int64', 'false'],
  ['Edm.Double', '""'],
  ['Edm.Double', '"."'],
  ['Edm.Double', '"1,5"'],
  ['Edm.Double', '"nan"'],
  ['Edm.Double', '"0x10"'],
  ['Edm.Double', '1e309'],
  ['Edm.Double', '"-1e309"'],
  ['Edm.Double', 'true'],
  ['Edm.DateTime', '"yesterday"'],
  ['Edm.DateTime', '"2024-02-30T00:00:00Z"'],
  ['Edm.DateTime', '""'],
  ['Edm.DateTime', '2024'],
  ['Edm.DateTime', '"1600-12-31T23:59:59Z"', 'OutOfRangeInput'],
  ['Edm.DateTime', '"0001-01-01T00:00:00Z"', 'OutOfRangeInput'],
  ['Edm.Guid', '"c9da6455213d42c99a793e9149a57833"'],
  ['Edm.Guid', `"{${GUID}}"`],
  ['Edm.Guid', '""'],
  ['Edm.Guid', '1'],
  ['Edm.Binary', '"A"'],
  ['Edm.Binary', '"AA"'],
  ['Edm.Binary', '"AA="'],
  ['Edm.Binary', '"AP8"'],
  ['Edm.Binary', '"A==="'],
  ['Edm.Binary', '"===="'],
  ['Edm.Binary', '"AA==AA=="'],
  ['Edm.Binary', '"-_-_"'],
  ['Edm.Binary', '"AA A"'],
  ['Edm.Binary', '"AAA\\n"'],
  ['Edm.Binary', '1234'],
  ['Edm.Int16', '1'],
  ['Edm.Decimal', '"1"'],
  ['Edm.DateTimeOffset', '"2024-05-01T12:34:56Z"'],
  ['edm.int32', '1'],
  ['Int32', '1'],
  ['', '1'],
  ['constructor', '1'],
] as const) {
  test(`as ${type}, ${json} is refused, and the message says where`, () => {
    const { code: found, message } = refusal(`{"Counted":${json},"Counted@odata.type":"${type}"}`);
    assert.equal(found, code);
    assert.match(message, /"Counted"/);
    assert.ok(message.includes(type === '' ? '""' : code === 'InvalidInput' ? type : '1601'), message);
  });
}

for (const [body, want] of [
  ['{}', { partitionKey: null, rowKey: null, properties: [] }],
  ['{"PartitionKey":"p"}', { partitionKey: 'p', rowKey: null, properties: [] }],
  ['{"RowKey":"","PartitionKey":""}', { partitionKey: '', rowKey: '', properties: [] }],
  ['{"PartitionKey":null,"RowKey":null}', { partitionKey: null, rowKey: null, properties: [] }],
  [
    '{"PartitionKey":"p","PartitionKey@odata.type":"Edm.String","RowKey":"\\u0072"}',
    { partitionKey: 'p', rowKey: 'r', properties: [] },
  ],
  ['{"partitionKey":"p"}', { partitionKey: null, rowKey: null, properties: [['partitionKey', string('p')]] }],
  ['\ufeff{"a":1}', { partitionKey: null, rowKey: null, properties: [['a', int32(1)]] }],
  [
    ' \t\r\n{ \n"a"\t:\r1 , "b" : 2 } \n',
    {
      properties: [
        ['a', int32(1)],
        ['b', int32(2)],
      ],
    },
  ],
  [
    '{"b":1,"a":2}',
    {
      properties: [
        ['b', int32(1)],
        ['a', int32(2)],
      ],
    },
  ],
  [
    '{"a":1,"A":2}',
    {
      properties: [
        ['a', int32(1)],
        ['A', int32(2)],
      ],
    },
  ],
  ['{"\\u0061":1}', { properties: [['a', int32(1)]] }],
  [
    '{"__proto__":1,"constructor":2}',
    {
      properties: [
        ['__proto__', int32(1)],
        ['constructor', int32(2)],
      ],
    },
  ],
  ['{"a":null}', { properties: [] }],
  ['{"a":null,"a@odata.type":"Edm.Int64"}', { properties: [] }],
  ['{"a":null,"a@odata.type":"Edm.Unheard"}', { properties: [] }],
  ['{"a@odata.type":"Edm.Int64"}', { properties: [] }],
  ['{"a@odata.type":"Edm.Unheard"}', { properties: [] }],
  ['{"Timestamp":"2024-05-01T12:34:56Z","Timestamp@odata.type":"Edm.DateTime"}', { properties: [] }],
  ['{"Timestamp":"whenever","Timestamp@odata.type":"Edm.Unheard"}', { properties: [] }],
  ['{"Timestamp":3}', { properties: [] }],
  ['{"odata.etag":"W/\\"1\\"","odata.metadata":"x","odata.type":"a.b","odata.id":1}', { properties: [] }],
  ['{"odata.etag":1,"odata.etag":2,"a@odata.note":1,"a@odata.note":2}', { properties: [] }],
  ['{"a":"1","a@odata.navigationLinkUrl":"x"}', { properties: [['a', string('1')]] }],
] as readonly (readonly [string, Partial<EntityBody>])[]) {
  test(`${JSON.stringify(body)} is taken`, () => {
    const { partitionKey, rowKey, properties } = parse(body);
    assert.deepEqual({ partitionKey, rowKey, properties }, { partitionKey: null, rowKey: null, ...want });
  });
}

for (const [body, code] of [
  ['{"PartitionKey":1}', 'InvalidInput'],
  ['{"RowKey":true}', 'InvalidInput'],
  ['{"PartitionKey":"1","PartitionKey@odata.type":"Edm.Int32"}', 'InvalidInput'],
  [`{"RowKey":"${GUID}","RowKey@odata.type":"Edm.Guid"}`, 'InvalidInput'],
  ['{"PartitionKey":"p","RowKey@odata.type":"Edm.Binary","RowKey":"AA=="}', 'InvalidInput'],
  ['{"a":1,"a":1}', 'DuplicatePropertiesSpecified'],
  ['{"a":null,"a":1}', 'DuplicatePropertiesSpecified'],
  ['{"a":1,"b":2,"\\u0061":3}', 'DuplicatePropertiesSpecified'],
  ['{"PartitionKey":"p","PartitionKey":"p"}', 'DuplicatePropertiesSpecified'],
  ['{"RowKey":null,"RowKey":"r"}', 'DuplicatePropertiesSpecified'],
  ['{"Timestamp":1,"Timestamp":2}', 'DuplicatePropertiesSpecified'],
  ['{"a@odata.type":"Edm.Int32","a":1,"a@odata.type":"Edm.Int64"}', 'DuplicatePropertiesSpecified'],
  ['{"a":{}}', 'InvalidInput'],
  ['{"a":{"b":1}}', 'InvalidInput'],
  ['{"a":[]}', 'InvalidInput'],
  ['{"a":[1]}', 'InvalidInput'],
  ['{"odata.type":{}}', 'InvalidInput'],
  ['{"a":1,"a@odata.type":1}', 'InvalidInput'],
  ['{"a":1,"a@odata.type":null}', 'InvalidInput'],
  ['', 'InvalidInput'],
  [' ', 'InvalidInput'],
  ['null', 'InvalidInput'],
  ['1', 'InvalidInput'],
  ['"a"', 'InvalidInput'],
  ['[]', 'InvalidInput'],
  ['[{"a":1}]', 'InvalidInput'],
  ['a', 'InvalidInput'],
  ['<entry/>', 'InvalidInput'],
  ['{', 'InvalidInput'],
  ['{"', 'InvalidInput'],
  ['{"a', 'InvalidInput'],
  ['{"a"', 'InvalidInput'],
  ['{"a":', 'InvalidInput'],
  ['{"a":"', 'InvalidInput'],
  ['{"a":"b', 'InvalidInput'],
  ['{"a":"b\\', 'InvalidInput'],
  ['{"a":"b\\"', 'InvalidInput'],
  ['{"a":"b"', 'InvalidInput'],
  ['{"a":1', 'InvalidInput'],
  ['{"a":1,', 'InvalidInput'],
  ['{"a":1,}', 'InvalidInput'],
  ['{,}', 'InvalidInput'],
  ['{,"a":1}', 'InvalidInput'],
  ['{"a":1,,"b":2}', 'InvalidInput'],
  ['{"a":1 "b":2}', 'InvalidInput'],
  ['{"a" 1}', 'InvalidInput'],
  ['{"a"::1}', 'InvalidInput'],
  ['{"a":}', 'InvalidInput'],
  ['{a:1}', 'InvalidInput'],
  ["{'a':1}", 'InvalidInput'],
  ['{"a":\'1\'}', 'InvalidInput'],
  ['{1:1}', 'InvalidInput'],
  ['{null:1}', 'InvalidInput'],
  ['{"a":1}}', 'InvalidInput'],
  ['{"a":1}{', 'InvalidInput'],
  ['{"a":1}\0', 'InvalidInput'],
  ['{"a":1}x', 'InvalidInput'],
  ['{"a":tru}', 'InvalidInput'],
  ['{"a":truex}', 'InvalidInput'],
  ['{"a":True}', 'InvalidInput'],
  ['{"a":nul', 'InvalidInput'],
  ['{"a":undefined}', 'InvalidInput'],
  ['{"a":NaN}', 'InvalidInput'],
  ['{"a":Infinity}', 'InvalidInput'],
  ['{"a":-Infinity}', 'InvalidInput'],
  ['{"a":+1}', 'InvalidInput'],
  ['{"a":-}', 'InvalidInput'],
  ['{"a":01}', 'InvalidInput'],
  ['{"a":.5}', 'InvalidInput'],
  ['{"a":5.}', 'InvalidInput'],
  ['{"a":1e}', 'InvalidInput'],
  ['{"a":1e+}', 'InvalidInput'],
  ['{"a":1.e3}', 'InvalidInput'],
  ['{"a":0x10}', 'InvalidInput'],
  ['{"a":1_000}', 'InvalidInput'],
  ['{"a":--1}', 'InvalidInput'],
  ['{"a":1e400}', 'InvalidInput'],
  ['{"a":"\\x"}', 'InvalidInput'],
  ['{"a":"\\u12"}', 'InvalidInput'],
  ['{"a":"\\u12g4"}', 'InvalidInput'],
  ['{"a":"\n"}', 'InvalidInput'],
  ['{"a":"\t"}', 'InvalidInput'],
  ['{"a":"\0"}', 'InvalidInput'],
  ['{"a\n":1}', 'InvalidInput'],
  ['{"\\q":1}', 'InvalidInput'],
  ['{"a":1}//', 'InvalidInput'],
  ['{/**/"a":1}', 'InvalidInput'],
  ['\ufeff\ufeff{}', 'InvalidInput'],
  ['\u00a0{}', 'InvalidInput'],
] as const) {
  test(`${JSON.stringify(body)} is refused: ${code}`, () => {
    const { code: found, message } = refusal(body);
    assert.equal(found, code);
    assert.match(message, /^[A-Z].*\.$/s);
  });
}

for (const [what, bytes] of [
  ['a byte that UTF-8 has not', [0xff]],
  ['a character cut short', [0xc3]],
  ['half a surrogate pair', [0xed, 0xa0, 0xbd]],
  ['a slash written longer than it need be', [0xc0, 0xaf]],
] as const) {
  test(`${what} is refused: the body is to be UTF-8`, () => {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
    assert.deepEqual(refusal(body), { code: 'InvalidInput', message: 'The body is not UTF-8.' });
  });
}

test('UTF-16 is refused', () => {
  assert.equal(refusal(Buffer.from('\ufeff{"a":1}', 'utf16le')).code, 'InvalidInput');
});

test('a body may be a view into a larger buffer', () => {
  const whole = Buffer.from('garbage{"a":1}garbage');
  assert.deepEqual(parseEntity(whole.subarray(7, -7)).properties, [['a', int32(1)]]);
  assert.deepEqual(parseEntity(Uint8Array.from(whole.subarray(7, -7))).properties, [['a', int32(1)]]);
});

const members = (count: number, member: (index: number) => string): string =>
  `{${Array.from({ length: count }, (_, index) => member(index)).join(',')}}`;

test('252 properties with a type each, keys, Timestamp and what OData says of an entity are all read', () => {
  const own = members(252, (index) => `"p${index}":"${index}","p${index}@odata.type":"Edm.Int64"`);
  const head = '"odata.metadata":"m","odata.type":"t","odata.id":"i","odata.etag":"e","odata.editLink":"l"';
  const system = '"PartitionKey":"p","RowKey":"r","Timestamp@odata.type":"Edm.DateTime","Timestamp":"t"';
  const { partitionKey, rowKey, properties } = parse(`{${head},${system},${own.slice(1)}`);
  assert.deepEqual([partitionKey, rowKey], ['p', 'r']);
  assert.deepEqual(
    properties,
    Array.from({ length: 252 }, (_, index) => [`p${index}`, int64(BigInt(index))]),
  );
});

test('a body of more members than any entity has is refused before the rest of it is read', () => {
  assert.equal(parse(members(756, (index) => `"p${index}":null`)).properties.length, 0);
  for (const member of ['"p":null', '"p@odata.type":""', '"odata.p":1', '"p@odata.x":1']) {
    const nth = (index: number): string => member.replace('p', `p${index}`);
    assert.equal(refusal(`${members(757, nth).slice(0, -1)},!`).code, 'TooManyProperties');
  }
});

for (const [what, body, code] of [
  ['nothing but opening braces', '{'.repeat(4 * MIB), 'InvalidInput'],
  ['objects in objects', '{"a":'.repeat(MIB * 0.8), 'InvalidInput'],
  ['one long name', `{"${'n'.repeat(4 * MIB)}":[]}`, 'InvalidInput'],
  ['names without end', `{"${'\\"'.repeat(2 * MIB)}`, 'InvalidInput'],
  ['backslashes', `{"a":"${'\\\\'.repeat(2 * MIB)}\\`, 'InvalidInput'],
  ['a number of digits and a letter', `{"a":1.${'9'.repeat(2 * MIB)}e${'9'.repeat(2 * MIB)}x}`, 'InvalidInput'],
  ['a number of digits only', `{"a":${'9'.repeat(4 * MIB)}}`, 'InvalidInput'],
  ['an Int64 of digits only', `{"a@odata.type":"Edm.Int64","a":"${'9'.repeat(4 * MIB)}"}`, 'InvalidInput'],
  ['a Double of digits and a letter', `{"a@odata.type":"Edm.Double","a":"${'9'.repeat(4 * MIB)}x"}`, 'InvalidInput'],
  ['a Double of points', `{"a@odata.type":"Edm.Double","a":"${'9.'.repeat(2 * MIB)}"}`, 'InvalidInput'],
  [
    'Base64 that goes wrong at its end',
    `{"a@odata.type":"Edm.Binary","a":"${'A'.repeat(4 * MIB - 4)}===="}`,
    'InvalidInput',
  ],
  ['space', ' '.repeat(4 * MIB), 'InvalidInput'],
  ['space behind the end', `{}${' '.repeat(4 * MIB)}x`, 'InvalidInput'],
  ['commas', `{${','.repeat(4 * MIB)}`, 'InvalidInput'],
  ['the same name again and again', `{${'"a":1,'.repeat(MIB / 2)}"b":1}`, 'DuplicatePropertiesSpecified'],
  ['ever other names', members(MIB / 4, (index) => `"p${index}":1`), 'TooManyProperties'],
] as const) {
  test(`a body of megabytes is refused in a short sentence: ${what}`, () => {
    const { code: found, message } = refusal(body);
    assert.equal(found, code);
    assert.ok(message.length < 250, message.slice(0, 250));
  });
}

test('for scalars, what JSON.parse takes is taken, and what it refuses is refused', () => {
  const scalar = fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.boolean(), fc.integer(), fc.constant(null));
  const json = fc
    .dictionary(fc.string({ unit: 'grapheme-ascii', minLength: 1 }), scalar)
    .map((object) => JSON.stringify(object));
  const mutated = fc
    .tuple(
      json,
      fc.nat(),
      fc.constantFrom('', '"', '\\', ',', ':', '{', '}', '[', '0', '-', '.', 'e', ' ', '\n', 'u'),
      fc.boolean(),
    )
    .map(([text, at, unit, replaces]) => {
      const index = at % (text.length + 1);
      const changed = `${text.slice(0, index)}${unit}${text.slice(replaces ? index + 1 : index)}`;
      // Half a character has no bytes.
      return Buffer.from(changed).toString();
    });
  fc.assert(
    fc.property(fc.oneof(json, mutated), (text) => {
      const want = parsedFlat(text);
      const found = parsedEntity(text);
      if (want === null) assert.equal(found, 'InvalidInput', shown(text));
      else if (found !== 'DuplicatePropertiesSpecified') {
        assert.deepEqual(found, want);
      }
    }),
    { ...seeded, numRuns: 2_000 },
  );
});

/** By JSON.parse: names and texts of its members without nulls; null where it is no flat object. */
function parsedFlat(text: string): Map<string, unknown> | null {
  try {
    const object = JSON.parse(text) as unknown;
    if (typeof object !== 'object' || object === null || Array.isArray(object)) return null;
    const values = Object.entries(object).filter(([name]) => !name.startsWith('odata.') && !name.includes('@odata.'));
    if (values.some(([, value]) => typeof value === 'object' && value !== null)) return null;
    if (values.some(([, value]) => typeof value === 'number' && !Number.isFinite(value))) return null;
    return new Map(values.filter(([, value]) => value !== null).map(([name, value]) => [name, plain(value)]));
  } catch {
    return null;
  }
}

function parsedEntity(text: string): Map<string, unknown> | string {
  try {
    return new Map(parse(text).properties.map(([name, { value }]) => [name, plain(value)]));
  } catch (error) {
    return (error as StorageError).code;
  }
}

const plain = (value: unknown): unknown => (typeof value === 'number' ? value + 0 : value);
