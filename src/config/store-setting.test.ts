import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError } from './config-error.ts';
import { chooseStore, describeStore, type StoreOptions, type StoreSetting, storeOptionsOf } from './store-setting.ts';

const ENGINE = 'postgres://larimar:hush@db/store';
const CONTENT = 's3://KEY:hush@bucket?endpoint=http://127.0.0.1:9000';

describe('what is stored, and where', () => {
  const rows: readonly (readonly [what: string, options: StoreOptions, setting: StoreSetting])[] = [
    ['nothing is named', {}, { kind: 'folder', path: 'fallback' }],
    ['a folder', { data: 'x' }, { kind: 'folder', path: 'x' }],
    ['lmdb and files', { engine: 'lmdb', content: 'files', data: 'x' }, { kind: 'folder', path: 'x' }],
    ['lmdb alone', { engine: 'lmdb' }, { kind: 'folder', path: 'fallback' }],
    ['memory', { memory: true }, { kind: 'memory' }],
    ['a database', { engine: ENGINE }, { kind: 'database', url: ENGINE, objectsUrl: null }],
    [
      'a database for everything',
      { engine: ENGINE, content: 'postgres' },
      { kind: 'database', url: ENGINE, objectsUrl: null },
    ],
    [
      'a database and a bucket',
      { engine: ENGINE, content: CONTENT },
      { kind: 'database', url: ENGINE, objectsUrl: CONTENT },
    ],
    [
      'a database by its longer name',
      { engine: ENGINE.replace('postgres', 'postgresql') },
      { kind: 'database', url: ENGINE, objectsUrl: null },
    ],
  ];
  for (const [what, options, setting] of rows) {
    test(`${what}: ${JSON.stringify(options)}`, () => {
      assert.deepEqual(chooseStore(options, 'fallback'), setting);
      assert.deepEqual(chooseStore(storeOptionsOf(setting)), setting, 'and the setting says the same again');
    });
  }

  test('must be said where there is no folder to fall back on', () => {
    assert.throws(() => chooseStore({}), TypeError);
  });
});

describe('what does not go together is refused with what to write instead', () => {
  const rows: readonly (readonly [options: StoreOptions, message: RegExp])[] = [
    [{ memory: true, data: 'x' }, /--memory and --data exclude each other: choose one/],
    [{ memory: true, engine: ENGINE }, /--memory and --engine exclude each other: choose one/],
    [{ memory: true, content: CONTENT }, /--memory and --content exclude each other: choose one/],
    [{ engine: 'lmdb', content: 'postgres' }, /leave --content out, or .* --engine postgres:/],
    [{ content: CONTENT }, /leave --content out, or .* --engine postgres:/],
    [{ engine: ENGINE, data: 'x' }, /leave --data out/],
    [{ engine: ENGINE, content: 'files' }, /write --content postgres or --content s3:/],
    [{ engine: ENGINE, content: ENGINE }, /write --content postgres\./],
    [{ engine: ENGINE, content: 's3' }, /needs the bucket's URL: --content 's3:\/\/KEY:SECRET@bucket/],
    [
      { engine: ENGINE, content: 'https://KEY:hush@host/bucket' },
      /takes files, postgres, or a URL that starts with s3:/,
    ],
    [{ engine: ENGINE, content: 'disk' }, /takes files, postgres, or a URL that starts with s3:/],
    [{ engine: 'memory' }, /write --memory without --engine/],
    [{ engine: 'postgres' }, /needs the database's URL: --engine postgres:\/\/user:password@host:port\/database/],
    [{ engine: 'postgres:larimar:hush@db' }, /needs the database's URL/],
    [{ engine: 'mysql://larimar:hush@db/store' }, /takes lmdb or a URL that starts with postgres:/],
    [{ engine: 'sqlite' }, /takes lmdb or a URL that starts with postgres:/],
  ];
  for (const [options, message] of rows) {
    test(JSON.stringify(options), () => {
      assert.throws(
        () => chooseStore(options, 'fallback'),
        (error) => {
          assert.ok(error instanceof ConfigError, String(error));
          assert.match(error.message, message);
          assert.ok(!error.message.includes('hush'), error.message);
          return true;
        },
      );
    });
  }
});

test('a store is described without its passwords', () => {
  const described = describeStore(chooseStore({ engine: ENGINE, content: CONTENT }));
  assert.deepEqual(described, [
    ['records', 'postgres://larimar@db/store'],
    ['content', 's3://bucket?endpoint=http://127.0.0.1:9000'],
  ]);
  assert.deepEqual(describeStore(chooseStore({ engine: ENGINE }))[1], ['content', 'in the same database']);
});
