/**
 * A server's memory does not follow the size of what passes through it: 1 GiB goes up in one request, as blocks, or as
 * ranges of a file, and comes down; long append and page blobs are written piece by piece and read whole; files are copied
 * and listed; and the peak of the process's resident memory stays within a bound. The bound is about memory, generous,
 * and says nothing of speed. Linux only: the peak is read from /proc.
 */
// tier: system
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { after, before, describe, type TestContext, test } from 'node:test';
import { givenEngine } from '../harness/engines.ts';
import { completeHeaders, send } from '../harness/http.ts';
import { type ServerProcess, startServerProcess } from '../harness/server-process.ts';
import { until } from '../harness/until.ts';

const MIB = 1024 * 1024;
const BLOB_BYTES = 1024 * MIB;
const BLOCK_BYTES = 16 * MIB;
const GROWTH_MAX_BYTES = 300 * MIB;
const BLOCKS_AT_ONCE_COUNT = 4;
const APPEND_BLOB_BYTES = 384 * MIB;
/** So many that a read of all of them cannot be planned at once, each in a chunk of its own. */
const PAGE_RANGE_COUNT = 1_100;
const PAGE_RANGE_BYTES = 64 * 1024;
const PAGE_RANGE_EVERY_BYTES = 3 * 256 * 1024;
const FILE_RANGE_BYTES = 4 * MIB;
const COPY_LIMIT_SECONDS = 60;
const COPIED_FILE_BYTES = 256 * MIB;
/** Files that a listing reads with all that is noted about them. */
const LISTED_FILE_COUNT = 3_000;
const LISTED_METADATA_BYTES = 7_000;
const LISTINGS_AT_ONCE = 16;

/** The content is one pattern over and over; its length is a prime, so that no piece of the server's repeats it. */
const PATTERN = Buffer.from(Array.from({ length: 1_048_573 }, (_, index) => (index * 31 + (index >> 8)) & 0xff));

/** The bytes of the content from `offsetBytes` on. */
function* contentFrom(offsetBytes: number, lengthBytes: number): Generator<Buffer> {
  let at = offsetBytes;
  while (at < offsetBytes + lengthBytes) {
    const start = at % PATTERN.length;
    const piece = PATTERN.subarray(start, start + Math.min(PATTERN.length - start, offsetBytes + lengthBytes - at));
    yield piece;
    at += piece.length;
  }
}

/** The same for the page blob: the content in its written ranges, zeros between them. */
function* pagesFrom(offsetBytes: number, lengthBytes: number): Generator<Buffer> {
  let at = offsetBytes;
  while (at < offsetBytes + lengthBytes) {
    const range = Math.floor(at / PAGE_RANGE_EVERY_BYTES);
    const startBytes = range * PAGE_RANGE_EVERY_BYTES;
    const isWritten = range < PAGE_RANGE_COUNT && at < startBytes + PAGE_RANGE_BYTES;
    const endBytes = isWritten ? startBytes + PAGE_RANGE_BYTES : startBytes + PAGE_RANGE_EVERY_BYTES;
    const pieceBytes = Math.min(endBytes, offsetBytes + lengthBytes) - at;
    if (isWritten) yield* contentFrom(at, pieceBytes);
    else yield Buffer.alloc(pieceBytes);
    at += pieceBytes;
  }
}

/** The ranges that a file of this length is written in. */
const rangesOf = (lengthBytes: number): { at: number; range: string }[] =>
  Array.from({ length: lengthBytes / FILE_RANGE_BYTES }, (_, index) => {
    const at = index * FILE_RANGE_BYTES;
    return { at, range: `bytes=${at}-${at + FILE_RANGE_BYTES - 1}` };
  });

async function memoryBytes({ pid }: ServerProcess, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
}

async function assertGrowth(t: TestContext, server: ServerProcess, startBytes: number): Promise<void> {
  const growthBytes = (await memoryBytes(server, 'VmHWM')) - startBytes;
  const growth = `grew by ${Math.round(growthBytes / MIB)} MiB at the peak`;
  t.diagnostic(growth);
  assert.ok(growthBytes < GROWTH_MAX_BYTES, growth);
}

async function create(url: string, path: string, headers: Record<string, string> = {}): Promise<void> {
  assert.equal((await send(url, { method: 'PUT', path, headers })).outcome, '201');
}

const createFile = (
  url: string,
  path: string,
  lengthBytes: number,
  headers: Record<string, string> = {},
): Promise<void> => create(url, path, { 'x-ms-type': 'file', 'x-ms-content-length': String(lengthBytes), ...headers });

