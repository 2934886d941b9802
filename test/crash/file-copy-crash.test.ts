/**
 * Copies into files outlive the server that makes them: it is killed while they are under way, started again, and ends every
 * one of them, from where it was. A file never has a part of its content.
 */
// tier: system
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { FileGetPropertiesResponse, ShareClient, ShareFileClient } from '@azure/storage-file-share';
import { freshShare, shareClient } from '../harness/file-clients.ts';
import { OutsideSource } from '../harness/outside-source.ts';
import { Random } from '../harness/random.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { until } from '../harness/until.ts';
import { runCheck } from './larimar-check.ts';

const MIB = 1024 * 1024;
/** A database takes a dead server's claims back only after a while. */
const END_LIMIT_SECONDS = 90;
const NEVER = new Promise<void>(() => {});

const server = await startServerProcess();
after(() => server.stop());
let share: ShareClient = await freshShare(server);

const fileOf = (name: string): ShareFileClient => share.rootDirectoryClient.getFileClient(name);

async function endOf(name: string): Promise<FileGetPropertiesResponse> {
  return until({ what: `the copy to ${name} has ended`, limitSeconds: END_LIMIT_SECONDS }, async () => {
    const properties = await fileOf(name).getProperties();
    return properties.copyStatus !== 'pending' && properties;
  });
}

/** The client is made anew: its connections were cut. */
async function killAndStart({ checks = true } = {}): Promise<void> {
  await server.kill9();
  if (checks) {
    const check = await runCheck(server.place);
    assert.equal(check.exitCode, 0, check.output);
  }
  await server.start();
  share = shareClient(server, share.name);
}

describe('copies into files that are under way when the server is killed', () => {
  test('go on from what was durable, and are then complete', async () => {
    const bytes = Buffer.alloc(9 * MIB + 333);
    for (const offset of [0, 4 * MIB + 512, 9 * MIB]) randomBytes(300).copy(bytes, offset);
    const source = await OutsideSource.start(bytes);
    source.behave = ({ number }) => (number === 1 ? { afterBytes: 8 * MIB + 1000, gate: NEVER } : {});
    await fileOf('to').startCopyFromURL(source.url, { metadata: { kept: '1' } });
    await until({ what: 'most of it is there', limitSeconds: 60 }, async () => {
      const { copyProgress = '' } = await fileOf('to').getProperties();
      return Number(copyProgress.split('/')[0]) > 8 * MIB;
    });
    assert.ok(
      (await fileOf('to').downloadToBuffer()).equals(Buffer.alloc(bytes.length)),
      'a part of the content is there',
    );
    await killAndStart();
    const { copyStatus, metadata } = await endOf('to');
    assert.deepEqual([copyStatus, metadata], ['success', { kept: '1' }]);
    assert.ok((await fileOf('to').downloadToBuffer()).equals(bytes));
    assert.ok((source.seen.at(-1)?.firstByte ?? 0) >= 8 * MIB, 'what was durable is not fetched again');
  });

  test('fail where the source has changed meanwhile, and are empty', async () => {
    const source = await OutsideSource.start(randomBytes(100_000));
    source.behave = ({ number }) => (number === 1 ? { afterBytes: 5, gate: NEVER } : {});
    await fileOf('changed').startCopyFromURL(source.url);
    await source.asked(2);
    await server.kill9();
    source.etag = '"second"';
    await server.start();
    share = shareClient(server, share.name);
    const { copyStatus, contentLength, copyStatusDescription = '' } = await endOf('changed');
    assert.deepEqual([copyStatus, contentLength], ['failed', 0]);
    assert.match(copyStatusDescription, /^412 /);
  });
});

test('killed at random, every copy that was accepted ends, and has all of its bytes', async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const bytes = random.bytes(700_001);
  const outside = await OutsideSource.start(bytes);
  outside.behave = () => (random.chance(0.2) ? { afterBytes: random.below(600_000), breaksOff: true } : {});
  const inside = fileOf('source');
  await inside.create(bytes.length);
  await inside.uploadRange(bytes, 0, bytes.length);
  const accepted: string[] = [];
  for (let round = 0; round < 3; round++) {
    const begin = async (url: string): Promise<void> => {
      for (let count = 0; count < 5; count++) {
        const name = randomUUID();
        try {
          await fileOf(name).startCopyFromURL(url);
          accepted.push(name);
        } catch {
          // Cut off by the kill, or by the source's breaking off: not accepted.
        }
      }
    };
    const begun = Promise.all([begin(outside.url), begin(outside.url), begin(inside.url)]);
    await delay(random.below(400));
    await server.kill9();
    await begun;
    await server.start();
    share = shareClient(server, share.name);
  }
  outside.behave = () => ({});
  assert.ok(accepted.length > 0);
  for (const name of accepted) {
    assert.equal((await endOf(name)).copyStatus, 'success', `LARIMAR_SEED=${random.seed}`);
    assert.ok((await fileOf(name).downloadToBuffer()).equals(bytes));
  }
});

test('afterwards the store checks out, and nothing is left of any copy', async () => {
  for await (const { name } of share.rootDirectoryClient.listFilesAndDirectories()) await fileOf(name).delete();
  await server.terminate();
  const check = await runCheck(server.place);
  assert.equal(check.exitCode, 0, check.output);
  await server.start();
});
