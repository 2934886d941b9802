/**
 * The frame of tests that send random requests to a door: several lanes, each with a generator of its own, that go on for
 * so many requests or seconds, and count the answers; and the bytes of a request, now and then damaged.
 */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from './accounts.ts';
import { firstStatus, headOf, type RawRequest, sendBytes } from './http.ts';
import { Random } from './random.ts';

const LANES = 4;
const FAULTS_MAX = 5;
const ANSWER_LIMIT_MS = 10_000;
/** For a request that is not complete: the server waits for the rest of it, and we need not. */
const INCOMPLETE_LIMIT_MS = 100;
const CONTINUE = /^HTTP\/1\.1 100 Continue\r\n\r\n/;

/** Who signs a random request: mostly the account that it is about. */
export const SIGNERS: readonly (TestAccount | null)[] = [
  DEVELOPMENT_ACCOUNT,
  DEVELOPMENT_ACCOUNT,
  DEVELOPMENT_ACCOUNT,
  SECOND_ACCOUNT,
  null,
];

/** Names with values to pick from. */
export type Choices = readonly (readonly [name: string, values: readonly string[]])[];

/** With up to three headers set at random, some of them twice. */
export function withHeaders(random: Random, request: RawRequest, choices: Choices): RawRequest {
  const headers: Record<string, string | readonly string[]> = { ...request.headers };
  for (let count = random.below(4); count > 0; count--) {
    const [name, values] = random.pick(choices);
    headers[name] = random.chance(0.05) ? [random.pick(values), random.pick(values)] : random.pick(values);
  }
  return { ...request, headers };
}

export interface Sendable {
  readonly bytes: Buffer;
  /** The sender has kept its part: silence would be the server's fault. */
  readonly complete: boolean;
}

/** The request as it goes over a connection that ends with it. */
export function closingBytes(url: string, request: RawRequest): Buffer {
  const closing = { ...request, headers: { ...request.headers, connection: 'close' } };
  let head: string;
  try {
    head = headOf(url, closing);
  } catch {
    // A path or query that cannot be decoded cannot be signed.
    head = headOf(url, { ...closing, account: null });
  }
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(request.body ?? '')]);
}

/** The bytes of a request; now and then with one of the first `changedMax` changed, or cut short. */
export function damaged(
  random: Random,
  bytes: Buffer,
  { changedMax = bytes.length, changeChance = 0.03, cutChance = 0.02 } = {},
): Sendable {
  if (random.chance(changeChance)) {
    bytes[random.below(Math.min(bytes.length, changedMax))] = random.below(256);
    return { bytes, complete: false };
  }
  if (random.chance(cutChance)) return { bytes: bytes.subarray(0, random.below(bytes.length)), complete: false };
  return { bytes, complete: true };
}

export const isFramedBySender = ({ headers = {} }: RawRequest): boolean =>
  ['content-length', 'transfer-encoding'].some((name) => name in headers);

/** What is wrong with the answer of any service; null: nothing. `complete`: the request was. */
export function problemOf(answer: string, complete: boolean): string | null {
  const status = firstStatus(answer);
  if (status >= 500 && status !== 501) return 'a fault of the server';
  if (status === 0) return complete ? 'no answer' : null;
  return complete && !/\r\nx-ms-request-id: \S+\r\n/i.test(answer) ? 'no request id' : null;
}

export interface Lane {
  /** The next request, and what would be wrong with an answer to it. */
  readonly next: (sentCount: number) => Sendable & { readonly problemOf: (answer: string) => string | null };
  readonly note?: (answer: string) => void;
}

export interface FuzzOptions {
  readonly url: string;
  readonly seed: number;
  readonly requestsMax: number;
  readonly seconds: number;
  readonly openLane: (random: Random) => Lane;
  /** Each must have been among the answers. */
  readonly statuses: readonly number[];
}

export async function fuzz(t: TestContext, options: FuzzOptions): Promise<void> {
  const { url, seed, requestsMax, seconds, openLane, statuses } = options;
  t.diagnostic(`LARIMAR_SEED=${seed}`);
  const endMs = performance.now() + seconds * 1000;
  const counts: Record<string, number> = {};
  const faults: string[] = [];
  const runLane = async (number: number): Promise<void> => {
    // A generator to each lane: what a lane sends does not hang on how quickly the others are answered.
    const lane = openLane(new Random(seed + number));
    for (let sent = 0; sent < requestsMax / LANES && performance.now() < endMs && faults.length < FAULTS_MAX; sent++) {
      const { bytes, complete, problemOf } = lane.next(sent);
      const quietMs = complete ? ANSWER_LIMIT_MS : INCOMPLETE_LIMIT_MS;
      const answer = (await sendBytes(url, bytes, { quietMs })).replace(CONTINUE, '');
      lane.note?.(answer);
      const status = firstStatus(answer);
      counts[status] = (counts[status] ?? 0) + 1;
      const problem = problemOf(answer);
      const shown = `${bytes.toString('latin1').slice(0, 1_500)}\n=> ${answer.slice(0, 700)}`;
      if (problem !== null) faults.push(`${problem}: ${shown}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, number) => runLane(number)));

  t.diagnostic(`answers by status: ${JSON.stringify(counts)}`);
  assert.deepEqual(faults, []);
  for (const status of statuses) assert.ok((counts[status] ?? 0) > 0, `some answers are ${status}`);
}
