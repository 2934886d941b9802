import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { refuseKey } from '../../rules/entity.ts';
import { StorageError } from '../../service/storage-error.ts';
import { entityPath, tablePath } from './links.ts';
import { parseResourcePath } from './resource-path.ts';

const entity = (partitionKey: string, rowKey: string, table = 'people') =>
  ({ kind: 'entity', table, partitionKey, rowKey }) as const;

const isRefused = (code: string) => (error: unknown) => error instanceof StorageError && error.code === code;

describe('the path', () => {
  for (const [path, want] of [
    ['', { kind: 'service' }],
    ['/', { kind: 'service' }],
    ['$batch', { kind: 'batch' }],
    ['%24batch', { kind: 'batch' }],
    ['$BATCH/', { kind: 'batch' }],
    ['Tables', { kind: 'tables' }],
    ['tables', { kind: 'tables' }],
    ['TABLES/', { kind: 'tables' }],
    ['Tables()', { kind: 'tables' }],
    ["Tables('people')", { kind: 'table', table: 'people' }],
    ["tables('People')", { kind: 'table', table: 'People' }],
    ['Tables(%27people%27)', { kind: 'table', table: 'people' }],
    ["Tables( 'people' )", { kind: 'table', table: 'people' }],
    ["Tables('people')/", { kind: 'table', table: 'people' }],
    ['people', { kind: 'entities', table: 'people' }],
    ['people/', { kind: 'entities', table: 'people' }],
    ['People()', { kind: 'entities', table: 'People' }],
    ['people( )', { kind: 'entities', table: 'people' }],
    ['people%28%29', { kind: 'entities', table: 'people' }],
    ['tables1', { kind: 'entities', table: 'tables1' }],
    ["people(PartitionKey='p',RowKey='r')", entity('p', 'r')],
    ["people(RowKey='r',PartitionKey='p')", entity('p', 'r')],
    ["people(PartitionKey='p', RowKey='r')", entity('p', 'r')],
    ["people( PartitionKey = 'p' , RowKey = 'r' )", entity('p', 'r')],
    ["people(PartitionKey='p',%20RowKey='r')", entity('p', 'r')],
    ["people(PartitionKey='p',RowKey='r')/", entity('p', 'r')],
    ['people(PartitionKey=%27p%27%2CRowKey=%27r%27)', entity('p', 'r')],
    ["people(PartitionKey='',RowKey='')", entity('', '')],
    ["people(PartitionKey='o''neil',RowKey='''')", entity("o'neil", "'")],
    ["people(PartitionKey='o%27%27neil',RowKey='%27%27%27%27')", entity("o'neil", "''")],
    ["people(PartitionKey='a,RowKey=''b''',RowKey='c')", entity("a,RowKey='b'", 'c')],
    ["people(PartitionKey='(a)',RowKey=')')", entity('(a)', ')')],
    ["people(PartitionKey='%20',RowKey='a%20b')", entity(' ', 'a b')],
    ["people(PartitionKey='+',RowKey='%25')", entity('+', '%')],
    ["people(PartitionKey='%C3%A9',RowKey='%F0%9F%98%80')", entity('é', '\u{1f600}')],
    ["people(PartitionKey='é',RowKey='\u{1f600}')", entity('é', '\u{1f600}')],
    ["people(PartitionKey='=&;:@!$*',RowKey='\"<>')", entity('=&;:@!$*', '"<>')],
  ] as const) {
    test(`${path || 'that is empty'} names ${JSON.stringify(want)}`, () =>
      assert.deepEqual(parseResourcePath(path), want));
  }

  for (const [path, want] of [
    ["Tables('people'", 'InvalidResourceName'],
    ["('people')", 'InvalidResourceName'],
    ['people(', 'InvalidResourceName'],
    ['people/other', 'InvalidResourceName'],
    ['1people', 'InvalidResourceName'],
    ["pe-ople(PartitionKey='p',RowKey='r')", 'InvalidResourceName'],
    ["Tables('pe-ople')", 'InvalidResourceName'],
    ["Tables('')", 'InvalidResourceName'],
    ['$metadata', 'InvalidResourceName'],
    ["$batch(PartitionKey='p',RowKey='r')", 'InvalidResourceName'],
    ['ab', 'OutOfRangeInput'],
    ["Tables('ab')", 'OutOfRangeInput'],
    ['a'.repeat(64), 'OutOfRangeInput'],
    ["Tables('tables')", 'InvalidInput'],
    ["people()/Tables('x')", 'InvalidUri'],
    ['Tables(people)', 'InvalidUri'],
    ["Tables('people','other')", 'InvalidUri'],
    ["Tables(TableName='people')", 'InvalidUri'],
    ["Tables(PartitionKey='p',RowKey='r')", 'InvalidUri'],
    ["people('p')", 'InvalidUri'],
    ["people(PartitionKey='p')", 'InvalidUri'],
    ["people(RowKey='r')", 'InvalidUri'],
    ["people(PartitionKey='p',PartitionKey='q')", 'InvalidUri'],
    ["people(RowKey='p',RowKey='q')", 'InvalidUri'],
    ["people(PartitionKey='p',RowKey='r',Other='x')", 'InvalidUri'],
    ["people(PartitionKey='p',RowKey=r)", 'InvalidUri'],
    ["people(PartitionKey='p',RowKey=1)", 'InvalidUri'],
    ["people(PartitionKey='p';RowKey='r')", 'InvalidUri'],
    ["people(partitionkey='p',rowkey='r')", 'InvalidUri'],
    ["people(PartitionKey='o'neil',RowKey='r')", 'InvalidUri'],
    ["people(PartitionKey='p',RowKey='r'')", 'InvalidUri'],
    ["people(PartitionKey='%E9',RowKey='r')", 'InvalidUri'],
    ["people(PartitionKey='%',RowKey='r')", 'InvalidUri'],
    ["people(PartitionKey='a%2Fb',RowKey='r')", 'OutOfRangeInput'],
    ["people(PartitionKey='a/b',RowKey='r')", 'OutOfRangeInput'],
    ["people(PartitionKey='p',RowKey='%00')", 'OutOfRangeInput'],
    ["people(PartitionKey='p',RowKey='%0A')", 'OutOfRangeInput'],
    [`people(PartitionKey='p',RowKey='${'r'.repeat(513)}')`, 'KeyValueTooLarge'],
  ] as const) {
    test(`${path.slice(0, 60)} is refused as ${want}`, () => {
      assert.throws(() => parseResourcePath(path), isRefused(want));
    });
  }

  test('that a link gives is read back, whatever the keys', () => {
    const keys = fc.string({ unit: 'grapheme' }).filter((text) => refuseKey(text) === null);
    fc.assert(
      fc.property(keys, keys, (partitionKey, rowKey) => {
        const path = entityPath('people', { partitionKey, rowKey });
        assert.match(path, /^[\u0021-\u007e]*$/);
        assert.deepEqual(parseResourcePath(path), entity(partitionKey, rowKey));
      }),
      seeded,
    );
    assert.deepEqual(parseResourcePath(tablePath('People')), { kind: 'table', table: 'People' });
  });

  test('of many quotes is judged at once', () => {
    const quotes = "'".repeat(30_001);
    assert.throws(() => parseResourcePath(`people(PartitionKey='${quotes},RowKey='r')`), StorageError);
    assert.throws(() => parseResourcePath(`people(PartitionKey='p',RowKey='${' '.repeat(30_000)}`), StorageError);
  });
});
