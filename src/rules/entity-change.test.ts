import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type EdmValue, type Properties, parseTicks } from './edm.ts';
import {
  changedProperties,
  type EntityChange,
  entityTag,
  type IfMatch,
  parseIfMatch,
  refuseEntityChange,
} from './entity-change.ts';
import type { ErrorCode } from './error-code.ts';

const NOW = parseTicks('2024-05-01T12:34:56.1234567Z') as bigint;
const CURRENT = `W/"datetime'2024-05-01T12%3A34%3A56.1234567Z'"`;

const tagged = (tag: string): IfMatch => ({ kind: 'tag', tag });

const number = (value: number): EdmValue => ({ type: 'Edm.Int32', value });

test('the tag of an entity is the time of its last write, with seven digits and encoded colons', () => {
  assert.equal(entityTag(NOW), CURRENT);
  assert.equal(
    entityTag(parseTicks('2024-05-01T12:34:56Z') as bigint),
    `W/"datetime'2024-05-01T12%3A34%3A56.0000000Z'"`,
  );
});

describe('a change', () => {
  const insert: EntityChange = { kind: 'insert', properties: [] };
  for (const [what, currentTicks, want] of [
    ['absent', null, null],
    ['present', NOW, 'EntityAlreadyExists'],
  ] as const) {
    test(`an insert of an entity that is ${what} gets ${want}`, () =>
      assert.equal(refuseEntityChange(insert, currentTicks), want));
  }

  const conditions: readonly (readonly [
    what: string,
    ifMatch: IfMatch | null,
    absent: ErrorCode | null,
    present: ErrorCode | null,
  ])[] = [
    ['without If-Match', null, null, null],
    ['of any tag', { kind: 'any' }, 'ResourceNotFound', null],
    ['of the current tag', tagged(CURRENT), 'ResourceNotFound', null],
    ['of the current tag in lower case', tagged(CURRENT.replaceAll('%3A', '%3a')), 'ResourceNotFound', null],
    ['of half of it in lower case', tagged(CURRENT.replace('%3A', '%3a')), 'ResourceNotFound', null],
    ['of an earlier tag', tagged(entityTag(NOW - 1n)), 'ResourceNotFound', 'UpdateConditionNotSatisfied'],
    ['of a later tag', tagged(entityTag(NOW + 1n)), 'ResourceNotFound', 'UpdateConditionNotSatisfied'],
    ['of a tag of another kind', tagged('W/"0x8D101F7E4B662C4"'), 'ResourceNotFound', 'UpdateConditionNotSatisfied'],
    ['of an empty tag', tagged('W/""'), 'ResourceNotFound', 'UpdateConditionNotSatisfied'],
  ];
  for (const kind of ['replace', 'merge', 'delete'] as const) {
    for (const [what, ifMatch, absent, present] of conditions) {
      if (kind === 'delete' && ifMatch === null) continue;
      test(`a ${kind} ${what} gets ${absent} where there is none, else ${present}`, () => {
        const change = { kind, ifMatch, properties: [] } as EntityChange;
        assert.equal(refuseEntityChange(change, null), absent);
        assert.equal(refuseEntityChange(change, NOW), present);
      });
    }
  }
});

describe('If-Match', () => {
  for (const [text, want] of [
    ['*', { kind: 'any' }],
    [' * ', { kind: 'any' }],
    [CURRENT, tagged(CURRENT)],
    [` ${CURRENT}\t`, tagged(CURRENT)],
    ['W/"0x8D101F7E4B662C4"', tagged('W/"0x8D101F7E4B662C4"')],
    ['W/""', tagged('W/""')],
    ['W/"a,b"', tagged('W/"a,b"')],
    ['', null],
    ['**', null],
    ['"0x8D101F7E4B662C4"', null],
    ['0x8D101F7E4B662C4', null],
    ['w/"a"', null],
    ['W/ "a"', null],
    ['W/"a', null],
    ['W/"a"b"', null],
    ['W/"a", W/"b"', null],
    [`${CURRENT},*`, null],
  ] as const) {
    test(`${JSON.stringify(text)} says ${JSON.stringify(want)}`, () => assert.deepEqual(parseIfMatch(text), want));
  }
});

describe('the properties after', () => {
  const before: Properties = [
    ['a', number(1)],
    ['b', number(2)],
    ['c', number(3)],
  ];
  const given: Properties = [
    ['d', number(4)],
    ['b', { type: 'Edm.String', value: 'two' }],
    ['B', number(5)],
  ];

  for (const kind of ['insert', 'replace', 'merge'] as const) {
    test(`a${kind === 'insert' ? 'n' : ''} ${kind} where there was nothing are those given`, () => {
      const change = { kind, ifMatch: null, properties: given } as EntityChange & { properties: Properties };
      assert.deepEqual(changedProperties(change, null), given);
    });
  }

  test('a replace are those given', () => {
    assert.deepEqual(changedProperties({ kind: 'replace', ifMatch: null, properties: given }, before), given);
    assert.deepEqual(changedProperties({ kind: 'replace', ifMatch: null, properties: [] }, before), []);
  });

  test('a merge are those before in their places, of which some have a new value, and then the new ones', () => {
    assert.deepEqual(changedProperties({ kind: 'merge', ifMatch: null, properties: given }, before), [
      ['a', number(1)],
      ['b', { type: 'Edm.String', value: 'two' }],
      ['c', number(3)],
      ['d', number(4)],
      ['B', number(5)],
    ]);
    assert.deepEqual(changedProperties({ kind: 'merge', ifMatch: null, properties: [] }, before), before);
    assert.deepEqual(changedProperties({ kind: 'merge', ifMatch: null, properties: given }, []), given);
  });

  test('a merge are judged by names that are no part of objects', () => {
    const odd: Properties = [
      ['constructor', number(1)],
      ['__proto__', number(2)],
    ];
    assert.deepEqual(changedProperties({ kind: 'merge', ifMatch: null, properties: odd }, []), odd);
    assert.deepEqual(changedProperties({ kind: 'merge', ifMatch: null, properties: [] }, odd), odd);
  });
});
