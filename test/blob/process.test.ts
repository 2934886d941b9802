/** The server as a process: what it acknowledged outlives kill -9, and SIGTERM lets requests finish. */
// tier: system
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { type TestContext, test } from 'node:test';
import { runCheck } from '../crash/larimar-check.ts';
import { blobService, freshContainer, outcome } from '../harness/clients.ts';
import { completeHeaders, send } from '../harness/http.ts';
import { together } from '../harness/parallel.ts';
import { Random } from '../harness/random.ts';
import { type ServerProcess, startServerProcess } from '../harness/server-process.ts';

async function startFor(t: TestContext): Promise<ServerProcess> {
  const server = await startServerProcess();
  t.after(() => server.stop());
  return server;
}

const md5 = (content: Buffer): string => createHash('md5').update(content).digest('hex');

/** Sizes around where the store changes how it keeps content. */
const SIZES = [0, 1, 1000, 5000, 70_000, 300_000, 2_000_000];

test('everything acknowledged is there after kill -9 under load, whole, and the store is clean', async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const server = await startFor(t);
  const container = await freshContainer(blobService(server));
  const { containerName } = container;
  const acknowledged = new Map<string, string>();
  for (let round = 0; round < 4; round++) {
    const killAfter = 20 + random.below(100);
    const state = { writes: 0, killed: false };
    await together(8, async (lane) => {
      for (let index = 0; index < 40 && !state.killed; index++) {
        const bytes = random.bytes(random.pick(SIZES));
        const name = `${round}-${lane}-${index}`;
        const blob = container.getBlockBlobClient(name);
        try {
          if (random.chance(0.3) && bytes.length > 0) {
            await blob.stageBlock('YQ==', bytes, bytes.length);
            await blob.commitBlockList(['YQ==']);
          } else await blob.upload(bytes, bytes.length);
        } catch (error) {
          if (!state.killed) throw error;
          return;
        }
        acknowledged.set(name, md5(bytes));
        if (++state.writes === killAfter) {
          state.killed = true;
          await server.kill9();
        }
      }
    });
    if (!state.killed) await server.kill9();
    const { exitCode, output } = await runCheck(server.place);
    assert.equal(exitCode, 0, output);
    await server.restart();
  }
  const again = blobService(server).getContainerClient(containerName);
  for (const [name, hash] of acknowledged) {
    const content = await again.getBlobClient(name).downloadToBuffer();
    assert.equal(md5(content), hash, name);
  }
  assert.ok(acknowledged.size > 100, String(acknowledged.size));
});

test('leases, metadata, policies and properties outlive a restart', async (t) => {
  const server = await startFor(t);
  const service = blobService(server);
  const container = await freshContainer(service);
  await container.setMetadata({ a: 'b' });
  await container.setAccessPolicy('blob', [{ id: 'p', accessPolicy: { permissions: 'r' } }]);
  const { blockBlobClient: blob } = await container.uploadBlockBlob('blob', 'content', 7, { metadata: { c: 'd' } });
  await blob.stageBlock('YQ==', 'staged', 6);
  const { leaseId = '' } = await blob.getBlobLeaseClient().acquireLease(-1);
  await service.setProperties({ defaultServiceVersion: '2021-12-02' });
  const before = [await container.getProperties(), await blob.getProperties()].map(({ etag, lastModified }) => [
    etag,
    lastModified,
  ]);

  await server.restart();
  const after = [await container.getProperties(), await blob.getProperties()].map(({ etag, lastModified }) => [
    etag,
    lastModified,
  ]);
  assert.deepEqual(after, before);
  assert.deepEqual((await container.getProperties()).metadata, { a: 'b' });
  assert.equal((await container.getAccessPolicy()).signedIdentifiers[0]?.id, 'p');
  assert.deepEqual((await blob.getProperties()).metadata, { c: 'd' });
  assert.equal((await service.getProperties()).defaultServiceVersion, '2021-12-02');
  assert.equal(await outcome(blob.upload('x', 1)), '412 LeaseIdMissing');
  assert.equal(await outcome(blob.commitBlockList(['YQ=='], { conditions: { leaseId } })), 'ok');
  assert.equal((await blob.downloadToBuffer()).toString(), 'staged');
});

test('an ETag is never given again, also across restarts', async (t) => {
  const server = await startFor(t);
  const container = await freshContainer(blobService(server));
  const seen = new Set<string>();
  for (let round = 0; round < 3; round++) {
    for (let write = 0; write < 20; write++) {
      const { response } = await container.uploadBlockBlob('blob', 'same', 4);
      seen.add(response.etag as string);
    }
    if (round === 0) await server.kill9();
    await server.restart();
  }
  assert.equal(seen.size, 60);
});

test('SIGTERM lets a request that is under way finish, and the process ends with 0', async (t) => {
  const server = await startFor(t);
  const container = await freshContainer(blobService(server));
  const request = {
    method: 'PUT',
    path: `/${container.containerName}/slow`,
    headers: { 'x-ms-blob-type': 'BlockBlob', 'content-length': '10', expect: '100-continue' },
  };
  const { target, headers } = completeHeaders(server.url, request);
  const { hostname, port } = new URL(server.url);
  const sent = httpRequest({ hostname, port, method: 'PUT', path: target, headers: headers.flat() as never });
  // The server asks for the body once it has taken up the request.
  const goAhead = new Promise((resolve) => sent.once('continue', resolve));
  const answer = new Promise<number>((resolve, reject) => {
    sent.once('response', (response) => resolve(response.resume().statusCode as number));
    sent.once('error', reject);
  });
  sent.flushHeaders();
  await goAhead;
  sent.write('first');
  const ended = server.terminate();
  sent.end('secnd');
  assert.equal(await answer, 201);
  await ended;
  await server.restart();
  const { body } = await send(server.url, { method: 'GET', path: `/${container.containerName}/slow` });
  assert.equal(body.toString(), 'firstsecnd');
});

test('SIGTERM at the very moment the server says that it listens ends it with 0', async (t) => {
  const server = await startFor(t);
  for (let round = 0; round < 5; round++) await server.restart();
});
