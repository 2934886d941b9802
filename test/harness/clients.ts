/** The official client as tests use it: never retrying, so that every answer of the server is seen, and refusals as data. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { BlobServiceClient, type ContainerClient, RestError, type StoragePipelineOptions } from '@azure/storage-blob';
import type { TestAccount } from './accounts.ts';

export interface Reachable {
  connectionString(account?: TestAccount): string;
}

/** For clients that are made from a URL. */
export const NO_RETRIES: StoragePipelineOptions = { retryOptions: { maxTries: 1 } };

export function blobService(server: Reachable, account?: TestAccount): BlobServiceClient {
  return BlobServiceClient.fromConnectionString(server.connectionString(account), NO_RETRIES);
}

/** A container of its own for a test, so that tests of one server do not meet. */
export async function freshContainer(service: BlobServiceClient, purpose = 'test'): Promise<ContainerClient> {
  const container = service.getContainerClient(`${purpose}-${randomUUID()}`);
  await container.create();
  return container;
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
}

/** `412 ConditionNotMet` for a refused request; anything that is no answer of the server is thrown on. */
export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof RestError) || error.statusCode === undefined) throw error;
  // The answer to HEAD has its code in a header only, which the client leaves out of the error.
  const code = error.code ?? error.response?.headers.get('x-ms-error-code') ?? '';
  return { status: error.statusCode, code };
}

/** `412 ConditionNotMet` of a request that must not succeed. */
export async function refusal(request: Promise<unknown>): Promise<string> {
  try {
    await request;
  } catch (error) {
    const { status, code } = refusalOf(error);
    return `${status} ${code}`;
  }
  assert.fail('the request was not refused');
}

/** `ok`, or the refusal. */
export async function outcome(request: Promise<unknown>): Promise<string> {
  try {
    await request;
    return 'ok';
  } catch (error) {
    const { status, code } = refusalOf(error);
    return `${status} ${code}`;
  }
}

/** What `together` settled as, each as `ok` or its refusal. */
export function outcomes(results: readonly PromiseSettledResult<unknown>[]): string[] {
  return results.map((result) => {
    if (result.status === 'fulfilled') return 'ok';
    const { status, code } = refusalOf(result.reason);
    return `${status} ${code}`;
  });
}
