/** Copy Blob from another server: pending at first, complete or empty, never in between, and able to outlast failures. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  type BlobClient,
  BlobSASPermissions,
  type BlockBlobClient,
  generateBlobSASQueryParameters,
  type StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { startServer } from '../../src/main.ts';
import { blobService, freshContainer, outcome, refusal } from '../harness/clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import { OutsideSource } from '../harness/outside-source.ts';
import { Gate } from '../harness/store.ts';
import { until } from '../harness/until.ts';

const MIB = 1024 * 1024;
const DAY_SECONDS = 24 * 60 * 60;
const server = await startInProcess();
const container = await freshContainer(blobService(server));
const BYTES = randomBytes(1_000_000);

const freshName = (): BlockBlobClient => container.getBlockBlobClient(randomUUID());

interface Begun {
  readonly to: BlockBlobClient;
  readonly copyId: string;
}

async function begin(
  source: { readonly url: string },
  to = freshName(),
  options: Parameters<BlockBlobClient['beginCopyFromURL']>[1] = {},
): Promise<Begun> {
  const poller = await to.beginCopyFromURL(source.url, options);
  assert.equal(poller.isDone(), false, 'a copy from outside is pending when it is answered');
  const state: { copyId?: string; result?: unknown } = poller.getOperationState();
  return { to, copyId: state.copyId ?? '' };
}

type Properties = Awaited<ReturnType<BlobClient['getProperties']>>;

const ended = ({ to }: Pick<Begun, 'to'>): Promise<Properties> =>
  until({ what: 'the copy has ended', limitSeconds: 60 }, async () => {
    const properties = await to.getProperties();
    return properties.copyStatus !== 'pending' && properties;
  });

const described = ({ to }: Begun): Promise<Properties> =>
  until({ what: 'a failure is described', limitSeconds: 60 }, async () => {
    const properties = await to.getProperties();
    return properties.copyStatusDescription !== undefined && properties;
  });

/** The end of a copy that waits to be tried again: the node looks for such by itself, when its clock has moved. */
async function retried(copy: Begun): Promise<Properties> {
  server.clock.advance({ seconds: 60 });
  return ended(copy);
}

