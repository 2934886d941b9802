import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { extname } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { BodyHash } from './body-hash.ts';
import type { HashReply, HashRequest } from './body-hash-worker.ts';
import { crc64Of } from './crc64.ts';

const KIB = 1024;
const INLINE_KIB = 128;
const CHUNK_KIB = 256;
const ENDING = extname(import.meta.url);

const md5Of = (bytes: Uint8Array): Buffer => createHash('md5').update(bytes).digest();

async function feed(hash: BodyHash, bytes: Uint8Array, pieceBytes: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += pieceBytes) await hash.update(bytes.subarray(at, at + pieceBytes));
}

for (const lengthBytes of [
  0,
  1,
  INLINE_KIB * KIB,
  INLINE_KIB * KIB + 1,
  CHUNK_KIB * KIB - 1,
  CHUNK_KIB * KIB,
  CHUNK_KIB * KIB + 1,
  9 * CHUNK_KIB * KIB + 17,
]) {
  test(`a body of ${lengthBytes} bytes gets its MD5 and CRC-64, whatever the pieces`, async () => {
    const bytes = randomBytes(lengthBytes);
    for (const pieceBytes of [64 * KIB, 1000 * KIB]) {
      const hash = new BodyHash({ md5: true, crc64: true, lengthBytes });
      await feed(hash, bytes, pieceBytes);
      assert.deepEqual(await hash.digest(), { md5: md5Of(bytes), crc64: crc64Of(bytes) });
    }
  });
}

for (const lengthBytes of [10, CHUNK_KIB * KIB]) {
  test(`a body of ${lengthBytes} bytes gets only the digests it was asked for`, async () => {
    const bytes = randomBytes(lengthBytes);
    for (const [md5, crc64] of [
      [false, false],
      [true, false],
      [false, true],
    ] as const) {
      const hash = new BodyHash({ md5, crc64, lengthBytes });
      await hash.update(bytes);
      const want = { md5: md5 ? md5Of(bytes) : null, crc64: crc64 ? crc64Of(bytes) : null };
      assert.deepEqual(await hash.digest(), want);
    }
  });
}

test('bodies hashed side by side do not mix', async () => {
  const bodies = Array.from({ length: 12 }, (_, index) => randomBytes(300 * KIB + index * 100 * KIB));
  const digests = bodies.map(async (bytes) => {
    const hash = new BodyHash({ md5: true, crc64: false, lengthBytes: bytes.length });
    await feed(hash, bytes, 64 * KIB);
    return (await hash.digest()).md5;
  });
  assert.deepEqual(await Promise.all(digests), bodies.map(md5Of));
});

test('a large body brought too quickly is told to wait, and soon', async () => {
  const piece = randomBytes(64 * KIB);
  const hash = new BodyHash({ md5: true, crc64: false, lengthBytes: 1024 * 1024 * KIB });
  let broughtBytes = 0;
  let wait: Promise<void> | null = null;
  while (wait === null) {
    wait = hash.update(piece) ?? null;
    broughtBytes += piece.length;
    assert.ok(broughtBytes <= 2 * 1024 * KIB, `${broughtBytes} bytes were taken`);
  }
  await wait;
  assert.equal((await hash.digest()).md5?.length, 16);
});

test('a body given up while it waits does not wait for ever, and others go on', async () => {
  const abandoned = new BodyHash({ md5: true, crc64: false, lengthBytes: 8 * 1024 * KIB });
  const wait = abandoned.update(randomBytes(4 * 1024 * KIB));
  abandoned.dispose();
  abandoned.dispose();
  await wait;
  const bytes = randomBytes(300 * KIB);
  const next = new BodyHash({ md5: true, crc64: false, lengthBytes: bytes.length });
  await next.update(bytes);
  assert.deepEqual((await next.digest()).md5, md5Of(bytes));
  next.dispose();
});

test('the hashing thread forgets a body that was dropped', async () => {
  const worker = new Worker(new URL(`./body-hash-worker${ENDING}`, import.meta.url));
  const send = (request: HashRequest) => worker.postMessage(request, []);
  send({ kind: 'begin', body: 1, choice: { md5: true, crc64: true } });
  send({ kind: 'drop', body: 1 });
  send({ kind: 'end', body: 1 });
  const [reply] = (await once(worker, 'message')) as [HashReply];
  assert.deepEqual(reply, { kind: 'digests', body: 1, md5: null, crc64: null });
  await worker.terminate();
});

test('a body that was begun and forgotten does not keep the process alive', async () => {
  const program = `
    const { BodyHash } = await import(${JSON.stringify(new URL(`./body-hash${ENDING}`, import.meta.url).href)});
    const hash = new BodyHash({ md5: true, crc64: false, lengthBytes: 10_000_000 });
    hash.update(new Uint8Array(300_000));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit', timeout: 20_000 });
  const [code, signal] = await once(child, 'exit');
  assert.deepEqual({ code, signal }, { code: 0, signal: null });
});
