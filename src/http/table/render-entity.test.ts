import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { type EdmValue, formatTicksShort, INT64_MAX, INT64_MIN, type Properties } from '../../rules/edm.ts';
import { refuseEntity, SYSTEM_PROPERTIES } from '../../rules/entity.ts';
import { encodeEntity } from '../../service/records/entity-record.ts';
import { entityKey } from '../../service/records/table-keys.ts';
import type { StoredEntity } from '../../service/table/load.ts';
import { parseEntity } from './entity-json.ts';
import { EntityFeed, type EntityFormat, renderEntity as entityOf } from './render-entity.ts';

const renderEntity = (entity: StoredEntity, shape: EntityFormat): string => entityOf(entity, shape).toString();
const SOMEWHERE = { account: 'devstoreaccount1', tableId: '0123456789abcdef01234567' };

function renderEntities(entities: readonly StoredEntity[], { table, ...shape }: EntityFormat): string {
  const feed = new EntityFeed(shape);
  feed.begin({ name: table });
  for (const { value, ...key } of entities) feed.take(entityKey(SOMEWHERE, key), value);
  return feed.whole().toString();
}

const TICKS = 638_501_636_961_234_560n;
const URL = 'http://127.0.0.1:10002/devstoreaccount1';
const TAG = String.raw`"W/\"datetime'2024-05-01T12%3A34%3A56.1234560Z'\""`;

const stored = (properties: Properties, partitionKey = 'p', rowKey = 'r'): StoredEntity => ({
  partitionKey,
  rowKey,
  value: encodeEntity({ ticks: TICKS, properties }),
});

const format = (level: EntityFormat['level'], select: readonly string[] | null = null): EntityFormat => ({
  level,
  serviceUrl: URL,
  account: 'devstoreaccount1',
  table: 'Things',
  select,
});

const GUID = 'c9da6455-213d-42c9-9a79-3e9149a57833';

for (const [value, json, named = null] of [
  [{ type: 'Edm.String', value: '' }, '""'],
  [{ type: 'Edm.String', value: 'plain' }, '"plain"'],
  [{ type: 'Edm.String', value: 'a"b\\c/d\n\u0001' }, String.raw`"a\"b\\c/d\n\u0001"`],
  [{ type: 'Edm.String', value: 'ключ 鍵 🔑' }, '"ключ 鍵 🔑"'],
  [{ type: 'Edm.Boolean', value: true }, 'true'],
  [{ type: 'Edm.Boolean', value: false }, 'false'],
  [{ type: 'Edm.Int32', value: 0 }, '0'],
  [{ type: 'Edm.Int32', value: -2_147_483_648 }, '-2147483648'],
  [{ type: 'Edm.Double', value: 1.5 }, '1.5'],
  [{ type: 'Edm.Double', value: 1 }, '1.0'],
  [{ type: 'Edm.Double', value: -20 }, '-20.0'],
  [{ type: 'Edm.Double', value: 0 }, '0.0'],
  [{ type: 'Edm.Double', value: -0 }, '0.0'],
  [{ type: 'Edm.Double', value: 1e20 }, '100000000000000000000.0'],
  [{ type: 'Edm.Double', value: 1e21 }, '1e+21'],
  [{ type: 'Edm.Double', value: 1.5e-9 }, '1.5e-9'],
  [{ type: 'Edm.Double', value: Number.MAX_VALUE }, '1.7976931348623157e+308'],
  [{ type: 'Edm.Double', value: Number.NaN }, '"NaN"', 'Edm.Double'],
  [{ type: 'Edm.Double', value: Number.POSITIVE_INFINITY }, '"Infinity"', 'Edm.Double'],
  [{ type: 'Edm.Double', value: Number.NEGATIVE_INFINITY }, '"-Infinity"', 'Edm.Double'],
  [{ type: 'Edm.Int64', value: 0n }, '"0"', 'Edm.Int64'],
  [{ type: 'Edm.Int64', value: INT64_MIN }, '"-9223372036854775808"', 'Edm.Int64'],
  [{ type: 'Edm.DateTime', value: TICKS }, '"2024-05-01T12:34:56.123456Z"', 'Edm.DateTime'],
  [{ type: 'Edm.DateTime', value: 504_911_232_000_000_000n }, '"1601-01-01T00:00:00Z"', 'Edm.DateTime'],
  [{ type: 'Edm.Guid', value: GUID }, `"${GUID}"`, 'Edm.Guid'],
  [{ type: 'Edm.Binary', value: Uint8Array.of() }, '""', 'Edm.Binary'],
  [{ type: 'Edm.Binary', value: Uint8Array.of(0, 255) }, '"AP8="', 'Edm.Binary'],
] as readonly (readonly [EdmValue, string, string?])[]) {
  const type = named === null ? '' : `"a@odata.type":"${named}",`;
  test(`the ${value.type} ${json} ${named === null ? 'names no type' : 'names its type where metadata are asked for'}`, () => {
    const entity = stored([['a', value]]);
    assert.equal(renderEntity(entity, format('none', ['a'])), `{"a":${json}}`);
    const minimal = `{"odata.metadata":"${URL}/$metadata#Things/@Element","odata.etag":${TAG},${type}"a":${json}}`;
    assert.equal(renderEntity(entity, format('minimal', ['a'])), minimal);
    assert.ok(renderEntity(entity, format('full', ['a'])).endsWith(`')",${type}"a":${json}}`));
  });
}

