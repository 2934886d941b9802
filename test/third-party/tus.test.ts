/**
 * Resumable uploads by the tus protocol: its server with its Azure store, which keeps an upload as an append blob and
 * how far it has come in the blob's metadata. Chunks arrive as PATCH requests, each at the offset where the last ended.
 */
// tier: system
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import type { ContainerClient } from '@azure/storage-blob';
import { AzureStore } from '@tus/azure-store';
import { Server } from '@tus/server';
import { blobService, freshContainer } from '../harness/clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import { tally, together } from '../harness/parallel.ts';
import { Random } from '../harness/random.ts';

const KIB = 1024;
const PROTOCOL = { 'tus-resumable': '1.0.0' };

const server = await startInProcess();
const service = blobService(server);

/** An upload server of its own, which knows of earlier uploads only what the blobs tell. */
async function startTus(t: TestContext, container: ContainerClient): Promise<string> {
  const client = service.getContainerClient(container.containerName);
  const tus = new Server({ path: '/files', datastore: new AzureStore({ client }) });
  const http = createServer((request, response) => void tus.handle(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/files`;
}

function randomOf(t: TestContext): Random {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  return random;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Announces an upload; gives its id. */
async function announce(url: string, length: number | null, filename = 'file'): Promise<string> {
  const size = length === null ? { 'upload-defer-length': '1' } : { 'upload-length': String(length) };
  const headers = { ...PROTOCOL, ...size, 'upload-metadata': `filename ${base64(filename)}` };
  const response = await fetch(url, { method: 'POST', headers });
  assert.equal(response.status, 201, await response.text());
  return (response.headers.get('location') as string).split('/').at(-1) as string;
}

async function patch(url: string, id: string, offset: number, chunk: Buffer, more = {}): Promise<string> {
  const headers = {
    ...PROTOCOL,
    'content-type': 'application/offset+octet-stream',
    'upload-offset': String(offset),
    ...more,
  };
  const response = await fetch(`${url}/${id}`, { method: 'PATCH', headers, body: new Uint8Array(chunk) });
  await response.arrayBuffer();
  return response.status === 204 ? `at ${response.headers.get('upload-offset')}` : String(response.status);
}

/** How far the upload has come, as the server tells. */
async function offsetOf(url: string, id: string): Promise<number> {
  const response = await fetch(`${url}/${id}`, { method: 'HEAD', headers: PROTOCOL });
  assert.equal(response.status, 200);
  return Number(response.headers.get('upload-offset'));
}

async function assertStored(container: ContainerClient, id: string, content: Buffer): Promise<void> {
  const blob = container.getAppendBlobClient(id);
  assert.equal((await blob.getProperties()).blobType, 'AppendBlob');
  assert.ok((await blob.downloadToBuffer()).equals(content), `${id} is whole`);
}

describe('an upload', () => {
  test('arrives in chunks, each at the end of the last', async (t) => {
    const container = await freshContainer(service);
    const url = await startTus(t, container);
    const content = randomOf(t).bytes(700 * KIB);
    const id = await announce(url, content.length, 'Größe.txt');
    for (let offset = 0; offset < content.length; offset += 100 * KIB) {
      const chunk = content.subarray(offset, offset + 100 * KIB);
      assert.equal(await patch(url, id, offset, chunk), `at ${offset + chunk.length}`);
    }
    await assertStored(container, id, content);
    const { metadata } = await container.getAppendBlobClient(id).getProperties();
    assert.equal(JSON.parse(metadata?.['upload'] ?? '{}').metadata, `filename ${base64('Größe.txt')}`);
  });

  test('is resumed where it stood, by a server that knows nothing but the blob', async (t) => {
    const container = await freshContainer(service);
    const content = randomOf(t).bytes(300 * KIB);
    const first = await startTus(t, container);
    const id = await announce(first, content.length);
    assert.equal(await patch(first, id, 0, content.subarray(0, 120 * KIB)), `at ${120 * KIB}`);
    const second = await startTus(t, container);
    const offset = await offsetOf(second, id);
    assert.equal(offset, 120 * KIB);
    assert.equal(await patch(second, id, offset, content.subarray(offset)), `at ${content.length}`);
    await assertStored(container, id, content);
  });

  test('may tell its length late', async (t) => {
    const container = await freshContainer(service);
    const url = await startTus(t, container);
    const content = randomOf(t).bytes(64 * KIB);
    const id = await announce(url, null);
    assert.equal(await patch(url, id, 0, content.subarray(0, KIB)), `at ${KIB}`);
    const length = { 'upload-length': String(content.length) };
    assert.equal(await patch(url, id, KIB, content.subarray(KIB), length), `at ${content.length}`);
    await assertStored(container, id, content);
  });

  test('at an offset that is not its end gets 409 and changes nothing', async (t) => {
    const container = await freshContainer(service);
    const url = await startTus(t, container);
    const content = randomOf(t).bytes(10 * KIB);
    const id = await announce(url, content.length);
    await patch(url, id, 0, content.subarray(0, 4 * KIB));
    for (const offset of [0, KIB, 5 * KIB]) {
      assert.equal(await patch(url, id, offset, content.subarray(0, KIB)), '409', `at ${offset}`);
    }
    await assertStored(container, id, content.subarray(0, 4 * KIB));
  });
});

describe('uploads in parallel', () => {
  test('twelve files grow side by side, and each gets its own chunks', async (t) => {
    const container = await freshContainer(service);
    const url = await startTus(t, container);
    const random = randomOf(t);
    const contents = Array.from({ length: 12 }, () => random.bytes(40 * KIB + random.below(80 * KIB)));
    const results = await together(contents.length, async (index) => {
      const content = contents[index] as Buffer;
      const id = await announce(url, content.length, `file ${index}`);
      for (let offset = 0; offset < content.length; offset += 16 * KIB) {
        const chunk = content.subarray(offset, offset + 16 * KIB);
        assert.equal(await patch(url, id, offset, chunk), `at ${offset + chunk.length}`);
      }
      await assertStored(container, id, content);
    });
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  });

  test('of six chunks for one offset one is taken and the others get 409, chunk after chunk', async (t) => {
    const container = await freshContainer(service);
    const url = await startTus(t, container);
    const random = randomOf(t);
    const chunkLength = 5 * KIB;
    const id = await announce(url, 8 * chunkLength);
    const taken: Buffer[] = [];
    for (let offset = 0; offset < 8 * chunkLength; offset += chunkLength) {
      const chunks = Array.from({ length: 6 }, () => random.bytes(chunkLength));
      const results = await together(6, (index) => patch(url, id, offset, chunks[index] as Buffer));
      const answers = results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)));
      assert.deepEqual(tally(answers), { [`at ${offset + chunkLength}`]: 1, 409: 5 });
      taken.push(chunks[answers.indexOf(`at ${offset + chunkLength}`)] as Buffer);
    }
    await assertStored(container, id, Buffer.concat(taken));
  });
});