describe('a copy from outside', () => {
  test('is pending and empty until it is complete, then all there with a new ETag', async () => {
    const source = await OutsideSource.start(BYTES);
    source.headers = { 'content-type': 'text/x', 'cache-control': 'no-store', 'x-ms-meta-Colour': 'blue' };
    const gate = new Gate();
    source.behave = ({ number }) => (number === 0 ? {} : { afterBytes: 400_000, gate: gate.passed });
    const copy = await begin(source);
    const pending = await copy.to.getProperties();
    assert.equal(pending.copyStatus, 'pending');
    assert.equal(pending.contentLength, 0);
    assert.equal(pending.contentType, 'text/x');
    assert.deepEqual(pending.metadata, { colour: 'blue' });
    assert.equal(await copy.to.downloadToBuffer().then(String), '');
    await until({ what: 'progress is noted', limitSeconds: 60 }, async () => {
      const { copyProgress = '', contentLength } = await copy.to.getProperties();
      assert.equal(contentLength, 0);
      return copyProgress === '400000/1000000';
    });
    gate.open();
    const done = await ended(copy);
    assert.equal(done.copyStatus, 'success');
    assert.equal(done.copyProgress, '1000000/1000000');
    assert.equal(done.contentLength, BYTES.length);
    assert.equal(done.cacheControl, 'no-store');
    assert.equal(done.copyStatusDescription, undefined);
    assert.notEqual(done.etag, pending.etag);
    assert.deepEqual(await copy.to.downloadToBuffer(), BYTES);
    assert.deepEqual((await copy.to.getBlockList('all')).committedBlocks ?? [], []);
    assert.equal(source.seen.at(-1)?.ifMatch, '"first"', 'the state that was first seen is asked for');
  });

  test('works for nothing at all, and for so little that it needs no file', async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from('x'), randomBytes(8_192)]) {
      const copy = await begin(await OutsideSource.start(bytes));
      assert.equal((await ended(copy)).copyStatus, 'success');
      assert.deepEqual(await copy.to.downloadToBuffer(), bytes);
    }
  });

  test('of more than one part is one blob', async () => {
    const bytes = Buffer.concat([Buffer.alloc(33 * MIB, 'long '), randomBytes(5)]);
    const copy = await begin(await OutsideSource.start(bytes));
    assert.equal((await ended(copy)).copyStatus, 'success');
    assert.ok((await copy.to.downloadToBuffer()).equals(bytes));
    assert.deepEqual((await copy.to.getBlockList('all')).committedBlocks ?? [], []);
    const again = freshName();
    await (await again.beginCopyFromURL(copy.to.url)).pollUntilDone();
    await copy.to.delete();
    assert.ok((await again.downloadToBuffer()).equals(bytes));
  });

  test('takes metadata, tags and tier from the request, and hides what is secret in its URL', async () => {
    const source = await OutsideSource.start(BYTES);
    const url = `${source.url}?sv=2020&sig=secret&snapshot=2020-01-01T00:00:00.0000000Z`;
    const copy = await begin({ url }, freshName(), { metadata: { own: '1' }, tags: { a: 'b' }, tier: 'Cool' });
    const done = await ended(copy);
    assert.deepEqual(done.metadata, { own: '1' });
    assert.equal(done.accessTier, 'Cool');
    assert.equal(done.tagCount, 1);
    assert.equal(done.copySource, `${source.url}?snapshot=2020-01-01T00:00:00.0000000Z`);
    assert.ok(source.seen.every((request) => request.url.includes('sig=secret')));
  });

  test('keeps everybody from its destination until it has ended', async () => {
    const source = await OutsideSource.start(BYTES);
    const gate = new Gate();
    source.behave = ({ number }) => (number === 0 ? {} : { afterBytes: 1_000, gate: gate.passed });
    const copy = await begin(source);
    const { to } = copy;
    for (const [what, act] of Object.entries({
      overwrite: () => to.upload('x', 1),
      stage: () => to.stageBlock('YQ==', 'x', 1),
      commit: () => to.commitBlockList([]),
      metadata: () => to.setMetadata({ a: 'b' }),
      lease: () => to.getBlobLeaseClient().acquireLease(15),
      snapshot: () => to.createSnapshot(),
      delete: () => to.delete(),
      copy: () => to.beginCopyFromURL(source.url),
      'copy from it': () => freshName().beginCopyFromURL(to.url),
    })) {
      assert.equal(await refusal(act() as Promise<unknown>), '409 PendingCopyOperation', what);
    }
    gate.open();
    assert.equal((await ended(copy)).copyStatus, 'success');
    await to.upload('x', 1);
    assert.equal(await to.downloadToBuffer().then(String), 'x');
  });

  test('needs a lease without end where the destination is leased', async () => {
    const source = await OutsideSource.start(BYTES);
    const to = freshName();
    await to.upload('old', 3);
    const lease = to.getBlobLeaseClient();
    const { leaseId = '' } = await lease.acquireLease(15);
    const conditions = { leaseId };
    assert.equal(await refusal(to.beginCopyFromURL(source.url, { conditions })), '412 InfiniteLeaseDurationRequired');
    assert.equal(await to.downloadToBuffer().then(String), 'old');
    await lease.releaseLease();
    await lease.acquireLease(-1);
    assert.equal(await refusal(to.beginCopyFromURL(source.url)), '412 LeaseIdMissing');
    const copy = await begin(source, to, { conditions });
    assert.equal((await ended(copy)).leaseState, 'leased');
  });

  test('refuses a destination before it asks the source', async () => {
    const source = await OutsideSource.start(BYTES);
    const to = freshName();
    await to.upload('old', 3);
    const asked = to.beginCopyFromURL(source.url, { conditions: { ifNoneMatch: '*' } });
    assert.equal(await refusal(asked), '409 BlobAlreadyExists');
    assert.equal(source.seen.length, 0);
  });

  test('is refused where the source is: not there, not allowed, not as it should be', async () => {
    const source = await OutsideSource.start(BYTES);
    for (const [status, code] of [
      [404, 'BlobNotFound'],
      [403, 'AuthenticationFailed'],
    ] as const) {
      source.behave = () => ({ status, errorCode: code });
      assert.equal(await refusal(freshName().beginCopyFromURL(source.url)), `${status} CannotVerifyCopySource`);
    }
    source.behave = () => ({});
    const sourceConditions = { ifMatch: '"other"' };
    const unmet = freshName().beginCopyFromURL(source.url, { sourceConditions });
    assert.equal(await refusal(unmet), '412 SourceConditionNotMet');
    const same = freshName().beginCopyFromURL(source.url, { sourceConditions: { ifNoneMatch: '"first"' } });
    assert.equal(await refusal(same), '412 SourceConditionNotMet');
  });
});

