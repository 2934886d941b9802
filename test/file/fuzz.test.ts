/**
 * Random requests over the whole surface of the file door: every operation, put out of order in every part of it, mostly
 * signed after that. Whatever comes is answered, never with a 5xx (but 501), every refusal tells its code in the way the
 * service does, and afterwards the store is in order. Seeded and bounded; LARIMAR_SEED replays a run, request by
 * request, but for what the server itself draws.
 */
// engines: embedded
// tier: both
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type ShareClient, type ShareDirectoryClient, ShareServiceClient } from '@azure/storage-file-share';
import { runCheck } from '../crash/larimar-check.ts';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { freshPlace } from '../harness/engines.ts';
import { FILE_CLIENT_OPTIONS } from '../harness/file-clients.ts';
import { closingBytes, damaged, fuzz, type Lane, type Sendable } from '../harness/fuzz.ts';
import { firstStatus, type RawRequest, send } from '../harness/http.ts';
import { type InProcessServer, startInProcess } from '../harness/in-process.ts';
import { rootOf, textsIn } from '../harness/queue-http.ts';
import { Random } from '../harness/random.ts';
import { byTier } from '../harness/tier.ts';
import { KEPT, KEPT_FILE, putOutOfOrder, SECRET } from './out-of-order.ts';
import { type Given, RAW_OPERATIONS, type Spot } from './raw-operations.ts';

// On disk, where keys and records have limits.
const place = await freshPlace({ onDisk: true });
after(() => place.remove());
const { seed } = new Random();

const REQUESTS_MAX = byTier({ quick: 2_000, system: 7_000 });
const RUN_SECONDS = 12;
/** Snapshots of a share are a second apart. */
const REQUESTS_PER_SECOND = 20;
const DISORDERS_MAX = 2;

// ---- what is asked

/** What the server has given, so that some of what is random means something. */
class Noted implements Given {
  snapshot = '2024-01-01T00:00:00.0000000Z';
  permission = '1*2';
  deletedVersion = '0'.repeat(24);

  note(answer: string): void {
    const valueOf = (form: RegExp): string | undefined => form.exec(answer)?.[1];
    this.snapshot = valueOf(/\nx-ms-snapshot: (\S+)/i) ?? this.snapshot;
    this.permission = valueOf(/\nx-ms-file-permission-key: (\S+)/i) ?? this.permission;
    this.deletedVersion = valueOf(/<Version>([0-9a-f]{24})<\/Version>/i) ?? this.deletedVersion;
  }
}

const SHARES = ['fuzz-a', 'fuzz-b'];
const DIRECTORIES = ['/d', '/d/e', '/E', ''];
const FILES = ['/f', '/f', '/d/f', '/d/f', '/d/e/f', '/E'];
const ACCOUNTS: readonly (TestAccount | null)[] = [...Array(16).fill(DEVELOPMENT_ACCOUNT), SECOND_ACCOUNT, null];

const spotOf = (random: Random): Spot => ({
  share: random.pick(SHARES),
  directory: random.pick(DIRECTORIES),
  file: random.pick(FILES),
  target: random.chance(0.5) ? random.pick(FILES) : `/new-${random.below(5)}`,
});

/** Often enough that the others find something, which others again delete. */
const CREATING = RAW_OPERATIONS.filter(({ name }) =>
  /^(?:Create (?:Directory|File)|Put Range|Lease File, br)/.test(name),
);

/** What is kept is only read, whatever else is wrong with the request. */
function randomRequest(random: Random, given: Given, server: InProcessServer): RawRequest {
  const operation = random.pick(random.chance(0.4) ? CREATING : RAW_OPERATIONS);
  const spot = { ...spotOf(random), ...(operation.name === 'Delete Share' ? { share: 'fuzz-b' } : {}) };
  const inOrder = operation.ask(spot, given, (path) => server.fileEndpoint() + path);
  const ofKept = inOrder.method === 'GET' && random.chance(0.1);
  const path = ofKept ? inOrder.path.replace(`/${spot.share}`, `/${KEPT}`) : inOrder.path;
  const request = { ...inOrder, path, account: random.pick(ACCOUNTS) };
  const asked = putOutOfOrder(random, request, DISORDERS_MAX);
  return ofKept ? { ...asked, method: 'GET' } : asked;
}

const WRONG_FRAMING: readonly Record<string, string>[] = [
  { 'content-length': '3' },
  { 'content-length': '999999999999' },
  { 'transfer-encoding': 'chunked' },
];

/** The bytes of a request; now and then cut short, with one byte of the first line changed, or framed wrongly. */
function bytesOf(random: Random, request: RawRequest, url: string): Sendable {
  const framing = random.chance(0.02) ? random.pick(WRONG_FRAMING) : {};
  const framed = { ...request, headers: { ...request.headers, ...framing } };
  const bytes = closingBytes(url, framed);
  const sent = damaged(random, bytes, { changedMax: bytes.indexOf('\r\n'), changeChance: 0.02 });
  return { ...sent, complete: sent.complete && Object.keys(framing).length === 0 };
}

