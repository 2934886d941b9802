/**
 * Copy File from other servers: pending at first, of its full length and zeros, complete or empty in the end, never in
 * between. The other server is a web server of the test's, or this server once more.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { FileSASPermissions, type ShareFileClient } from '@azure/storage-file-share';
import { refusal } from '../harness/clients.ts';
import { freshShare } from '../harness/file-clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import { OutsideSource } from '../harness/outside-source.ts';
import { Gate } from '../harness/store.ts';
import { until } from '../harness/until.ts';

const server = await startInProcess();
const share = await freshShare(server);
const BYTES = randomBytes(1_000_001);

const freshName = (): ShareFileClient => share.rootDirectoryClient.getFileClient(randomUUID());

async function begin(
  source: { readonly url: string },
  options: Parameters<ShareFileClient['startCopyFromURL']>[1] = {},
): Promise<{ to: ShareFileClient; copyId: string }> {
  const to = freshName();
  const { copyStatus, copyId = '' } = await to.startCopyFromURL(source.url, options);
  assert.equal(copyStatus, 'pending', 'a copy from outside is pending when it is answered');
  return { to, copyId };
}

const ended = ({ to }: { to: ShareFileClient }) =>
  until({ what: 'the copy has ended', limitSeconds: 60 }, async () => {
    const properties = await to.getProperties();
    return properties.copyStatus !== 'pending' && properties;
  });

/** One that stands still in its second answer, until it is let go on. */
async function held(afterBytes = 400_000): Promise<{ source: OutsideSource; gate: Gate }> {
  const source = await OutsideSource.start(BYTES);
  const gate = new Gate();
  source.behave = ({ number }) => (number === 0 ? {} : { afterBytes, gate: gate.passed });
  return { source, gate };
}

