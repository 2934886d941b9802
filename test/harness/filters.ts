/**
 * Random filters and entities for the Table service: few names and few values, so that they often meet, with those among
 * them that are easily compared wrongly. And a filter as text.
 */
import * as fc from 'fast-check';
import { type EdmValue, type EntityKey, formatTicks, type Properties } from '../../src/rules/edm.ts';
import type { ComparisonOperator, Filter } from '../../src/rules/entity-filter.ts';

const NAMES = ['A', 'B', 'ab', 'Ä', '_', 'PartitionKey2', 'mod'];

const operator: fc.Arbitrary<ComparisonOperator> = fc.constantFrom('eq', 'ne', 'gt', 'ge', 'lt', 'le');

// UTF-8 and UTF-16 sort the last three differently.
const pieces = ['a', 'b', "'", ' ', 'é', '\ud7ff', '\ue000', '\uffff', '\u{1f5ff}'];

const textOf = (units: readonly string[]): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...units), { maxLength: 3 }).map((parts) => parts.join(''));

const text = textOf(pieces);

const ticks = fc.oneof(
  fc.constantFrom(504_911_232_000_000_000n, 638_000_000_000_000_000n, 638_000_000_000_000_001n),
  fc.bigInt({ min: 504_911_232_000_000_000n, max: 3_155_378_975_999_999_999n }),
);

const GUIDS = [
  '00000000-0000-0000-0000-000000000000',
  'c9da6455-213d-42c9-9a79-3e9149a57833',
  'c9da6455-213d-42c9-9a79-3e9149a57834',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
];

const valueWith = (string: fc.Arbitrary<string>): fc.Arbitrary<EdmValue> =>
  fc.oneof(
    string.map((value): EdmValue => ({ type: 'Edm.String', value })),
    fc.boolean().map((value): EdmValue => ({ type: 'Edm.Boolean', value })),
    fc.constantFrom(-1, 0, 1, 2 ** 31 - 1, -(2 ** 31)).map((value): EdmValue => ({ type: 'Edm.Int32', value })),
    fc
      .constantFrom(-1n, 0n, 1n, 2n ** 31n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n))
      .map((value): EdmValue => ({ type: 'Edm.Int64', value })),
    fc
      .constantFrom(-1, -0, 0, 0.5, 1, 2 ** 53, 2 ** 63, 5e-324, 1.7e308, Number.NaN, Infinity, -Infinity)
      .map((value): EdmValue => ({ type: 'Edm.Double', value })),
    ticks.map((value): EdmValue => ({ type: 'Edm.DateTime', value })),
    fc.constantFrom(...GUIDS).map((value): EdmValue => ({ type: 'Edm.Guid', value })),
    fc.uint8Array({ maxLength: 2 }).map((value): EdmValue => ({ type: 'Edm.Binary', value })),
  );

/** What an entity can have. */
export const value: fc.Arbitrary<EdmValue> = valueWith(text);
/** What a filter can have: also halves of characters. */
const literal: fc.Arbitrary<EdmValue> = valueWith(fc.oneof(text, textOf([...pieces, '\ud83d', '\ude00', '\udfff'])));

export const key: fc.Arbitrary<EntityKey> = fc.record({ partitionKey: text, rowKey: text });

export interface ExampleEntity {
  readonly key: EntityKey;
  readonly ticks: bigint;
  readonly properties: Properties;
}

export const entity: fc.Arbitrary<ExampleEntity> = fc.record({
  key,
  ticks,
  properties: fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), value), { selector: ([name]) => name }),
});

/** As a filter asks for them. */
export const propertyOf =
  ({ key, ticks, properties }: ExampleEntity) =>
  (name: string): EdmValue | null => {
    if (name === 'PartitionKey') return { type: 'Edm.String', value: key.partitionKey };
    if (name === 'RowKey') return { type: 'Edm.String', value: key.rowKey };
    if (name === 'Timestamp') return { type: 'Edm.DateTime', value: ticks };
    return properties.find(([own]) => own === name)?.[1] ?? null;
  };

const compare = (
  property: fc.Arbitrary<string>,
  operator: fc.Arbitrary<ComparisonOperator>,
  literal: fc.Arbitrary<EdmValue>,
): fc.Arbitrary<Filter> =>
  fc
    .tuple(property, operator, literal)
    .map(([property, operator, literal]): Filter => ({ kind: 'compare', property, operator, literal }));

/** Comparisons of the two keys with texts: some that a key can be, some that are longer or hold a NUL. */
export const keyComparison = (operators: fc.Arbitrary<ComparisonOperator> = operator): fc.Arbitrary<Filter> =>
  compare(
    fc.constantFrom('PartitionKey', 'RowKey'),
    operators,
    fc
      .oneof(
        { weight: 8, arbitrary: text },
        { weight: 2, arbitrary: textOf([...pieces, '\0', '\ud83d']) },
        { weight: 1, arbitrary: fc.constantFrom('b'.repeat(512), 'b'.repeat(513), `${'b'.repeat(511)}\u{1f5ff}`) },
      )
      .map((value): EdmValue => ({ type: 'Edm.String', value })),
  );

const names = fc.constantFrom(...NAMES, 'PartitionKey', 'RowKey', 'Timestamp');

export const leaf: fc.Arbitrary<Filter> = fc.oneof(
  { weight: 6, arbitrary: compare(names, operator, literal) },
  { weight: 4, arbitrary: keyComparison() },
  { weight: 1, arbitrary: names.map((property): Filter => ({ kind: 'isTrue', property })) },
  { weight: 1, arbitrary: fc.boolean().map((value): Filter => ({ kind: 'constant', value })) },
);

export const filterOf = (leaf: fc.Arbitrary<Filter>): fc.Arbitrary<Filter> =>
  fc.letrec<{ filter: Filter }>((tie) => ({
    filter: fc.oneof(
      { maxDepth: 5 },
      { weight: 2, arbitrary: leaf },
      {
        weight: 4,
        arbitrary: fc
          .tuple(fc.constantFrom('and' as const, 'or' as const), tie('filter'), tie('filter'))
          .map(([kind, left, right]): Filter => ({ kind, left, right })),
      },
      { weight: 1, arbitrary: tie('filter').map((operand): Filter => ({ kind: 'not', operand })) },
    ),
  })).filter;

export const filter: fc.Arbitrary<Filter> = filterOf(leaf);

/** With all parentheses. */
export function renderFilter(filter: Filter): string {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return `(${renderFilter(filter.left)}) ${filter.kind} (${renderFilter(filter.right)})`;
    case 'not':
      return `not (${renderFilter(filter.operand)})`;
    case 'compare':
      return `${filter.property} ${filter.operator} ${renderLiteral(filter.literal)}`;
    case 'isTrue':
      return filter.property;
    case 'constant':
      return String(filter.value);
  }
}

export function renderLiteral(literal: EdmValue): string {
  switch (literal.type) {
    case 'Edm.String':
      return `'${literal.value.replaceAll("'", "''")}'`;
    case 'Edm.Boolean':
    case 'Edm.Int32':
      return String(literal.value);
    case 'Edm.Int64':
      return `${literal.value}L`;
    case 'Edm.Double':
      return renderDouble(literal.value);
    case 'Edm.DateTime':
      return `datetime'${formatTicks(literal.value)}'`;
    case 'Edm.Guid':
      return `guid'${literal.value}'`;
    case 'Edm.Binary':
      return `X'${Buffer.from(literal.value).toString('hex')}'`;
  }
}

function renderDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'INF' : '-INF';
  return `${Object.is(value, -0) ? '-0' : value}d`;
}
