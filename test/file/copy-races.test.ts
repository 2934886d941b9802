/**
 * Copies into files against everything that happens to their source, their destination and each other at the same time. A
 * copy has the whole of one state of its source, or is refused. At the end the store is checked.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import type { ShareFileClient } from '@azure/storage-file-share';
import { runCheck } from '../crash/larimar-check.ts';
import { blobService, freshContainer, outcome, outcomes } from '../harness/clients.ts';
import { freshShare } from '../harness/file-clients.ts';
import { OutsideSource } from '../harness/outside-source.ts';
import { tally, together, turns } from '../harness/parallel.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { Gate } from '../harness/store.ts';
import { until } from '../harness/until.ts';

const server = await startServerProcess();
after(() => server.stop());
const share = await freshShare(server);
const container = await freshContainer(blobService(server));

const freshName = (): ShareFileClient => share.rootDirectoryClient.getFileClient(randomUUID());

/** Bytes of one state: they all say which. */
const state = (number: number, lengthBytes: number): Buffer => Buffer.alloc(lengthBytes, 1 + (number % 200));

async function freshFile(bytes: Buffer): Promise<ShareFileClient> {
  const file = freshName();
  await file.create(bytes.length);
  await file.uploadRange(bytes, 0, bytes.length);
  return file;
}

const isState = (bytes: Buffer, number: number, lengthBytes: number): boolean =>
  bytes.equals(state(number, lengthBytes));

const statusOf = (to: ShareFileClient): Promise<string> =>
  until({ what: 'the copy has ended', limitSeconds: 60 }, async () => {
    const { copyStatus = 'none' } = await to.getProperties();
    return copyStatus !== 'pending' && copyStatus;
  });

describe('while the source', () => {
  for (const lengthBytes of [3_000, 700_000]) {
    test(`of ${lengthBytes} bytes is overwritten in one range, a copy has one state of it`, async () => {
      const from = await freshFile(state(0, lengthBytes));
      for (let round = 1; round <= 4; round++) {
        const destinations = Array.from({ length: 6 }, freshName);
        const acts = destinations.map((to) => async () => void (await to.startCopyFromURL(from.url)));
        acts.splice(round, 0, async () => void (await from.uploadRange(state(round, lengthBytes), 0, lengthBytes)));
        const results = await together(acts.length, (index) => (acts[index] as () => Promise<void>)());
        assert.deepEqual(tally(outcomes(results)), { ok: acts.length });
        for (const to of destinations) {
          const bytes = await to.downloadToBuffer();
          assert.ok(isState(bytes, round - 1, lengthBytes) || isState(bytes, round, lengthBytes));
        }
      }
    });

    test(`of ${lengthBytes} bytes is deleted, a copy has all of it or is refused`, async () => {
      for (let round = 0; round < 4; round++) {
        const from = await freshFile(state(round, lengthBytes));
        const destinations = Array.from({ length: 6 }, freshName);
        const acts = destinations.map((to) => async () => void (await to.startCopyFromURL(from.url)));
        acts.splice(round, 0, async () => void (await from.delete()));
        const results = await together(acts.length, (index) => (acts[index] as () => Promise<void>)());
        const [deleted] = outcomes(results.splice(round, 1));
        assert.equal(deleted, 'ok');
        for (const [index, got] of outcomes(results).entries()) {
          const to = destinations[index] as ShareFileClient;
          if (got === 'ok') assert.ok(isState(await to.downloadToBuffer(), round, lengthBytes));
          else assert.equal(got, '404 ResourceNotFound');
          assert.equal(await to.exists(), got === 'ok');
        }
      }
    });
  }

  test('is a blob that is overwritten, a copy has one state of it', async () => {
    const blob = container.getBlockBlobClient(randomUUID());
    const lengthBytes = 5 * 1024 * 1024;
    await blob.upload(state(0, lengthBytes), lengthBytes);
    for (let round = 1; round <= 3; round++) {
      const destinations = Array.from({ length: 4 }, freshName);
      const [, ...copied] = await Promise.all([
        blob.upload(state(round, lengthBytes), lengthBytes),
        ...destinations.map(async (to) => outcome(to.startCopyFromURL(blob.url))),
      ]);
      for (const [index, to] of destinations.entries()) {
        assert.equal(copied[index], 'ok');
        const status = await statusOf(to);
        const bytes = await to.downloadToBuffer();
        // One that began to be read as what it is no more is not a copy of anything.
        if (status === 'failed') assert.equal(bytes.length, 0);
        else assert.ok(isState(bytes, round - 1, lengthBytes) || isState(bytes, round, lengthBytes));
      }
    }
  });
});

