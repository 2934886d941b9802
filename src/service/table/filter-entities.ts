/**
 * A filter as a function over encoded entities. Keys are compared as they stand in the record's key; properties are found by
 * the bytes of their names, in one walk over the record that goes no further than the answer needs; values are compared
 * as they are encoded. What a filter means is said by `matchesFilter`, and this agrees with it.
 */
import type { Key } from '../../engine/engine.ts';
import type { EdmValue } from '../../rules/edm.ts';
import { type ComparisonOperator, type Filter, partsOf } from '../../rules/entity-filter.ts';
import { HOLDS, orderOfPlain } from '../../rules/entity-filter-comparison.ts';
import { encodeKeyText } from '../records/table-keys.ts';
import { encodedOrder } from './encoded-order.ts';
import { EntityUnderTest } from './entity-under-test.ts';

export type EntityPredicate = (key: Key, value: Uint8Array) => boolean;

export function compileFilter(filter: Filter): EntityPredicate {
  const entity = new EntityUnderTest(propertiesOf(filter));
  const isMatch = compile(filter, entity);
  return (key, value) => {
    entity.reset(key, value);
    return isMatch();
  };
}

function propertiesOf(filter: Filter): string[] {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return partsOf(filter).flatMap(propertiesOf);
    case 'not':
      return propertiesOf(filter.operand);
    case 'compare':
    case 'isTrue':
      return [filter.property];
    case 'constant':
      return [];
  }
}

/** Of the entity under test. */
type Test = () => boolean;

const never: Test = () => false;
const TRUE: EdmValue = { type: 'Edm.Boolean', value: true };

function compile(filter: Filter, entity: EntityUnderTest): Test {
  switch (filter.kind) {
    case 'and':
      return testAll(partsOf(filter).map((part) => compile(part, entity)));
    case 'or':
      return testAny(partsOf(filter).map((part) => compile(part, entity)));
    case 'not': {
      const operand = compile(filter.operand, entity);
      return () => !operand();
    }
    case 'compare':
      return testComparison(filter, entity);
    case 'isTrue':
      return testComparison({ property: filter.property, operator: 'eq', literal: TRUE }, entity);
    case 'constant':
      return () => filter.value;
  }
}

function testAll(parts: readonly Test[]): Test {
  return () => {
    for (const part of parts) if (!part()) return false;
    return true;
  };
}

function testAny(parts: readonly Test[]): Test {
  return () => {
    for (const part of parts) if (part()) return true;
    return false;
  };
}

interface Comparison {
  readonly property: string;
  readonly operator: ComparisonOperator;
  readonly literal: EdmValue;
}

function testComparison({ property, operator, literal }: Comparison, entity: EntityUnderTest): Test {
  switch (property) {
    case 'PartitionKey':
      return literal.type === 'Edm.String' ? testPartitionKey(operator, literal.value, entity) : never;
    case 'RowKey':
      return literal.type === 'Edm.String' ? testRowKey(operator, literal.value, entity) : never;
    case 'Timestamp':
      return literal.type === 'Edm.DateTime' ? testTimestamp(operator, literal.value, entity) : never;
    default:
      return testProperty({ property, operator, literal }, entity);
  }
}

function testPartitionKey(operator: ComparisonOperator, text: string, entity: EntityUnderTest): Test {
  const literal = encodeKeyText(text);
  const holds = HOLDS[operator];
  return () => holds(-literal.compare(entity.key, entity.partitionStart, entity.partitionEnd));
}

function testRowKey(operator: ComparisonOperator, text: string, entity: EntityUnderTest): Test {
  const literal = encodeKeyText(text);
  const holds = HOLDS[operator];
  return () => holds(-literal.compare(entity.key, entity.partitionEnd + 1));
}

function testTimestamp(operator: ComparisonOperator, ticks: bigint, entity: EntityUnderTest): Test {
  const holds = HOLDS[operator];
  return () => holds(orderOfPlain(entity.ticks, ticks));
}

function testProperty({ property, operator, literal }: Comparison, entity: EntityUnderTest): Test {
  const holds = HOLDS[operator];
  const orderOf = encodedOrder(literal, operator === 'eq' || operator === 'ne');
  const slot = entity.slotOf(property);
  return () => {
    const type = entity.find(slot);
    if (type === 0) return false;
    const order = orderOf(entity.bytes, type, entity.starts[slot] as number, entity.ends[slot] as number);
    return order !== null && holds(order);
  };
}