describe('an abort', () => {
  test('ends the fetching and leaves an empty blob with its metadata, to be written again', async () => {
    const source = await OutsideSource.start(BYTES);
    source.headers = { 'x-ms-meta-a': '1' };
    source.behave = ({ number }) => (number === 0 ? {} : { afterBytes: 1_000, gate: new Promise(() => {}) });
    const copy = await begin(source);
    await source.asked(2);
    const { etag } = await copy.to.getProperties();
    assert.equal(await refusal(copy.to.abortCopyFromURL(randomUUID())), '409 CopyIdMismatch');
    await copy.to.abortCopyFromURL(copy.copyId);
    const aborted = await copy.to.getProperties();
    assert.equal(aborted.copyStatus, 'aborted');
    assert.equal(aborted.contentLength, 0);
    assert.deepEqual(aborted.metadata, { a: '1' });
    assert.notEqual(aborted.etag, etag);
    assert.equal(await refusal(copy.to.abortCopyFromURL(copy.copyId)), '409 NoPendingCopyOperation');
    await until({ what: 'the connection is closed', limitSeconds: 60 }, () => source.openCount === 0);
    source.behave = () => ({});
    const again = await begin(source, copy.to);
    assert.equal((await ended(again)).copyStatus, 'success');
    assert.deepEqual(await copy.to.downloadToBuffer(), BYTES);
  });
});

describe('a failing source', () => {
  test('that breaks off is asked for the rest, from the byte that was reached', async () => {
    const source = await OutsideSource.start(BYTES);
    source.behave = ({ number }) => (number === 1 || number === 2 ? { afterBytes: 300_000, breaksOff: true } : {});
    const copy = await begin(source);
    assert.equal((await ended(copy)).copyStatus, 'success');
    assert.deepEqual(await copy.to.downloadToBuffer(), BYTES);
    const firsts = source.seen.slice(1).map(({ firstByte }) => firstByte);
    assert.deepEqual(firsts, [0, 300_000, 600_000]);
    assert.ok(source.seen.slice(1).every(({ ifMatch }) => ifMatch === '"first"'));
  });

  test('that knows no ranges is read from its beginning again', async () => {
    const source = await OutsideSource.start(BYTES);
    source.knowsRanges = false;
    source.behave = ({ number }) => (number === 1 ? { afterBytes: 300_000, breaksOff: true } : {});
    const copy = await begin(source);
    assert.equal((await ended(copy)).copyStatus, 'success');
    assert.deepEqual(await copy.to.downloadToBuffer(), BYTES);
  });

  test('that changes while it is copied fails the copy, which stays empty', async () => {
    const source = await OutsideSource.start(BYTES);
    source.behave = ({ number }) => {
      if (number === 1) source.etag = '"second"';
      return number === 1 ? { afterBytes: 300_000, breaksOff: true } : {};
    };
    const copy = await begin(source);
    // What was being sent still had the first ETag, or the copy would never have begun.
    const failed = await ended(copy);
    assert.equal(failed.copyStatus, 'failed');
    assert.match(failed.copyStatusDescription ?? '', /^412 /);
    assert.equal(failed.contentLength, 0);
    assert.equal(await refusal(copy.to.abortCopyFromURL(copy.copyId)), '409 NoPendingCopyOperation');
    await copy.to.upload('x', 1);
  });

  test('that is gone by the time it is fetched fails the copy', async () => {
    const source = await OutsideSource.start(BYTES);
    source.behave = ({ number }) => (number === 0 ? {} : { status: 404, errorCode: 'BlobNotFound' });
    const failed = await ended(await begin(source));
    assert.equal(failed.copyStatus, 'failed');
    assert.match(failed.copyStatusDescription ?? '', /^404 BlobNotFound /);
  });

  test('without an ETag or a date is fetched in one go, or from the beginning', async () => {
    const source = await OutsideSource.start(BYTES);
    source.etag = null;
    source.behave = ({ number }) => (number === 1 ? { afterBytes: 300_000, breaksOff: true } : {});
    const copy = await begin(source);
    await described(copy);
    assert.equal((await retried(copy)).copyStatus, 'success');
    assert.deepEqual(
      source.seen.map(({ firstByte }) => firstByte),
      [0, 0, 0],
    );
    assert.deepEqual(await copy.to.downloadToBuffer(), BYTES);
  });

  test('is tried again later, and says so meanwhile', async () => {
    const source = await OutsideSource.start(BYTES);
    let isDown = true;
    source.behave = ({ number }) => (number > 0 && isDown ? { status: 503 } : {});
    const copy = await begin(source);
    const waiting = await described(copy);
    assert.equal(waiting.copyStatus, 'pending');
    assert.match(waiting.copyStatusDescription ?? '', /^502 BadGateway /);
    isDown = false;
    assert.equal((await retried(copy)).copyStatus, 'success');
    assert.deepEqual(await copy.to.downloadToBuffer(), BYTES);
  });

  test('that stays down for two weeks fails the copy', async () => {
    const source = await OutsideSource.start(BYTES);
    source.behave = ({ number }) => (number > 0 ? { status: 503 } : {});
    const copy = await begin(source);
    await described(copy);
    server.clock.advance({ seconds: 14 * DAY_SECONDS });
    const failed = await ended(copy);
    assert.equal(failed.copyStatus, 'failed');
    assert.match(failed.copyStatusDescription ?? '', /^500 OperationCancelled /);
  });
});

