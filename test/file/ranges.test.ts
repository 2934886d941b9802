/**
 * Ranges of files: written and cleared at any offset, listed as the pages that they lie in, compared with a snapshot; random
 * writes against a model of the file, with the seed printed.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import type { ShareFileClient } from '@azure/storage-file-share';
import { refusal } from '../harness/clients.ts';
import { freshShare } from '../harness/file-clients.ts';
import { type RawRequest, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { together } from '../harness/parallel.ts';
import { Random } from '../harness/random.ts';

const server = await startInProcess();
const raw = (request: RawRequest) => send(server.fileUrl, request);

const PAGE_BYTES = 512;
const MIB = 1024 ** 2;

async function freshFile(lengthBytes: number): Promise<ShareFileClient> {
  const share = await freshShare(server);
  return (await share.createFile('file', lengthBytes)).fileClient;
}

const pathOf = (file: ShareFileClient, query = ''): string => `/${file.shareName}/${file.path}${query}`;
const bytesOf = async (file: ShareFileClient): Promise<Buffer> =>
  buffer((await file.download()).readableStreamBody as NodeJS.ReadableStream);

/** `0-511 1024-1535` */
const listed = async (file: ShareFileClient, options = {}): Promise<string> =>
  (await file.getRangeList(options)).rangeList.map(({ start, end }) => `${start}-${end}`).join(' ');

describe('a written range', () => {
  test('is answered with its MD5, a new ETag and the time of the write', async () => {
    const file = await freshFile(10);
    const before = await file.getProperties();
    server.clock.advance({ seconds: 3 });
    const answer = await raw({
      method: 'PUT',
      path: pathOf(file, '?comp=range'),
      headers: { 'x-ms-range': 'bytes=0-4', 'x-ms-write': 'update' },
      body: 'Hello',
    });
    assert.equal(answer.outcome, '201');
    assert.equal(answer.headers['content-md5'], createHash('md5').update('Hello').digest('base64'));
    assert.equal(answer.headers['x-ms-request-server-encrypted'], 'true');
    const after = await file.getProperties();
    assert.equal(answer.headers.etag, after.etag);
    assert.notEqual(after.etag, before.etag);
    assert.equal(after.fileLastWriteOn?.getTime(), server.clock.nowMs());
    assert.equal(after.fileChangeOn?.getTime(), server.clock.nowMs());
    assert.deepEqual(after.fileCreatedOn, before.fileCreatedOn);
    assert.equal((await bytesOf(file)).toString(), 'Hello\0\0\0\0\0');
  });

  test('leaves the time of the last write alone where it is asked to', async () => {
    const file = await freshFile(10);
    const { fileLastWriteOn } = await file.getProperties();
    server.clock.advance({ seconds: 3 });
    await file.uploadRange('x', 0, 1, { fileLastWrittenMode: 'Preserve' });
    assert.deepEqual((await file.getProperties()).fileLastWriteOn, fileLastWriteOn);
    await file.clearRange(0, 1, { fileLastWrittenMode: 'Preserve' });
    assert.deepEqual((await file.getProperties()).fileLastWriteOn, fileLastWriteOn);
    await file.uploadRange('x', 0, 1, { fileLastWrittenMode: 'Now' });
    assert.equal((await file.getProperties()).fileLastWriteOn?.getTime(), server.clock.nowMs());
  });

  test('is taken by Range where x-ms-range is not there', async () => {
    const file = await freshFile(10);
    const headers = { range: 'bytes=3-4', 'x-ms-write': 'Update' };
    await raw({ method: 'PUT', path: pathOf(file, '?comp=range'), headers, body: 'ab' });
    assert.equal((await bytesOf(file)).toString('latin1', 2, 6), '\0ab\0');
  });

  test('of 4 MiB is the longest, and every byte of it counts', async () => {
    const bytes = new Random(7).bytes(4 * MIB);
    const file = await freshFile(4 * MIB + 100);
    await file.uploadRange(bytes, 77, bytes.length, { contentMD5: createHash('md5').update(bytes).digest() });
    const expected = Buffer.concat([Buffer.alloc(77), bytes, Buffer.alloc(23)]);
    assert.ok((await file.downloadToBuffer()).equals(expected));
    const corrupt = file.uploadRange(bytes, 0, bytes.length, { contentMD5: createHash('md5').update('x').digest() });
    assert.equal(await refusal(corrupt), '400 Md5Mismatch');
    assert.ok((await file.downloadToBuffer()).equals(expected), 'nothing of it was written');
  });
});

