/** `larimar check` tells what there is, and when content has gone that a record still names. */
// tier: system
import assert from 'node:assert/strict';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { blobService, freshContainer } from '../harness/clients.ts';
import type { Place } from '../harness/engines.ts';
import { queryRows } from '../harness/postgres.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { runCheck } from './larimar-check.ts';

const CONTENT_BYTES = 20 * 1024 * 1024;

/** Removes what holds the one large blob there is, and tells how much that was. */
async function removeContent({ store: { data, engine = '' } }: Place): Promise<number> {
  if (data === undefined) return (await queryRows(engine, 'DELETE FROM larimar_extent_pieces RETURNING piece')).length;
  const folder = join(data, 'content');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  const holding = files.filter((file) => statSync(file).isFile() && statSync(file).size >= CONTENT_BYTES);
  for (const file of holding) rmSync(file);
  return holding.length;
}

test('check tells that content is missing', async (t) => {
  const server = await startServerProcess();
  t.after(() => server.stop());
  const container = await freshContainer(blobService(server));
  const { blockBlobClient } = await container.uploadBlockBlob('large', Buffer.alloc(CONTENT_BYTES, 'x'), CONTENT_BYTES);
  await blockBlobClient.createSnapshot();
  await server.terminate();
  const before = await runCheck(server.place);
  assert.equal(before.exitCode, 0, before.output);
  assert.match(before.output, /^ {2}1 container, 1 blob, 0 staged blocks$/m);
  assert.match(before.output, /^ {2}1 earlier state of blobs: snapshots, versions, and blobs that can be undeleted$/m);
  assert.ok((await removeContent(server.place)) > 0, 'something holds the content');
  const after = await runCheck(server.place);
  assert.equal(after.exitCode, 1, after.output);
});