const customer = stored(
  [
    ['Age', { type: 'Edm.Int32', value: 23 }],
    ['Code', { type: 'Edm.Guid', value: GUID }],
    ['Due', { type: 'Edm.Double', value: 200.23 }],
  ],
  "it's 1 %",
  'é"',
);
const OWN = `"Age":23,"Code@odata.type":"Edm.Guid","Code":"${GUID}","Due":200.23`;
const KEYS = String.raw`"PartitionKey":"it's 1 %","RowKey":"é\""`;
const TIME = '"Timestamp":"2024-05-01T12:34:56.1234560Z"';
const PATH = "Things(PartitionKey='it''s%201%20%25',RowKey='%C3%A9%22')";
const FULL = `"odata.type":"devstoreaccount1.Things","odata.id":"${URL}/${PATH}","odata.etag":${TAG},"odata.editLink":"${PATH}"`;

for (const [level, metadata, members] of [
  ['none', '', `${KEYS},${TIME},${OWN.replace('"Code@odata.type":"Edm.Guid",', '')}`],
  ['minimal', `"odata.metadata":"${URL}/$metadata#Things#",`, `"odata.etag":${TAG},${KEYS},${TIME},${OWN}`],
  [
    'full',
    `"odata.metadata":"${URL}/$metadata#Things#",`,
    `${FULL},${KEYS},"Timestamp@odata.type":"Edm.DateTime",${TIME},${OWN}`,
  ],
] as const) {
  test(`an entity with ${level} metadata, alone and among others`, () => {
    const [alone, many] = [metadata.replace('#"', '/@Element"'), metadata.replace('#"', '"')];
    assert.equal(renderEntity(customer, format(level)), `{${alone}${members}}`);
    assert.equal(renderEntities([customer], format(level)), `{${many}"value":[{${members}}]}`);
    assert.equal(renderEntities([customer, customer], format(level)), `{${many}"value":[{${members}},{${members}}]}`);
    assert.equal(renderEntities([], format(level)), `{${many}"value":[]}`);
  });
}

for (const [select, want] of [
  [['Due', 'Age'], '"Due":200.23,"Age":23'],
  [['age', 'Age', 'Missing'], '"age":null,"Age":23,"Missing":null'],
  [['Due', 'RowKey', 'PartitionKey'], String.raw`"Due":200.23,"RowKey":"é\"","PartitionKey":"it's 1 %"`],
  [['Timestamp'], TIME],
  [['"\n'], String.raw`"\"\n":null`],
  [['__proto__'], '"__proto__":null'],
] as const) {
  test(`of an entity ${JSON.stringify(select)} can be asked for, in this order`, () => {
    assert.equal(renderEntity(customer, format('none', select)), `{${want}}`);
    const minimal = `{"odata.metadata":"${URL}/$metadata#Things","value":[{"odata.etag":${TAG},${want}}]}`;
    assert.equal(renderEntities([customer], format('minimal', select)), minimal);
  });
}

test('a selected Timestamp names its type with full metadata', () => {
  const text = renderEntity(customer, format('full', ['Timestamp']));
  assert.ok(text.endsWith(`${FULL},"Timestamp@odata.type":"Edm.DateTime",${TIME}}`), text);
});

const int = (value: number): EdmValue => ({ type: 'Edm.Int32', value });

test('entities with other properties, or the same in other places, do not take names from each other', () => {
  const entities = [
    stored([
      ['aa', int(1)],
      ['bb', int(2)],
    ]),
    stored([
      ['bb', int(3)],
      ['aa', int(4)],
    ]),
    stored([['ab', int(5)]]),
    stored([]),
    stored([
      ['aa', int(6)],
      ['b', int(7)],
      ['Größe', int(8)],
    ]),
    stored([
      ['aaa', int(9)],
      ['bb', int(10)],
      ['Größ', int(11)],
    ]),
  ];
  const values = (select: readonly string[] | null): object[] =>
    (JSON.parse(renderEntities(entities, format('none', select))) as { value: object[] }).value.map(withoutSystem);
  assert.deepEqual(values(null), [
    { aa: 1, bb: 2 },
    { bb: 3, aa: 4 },
    { ab: 5 },
    {},
    { aa: 6, b: 7, Größe: 8 },
    { aaa: 9, bb: 10, Größ: 11 },
  ]);
  assert.deepEqual(values(['bb', 'Größe']), [
    { bb: 2, Größe: null },
    { bb: 3, Größe: null },
    { bb: null, Größe: null },
    { bb: null, Größe: null },
    { bb: null, Größe: 8 },
    { bb: 10, Größe: null },
  ]);
});

