import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError } from './config-error.ts';
import { explainDatabaseFailure, explainObjectsFailure, StoreUnreachable } from './store-failure.ts';

const DATABASE = 'postgres://larimar:hush@db:5433/store';
const OBJECTS = 's3://KEY:hush@bucket?endpoint=http://host:9000';

const coded = (code: string, message = ''): Error => Object.assign(new Error(message), { code });
const named = (name: string, message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { name });

describe('a database that does not open', () => {
  const unreachable: readonly (readonly [error: Error, reason: RegExp])[] = [
    [coded('ECONNREFUSED', 'connect ECONNREFUSED 10.0.0.1:5433'), /^connection refused$/],
    [Object.assign(new AggregateError([coded('ECONNREFUSED')]), { code: 'ECONNREFUSED' }), /^connection refused$/],
    [new AggregateError([coded('ECONNREFUSED')]), /^connection refused$/],
    [coded('ENOTFOUND', 'getaddrinfo ENOTFOUND db'), /^its host name cannot be resolved$/],
    [coded('EAI_AGAIN'), /^its host name cannot be resolved$/],
    [coded('ENOENT', 'connect ENOENT /run/.s.PGSQL.5432'), /^nothing listens on its socket$/],
    [new Error('timeout expired'), /^no answer$/],
    [new Error('Connection terminated unexpectedly'), /^no answer$/],
    [coded('57P03', 'the database system is starting up'), /^it is starting up or shutting down$/],
    [coded('53300', 'sorry, too many clients already'), /^sorry, too many clients already$/],
    [coded('08006', 'connection failure'), /^connection failure$/],
    [named('EngineUnavailable', 'it failed', coded('ECONNRESET')), /^connection lost$/],
  ];
  for (const [error, reason] of unreachable) {
    test(`with ${String(error)} is out of reach: ${reason.source}`, () => {
      const explained = explainDatabaseFailure(error, DATABASE);
      assert.ok(explained instanceof StoreUnreachable, String(explained));
      assert.equal(explained.place, 'the database at postgres://larimar@db:5433/store');
      assert.match(explained.reason, reason);
      assert.match(explained.message, /^The database at .* cannot be reached: .*\. /);
    });
  }

  const refused: readonly (readonly [error: Error, message: RegExp])[] = [
    [coded('28P01', 'password authentication failed for user "larimar"'), /Give the user and password in --engine/],
    [new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'), /Give the user and password/],
    [coded('28000', 'role "larimar" does not exist'), /Give another user in --engine, or give this one access/],
    [coded('3D000', 'database "store" does not exist'), /Create it with createdb, or name another one in --engine/],
    [coded('42501', 'permission denied for table larimar_settings'), /Grant the user this permission/],
    [named('SchemaError', 'it belongs to a later release (schema 9): run that release'), /Nothing was changed/],
    [new Error('The server does not support SSL connections'), /Set sslmode and sslrootcert/],
    [coded('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate'), /Set sslmode and sslrootcert/],
  ];
  for (const [error, message] of refused) {
    test(`with ${String(error)} is for somebody to set right`, () => {
      const explained = explainDatabaseFailure(error, DATABASE);
      assert.ok(explained instanceof ConfigError, String(explained));
      assert.match(explained.message, message);
      assert.ok(explained.message.includes(error.message) && !explained.message.includes('hush'), explained.message);
    });
  }

  test('for a reason that nobody foresaw is told as it is', () => {
    assert.equal(explainDatabaseFailure(new TypeError('x is not a function'), DATABASE), null);
    assert.equal(explainDatabaseFailure('thrown', DATABASE), null);
  });
});

describe('an object store that does not open', () => {
  const lost = (code: string): Error =>
    named('ContentUnavailable', 'cannot be reached', named('ConnectionLost', code, coded(code)));
  const unreachable: readonly (readonly [error: Error, reason: RegExp])[] = [
    [lost('ECONNREFUSED'), /^connection refused$/],
    [lost('ENOTFOUND'), /^its host name cannot be resolved$/],
    [named('ContentUnavailable', 'cannot be reached', named('ConnectionLost', 'silent for 9 ms')), /^no answer$/],
    [named('ContentUnavailable', 'the server does not open the bucket (503 SlowDown)'), /503 SlowDown/],
  ];
  for (const [error, reason] of unreachable) {
    test(`with ${String(error)}: ${String(error.cause)} is out of reach`, () => {
      const explained = explainObjectsFailure(error, OBJECTS);
      assert.ok(explained instanceof StoreUnreachable, String(explained));
      assert.equal(explained.place, 'the bucket s3://bucket?endpoint=http://host:9000');
      assert.match(explained.reason, reason);
    });
  }

  for (const error of [
    named('ContentUnavailable', 'the server refuses access to the bucket (403 AccessDenied): check the access key'),
    named('ContentUnavailable', 'the server has no bucket and does not create it (403): create it, or name another'),
    named('ContentUnavailable', 'cannot be reached', named('ConnectionLost', 'x', coded('SELF_SIGNED_CERT_IN_CHAIN'))),
    new Error('The S3 URL is wrong. Name a bucket.'),
    new Error('The S3 store needs an access key: write s3://KEY:SECRET@bucket.'),
  ]) {
    test(`with ${String(error)} is for somebody to set right`, () => {
      const explained = explainObjectsFailure(error, OBJECTS);
      assert.ok(explained instanceof ConfigError, String(explained));
      assert.ok(explained.message.startsWith('--content: '), explained.message);
    });
  }

  test('for a reason that nobody foresaw is told as it is', () => {
    assert.equal(explainObjectsFailure(new TypeError('x is not a function'), OBJECTS), null);
  });
});
