import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError } from './config-error.ts';
import { parseDatabaseUrl, parseObjectsUrl, showDatabaseUrl, showObjectsUrl, withoutPasswords } from './store-url.ts';

function messageOf(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  }
  return assert.fail('it was understood');
}

describe('a database', () => {
  const rows: readonly (readonly [written: string, shown: string])[] = [
    ['postgres://larimar:hush@db.example:5433/store', 'postgres://larimar@db.example:5433/store'],
    ['postgresql://larimar:hush@db.example:5433/store', 'postgres://larimar@db.example:5433/store'],
    ['PostgreSQL://larimar:hush@db/store', 'postgres://larimar@db/store'],
    ['postgres://larimar@db/store', 'postgres://larimar@db/store'],
    ['postgres://db/store', 'postgres://db/store'],
    ['postgres://db', 'postgres://db'],
    ['postgres://larimar:hush@[::1]:5433/store', 'postgres://larimar@[::1]:5433/store'],
    ['postgres://larimar:hu%40sh%2F@db/store?sslmode=verify-full', 'postgres://larimar@db/store'],
    ['postgres://larimar:hu@sh@db/store', 'postgres://larimar@db/store'],
    ['postgres://db/store?user=larimar&password=hush&port=5433', 'postgres://larimar@db:5433/store'],
    ['postgres:///store?host=/run/postgresql&password=hush', 'postgres:///store?host=/run/postgresql'],
    ['postgres://larimar:hush@/store?host=/run/postgresql', 'postgres://larimar@/store?host=/run/postgresql'],
    ['postgres:///store', 'postgres://localhost/store'],
    ['postgres://%2Frun%2Fpostgresql/store', 'postgres://%2Frun%2Fpostgresql/store'],
  ];
  for (const [written, shown] of rows) {
    test(`written ${written} is shown as ${shown}`, () => {
      assert.equal(showDatabaseUrl(parseDatabaseUrl(written)), shown);
    });
  }

  test('is handed on as it was written, but for its scheme', () => {
    const rest = 'larimar:hu%40sh@db:5433/store?sslmode=require&x=%20';
    assert.equal(parseDatabaseUrl(`postgresql://${rest}`), `postgres://${rest}`);
  });

  for (const written of [
    'postgres://larimar:hu/sh@db/store',
    'postgres://larimar:12/sh@db/store',
    'postgres://larimar:hu#sh@db/store',
    'postgres://larimar:12?sh@db/store',
    'postgres://larimar:hu%sh@db/store',
    'postgres://larimar:hu%E4sh@db/store',
    'postgres://larimar:hush@db:port/store',
    'postgres://larimar:hush@db:99999/store',
    'postgres://larimar:hush@db/st%re',
  ]) {
    test(`that cannot be read is refused without showing any of it: ${written}`, () => {
      const message = messageOf(() => parseDatabaseUrl(written));
      assert.match(message, /^--engine is not the URL of a database\. Write postgres:\/\/user:password@/);
      assert.doesNotMatch(message, /larimar|sh@|store/);
    });
  }

  for (const written of ['postgres://larimar:hush@one,two/store', 'postgres://larimar:hush@one:1,two:2/store']) {
    test(`is on one host: ${written} is refused`, () => {
      assert.match(
        messageOf(() => parseDatabaseUrl(written)),
        /names several hosts\. Name one/,
      );
    });
  }
});

describe('a bucket', () => {
  const rows: readonly (readonly [written: string, shown: string])[] = [
    ['s3://KEY:hush@bucket?endpoint=http://127.0.0.1:9000', 's3://bucket?endpoint=http://127.0.0.1:9000'],
    ['s3://bucket/prefix', 's3://bucket/prefix'],
    ['S3://KEY:hu%2Fsh@bucket?region=eu-west-1', 's3://bucket'],
    ['s3://KEY:hush@bucket?endpoint=http%3A%2F%2Fhost%2Fbase%3Fx%3Dhush', 's3://bucket?endpoint=http://host'],
    ['s3://bucket?endpoint=nonsense', 's3://bucket'],
  ];
  for (const [written, shown] of rows) {
    test(`written ${written} is shown as ${shown}`, () => {
      assert.equal(showObjectsUrl(parseObjectsUrl(written)), shown);
    });
  }

  for (const written of [
    's3://KEY:hu/sh@bucket',
    's3://KEY:12/sh@bucket',
    's3://KEY:hu#sh@bucket',
    's3://',
    's3://?a=b',
  ]) {
    test(`that cannot be read is refused without showing any of it: ${written}`, () => {
      const message = messageOf(() => parseObjectsUrl(written));
      assert.match(message, /^--content is not the URL of a bucket\. Write s3:\/\/KEY:SECRET@bucket/);
      assert.doesNotMatch(message, /sh@/);
    });
  }
});

test('passwords are struck from a text that quotes URLs', () => {
  assert.equal(
    withoutPasswords('at postgres://larimar:hush@db/store and s3://KEY:hu:sh@bucket, not at http://host:80/x'),
    'at postgres://larimar@db/store and s3://KEY@bucket, not at http://host:80/x',
  );
});