// ---- what is answered

/** Who signs wrongly is told what was to be signed, all of what was sent. */
const TELLS_ALL = 'AuthenticationFailed';
/** Of what is no HTTP the method is not known either. */
const UNREADABLE = 'InvalidInput';

/** What is wrong with an answer; null: nothing. */
function problemOf(answer: string, method: string): string | null {
  const status = firstStatus(answer);
  if (status === 0) return 'no answer';
  const headEnd = answer.indexOf('\r\n\r\n') + 2;
  const [head, body] = [answer.slice(0, headEnd), Buffer.from(answer.slice(headEnd + 2), 'latin1')];
  if (!/\nx-ms-request-id: \S+\r\n/i.test(head)) return 'no request id';
  const code = /\nx-ms-error-code: (\w+)\r\n/i.exec(head)?.[1];
  if (answer.includes(SECRET) && code !== TELLS_ALL) return 'a secret in the answer';
  if (status < 400) return null;
  if (code === undefined) return 'no code';
  if (status >= 500 && `${status} ${code}` !== '501 NotImplemented') return 'a fault of the server';
  if (method === 'HEAD' && code !== UNREADABLE) return body.length === 0 ? null : 'a body for HEAD';
  return textsIn(rootOf(body))['Code'] === code ? null : 'another code in the body';
}

// ---- what is left

/** Together, of all files below, as listings and the files themselves tell them. */
async function lengthBelow(directory: ShareDirectoryClient): Promise<number> {
  let sumBytes = 0;
  for await (const entry of directory.listFilesAndDirectories()) {
    if (entry.kind === 'directory') {
      sumBytes += await lengthBelow(directory.getDirectoryClient(entry.name));
      continue;
    }
    const { contentLength = -1 } = await directory.getFileClient(entry.name).getProperties();
    assert.equal(entry.properties.contentLength, contentLength, entry.name);
    sumBytes += contentLength;
  }
  return sumBytes;
}

async function assertUsage(service: ShareServiceClient): Promise<void> {
  for await (const { name } of service.listShares()) {
    const share = service.getShareClient(name);
    const { shareUsageBytes } = await share.getStatistics();
    assert.equal(shareUsageBytes, await lengthBelow(share.rootDirectoryClient), name);
  }
}

// ---- the tests

const KEPT_TEXT = 'as it was';

async function keepFile(share: ShareClient): Promise<void> {
  await share.create();
  await share.rootDirectoryClient.getFileClient(KEPT_FILE).uploadData(Buffer.from(KEPT_TEXT));
}

async function assertKept(share: ShareClient): Promise<void> {
  const file = share.rootDirectoryClient.getFileClient(KEPT_FILE);
  assert.equal((await file.downloadToBuffer()).toString(), KEPT_TEXT);
  assert.deepEqual((await file.getProperties()).metadata, {});
  assert.equal(await lengthBelow(share.rootDirectoryClient), KEPT_TEXT.length);
}

test('requests in order and out of order are answered, never with a 5xx but 501', async (t) => {
  const server = await startInProcess({ accounts: [SECOND_ACCOUNT], place });
  const options = { ...FILE_CLIENT_OPTIONS, allowTrailingDot: true };
  const service = ShareServiceClient.fromConnectionString(server.connectionString(), options);
  const kept = service.getShareClient(KEPT);
  await keepFile(kept);

  const given = new Noted();
  const spot: Spot = { share: 'fuzz-a', directory: '/d', file: '/f', target: '/t' };
  for (const { name, ask, refused } of RAW_OPERATIONS) {
    const request = ask(spot, given, (path) => server.fileEndpoint() + path);
    const { outcome, headers, body } = await send(server.fileUrl, request);
    assert.match(
      outcome,
      refused === undefined ? /^2\d\d$/ : new RegExp(`^${refused}$`),
      `${name}: ${body.toString()}`,
    );
    const lines = Object.entries(headers).map(([header, value]) => `\n${header}: ${String(value)}`);
    given.note(lines.join('') + body.toString());
  }

  const openLane = (random: Random): Lane => {
    const noted = new Noted();
    return {
      next(sentCount) {
        if (sentCount % REQUESTS_PER_SECOND === 0) server.clock.advance({ seconds: 1 });
        const request = randomRequest(random, noted, server);
        const sent = bytesOf(random, request, server.fileUrl);
        const isJudged = (answer: string) => sent.complete || firstStatus(answer) >= 500;
        return { ...sent, problemOf: (answer) => (isJudged(answer) ? problemOf(answer, request.method) : null) };
      },
      note: (answer) => noted.note(answer),
    };
  };
  await fuzz(t, {
    url: server.fileUrl,
    seed,
    requestsMax: REQUESTS_MAX,
    seconds: RUN_SECONDS,
    openLane,
    statuses: [200, 201, 202, 206, 400, 401, 403, 404, 405, 409, 412],
  });
  await assertKept(kept);
  await assertUsage(service);
});

test('after all of them the store is in order', async () => {
  const { exitCode, output } = await runCheck(place);
  assert.equal(exitCode, 0, output);
});