const idOf = (index: number): string => Buffer.from(`block-${String(index).padStart(4, '0')}`).toString('base64');

const skip = !existsSync('/proc/self/status') && 'needs /proc';

describe('the memory of a server', { skip }, () => {
  let server: ServerProcess;
  let startBytes = 0;

  before(async () => {
    server = await startServerProcess();
    await create(server.url, '/large?restype=container');
    await create(server.fileUrl, '/large?restype=share');
    startBytes = await memoryBytes(server, 'VmRSS');
  });
  after(() => server.stop());

  const assertFlat = (t: TestContext): Promise<void> => assertGrowth(t, server, startBytes);

  /** A PUT whose body is never whole in this process either. */
  async function putStream(
    path: string,
    headers: Record<string, string>,
    content: Iterable<Buffer>,
    url = server.url,
  ): Promise<void> {
    const signed = completeHeaders(url, { method: 'PUT', path, headers });
    const { hostname, port } = new URL(url);
    const sent = request({
      hostname,
      port,
      method: 'PUT',
      path: signed.target,
      headers: Object.fromEntries(signed.headers),
    });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      sent.once('error', reject).once('response', (response) => resolve(response.resume().statusCode));
    });
    const [status] = await Promise.all([answered, pipeline(Readable.from(content), sent)]);
    assert.equal(status, 201);
  }

  const createEmpty = (path: string, headers: Record<string, string>): Promise<void> =>
    create(server.url, path, headers);

  async function assertDownload(
    path: string,
    lengthBytes = BLOB_BYTES,
    { expectedFrom = contentFrom, url = server.url } = {},
  ): Promise<void> {
    const signed = completeHeaders(url, { method: 'GET', path });
    const { hostname, port } = new URL(url);
    const headers = Object.fromEntries(signed.headers);
    const sent = request({ hostname, port, path: signed.target, headers }).end();
    const response = await new Promise<Readable>((resolve, reject) => {
      sent.once('error', reject).once('response', resolve);
    });
    let at = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      let compared = 0;
      for (const piece of expectedFrom(at, chunk.length)) {
        assert.ok(piece.equals(chunk.subarray(compared, compared + piece.length)), `other bytes near ${at + compared}`);
        compared += piece.length;
      }
      at += chunk.length;
    }
    assert.equal(at, lengthBytes);
  }

  test('stays flat while 1 GiB goes up in one request and comes down', async (t) => {
    const headers = { 'x-ms-blob-type': 'BlockBlob', 'content-length': String(BLOB_BYTES) };
    await putStream('/large/whole', headers, contentFrom(0, BLOB_BYTES));
    await assertFlat(t);
    await assertDownload('/large/whole');
    await assertFlat(t);
  });

  test('stays flat while 1 GiB goes up as blocks, several at once, and comes down', async (t) => {
    const indexes = Array.from({ length: BLOB_BYTES / BLOCK_BYTES }, (_, index) => index);
    await inLanes(indexes, async (index) => {
      const path = `/large/blocks?comp=block&blockid=${encodeURIComponent(idOf(index))}`;
      const headers = { 'content-length': String(BLOCK_BYTES) };
      await putStream(path, headers, contentFrom(index * BLOCK_BYTES, BLOCK_BYTES));
    });
    const lines = indexes.map((index) => `<Latest>${idOf(index)}</Latest>`).join('');
    const commit = await send(server.url, {
      method: 'PUT',
      path: '/large/blocks?comp=blocklist',
      body: `<?xml version="1.0" encoding="utf-8"?><BlockList>${lines}</BlockList>`,
    });
    assert.equal(commit.outcome, '201');
    await assertFlat(t);
    await assertDownload('/large/blocks');
    await assertFlat(t);
  });

  const appends = async (t: TestContext): Promise<void> => {
    await createEmpty('/large/log', { 'x-ms-blob-type': 'AppendBlob' });
    for (let at = 0; at < APPEND_BLOB_BYTES; at += BLOCK_BYTES) {
      const headers = { 'content-length': String(BLOCK_BYTES) };
      await putStream('/large/log?comp=appendblock', headers, contentFrom(at, BLOCK_BYTES));
    }
    await assertFlat(t);
    await assertDownload('/large/log', APPEND_BLOB_BYTES);
    await assertFlat(t);
  };
  // Over a database it is the same, and only takes longer.
  if (givenEngine() !== 'postgres') test('stays flat while 384 MiB are appended in blocks, and come down', appends);

  test('stays flat while a page blob of 1 GiB is written here and there, and comes down whole', async (t) => {
    await createEmpty('/large/disk', {
      'x-ms-blob-type': 'PageBlob',
      'x-ms-blob-content-length': String(BLOB_BYTES),
    });
    const ranges = Array.from({ length: PAGE_RANGE_COUNT }, (_, range) => range);
    await inLanes(ranges, async (range) => {
      const at = range * PAGE_RANGE_EVERY_BYTES;
      const headers = {
        'content-length': String(PAGE_RANGE_BYTES),
        'x-ms-page-write': 'update',
        'x-ms-range': `bytes=${at}-${at + PAGE_RANGE_BYTES - 1}`,
      };
      await putStream('/large/disk?comp=page', headers, contentFrom(at, PAGE_RANGE_BYTES));
    });
    await assertFlat(t);
    await assertDownload('/large/disk', BLOB_BYTES, { expectedFrom: pagesFrom });
    await assertFlat(t);
  });

  const writesFile = async (t: TestContext): Promise<void> => {
    const url = server.fileUrl;
    await createFile(url, '/large/file', BLOB_BYTES);
    await inLanes(rangesOf(BLOB_BYTES), async ({ at, range }) => {
      const headers = { 'content-length': String(FILE_RANGE_BYTES), 'x-ms-write': 'update', 'x-ms-range': range };
      await putStream('/large/file?comp=range', headers, contentFrom(at, FILE_RANGE_BYTES), url);
    });
    await assertFlat(t);
    await assertDownload('/large/file', BLOB_BYTES, { url });
    await assertFlat(t);
  };

  const copiesFile = async (t: TestContext): Promise<void> => {
    const url = server.fileUrl;
    const source = `${server.fileEndpoint()}/large/file`;
    await copyFile('/large/shared', source);
    await copyFile('/large/fetched', `${server.endpoint()}/large/log`);
    await createFile(url, '/large/ranges', COPIED_FILE_BYTES);
    await inLanes(rangesOf(COPIED_FILE_BYTES), async ({ range }) => {
      const ranges = { 'x-ms-range': range, 'x-ms-source-range': range };
      await create(url, '/large/ranges?comp=range', { 'x-ms-copy-source': source, 'x-ms-write': 'update', ...ranges });
    });
    await assertFlat(t);
    await assertDownload('/large/fetched', APPEND_BLOB_BYTES, { url });
    await assertDownload('/large/ranges', COPIED_FILE_BYTES, { url });
    await assertFlat(t);
  };

  async function copyFile(path: string, source: string): Promise<void> {
    const headers = { 'x-ms-copy-source': source };
    assert.equal((await send(server.fileUrl, { method: 'PUT', path, headers })).outcome, '202');
    const statusNow = async (): Promise<unknown> =>
      (await send(server.fileUrl, { method: 'HEAD', path })).headers['x-ms-copy-status'];
    const what = `${source} is copied`;
    await until({ what, limitSeconds: COPY_LIMIT_SECONDS }, async () => (await statusNow()) === 'success');
  }

  // The same.
  if (givenEngine() !== 'postgres') {
    test('stays flat while a file of 1 GiB is written in ranges, and comes down', writesFile);
    test('stays flat while a file is copied, a blob becomes one, and another is made of ranges', copiesFile);
  }
});

