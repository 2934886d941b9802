/** Random filters, each with its meaning in plain words of JavaScript, which knows nothing of how a filter is judged. */
import type { EdmType, EdmValue } from '../../src/rules/edm.ts';
import type { ComparisonOperator, Filter } from '../../src/rules/entity-filter.ts';
import type { Random } from '../harness/random.ts';
import { type ModelEntity, toldValue } from './table-model.ts';
import { PARTITIONS, ROWS, someKey, someValue, TYPE_OF } from './table-values.ts';

export interface ModelFilter {
  readonly filter: Filter;
  /** For reports. */
  readonly text: string;
  readonly isMatch: (entity: ModelEntity) => boolean;
}

const OPERATORS: readonly ComparisonOperator[] = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'];
const DEPTH_MAX = 3;

/** Null: none. */
export function someFilter(random: Random): ModelFilter | null {
  const dice = random.next();
  if (dice < 0.35) return null;
  return dice < 0.6 ? onBothKeys(random) : node(random, random.below(DEPTH_MAX + 1));
}

/** As most queries are: within a partition, or for one entity. */
function onBothKeys(random: Random): ModelFilter {
  const { partitionKey, rowKey } = someKey(random);
  const operator = random.chance(0.5) ? 'eq' : random.pick(OPERATORS);
  return both(
    'and',
    comparison('PartitionKey', random.chance(0.7) ? 'eq' : operator, { type: 'Edm.String', value: partitionKey }),
    comparison('RowKey', operator, { type: 'Edm.String', value: rowKey }),
  );
}

function node(random: Random, depth: number): ModelFilter {
  if (depth === 0) return leaf(random);
  if (random.chance(0.2)) {
    const { filter, text, isMatch } = node(random, depth - 1);
    const negated: Filter = { kind: 'not', operand: filter };
    return { filter: negated, text: `not (${text})`, isMatch: (entity) => !isMatch(entity) };
  }
  return both(random.chance(0.6) ? 'and' : 'or', node(random, depth - 1), node(random, depth - 1));
}

function both(kind: 'and' | 'or', left: ModelFilter, right: ModelFilter): ModelFilter {
  return {
    filter: { kind, left: left.filter, right: right.filter },
    text: `(${left.text} ${kind} ${right.text})`,
    isMatch: (entity) =>
      kind === 'and' ? left.isMatch(entity) && right.isMatch(entity) : left.isMatch(entity) || right.isMatch(entity),
  };
}

function leaf(random: Random): ModelFilter {
  const dice = random.next();
  if (dice < 0.3) return onKey(random, 'PartitionKey', PARTITIONS);
  if (dice < 0.55) return onKey(random, 'RowKey', ROWS);
  if (dice < 0.6) return isTrue(random.pick(['flag', 'count']));
  const property = random.pick([...TYPE_OF.keys()]);
  const isOther = random.chance(0.15);
  const type = isOther ? random.pick([...TYPE_OF.values()]) : (TYPE_OF.get(property) as EdmType);
  return comparison(property, random.pick(operatorsOf(type)), someValue(random, type));
}

const onKey = (random: Random, property: 'PartitionKey' | 'RowKey', values: readonly string[]): ModelFilter =>
  comparison(property, random.pick(OPERATORS), { type: 'Edm.String', value: random.pick(values) });

/** In which order Booleans, GUIDs and bytes stand is nobody's promise. */
const operatorsOf = (type: EdmType): readonly ComparisonOperator[] =>
  type === 'Edm.Boolean' || type === 'Edm.Guid' || type === 'Edm.Binary' ? ['eq', 'ne'] : OPERATORS;

const isTrue = (property: string): ModelFilter => ({
  filter: { kind: 'isTrue', property },
  text: property,
  isMatch: (entity) => {
    const found = valueOf(entity, property);
    return found?.type === 'Edm.Boolean' && found.value;
  },
});

function comparison(property: string, operator: ComparisonOperator, literal: EdmValue): ModelFilter {
  return {
    filter: { kind: 'compare', property, operator, literal },
    text: `${property} ${operator} ${toldValue(literal)}`,
    isMatch: (entity) => {
      const found = valueOf(entity, property);
      if (found === null || !areComparable(found.type, literal.type)) return false;
      const [a, b] = [plain(found), plain(literal)];
      return {
        eq: a === b,
        ne: a !== b,
        gt: a > b,
        ge: a >= b,
        lt: a < b,
        le: a <= b,
      }[operator];
    },
  };
}

const NUMBERS: ReadonlySet<EdmType> = new Set(['Edm.Int32', 'Edm.Int64', 'Edm.Double']);

const areComparable = (a: EdmType, b: EdmType): boolean => a === b || (NUMBERS.has(a) && NUMBERS.has(b));

/** Numbers of all kinds compare as they are; what else is compared has the same type on both sides. */
function plain({ value }: EdmValue): string | number | bigint | boolean {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return typeof value === 'bigint' && BigInt(Number(value)) === value ? Number(value) : value;
}

function valueOf(entity: ModelEntity, property: string): EdmValue | null {
  if (property === 'PartitionKey') return { type: 'Edm.String', value: entity.partitionKey };
  if (property === 'RowKey') return { type: 'Edm.String', value: entity.rowKey };
  if (property === 'Timestamp') return { type: 'Edm.DateTime', value: entity.ticks };
  return entity.properties.get(property) ?? null;
}
