/**
 * Buckets for tests, each its own, on the S3 server that the runner started for all test files or, when a file is run
 * alone, on one that ends with its process. A test that says `{ skip: missingTool('radosgw') }` gets the server from the
 * runner.
 */
import { randomBytes } from 'node:crypto';
import aws4 from 'aws4';
import { S3_ACCOUNT, startS3Server } from './s3-server.ts';

/** The endpoint of the server that all test files share. */
export const S3_VARIABLE = 'LARIMAR_TEST_S3';

const DELETES_AT_ONCE_MAX = 32;

export interface TestBucket {
  /** `s3://KEY:SECRET@bucket?endpoint=http://127.0.0.1:PORT`. The bucket is not made yet. */
  readonly url: string;
  readonly name: string;
  /** Deletes it and all that is in it, if it was made. */
  drop(): Promise<void>;
}

let shared: Promise<string> | null = null;

function sharedServer(): Promise<string> {
  const given = process.env[S3_VARIABLE];
  shared ??= given === undefined ? startS3Server().then(({ endpoint }) => endpoint) : Promise.resolve(given);
  return shared;
}

/** A signed request without a body. Fails on any answer but a success and `404 Not Found`. */
async function request(endpoint: string, method: string, path: string): Promise<Response> {
  const { key, secret } = S3_ACCOUNT;
  const { headers } = aws4.sign(
    { host: new URL(endpoint).host, service: 's3', region: 'us-east-1', method, path },
    { accessKeyId: key, secretAccessKey: secret },
  );
  const { Host: _, ...sent } = headers as Record<string, string>;
  const response = await fetch(endpoint + path, { method, headers: sent });
  if (!response.ok && response.status !== 404) {
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  }
  return response;
}

async function dropBucket(endpoint: string, name: string): Promise<void> {
  for (;;) {
    const listing = await request(endpoint, 'GET', `/${name}?list-type=2&encoding-type=url`);
    const keys = [...(await listing.text()).matchAll(/<Key>([^<]*)<\/Key>/g)].map((match) => match[1] as string);
    if (listing.status === 404) return;
    if (keys.length === 0) break;
    const lane = async (): Promise<void> => {
      for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
        await request(endpoint, 'DELETE', `/${name}/${key}`);
      }
    };
    await Promise.all(Array.from({ length: DELETES_AT_ONCE_MAX }, lane));
  }
  await request(endpoint, 'DELETE', `/${name}`);
}

export async function freshBucket(): Promise<TestBucket> {
  const endpoint = await sharedServer();
  const name = `test-${randomBytes(8).toString('hex')}`;
  const { key, secret } = S3_ACCOUNT;
  return {
    url: `s3://${key}:${secret}@${name}?endpoint=${endpoint}`,
    name,
    drop: () => dropBucket(endpoint, name),
  };
}