const withoutSystem = (entity: object): object =>
  Object.fromEntries(Object.entries(entity).filter(([one]) => !SYSTEM_PROPERTIES.includes(one)));

const odd = fc.constantFrom(
  '"',
  '\\',
  '\0',
  '\n',
  '\u001f',
  '\u007f',
  '\u2028',
  '\u2029',
  '🔑',
  'é',
  "'",
  '\ufffe',
  '\ufeff',
);
const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: odd }));
const name = fc
  .oneof(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,20}$/), fc.constantFrom('Größe', 'имя', '名前', '𝒳', '__proto__'))
  .filter((one) => !SYSTEM_PROPERTIES.includes(one));
const value: fc.Arbitrary<EdmValue> = fc.oneof(
  text.map((value) => ({ type: 'Edm.String', value }) as const),
  fc.boolean().map((value) => ({ type: 'Edm.Boolean', value }) as const),
  fc.integer().map((value) => ({ type: 'Edm.Int32', value }) as const),
  fc.bigInt({ min: INT64_MIN, max: INT64_MAX }).map((value) => ({ type: 'Edm.Int64', value }) as const),
  fc.double().map((value) => ({ type: 'Edm.Double', value: value + 0 }) as const),
  fc.integer().map((value) => ({ type: 'Edm.Double', value: value * 1e6 + 0 }) as const),
  fc
    .bigInt({ min: 504_911_232_000_000_000n, max: 3_155_378_975_999_999_999n })
    .map((value) => ({ type: 'Edm.DateTime', value }) as const),
  fc.uuid().map((value) => ({ type: 'Edm.Guid', value }) as const),
  fc.uint8Array({ maxLength: 50 }).map((value) => ({ type: 'Edm.Binary', value }) as const),
);
const properties = fc.uniqueArray(fc.tuple(name, value), { selector: ([one]) => one, maxLength: 12 });
const key = fc.string({ unit: 'grapheme', maxLength: 20 }).map((one) => one.replaceAll(/[/\\#?\p{Cc}]/gu, ''));

test('what an answer says of an entity can be sent back, and means the same entity', () => {
  fc.assert(
    fc.property(key, key, properties, fc.constantFrom('minimal', 'full'), (partitionKey, rowKey, own, level) => {
      assert.equal(refuseEntity({ partitionKey, rowKey }, own), null);
      const rendered = renderEntity(stored(own, partitionKey, rowKey), format(level));
      assert.deepEqual(parseEntity(Buffer.from(rendered)), { partitionKey, rowKey, properties: own });
    }),
    { ...seeded, numRuns: 1_000 },
  );
});

test('a page of entities is JSON, with each entity as it is alone', () => {
  fc.assert(
    fc.property(fc.array(properties, { maxLength: 6 }), fc.constantFrom('none', 'minimal', 'full'), (list, level) => {
      const entities = list.map((own) => stored(own));
      const page = renderEntities(entities, format(level));
      assert.doesNotThrow(() => JSON.parse(page));
      const alone = entities.map((entity) =>
        renderEntity(entity, format(level)).replace(/"odata.metadata":"[^"]*",/, ''),
      );
      assert.ok(page.endsWith(`"value":[${alone.join(',')}]}`));
    }),
    { ...seeded, numRuns: 300 },
  );
});

test('an entity goes through every form and comes back: read, stored, written, read', () => {
  fc.assert(
    fc.property(properties, (own) => {
      const body = JSON.stringify(Object.fromEntries(own.flatMap(annotated)));
      const read = parseEntity(Buffer.from(body));
      const again = parseEntity(Buffer.from(renderEntity(stored(read.properties), format('minimal'))));
      assert.deepEqual(again.properties, read.properties);
      assert.deepEqual(read.properties, own);
    }),
    { ...seeded, numRuns: 1_000 },
  );
});

/** As the older client library writes it: a type for everything, and strings for most. */
const annotated = ([one, edm]: readonly [string, EdmValue]): (readonly [string, unknown])[] => [
  [one, asJson(edm)],
  [`${one}@odata.type`, edm.type],
];

function asJson({ type, value }: EdmValue): unknown {
  if (type === 'Edm.DateTime') return formatTicksShort(value);
  if (type === 'Edm.Binary') return Buffer.from(value).toString('base64');
  return type === 'Edm.Boolean' || type === 'Edm.Int32' ? value : String(value);
}