// A server of its own: what others took at their peak would hide it.
const listsFiles = async (t: TestContext): Promise<void> => {
  const server = await startServerProcess();
  try {
    const url = server.fileUrl;
    await create(url, '/many?restype=share');
    const noted = { 'x-ms-meta-noted': 'n'.repeat(LISTED_METADATA_BYTES) };
    const startBytes = await memoryBytes(server, 'VmRSS');
    const names = Array.from({ length: LISTED_FILE_COUNT }, (_, index) => `/many/${index}`);
    await inLanes(names, (name) => createFile(url, name, 0, noted));
    const listing = { method: 'GET', path: '/many?restype=directory&comp=list&include=all' };
    const listings = await Promise.all(Array.from({ length: LISTINGS_AT_ONCE }, () => send(url, listing)));
    for (const { body } of listings) assert.equal(body.toString().split('<File>').length - 1, LISTED_FILE_COUNT);
    await assertGrowth(t, server, startBytes);
  } finally {
    await server.stop();
  }
};
// Over a database rows pass through the driver's buffers, which are given back when the collector pleases.
if (givenEngine() !== 'postgres') {
  test('lists of files cost what they show, whatever is noted about the files', { skip }, listsFiles);
}

/** A few at a time. */
async function inLanes<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const lane = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await act(item);
  };
  await Promise.all(Array.from({ length: BLOCKS_AT_ONCE_COUNT }, lane));
}
