import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import { parseQuery } from '../request-target.ts';
import { parseGet, parsePeek, parsePut, parseUpdate } from './message-parameters.ts';

const NEW = '2024-11-04';
const WEEK = 604_800;

/** What was read, or the code of the refusal with the limits that it tells. */
function outcome(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    assert.ok(error instanceof StorageError);
    const { MinimumAllowed, MaximumAllowed } = error.details.elements ?? {};
    return MinimumAllowed === undefined ? error.code : `${error.code} ${MinimumAllowed}…${MaximumAllowed}`;
  }
}

describe('of Put Message', () => {
  for (const [query, version, want] of [
    ['', NEW, { hiddenSeconds: 0, ttlSeconds: WEEK }],
    ['visibilitytimeout=0&messagettl=1', NEW, { hiddenSeconds: 0, ttlSeconds: 1 }],
    ['VisibilityTimeout=30&MessageTtl=31', NEW, { hiddenSeconds: 30, ttlSeconds: 31 }],
    ['visibilitytimeout=604799', NEW, { hiddenSeconds: WEEK - 1, ttlSeconds: WEEK }],
    ['visibilitytimeout=604800&messagettl=-1', NEW, { hiddenSeconds: WEEK, ttlSeconds: null }],
    ['messagettl=-1', '2017-07-29', { hiddenSeconds: 0, ttlSeconds: null }],
    ['messagettl=2147483647', '2017-07-29', { hiddenSeconds: 0, ttlSeconds: 2 ** 31 - 1 }],
    ['messagettl=604800', '2017-04-17', { hiddenSeconds: 0, ttlSeconds: WEEK }],

    ['visibilitytimeout=x&messagettl=0', NEW, 'InvalidQueryParameterValue'],
    ['visibilitytimeout=-1&messagettl=0', NEW, 'OutOfRangeQueryParameterValue 0…604800'],
    ['visibilitytimeout=604801&messagettl=-1', NEW, 'OutOfRangeQueryParameterValue 0…604800'],
    ['visibilitytimeout=9999999999', NEW, 'OutOfRangeQueryParameterValue 0…604800'],
    ['messagettl=0', NEW, 'InvalidQueryParameterValue'],
    ['messagettl=-2', NEW, 'InvalidQueryParameterValue'],
    ['messagettl=2147483648', NEW, 'OutOfRangeQueryParameterValue 1…2147483647'],
    ['messagettl=-1', '2017-04-17', 'InvalidQueryParameterValue'],
    ['messagettl=604801', '2017-04-17', 'OutOfRangeQueryParameterValue 1…604800'],
    ['visibilitytimeout=604800', NEW, 'InvalidQueryParameterValue'],
    ['visibilitytimeout=5&messagettl=5', NEW, 'InvalidQueryParameterValue'],
    ['visibilitytimeout=6&messagettl=5', NEW, 'InvalidQueryParameterValue'],
  ] as const) {
    test(`"${query}" in ${version} is ${JSON.stringify(want)}`, () => {
      assert.deepEqual(
        outcome(() => parsePut(parseQuery(query), version)),
        want,
      );
    });
  }
});

describe('of Get Messages', () => {
  for (const [query, version, want] of [
    ['', NEW, { count: 1, hiddenSeconds: 30 }],
    ['numofmessages=32&visibilitytimeout=1', NEW, { count: 32, hiddenSeconds: 1 }],
    ['visibilitytimeout=604800', '2011-08-18', { count: 1, hiddenSeconds: WEEK }],
    ['visibilitytimeout=7200', '2009-09-19', { count: 1, hiddenSeconds: 7200 }],

    ['visibilitytimeout=0', NEW, 'OutOfRangeQueryParameterValue 1…604800'],
    ['visibilitytimeout=604801', NEW, 'OutOfRangeQueryParameterValue 1…604800'],
    ['visibilitytimeout=7201', '2009-09-19', 'OutOfRangeQueryParameterValue 1…7200'],
    ['numofmessages=0', NEW, 'OutOfRangeQueryParameterValue 1…32'],
    ['numofmessages=33', NEW, 'OutOfRangeQueryParameterValue 1…32'],
  ] as const) {
    test(`"${query}" in ${version} is ${JSON.stringify(want)}`, () => {
      assert.deepEqual(
        outcome(() => parseGet(parseQuery(query), version)),
        want,
      );
    });
  }
});

describe('of Peek Messages', () => {
  for (const [query, want] of [
    ['', 1],
    ['numofmessages=32', 32],
    ['numofmessages=2&visibilitytimeout=wrong', 2],
    ['numofmessages=0', 'OutOfRangeQueryParameterValue 1…32'],
    ['numofmessages=33', 'OutOfRangeQueryParameterValue 1…32'],
  ] as const) {
    test(`"${query}" is ${want}`, () =>
      assert.equal(
        outcome(() => parsePeek(parseQuery(query))),
        want,
      ));
  }
});

describe('of Update Message', () => {
  for (const [query, want] of [
    ['visibilitytimeout=0', 0],
    ['visibilitytimeout=604800', WEEK],
    ['', 'MissingRequiredQueryParameter'],
    ['visibilitytimeout=-1', 'OutOfRangeQueryParameterValue 0…604800'],
    ['visibilitytimeout=604801', 'OutOfRangeQueryParameterValue 0…604800'],
  ] as const) {
    test(`"${query}" is ${want}`, () =>
      assert.equal(
        outcome(() => parseUpdate(parseQuery(query))),
        want,
      ));
  }
});

describe('no number is', () => {
  for (const text of ['', ' 1', '1.0', '1e2', '0x1', '%2B1', '--1', 'one', '12345678901']) {
    test(`"${text}"`, () => {
      const query = parseQuery(`numofmessages=${text}&messagettl=${text}&visibilitytimeout=${text}`);
      for (const parse of [parsePut, parseGet, parsePeek, parseUpdate]) {
        assert.equal(
          outcome(() => parse(query, NEW)),
          'InvalidQueryParameterValue',
        );
      }
      assert.equal(
        outcome(() => parsePut(parseQuery(`messagettl=${text}`), NEW)),
        'InvalidQueryParameterValue',
      );
    });
  }
});

test('a refusal names the parameter and its value', () => {
  assert.throws(
    () => parsePeek(parseQuery('NumOfMessages=33')),
    (error) => {
      assert.ok(error instanceof StorageError);
      assert.deepEqual(error.details.elements, {
        QueryParameterName: 'numofmessages',
        QueryParameterValue: '33',
        MinimumAllowed: '1',
        MaximumAllowed: '32',
      });
      return true;
    },
  );
});