describe('a cleared range', () => {
  test('reads as zeros; whole pages of it are given back, parts of pages are not', async () => {
    const file = await freshFile(2048);
    await file.uploadRange(Buffer.alloc(2048, 1), 0, 2048);
    const answer = await file.clearRange(100, 1400);
    assert.equal(answer.contentMD5, undefined);
    assert.equal(answer.isServerEncrypted, undefined);
    assert.equal(await listed(file), '0-511 1024-2047');
    const expected = Buffer.alloc(2048, 1).fill(0, 100, 1500);
    assert.ok((await bytesOf(file)).equals(expected));
  });

  test('within what was written leaves the list as it was', async () => {
    const file = await freshFile(10);
    await file.uploadRange('0123456789', 0, 10);
    await file.clearRange(1, 8);
    assert.equal(await listed(file), '0-9');
    assert.equal((await bytesOf(file)).toString(), '0\0\0\0\0\0\0\0\x009');
  });

  test('may be longer than any write', async () => {
    const file = await freshFile(64 * MIB);
    await file.uploadRange('x', 0, 1);
    await file.uploadRange('y', 64 * MIB - 1, 1);
    await file.clearRange(0, 64 * MIB);
    assert.equal(await listed(file), '');
  });
});

describe('the list of ranges', () => {
  test('has whole pages, and ends with the file', async () => {
    const file = await freshFile(3000);
    assert.equal(await listed(file), '');
    await file.uploadRange('x', 700, 1);
    await file.uploadRange('x', 2900, 1);
    assert.equal(await listed(file), '512-1023 2560-2999');
    await file.uploadRange(Buffer.alloc(600), 1000, 600);
    assert.equal(await listed(file), '512-2047 2560-2999');
    assert.equal(await listed(file, { range: { offset: 600, count: 500 } }), '512-1535');
    const answer = await raw({ method: 'GET', path: pathOf(file, '?comp=rangelist') });
    assert.equal(answer.headers['x-ms-content-length'], '3000');
    assert.equal(answer.headers.etag, (await file.getProperties()).etag);
    assert.equal(
      answer.body.toString(),
      '<?xml version="1.0" encoding="utf-8"?><Ranges><Range><Start>512</Start><End>2047</End></Range>' +
        '<Range><Start>2560</Start><End>2999</End></Range></Ranges>',
    );
  });

  test('comes in parts for those who ask for parts', async () => {
    const file = await freshFile(10_240);
    for (let page = 0; page < 20; page += 2) await file.uploadRange('x', page * PAGE_BYTES, 1);
    const starts: number[] = [];
    const lengths: number[] = [];
    let marker = '';
    do {
      const query = `?comp=rangelist&maxresults=4${marker === '' ? '' : `&marker=${encodeURIComponent(marker)}`}`;
      const headers = { 'x-ms-version': '2026-10-06' };
      const text = (await raw({ method: 'GET', path: pathOf(file, query), headers })).body.toString();
      const found = [...text.matchAll(/<Start>(\d+)<\/Start>/g)].map(([, start]) => Number(start));
      starts.push(...found);
      lengths.push(found.length);
      assert.match(text, /<NextMarker/);
      marker = /<NextMarker>(.+)<\/NextMarker>/.exec(text)?.[1] ?? '';
    } while (marker !== '');
    assert.deepEqual(lengths, [4, 4, 2]);
    assert.deepEqual(
      starts,
      Array.from({ length: 10 }, (_, index) => index * 1024),
    );
  });

  test('that is sent in several pieces is complete', async () => {
    const COUNT = 400;
    const lengthBytes = 2 * COUNT * PAGE_BYTES;
    const file = await freshFile(lengthBytes);
    await file.uploadRange(Buffer.alloc(lengthBytes, 1), 0, lengthBytes);
    for (let from = 0; from < COUNT; from += 100) {
      await Promise.all(
        Array.from({ length: 100 }, (_, index) => file.clearRange((2 * (from + index) + 1) * PAGE_BYTES, PAGE_BYTES)),
      );
    }
    const { rangeList } = await file.getRangeList();
    assert.deepEqual(
      rangeList,
      Array.from({ length: COUNT }, (_, index) => ({ start: index * 1024, end: index * 1024 + 511 })),
    );
  });
});

const differenceIn = ({ ranges = [], clearRanges = [] }: Awaited<ReturnType<ShareFileClient['getRangeListDiff']>>) => ({
  ranges: ranges.map(({ start, end }) => `${start}-${end}`).join(' '),
  clears: clearRanges.map(({ start, end }) => `${start}-${end}`).join(' '),
});

