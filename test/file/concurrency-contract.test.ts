/**
 * The concurrency contract of files, sentence by sentence, as far as it is REST's alone (C25 and C29; C26 to C28 are in
 * open-table.test.ts), driven by the official client.
 */
// engines: both in quick
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { outcomes, refusal } from '../harness/clients.ts';
import { freshShare } from '../harness/file-clients.ts';
import { send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { successes, tally } from '../harness/parallel.ts';
import { CLIENTS, fileAt, MISSING, namesIn, putFile, raceOn, textOf } from './racing.ts';

const server = await startInProcess();
const race = raceOn(server);

describe('REST updates', () => {
  test('C25 check nothing: each of many succeeds, with an ETag of its own, and the last one’s is what is read', async () => {
    const share = await freshShare(server);
    const file = await putFile(share, 'file', '..');
    const written = successes(
      await race(share, (client, index) => fileAt(client, 'file').uploadRange(String(index).padStart(2, '0'), 0, 2)),
    );
    assert.equal(new Set(written.map(({ etag }) => etag)).size, CLIENTS);
    const { etag } = await file.getProperties();
    const last = written.findIndex((answer) => answer.etag === etag);
    assert.equal(await textOf(file), String(last).padStart(2, '0'));
  });

  test('C25 of metadata, properties and length: the last one wins, whole', async () => {
    const share = await freshShare(server);
    await putFile(share, 'file', '');
    const metadata = successes(
      await race(share, (client, index) => fileAt(client, 'file').setMetadata({ a: `${index}`, b: `${index}` })),
    );
    const headers = successes(
      await race(share, (client, index) =>
        fileAt(client, 'file').setHttpHeaders({ fileContentType: `t/${index}`, fileCacheControl: `c${index}` }),
      ),
    );
    const lengths = successes(await race(share, (client, index) => fileAt(client, 'file').resize(index)));
    const found = await fileAt(share, 'file').getProperties();
    assert.equal(
      found.contentLength,
      lengths.findIndex(({ etag }) => etag === found.etag),
    );
    assert.equal(found.metadata?.['a'], found.metadata?.['b']);
    assert.equal(found.contentType?.slice(2), found.cacheControl?.slice(1));
    assert.equal(new Set([...metadata, ...headers, ...lengths].map(({ etag }) => etag)).size, 3 * CLIENTS);
  });

  test('C25 a stale ETag hinders nobody who overwrites', async () => {
    const share = await freshShare(server);
    const file = await putFile(share, 'file', 'one');
    const { etag } = await file.getProperties();
    await file.uploadRange('two', 0, 3);
    await file.create(3);
    assert.notEqual((await file.getProperties()).etag, etag);
    assert.equal(await textOf(file), '\0\0\0');
  });
});

describe('REST deletions', () => {
  test('C29 of a file are atomic: the name is free at once, and nothing is pending', async () => {
    const share = await freshShare(server);
    for (let round = 0; round < 10; round++) {
      const file = await putFile(share, 'file', `round ${round}`);
      await file.delete();
      assert.equal(await refusal(file.getProperties()), MISSING);
      assert.deepEqual(await namesIn(share), []);
      await share.createDirectory('file');
      await share.getDirectoryClient('file').delete();
    }
  });

  test('C29 of a directory likewise; of many one succeeds, and the others find nothing', async () => {
    const share = await freshShare(server);
    for (let round = 0; round < 5; round++) {
      await share.createDirectory('dir');
      const results = await race(share, (client) => client.getDirectoryClient('dir').delete());
      assert.deepEqual(tally(outcomes(results)), { ok: 1, [MISSING]: CLIENTS - 1 });
      await putFile(share, 'dir', 'now a file');
      await fileAt(share, 'dir').delete();
    }
  });

  test('C29 a reader that has begun reads to the end, whole, though the file is deleted and created anew', async () => {
    const share = await freshShare(server);
    const bytes = 8 * 1024 * 1024;
    const file = fileAt(share, 'file');
    await file.create(bytes);
    for (let at = 0; at < bytes; at += bytes / 4) await file.uploadRange('a'.repeat(bytes / 4), at, bytes / 4);
    const stream = (await file.download()).readableStreamBody as NodeJS.ReadableStream;
    await file.delete();
    await file.create(bytes);
    await file.uploadRange('b'.repeat(1024), 0, 1024);
    let count = 0;
    for await (const piece of stream) {
      const text = String(piece);
      assert.ok(/^a*$/.test(text), 'nothing of the new file');
      count += text.length;
    }
    assert.equal(count, bytes);
  });
});

test('C25 conditions are no part of this service: If-Match on a write is refused rather than ignored', async () => {
  const share = await freshShare(server);
  await putFile(share, 'file', 'x');
  const answer = await send(server.fileUrl, {
    method: 'PUT',
    path: `/${share.name}/file?comp=metadata`,
    headers: { 'if-match': '"0x8D0000000000000"', 'x-ms-meta-a': 'b' },
  });
  assert.equal(answer.outcome, '400 ConditionHeadersNotSupported');
});
