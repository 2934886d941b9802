import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { MemoryOutside } from '../../../test/harness/memory-outside.ts';
import type { FetchedSource } from './copy-job.ts';
import { type SourceRefused, SourceUnreachable } from './outside.ts';
import { SourceBytes } from './source-bytes.ts';

const BYTES = randomBytes(500_000);
const PIECE = 64 * 1024;

const sourceOf = (etag: string | null = '"first"'): FetchedSource => ({
  url: 'http://outside/thing?sig=secret',
  authorization: null,
  etag,
  lastModifiedMs: null,
  lengthBytes: BYTES.length,
  contentMd5: null,
});

const open = (outside: MemoryOutside, { fromBytes = 0, source = sourceOf() } = {}): SourceBytes =>
  new SourceBytes({ outside, source, fromBytes, signal: new AbortController().signal });

const brokeOff = (): never => {
  throw new SourceUnreachable('brokeOff', 'it broke off');
};

describe('the bytes of a source', () => {
  test('are taken in any lengths, over one connection', async () => {
    const outside = new MemoryOutside(BYTES);
    const bytes = open(outside);
    const taken = [1, PIECE, 10, 3 * PIECE, BYTES.length - 4 * PIECE - 11];
    const parts = [];
    for (const lengthBytes of taken) parts.push(await bytes.takeWhole(lengthBytes));
    assert.deepEqual(
      parts.map((part) => part.length),
      taken,
    );
    assert.ok(Buffer.concat(parts).equals(BYTES));
    assert.deepEqual(outside.opened, [0]);
    assert.equal(bytes.reachedBytes, BYTES.length);
  });

  test('go on from where another run came to', async () => {
    const outside = new MemoryOutside(BYTES);
    const bytes = open(outside, { fromBytes: 300_000 });
    assert.ok((await bytes.takeWhole(200_000)).equals(BYTES.subarray(300_000)));
    assert.deepEqual(outside.opened, [300_000]);
  });

  test('go on from the byte that was reached when the connection broke', async () => {
    const outside = new MemoryOutside(BYTES);
    const failing = new Set([PIECE, 3 * PIECE, 4 * PIECE]);
    outside.beforePiece = (offsetBytes) => {
      if (failing.delete(offsetBytes)) brokeOff();
    };
    const bytes = open(outside);
    assert.ok((await bytes.takeWhole(BYTES.length)).equals(BYTES));
    assert.deepEqual(outside.opened, [0, PIECE, 3 * PIECE, 4 * PIECE]);
  });

  test('are not mixed with those of a later state', async () => {
    const outside = new MemoryOutside(BYTES);
    outside.beforePiece = (offsetBytes) => {
      if (offsetBytes === 0) return;
      outside.etag = '"second"';
      brokeOff();
    };
    await assert.rejects(open(outside).takeWhole(BYTES.length), (error: SourceRefused) => error.status === 412);
  });

  test('end with the failure of a source that gives nothing any more', async () => {
    const outside = new MemoryOutside(BYTES);
    outside.beforePiece = brokeOff;
    await assert.rejects(open(outside).takeWhole(1), SourceUnreachable);
    assert.equal(outside.opened.length, 4);
  });

  test('without an ETag or a date are not asked for a second time', async () => {
    const outside = new MemoryOutside(BYTES);
    outside.beforePiece = (offsetBytes) => (offsetBytes > 0 ? brokeOff() : undefined);
    await assert.rejects(open(outside, { source: sourceOf(null) }).takeWhole(BYTES.length), SourceUnreachable);
    assert.deepEqual(outside.opened, [0]);
  });

  test('of another length than the source had are refused', async () => {
    const outside = new MemoryOutside(BYTES.subarray(1));
    await assert.rejects(open(outside).takeWhole(1), (error: SourceRefused) => error.status === 412);
  });
});