describe('a copy from outside', () => {
  test('is pending and zeros until it is complete, then all there with a new ETag', async () => {
    const { source, gate } = await held();
    source.headers = { 'content-type': 'text/x', 'x-ms-meta-Colour': 'blue' };
    const copy = await begin(source);
    const pending = await copy.to.getProperties();
    assert.deepEqual(
      [pending.copyStatus, pending.contentLength, pending.contentType, pending.copyCompletedOn],
      ['pending', BYTES.length, 'text/x', undefined],
    );
    assert.deepEqual(pending.metadata, { colour: 'blue' });
    await until({ what: 'progress is noted', limitSeconds: 60 }, async () => {
      const { copyProgress = '' } = await copy.to.getProperties();
      return copyProgress === `400000/${BYTES.length}`;
    });
    assert.ok((await copy.to.downloadToBuffer()).equals(Buffer.alloc(BYTES.length)));
    gate.open();
    const done = await ended(copy);
    assert.deepEqual([done.copyStatus, done.copyProgress], ['success', `${BYTES.length}/${BYTES.length}`]);
    assert.notEqual(done.etag, pending.etag);
    assert.ok((await copy.to.downloadToBuffer()).equals(BYTES));
    assert.equal(source.seen.at(-1)?.ifMatch, '"first"', 'the state that was first seen is asked for');
  });

  test('keeps everybody from its destination until it has ended', async () => {
    const { source, gate } = await held(1_000);
    const copy = await begin(source);
    const { to } = copy;
    for (const [what, act] of Object.entries({
      create: () => to.create(1),
      write: () => to.uploadRange('x', 0, 1),
      'write from a URL': () => to.uploadRangeFromURL(source.url, 0, 0, 1),
      clear: () => to.clearRange(0, 1),
      resize: () => to.resize(1),
      metadata: () => to.setMetadata({ a: 'b' }),
      headers: () => to.setHttpHeaders({}),
      lease: () => to.getShareLeaseClient().acquireLease(),
      delete: () => to.delete(),
      copy: () => to.startCopyFromURL(source.url),
      'copy from it': () => freshName().startCopyFromURL(to.url),
    })) {
      assert.equal(await refusal(act()), '409 PendingCopyOperation', what);
    }
    gate.open();
    assert.equal((await ended(copy)).copyStatus, 'success');
    await to.uploadRange('x', 0, 1);
  });

  test('can be aborted, and then its file is empty and free', async () => {
    const { source } = await held();
    const copy = await begin(source, { metadata: { kept: '1' } });
    assert.equal(await refusal(copy.to.abortCopyFromURL(randomUUID())), '409 CopyIdMismatch');
    await copy.to.abortCopyFromURL(copy.copyId);
    const { copyStatus, contentLength, metadata, copyId } = await copy.to.getProperties();
    assert.deepEqual([copyStatus, contentLength, metadata, copyId], ['aborted', 0, { kept: '1' }, copy.copyId]);
    assert.equal(await refusal(copy.to.abortCopyFromURL(copy.copyId)), '409 NoPendingCopyOperation');
    await copy.to.create(3);
    await copy.to.uploadRange('abc', 0, 3);
    assert.equal(String(await copy.to.downloadToBuffer()), 'abc');
    await until({ what: 'the source is let go of', limitSeconds: 60 }, () => source.openCount === 0);
  });

  test('that is aborted on a leased file takes the lease', async () => {
    const { source } = await held();
    const to = freshName();
    await to.create(1);
    const { leaseId = '' } = await to.getShareLeaseClient().acquireLease();
    const options = { leaseAccessConditions: { leaseId } };
    const { copyId = '' } = await to.startCopyFromURL(source.url, options);
    assert.equal(await refusal(to.abortCopyFromURL(copyId)), '412 LeaseIdMissing');
    await to.abortCopyFromURL(copyId, options);
    const { copyStatus, leaseState } = await to.getProperties();
    assert.deepEqual([copyStatus, leaseState], ['aborted', 'leased']);
  });

  test('fails where the source becomes another meanwhile, and is empty', async () => {
    const source = await OutsideSource.start(BYTES);
    source.behave = ({ number }) => {
      if (number !== 1) return {};
      source.etag = '"second"';
      return { status: 412 };
    };
    const done = await ended(await begin(source));
    assert.deepEqual([done.copyStatus, done.contentLength], ['failed', 0]);
    assert.match(done.copyStatusDescription ?? '', /^412 /);
  });

  test('goes on from where it was when its source breaks off', async () => {
    const source = await OutsideSource.start(BYTES);
    source.behave = ({ number }) => (number === 1 ? { afterBytes: 600_000, breaksOff: true } : {});
    const copy = await begin(source);
    assert.equal((await ended(copy)).copyStatus, 'success');
    assert.ok((await copy.to.downloadToBuffer()).equals(BYTES));
    assert.equal(source.seen.at(-1)?.firstByte, 600_000);
  });

  test('that refuses is refused with what it says', async () => {
    const source = await OutsideSource.start(BYTES);
    source.behave = () => ({ status: 404, errorCode: 'ResourceNotFound' });
    assert.equal(await refusal(freshName().startCopyFromURL(source.url)), '404 CannotVerifyCopySource');
    source.behave = () => ({ status: 403 });
    assert.equal(await refusal(freshName().startCopyFromURL(source.url)), '403 CannotVerifyCopySource');
  });

  test('of a file of another such server has its bytes and its metadata', async () => {
    const other = await startInProcess();
    const from = (await freshShare(other)).rootDirectoryClient.getFileClient('f');
    await from.create(BYTES.length, { metadata: { a: '1' } });
    await from.uploadRange(BYTES, 0, BYTES.length);
    assert.equal(await refusal(freshName().startCopyFromURL(from.url)), '401 CannotVerifyCopySource');
    const permissions = FileSASPermissions.parse('r');
    const url = from.generateSasUrl({ permissions, expiresOn: new Date(Date.now() + 60_000) });
    const copy = await begin({ url });
    const done = await ended(copy);
    assert.deepEqual([done.copyStatus, done.metadata, done.copySource], ['success', { a: '1' }, from.url]);
    assert.ok((await copy.to.downloadToBuffer()).equals(BYTES));
    const range = freshName();
    await range.create(1000);
    await range.uploadRangeFromURL(url, 5_000, 10, 100);
    assert.ok((await range.downloadToBuffer(10, 100)).equals(BYTES.subarray(5_000, 5_100)));
  });
});
