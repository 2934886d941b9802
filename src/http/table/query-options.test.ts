import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import { parseQuery } from '../request-target.ts';
import { parseFilterOption, parseSelect, parseTop, refuseOtherOptions } from './query-options.ts';

const asked = (query: string) => ({
  target: {
    rawPath: '/acme/people',
    account: 'acme',
    secondary: false,
    hostStyle: false,
    resourcePath: 'people',
    query: parseQuery(query),
  },
});

const isRefused = (code: string) => (error: unknown) => error instanceof StorageError && error.code === code;

const names = (count: number): string => Array.from({ length: count }, (_, index) => `p${index}`).join(',');

describe('$top', () => {
  for (const [query, want] of [
    ['', 1_000],
    ['$top=', 1_000],
    ['$top=1', 1],
    ['$top=1000', 1_000],
    ['%24top=7', 7],
    ['$TOP=7', 7],
    ['$top=007', 7],
  ] as const) {
    test(`'${query}' lets a page have ${want}`, () => assert.equal(parseTop(asked(query)), want));
  }

  for (const top of ['0', '1001', '-1', '1.5', '1e2', 'ten', '%201', '0x10', '99999999999999999999']) {
    test(`${top} is refused`, () => assert.throws(() => parseTop(asked(`$top=${top}`)), isRefused('InvalidInput')));
  }
});

describe('$select', () => {
  for (const [query, want] of [
    ['', null],
    ['$select=', null],
    ['$select=%20', null],
    ['$select=*', null],
    ['$select=a,*', null],
    ['$select=a', ['a']],
    ['$select=b,a', ['b', 'a']],
    ['$select=b%2C%20a%20', ['b', 'a']],
    ['$select=a,a,b', ['a', 'b']],
    ['$select=a,A', ['a', 'A']],
    ['$select=PartitionKey,RowKey,Timestamp', ['PartitionKey', 'RowKey', 'Timestamp']],
  ] as const) {
    test(`'${query}' asks for ${want?.join(' and ') ?? 'all'}`, () =>
      assert.deepEqual(parseSelect(asked(query)), want));
  }

  test('may name 255 properties', () => assert.equal(parseSelect(asked(`$select=${names(255)}`))?.length, 255));

  for (const [what, list] of [
    ['an empty name', 'a,,b'],
    ['a comma behind', 'a,'],
    ['256 names', names(256)],
  ] as const) {
    test(`with ${what} is refused`, () =>
      assert.throws(() => parseSelect(asked(`$select=${list}`)), isRefused('InvalidQueryParameterValue')));
  }
});

describe('$filter', () => {
  test('that is empty leaves everything', () => {
    for (const query of ['', '$filter=', '$filter=%20']) assert.equal(parseFilterOption(asked(query)), null);
  });

  test('is read', () => {
    const filter = { kind: 'compare', property: 'a', operator: 'eq', literal: { type: 'Edm.String', value: 'b c' } };
    assert.deepEqual(parseFilterOption(asked("$filter=a%20eq%20'b+c'")), filter);
  });

  for (const [filter, code] of [
    ['a eq', 'InvalidInput'],
    ["startswith(a,'b')", 'NotImplemented'],
  ] as const) {
    test(`${filter} is refused as ${code}, in words`, () => {
      const query = `$filter=${encodeURIComponent(filter)}`;
      assert.throws(
        () => parseFilterOption(asked(query)),
        (error) => isRefused(code)(error) && (error as StorageError).details.message !== undefined,
      );
    });
  }
});

describe('other options of OData', () => {
  for (const option of ['$orderby=a', '$skip=1', '$count=true', '$inlinecount=allpages', '$expand=a', '$top=1']) {
    test(`${option} is refused where it would be passed over`, () =>
      assert.throws(() => refuseOtherOptions(asked(option), ['$filter', '$select']), isRefused('NotImplemented')));
  }

  test('those that are known, and all that is none of OData, are left alone', () => {
    const query = '$filter=a&$SELECT=b&$format=json&NextRowKey=1!0!&sv=2019-02-02&timeout=30&api-version=2019-02-02';
    assert.doesNotThrow(() => refuseOtherOptions(asked(query), ['$filter', '$select']));
  });
});
