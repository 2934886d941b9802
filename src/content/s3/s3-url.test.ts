/** The S3 URL: what each part gives, what the environment adds, and how what is wrong is said without the secret. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Environment, parseS3Url } from './s3-url.ts';

test('everything can stand in the URL', () => {
  const place = parseS3Url('s3://KEY:SECRET@bucket/some/prefix?endpoint=http://127.0.0.1:9000&region=eu-west-1', {});
  assert.equal(place.endpoint.href, 'http://127.0.0.1:9000/');
  assert.equal(place.isAmazon, false);
  assert.equal(place.region, 'eu-west-1');
  assert.equal(place.bucket, 'bucket');
  assert.equal(place.prefix, 'some/prefix/');
  assert.deepEqual(place.credentials, { accessKeyId: 'KEY', secretAccessKey: 'SECRET' });
});

test('without an endpoint it is the one of Amazon in the region', () => {
  for (const [text, environment, href] of [
    ['s3://bucket', {}, 'https://s3.us-east-1.amazonaws.com/'],
    ['s3://bucket', { AWS_REGION: '' }, 'https://s3.us-east-1.amazonaws.com/'],
    ['s3://bucket', { AWS_REGION: 'eu-central-1' }, 'https://s3.eu-central-1.amazonaws.com/'],
    ['s3://bucket?region=ap-south-1', { AWS_REGION: 'eu-central-1' }, 'https://s3.ap-south-1.amazonaws.com/'],
  ] as const) {
    const place = parseS3Url(text, environment);
    assert.equal(place.endpoint.href, href);
    assert.equal(place.isAmazon, true);
  }
});

test('key and secret are percent-decoded, and a plus stays a plus', () => {
  const { credentials } = parseS3Url('s3://K%3AEY:a%2Fb+c%40d%25@bucket', {});
  assert.deepEqual(credentials, { accessKeyId: 'K:EY', secretAccessKey: 'a/b+c@d%' });
});

const ENVIRONMENT = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };

for (const [what, text, environment, want] of [
  ['those of the environment', 's3://bucket', ENVIRONMENT, { accessKeyId: 'id', secretAccessKey: 'secret' }],
  [
    'those of the environment with their session',
    's3://bucket',
    { ...ENVIRONMENT, AWS_SESSION_TOKEN: 'token' },
    { accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: 'token' },
  ],
  [
    'those of the URL, without the session of others',
    's3://KEY:SECRET@bucket',
    { ...ENVIRONMENT, AWS_SESSION_TOKEN: 'token' },
    { accessKeyId: 'KEY', secretAccessKey: 'SECRET' },
  ],
  ['none when there is a key without its secret', 's3://bucket', { AWS_ACCESS_KEY_ID: 'id' }, null],
  ['none when there are none', 's3://bucket', {}, null],
] as const satisfies readonly (readonly [string, string, Environment, unknown])[]) {
  test(`the credentials are ${what}`, () => {
    assert.deepEqual(parseS3Url(text, environment).credentials, want);
  });
}

for (const [path, prefix] of [
  ['', ''],
  ['/', ''],
  ['/a', 'a/'],
  ['/a/', 'a/'],
  ['/a/b.c/d_e-f', 'a/b.c/d_e-f/'],
] as const) {
  test(`a path '${path}' is the prefix '${prefix}'`, () => {
    assert.equal(parseS3Url(`s3://bucket${path}?region=us-east-1`, {}).prefix, prefix);
  });
}

test('an endpoint may have a path and an address of version 6', () => {
  const { endpoint } = parseS3Url('s3://bucket?endpoint=https://[::1]:9000/storage/v1/s3', {});
  assert.equal(endpoint.pathname, '/storage/v1/s3');
  assert.equal(endpoint.host, '[::1]:9000');
});

for (const [text, says] of [
  ['', /form s3:\/\/KEY:SECRET@bucket/],
  ['bucket', /form s3:\/\//],
  ['s3:/hush', /Name a bucket/],
  ['http://KEY:hush@bucket', /must begin with s3:\/\//],
  ['s3://KEY:hu/sh@bucket', /write \/ \+ @ : \? # and % .* as %2F/],
  ['s3://KEY:hu%zzsh@bucket', /% in the key or the secret as %25/],
  ['s3://KEY:12/hush@bucket', /no port/],
  ['s3://KEY/hush@bucket', /prefix/],
  ['s3://KEY:hush@bucket#x', /%23/],
  ['s3://KEY@bucket', /both the key and its secret/],
  ['s3://:hush@bucket', /both the key and its secret/],
  ['s3://KEY:hush@', /form s3:\/\//],
  ['s3://KEY:hush@b', /Name a bucket/],
  ['s3://KEY:hush@-bucket', /Name a bucket/],
  ['s3://KEY:hush@bucket:9000', /\?endpoint=http:\/\/host:port/],
  ['s3://KEY:hush@bucket/a//b', /prefix/],
  ['s3://KEY:hush@bucket/a%20b', /prefix/],
  ['s3://bucket?endpoint=hush', /endpoint=http:\/\/host:port/],
  ['s3://bucket?endpoint=ftp://hush', /endpoint=http:\/\/host:port/],
  ['s3://bucket?endpoint=http://KEY:hush@host', /key goes before the bucket/],
  ['s3://bucket?region=hush/', /region=us-east-1/],
  ['s3://bucket?hush=1', /only endpoint=.* and region=/],
] as const) {
  test(`'${text}' is refused with a sentence, and without the secret`, () => {
    assert.throws(
      () => parseS3Url(text, {}),
      (error: Error) => {
        assert.match(error.message, says);
        assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`, /hush|hu%zzsh/);
        return true;
      },
    );
  });
}