describe('of two copies to one file', () => {
  test('the last that is answered stays, whole', async () => {
    const sources = await Promise.all([0, 1, 2, 3].map((number) => freshFile(state(number, 20_000 + number))));
    for (let round = 0; round < 10; round++) {
      const to = freshName();
      const results = await together(sources.length, async (index) => {
        await turns((index * round) % 5);
        return to.startCopyFromURL((sources[index] as ShareFileClient).url);
      });
      assert.deepEqual(tally(outcomes(results)), { ok: sources.length });
      const bytes = await to.downloadToBuffer();
      const number = bytes.length - 20_000;
      assert.ok(isState(bytes, number, 20_000 + number));
      const { copySource, copyId } = await to.getProperties();
      assert.equal(copySource, sources[number]?.url);
      const kept = results[number];
      assert.equal(kept?.status === 'fulfilled' && kept.value.copyId, copyId);
    }
  });

  test('from outside one is accepted, and the others are told that it is pending', async () => {
    for (let round = 0; round < 5; round++) {
      const gate = new Gate();
      const source = await OutsideSource.start(state(round, 10_000));
      let asked = 0;
      // All of them are shown the head; the bytes are held back.
      source.behave = () => (asked++ < 8 ? {} : { afterBytes: 5, gate: gate.passed });
      const to = freshName();
      const results = await together(8, () => to.startCopyFromURL(source.url));
      assert.deepEqual(tally(outcomes(results)), { ok: 1, '409 PendingCopyOperation': 7 });
      gate.open();
      assert.equal(await statusOf(to), 'success');
      assert.ok(isState(await to.downloadToBuffer(), round, 10_000));
    }
  });
});

describe('while a copy ends', () => {
  test('it can be aborted or not: then it is empty, or whole', async (t) => {
    const seen: Record<string, number> = {};
    for (let round = 0; round < 20; round++) {
      const gate = new Gate();
      const source = await OutsideSource.start(state(round, 60_000));
      source.behave = ({ number }) => (number === 0 ? {} : { afterBytes: 59_999, gate: gate.passed });
      const to = freshName();
      const { copyId = '' } = await to.startCopyFromURL(source.url);
      await source.asked(2);
      gate.open();
      // Ever later: from before the last byte has come to after the end.
      for (let asked = 0; asked < round / 2; asked++) await to.getProperties();
      const aborted = await outcome(to.abortCopyFromURL(copyId));
      const status = await statusOf(to);
      const bytes = await to.downloadToBuffer();
      if (aborted === 'ok') assert.deepEqual([status, bytes.length], ['aborted', 0]);
      else {
        assert.deepEqual([aborted, status], ['409 NoPendingCopyOperation', 'success']);
        assert.ok(isState(bytes, round, 60_000));
      }
      seen[aborted] = (seen[aborted] ?? 0) + 1;
    }
    t.diagnostic(JSON.stringify(seen));
  });

  test('whoever aborts it twice, or writes to it, has one that wins', async () => {
    for (let round = 0; round < 8; round++) {
      const source = await OutsideSource.start(state(round, 10_000));
      source.behave = ({ number }) => (number === 0 ? {} : { afterBytes: 5, gate: new Promise<void>(() => {}) });
      const to = freshName();
      const { copyId = '' } = await to.startCopyFromURL(source.url);
      const results = outcomes(
        await together(9, async (index) => {
          await turns((index * round) % 4);
          return index === 4 ? to.create(7) : to.abortCopyFromURL(copyId);
        }),
      );
      const [created] = results.splice(4, 1);
      assert.deepEqual(tally(results)['ok'], 1);
      const { contentLength } = await to.getProperties();
      if (created === 'ok') assert.equal(contentLength, 7);
      else assert.deepEqual([created, contentLength], ['409 PendingCopyOperation', 0]);
    }
  });
});

test('afterwards the store checks out', async () => {
  await server.terminate();
  const check = await runCheck(server.place);
  assert.equal(check.exitCode, 0, check.output);
  await server.start();
});