describe('from a second server of this kind', async () => {
  const other = await startInProcess();
  const theirs = await freshContainer(blobService(other));

  const signed = (blob: BlobClient): string => {
    const sas = generateBlobSASQueryParameters(
      {
        containerName: blob.containerName,
        blobName: blob.name,
        permissions: BlobSASPermissions.parse('r'),
        expiresOn: new Date(Date.now() + 30 * DAY_SECONDS * 1000),
      },
      theirs.credential as StorageSharedKeyCredential,
    );
    return `${blob.url}?${sas.toString()}`;
  };

  test('a block blob is copied with headers, metadata and MD5, and its signature hidden', async () => {
    const from = theirs.getBlockBlobClient(randomUUID());
    await from.upload(BYTES, BYTES.length, { metadata: { a: '1' }, blobHTTPHeaders: { blobContentType: 'text/x' } });
    const to = freshName();
    const poller = await to.beginCopyFromURL(signed(from), { intervalInMs: 50 });
    assert.equal((await poller.pollUntilDone()).copyStatus, 'success');
    const [source, copied] = [await from.getProperties(), await to.getProperties()];
    assert.deepEqual(await to.downloadToBuffer(), BYTES);
    assert.deepEqual(copied.contentMD5, source.contentMD5);
    assert.deepEqual(copied.metadata, source.metadata);
    assert.equal(copied.contentType, 'text/x');
    assert.equal(copied.copySource, from.url);
  });

  test('an append blob stays one, and a page blob too, with zeros where there were no pages', async () => {
    const append = theirs.getAppendBlobClient(randomUUID());
    await append.create();
    await append.appendBlock('one,', 4);
    await append.appendBlock('two,', 4);
    const appended = container.getAppendBlobClient(randomUUID());
    await (await appended.beginCopyFromURL(signed(append), { intervalInMs: 50, sealBlob: true })).pollUntilDone();
    assert.equal(await appended.downloadToBuffer().then(String), 'one,two,');
    assert.equal((await appended.getProperties()).isSealed, true);

    const pages = theirs.getPageBlobClient(randomUUID());
    await pages.create(9 * MIB, { blobSequenceNumber: 7 });
    await pages.uploadPages(Buffer.alloc(512, 'a'), 512, 512);
    await pages.uploadPages(randomBytes(64 * 1024), 5 * MIB, 64 * 1024);
    const copied = container.getPageBlobClient(randomUUID());
    await (await copied.beginCopyFromURL(signed(pages), { intervalInMs: 50 })).pollUntilDone();
    assert.ok((await copied.downloadToBuffer()).equals(await pages.downloadToBuffer()));
    assert.equal((await copied.getProperties()).blobSequenceNumber, 7);
    assert.deepEqual((await copied.getPageRanges()).pageRange, (await pages.getPageRanges()).pageRange);
  });

  test('what is overwritten there while it is copied is not mixed', async () => {
    const from = theirs.getBlockBlobClient(randomUUID());
    await from.upload('first', 5);
    const copy = await begin({ url: signed(from) });
    await from.upload('second', 6);
    const done = await ended(copy);
    const text = await copy.to.downloadToBuffer().then(String);
    if (done.copyStatus === 'success') assert.equal(text, 'first');
    else assert.match(done.copyStatusDescription ?? '', /^412 ConditionNotMet /);
  });
});

test('a server that is told so copies from nowhere else', async () => {
  const alone = await startServer({ memory: true, outsideCopies: false });
  try {
    const inside = await freshContainer(blobService({ connectionString: () => alone.connectionString }));
    const source = await OutsideSource.start(BYTES);
    const to = inside.getBlockBlobClient('to');
    assert.equal(await refusal(to.beginCopyFromURL(source.url)), '403 CannotVerifyCopySource');
    assert.equal(await refusal(to.syncCopyFromURL(source.url)), '403 CannotVerifyCopySource');
    assert.equal(source.seen.length, 0);
    await to.upload('own', 3);
    assert.equal(await outcome(inside.getBlockBlobClient('copy').syncCopyFromURL(to.url)), 'ok');
  } finally {
    await alone.close();
  }
});
