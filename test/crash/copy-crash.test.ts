/**
 * Copies from outside outlive the server that makes them: it is killed while they are under way, started again, and ends
 * every one of them, from where it was. A blob never has a part of its content. Prints its seed; LARIMAR_SEED brings the
 * same load back, though not the same moments.
 */
// tier: system
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { BlobGetPropertiesResponse, ContainerClient } from '@azure/storage-blob';
import { blobService, freshContainer } from '../harness/clients.ts';
import { OutsideSource } from '../harness/outside-source.ts';
import { Random } from '../harness/random.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { until } from '../harness/until.ts';
import { runCheck } from './larimar-check.ts';

const MIB = 1024 * 1024;
/** What is durable before the whole is there comes in parts of this length. */
const PART_BYTES = 32 * MIB;
/** A database takes a dead server's claims back only after a while. */
const END_LIMIT_SECONDS = 90;

const server = await startServerProcess();
after(() => server.stop());
let container: ContainerClient = await freshContainer(blobService(server));

const NEVER = new Promise<void>(() => {});

async function endOf(name: string): Promise<BlobGetPropertiesResponse> {
  const blob = container.getBlobClient(name);
  return until({ what: `the copy to ${name} has ended`, limitSeconds: END_LIMIT_SECONDS }, async () => {
    const properties = await blob.getProperties();
    if (properties.copyStatus !== 'pending') return properties;
    // It may have ended since: status and length are told by one answer.
    const { copyStatus, contentLength, readableStreamBody } = await blob.download();
    readableStreamBody?.resume();
    if (copyStatus === 'pending') assert.equal(contentLength, 0, 'a part of the content is there');
    return false;
  });
}

/** The client is made anew: its connections were cut. */
async function killAndStart(): Promise<void> {
  await server.kill9();
  const check = await runCheck(server.place);
  assert.equal(check.exitCode, 0, check.output);
  await server.start();
  container = blobService(server).getContainerClient(container.containerName);
}

describe('copies that are under way when the server is killed', () => {
  test('go on from the parts that were durable, and are then complete', async () => {
    const bytes = Buffer.concat([Buffer.alloc(PART_BYTES + MIB, 'a long text, '), randomBytes(100)]);
    const types = ['BlockBlob', 'AppendBlob'] as const;
    const sources = await Promise.all(
      types.map(async (type) => {
        const source = await OutsideSource.start(bytes);
        source.headers = { 'x-ms-blob-type': type };
        // Stands still behind the first part.
        source.behave = ({ number }) => (number === 1 ? { afterBytes: PART_BYTES + 1000, gate: NEVER } : {});
        await container.getBlobClient(type).beginCopyFromURL(source.url);
        return source;
      }),
    );
    for (const type of types) {
      await until({ what: 'the first part is there', limitSeconds: 60 }, async () => {
        const { copyProgress = '' } = await container.getBlobClient(type).getProperties();
        return Number(copyProgress.split('/')[0]) > PART_BYTES;
      });
    }
    await killAndStart();
    for (const [index, type] of types.entries()) {
      assert.equal((await endOf(type)).copyStatus, 'success', type);
      assert.ok((await container.getBlobClient(type).downloadToBuffer()).equals(bytes), type);
      assert.equal(sources[index]?.seen.at(-1)?.firstByte, PART_BYTES, 'what was durable is not fetched again');
    }
  });

  test('of page blobs go on as well', async () => {
    const bytes = Buffer.alloc(9 * MIB);
    for (const offset of [0, 4 * MIB + 512, 8 * MIB]) randomBytes(1024).copy(bytes, offset);
    const source = await OutsideSource.start(bytes);
    source.headers = { 'x-ms-blob-type': 'PageBlob' };
    source.behave = ({ number }) => (number === 1 ? { afterBytes: 8 * MIB + 1000, gate: NEVER } : {});
    const to = 'pages';
    await container.getPageBlobClient(to).beginCopyFromURL(source.url);
    await until({ what: 'most of it is there', limitSeconds: 60 }, async () => {
      const { copyProgress = '' } = await container.getBlobClient(to).getProperties();
      return Number(copyProgress.split('/')[0]) > 8 * MIB;
    });
    assert.ok((await container.getBlobClient(to).downloadToBuffer()).equals(Buffer.alloc(bytes.length)));
    await server.kill9();
    await server.start();
    container = blobService(server).getContainerClient(container.containerName);
    const status = await until({ what: 'the copy has ended', limitSeconds: END_LIMIT_SECONDS }, async () => {
      const { copyStatus } = await container.getBlobClient(to).getProperties();
      return copyStatus !== 'pending' && copyStatus;
    });
    assert.equal(status, 'success');
    assert.ok((await container.getBlobClient(to).downloadToBuffer()).equals(bytes));
    assert.ok((source.seen.at(-1)?.firstByte ?? 0) > 0);
  });

  test('fail where the source has changed or gone meanwhile, and are empty', async () => {
    const [changed, gone] = [
      await OutsideSource.start(randomBytes(100_000)),
      await OutsideSource.start(randomBytes(10)),
    ];
    for (const source of [changed, gone])
      source.behave = ({ number }) => (number === 1 ? { afterBytes: 5, gate: NEVER } : {});
    await container.getBlobClient('changed').beginCopyFromURL(changed.url, { metadata: { kept: '1' } });
    await container.getBlobClient('gone').beginCopyFromURL(gone.url);
    await Promise.all([changed.asked(2), gone.asked(2)]);
    await server.kill9();
    changed.etag = '"second"';
    gone.behave = () => ({ status: 404 });
    await server.start();
    container = blobService(server).getContainerClient(container.containerName);
    for (const [name, want] of [
      ['changed', /^412 /],
      ['gone', /^404 /],
    ] as const) {
      const { copyStatus, contentLength } = await endOf(name);
      const { copyStatusDescription = '', metadata } = await container.getBlobClient(name).getProperties();
      assert.deepEqual([copyStatus, contentLength], ['failed', 0]);
      assert.match(copyStatusDescription, want);
      assert.deepEqual(metadata, name === 'changed' ? { kept: '1' } : {});
    }
  });
});

test('killed at random, every copy that was accepted ends, and has all of its bytes or none', async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const source = await OutsideSource.start(random.bytes(700_000));
  source.behave = () => (random.chance(0.2) ? { afterBytes: random.below(600_000), breaksOff: true } : {});
  const accepted: string[] = [];
  for (let round = 0; round < 4; round++) {
    const begin = async (): Promise<void> => {
      for (let count = 0; count < 5; count++) {
        const name = randomUUID();
        try {
          await container.getBlobClient(name).beginCopyFromURL(source.url);
          accepted.push(name);
        } catch {
          // Cut off by the kill, or by the source's breaking off: not accepted.
        }
      }
    };
    const begun = Promise.all([begin(), begin(), begin()]);
    await delay(random.below(400));
    await server.kill9();
    await begun;
    await server.start();
    container = blobService(server).getContainerClient(container.containerName);
  }
  source.behave = () => ({});
  assert.ok(accepted.length > 0);
  for (const name of accepted) {
    assert.equal((await endOf(name)).copyStatus, 'success', `LARIMAR_SEED=${random.seed}`);
    assert.ok((await container.getBlobClient(name).downloadToBuffer()).equals(source.bytes));
  }
});

test('afterwards the store checks out, and nothing is left of any copy', async () => {
  for await (const { name } of container.listBlobsFlat()) await container.deleteBlob(name);
  await server.terminate();
  const check = await runCheck(server.place);
  assert.equal(check.exitCode, 0, check.output);
  await server.start();
});
