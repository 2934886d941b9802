import assert from 'node:assert/strict';
import test from 'node:test';
import {
  parseSequenceAction,
  parseSequenceNumber,
  refuseSequence,
  resolveSequenceAction,
  SEQUENCE_NUMBER_MAX,
} from './sequence-number.ts';

const MAX = SEQUENCE_NUMBER_MAX;

for (const [text, want] of [
  ['0', 0n],
  ['007', 7n],
  ['9007199254740993', 9_007_199_254_740_993n],
  ['9223372036854775807', MAX],
  ['9223372036854775808', null],
  ['9'.repeat(30), null],
  ['-1', null],
  ['1.0', null],
  ['0x1', null],
  [' 1', null],
  ['', null],
] as const) {
  test(`the sequence number '${text}' is ${want}`, () => assert.equal(parseSequenceNumber(text), want));
}

const none = { le: null, lt: null, eq: null };
const notMet = 'SequenceNumberConditionNotMet';

for (const [what, conditions, want] of [
  ['no condition', none, null],
  ['≤ 6', { ...none, le: 6n }, notMet],
  ['≤ 7', { ...none, le: 7n }, null],
  ['< 7', { ...none, lt: 7n }, notMet],
  ['< 8', { ...none, lt: 8n }, null],
  ['= 6', { ...none, eq: 6n }, notMet],
  ['= 7', { ...none, eq: 7n }, null],
  ['≤ 7, < 8 and = 7', { le: 7n, lt: 8n, eq: 7n }, null],
  ['≤ 6, < 8 and = 7', { le: 6n, lt: 8n, eq: 7n }, notMet],
  ['≤ 7, < 7 and = 7', { le: 7n, lt: 7n, eq: 7n }, notMet],
  ['≤ 7, < 8 and = 8', { le: 7n, lt: 8n, eq: 8n }, notMet],
] as const) {
  test(`a write under ${what} to a blob at 7 gets ${want ?? 'through'}`, () =>
    assert.equal(refuseSequence(7n, conditions), want));
}

for (const [action, current, given, want] of [
  ['max', 7n, 3n, 7n],
  ['max', 7n, 9n, 9n],
  ['max', 7n, 7n, 7n],
  ['max', 7n, null, 'MissingRequiredHeader'],
  ['update', 7n, 3n, 3n],
  ['update', 7n, 0n, 0n],
  ['update', 7n, MAX, MAX],
  ['update', 7n, null, 'MissingRequiredHeader'],
  ['increment', 7n, null, 8n],
  ['increment', MAX - 1n, null, MAX],
  ['increment', MAX, null, 'SequenceNumberIncrementTooLarge'],
  ['increment', MAX, 1n, 'InvalidHeaderValue'],
] as const) {
  test(`the action ${action} with ${given} on ${current} gives ${want}`, () =>
    assert.deepEqual(
      resolveSequenceAction(current, action, given),
      typeof want === 'string' ? { refusal: want } : { sequenceNumber: want },
    ));
}

for (const [text, want] of [
  ['max', 'max'],
  ['Update', 'update'],
  ['INCREMENT', 'increment'],
  ['decrement', null],
] as const) {
  test(`the sequence number action '${text}' is ${want}`, () => assert.equal(parseSequenceAction(text), want));
}
