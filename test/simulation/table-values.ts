/** What the entities of the simulation are made of: few keys and few values, so that they meet. */
import type { EdmType, EdmValue, EntityKey } from '../../src/rules/edm.ts';
import type { EntityScope } from '../../src/rules/entity-scope.ts';
import type { Random } from '../harness/random.ts';

/** Two of them differ in case alone. */
export const TABLES = ['Alpha', 'alpha', 'beta', 'betaX'];
/** In the order of UTF-16 the last but one stands before the last, in that of UTF-8 behind it. */
export const PARTITIONS = ['', 'a', 'a b', 'ab', "it's", 'ü', '\u{1f600}', '\ufffd'];
export const ROWS = ['', '0', '0 ', '00', '05', '1', '9 9', 'z', '\u{1f600}!', '\uff5e'];

/** The properties that entities have, with the type that each has nearly always. */
export const TYPE_OF: ReadonlyMap<string, EdmType> = new Map([
  ['text', 'Edm.String'],
  ['flag', 'Edm.Boolean'],
  ['count', 'Edm.Int32'],
  ['large', 'Edm.Int64'],
  ['part', 'Edm.Double'],
  ['since', 'Edm.DateTime'],
  ['guid', 'Edm.Guid'],
  ['bytes', 'Edm.Binary'],
]);

const YEAR_2024_TICKS = 638_396_640_000_000_000n;
const MANY_COUNT = 130;
const LARGE_CHARACTERS = 30_000;

export function someValue(random: Random, type: EdmType): EdmValue {
  switch (type) {
    case 'Edm.String':
      return { type, value: random.pick(['', 'a', 'ab', 'b', 'ü', '\u{1f600}', '\uffee', 'a'.repeat(40)]) };
    case 'Edm.Boolean':
      return { type, value: random.chance(0.5) };
    case 'Edm.Int32':
      return { type, value: random.pick([-(2 ** 31), -1, 0, 1, 2, 2 ** 31 - 1]) };
    case 'Edm.Int64':
      return { type, value: random.pick([-(2n ** 63n), -1n, 0n, 2n, 2n ** 53n + 1n, 2n ** 63n - 1n]) };
    case 'Edm.Double':
      return { type, value: random.pick([-1.5, 0, 1, 2.5, 1e300, Number.NaN, Number.POSITIVE_INFINITY]) };
    case 'Edm.DateTime':
      return { type, value: YEAR_2024_TICKS + BigInt(random.below(3)) };
    case 'Edm.Guid':
      return { type, value: `c9da6455-213d-42c9-9a79-3e9149a5783${random.below(3)}` };
    case 'Edm.Binary':
      return { type, value: Uint8Array.from(random.bytes(random.below(3))) };
  }
}

export function someProperties(random: Random): Map<string, EdmValue> {
  const properties = new Map<string, EdmValue>();
  for (const [name, type] of TYPE_OF) {
    if (random.chance(0.6)) continue;
    const isOther = random.chance(0.05);
    properties.set(name, someValue(random, isOther ? random.pick([...TYPE_OF.values()]) : type));
  }
  return properties;
}

export const largeText = (random: Random): EdmValue => ({
  type: 'Edm.String',
  value: random.pick(['a', 'b']).repeat(LARGE_CHARACTERS),
});

/** So many that an entity has no room for two such sets. */
export function manyProperties(random: Random): Map<string, EdmValue> {
  const set = random.pick(['x', 'y']);
  return new Map(
    Array.from({ length: MANY_COUNT }, (_, index) => [`${set}${index}`, { type: 'Edm.Int32', value: index }]),
  );
}

/** A few are met much more often than the others. */
export function someKey(random: Random): EntityKey {
  if (random.chance(0.5)) return { partitionKey: 'a', rowKey: random.pick(['0', '1']) };
  return { partitionKey: random.pick(PARTITIONS), rowKey: random.pick(ROWS) };
}

export function someScope(random: Random, table: string): EntityScope | null {
  if (random.chance(0.7)) return null;
  return {
    table: table.toLowerCase(),
    from: random.chance(0.5) ? null : someKey(random),
    to: random.chance(0.3)
      ? null
      : { partitionKey: random.pick(PARTITIONS), rowKey: random.chance(0.3) ? null : random.pick(ROWS) },
  };
}