describe('the difference to a snapshot', () => {
  test('is what was written and what was cleared since', async () => {
    const share = await freshShare(server);
    const { fileClient: file } = await share.createFile('file', 2049);
    await file.uploadRange(Buffer.alloc(2049, 1), 0, 2049);
    const { snapshot } = await share.createSnapshot();
    await file.clearRange(0, 1024);
    await file.uploadRange('12345', 1023, 5);
    const diff = await file.getRangeListDiff(snapshot as string);
    assert.deepEqual(differenceIn(diff), { ranges: '512-1535', clears: '0-511' });
    assert.equal(diff.fileContentLength, 2049);
    const answer = await raw({
      method: 'GET',
      path: pathOf(file, `?comp=rangelist&prevsharesnapshot=${encodeURIComponent(snapshot as string)}`),
    });
    assert.match(answer.body.toString(), /<ClearRange>.*<\/ClearRange><Range>/, 'in the order of the offsets');
  });

  test('between two snapshots knows nothing of what came later', async () => {
    const share = await freshShare(server);
    const { fileClient: file } = await share.createFile('file', 5120);
    const first = (await share.createSnapshot()).snapshot as string;
    await file.uploadRange('x', 600, 1);
    server.clock.advance({ seconds: 1 });
    const second = (await share.createSnapshot()).snapshot as string;
    await file.uploadRange('x', 4000, 1);
    const past = share.withSnapshot(second).rootDirectoryClient.getFileClient('file');
    assert.deepEqual(differenceIn(await past.getRangeListDiff(first)), { ranges: '512-1023', clears: '' });
    assert.deepEqual(differenceIn(await file.getRangeListDiff(second)), { ranges: '3584-4095', clears: '' });
  });

  test('of a file that was not there, and to a snapshot that is not there, is refused', async () => {
    const share = await freshShare(server);
    const { snapshot } = await share.createSnapshot();
    const { fileClient: file } = await share.createFile('file', 512);
    assert.equal(await refusal(file.getRangeListDiff(snapshot as string)), '404 ResourceNotFound');
    const unknown = await refusal(file.getRangeListDiff('2001-01-01T00:00:00.0000000Z'));
    assert.match(unknown, /^4\d\d /);
    assert.equal(await refusal(file.getRangeListDiff('yesterday')), '400 InvalidQueryParameterValue');
  });
});

/** What a file should hold: its bytes, and which pages of it are allocated. */
class ModelFile {
  bytes: Buffer;
  readonly pages = new Set<number>();

  constructor(lengthBytes: number) {
    this.bytes = Buffer.alloc(lengthBytes);
  }

  write(offset: number, bytes: Uint8Array): void {
    this.bytes.set(bytes, offset);
    for (let page = pageOf(offset); page <= pageOf(offset + bytes.length - 1); page++) this.pages.add(page);
  }

  clear(offset: number, count: number): void {
    this.bytes.fill(0, offset, offset + count);
    for (let page = Math.ceil(offset / PAGE_BYTES); (page + 1) * PAGE_BYTES <= offset + count; page++) {
      this.pages.delete(page);
    }
  }

  resize(lengthBytes: number): void {
    const bytes = Buffer.alloc(lengthBytes);
    this.bytes.copy(bytes);
    this.bytes = bytes;
    for (const page of this.pages) if (page * PAGE_BYTES >= lengthBytes) this.pages.delete(page);
  }

  list(): string {
    const ranges: [start: number, end: number][] = [];
    for (const page of [...this.pages].sort((a, b) => a - b)) {
      const last = ranges.at(-1);
      const start = page * PAGE_BYTES;
      const end = Math.min(start + PAGE_BYTES, this.bytes.length) - 1;
      if (last !== undefined && last[1] === start - 1) last[1] = end;
      else ranges.push([start, end]);
    }
    return ranges.map(([start, end]) => `${start}-${end}`).join(' ');
  }
}

const pageOf = (offset: number): number => Math.floor(offset / PAGE_BYTES);

test('random writes, clears and resizings leave what a model of the file holds', async () => {
  const random = new Random();
  console.log(`LARIMAR_SEED=${random.seed}`);
  const file = await freshFile(40_000);
  const model = new ModelFile(40_000);
  for (let step = 0; step < 250; step++) {
    const size = model.bytes.length;
    const offset = random.below(size);
    const count = 1 + random.below(Math.min(random.pick([4, 600, 5_000, 30_000]), size - offset));
    const act = random.next();
    if (act < 0.6) {
      const bytes = random.bytes(count);
      await file.uploadRange(bytes, offset, count);
      model.write(offset, bytes);
    } else if (act < 0.9) {
      await file.clearRange(offset, count);
      model.clear(offset, count);
    } else {
      const lengthBytes = 20_000 + random.below(40_000);
      await file.resize(lengthBytes);
      model.resize(lengthBytes);
    }
    if (step % 10 !== 0) continue;
    const seen = await bytesOf(file);
    assert.ok(seen.equals(model.bytes), `step ${step}, seed ${random.seed}`);
    assert.equal(await listed(file), model.list(), `step ${step}, seed ${random.seed}`);
  }
  assert.ok((await bytesOf(file)).equals(model.bytes), `seed ${random.seed}`);
});

test('writers of the same page at the same time all leave their bytes', async () => {
  const file = await freshFile(PAGE_BYTES);
  const results = await together(32, (index) => file.uploadRange(Buffer.alloc(16, index + 1), index * 16, 16));
  assert.ok(results.every(({ status }) => status === 'fulfilled'));
  const expected = Buffer.concat(Array.from({ length: 32 }, (_, index) => Buffer.alloc(16, index + 1)));
  assert.ok((await bytesOf(file)).equals(expected));
});
