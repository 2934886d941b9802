/**
 * Incremental Copy Blob: snapshots of a page blob, copied one after the other into a blob that is there for them alone.
 * Races are drawn from a seed (LARIMAR_SEED replays it); at the end the store is checked.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import {
  BlobSASPermissions,
  generateBlobSASQueryParameters,
  type PageBlobClient,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { runCheck } from '../crash/larimar-check.ts';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService, freshContainer, outcome, outcomes, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { OutsideSource } from '../harness/outside-source.ts';
import { tally, together } from '../harness/parallel.ts';
import { Random } from '../harness/random.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { until } from '../harness/until.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const PAGE = 512;

const server = await startServerProcess({ accounts: [SECOND_ACCOUNT] });
after(() => server.stop());
const container = await freshContainer(blobService(server));

const freshName = (): PageBlobClient => container.getPageBlobClient(randomUUID());

async function freshPages(lengthBytes: number, options = {}): Promise<PageBlobClient> {
  const blob = freshName();
  await blob.create(lengthBytes, options);
  return blob;
}

const write = (blob: PageBlobClient, offset: number, text: string, lengthBytes = PAGE): Promise<unknown> =>
  blob.uploadPages(Buffer.alloc(lengthBytes, text), offset, lengthBytes);

const snapshotOf = async (blob: PageBlobClient): Promise<PageBlobClient> =>
  blob.withSnapshot((await blob.createSnapshot()).snapshot ?? '');

type Properties = Awaited<ReturnType<PageBlobClient['getProperties']>>;

const ended = (to: PageBlobClient): Promise<Properties> =>
  until({ what: 'the copy has ended', limitSeconds: 60 }, async () => {
    const properties = await to.getProperties();
    return properties.copyStatus !== 'pending' && properties;
  });

/** The snapshot that the destination has got. */
async function copy(from: PageBlobClient, to: PageBlobClient, options = {}): Promise<PageBlobClient> {
  const begun = await to.startCopyIncremental(from.url, options);
  const properties = await ended(to);
  assert.equal(properties.copyStatus, 'success');
  assert.equal(properties.copyId, begun.copyId);
  return to.withSnapshot(properties.destinationSnapshot ?? '');
}

type Ranges = Awaited<ReturnType<PageBlobClient['getPageRangesDiff']>>;
const rangesOf = ({ pageRange, clearRange }: Ranges) => ({ pageRange, clearRange });

const snapshotTime = (blob: PageBlobClient): string => new URL(blob.url).searchParams.get('snapshot') ?? '';

const beginRaw = (to: PageBlobClient, headers: Record<string, string>): Promise<RawResponse> =>
  send(server.url, { method: 'PUT', path: `/${to.containerName}/${to.name}?comp=incrementalcopy`, headers });

/** An empty blob has no ranges to ask for. */
const none = (): null => null;

const bytesOf = async (blob: PageBlobClient): Promise<Buffer> => {
  const { contentLength = 0 } = await blob.getProperties();
  return contentLength === 0 ? Buffer.alloc(0) : blob.downloadToBuffer();
};

const begin = (to: PageBlobClient, url: string, options = {}): Promise<string> =>
  outcome(to.startCopyIncremental(url, options));

const stateOf = async (blob: PageBlobClient) => {
  const { etag, copyId, copyStatus, destinationSnapshot, lastModified } = await blob.getProperties();
  return { etag, copyId, copyStatus, destinationSnapshot, lastModified };
};

describe('an incremental copy', () => {
  test('is pending when it is answered, and then a snapshot of a blob that says what it is', async () => {
    const from = await freshPages(3 * MIB, {
      blobSequenceNumber: 7,
      metadata: { a: '1' },
      blobHTTPHeaders: { blobContentType: 'disk/x' },
    });
    await write(from, 0, 'a', 4 * KIB);
    await write(from, 2 * MIB, 'b', 300 * KIB);
    const source = await snapshotOf(from);
    await write(from, 0, 'later', 64 * KIB);
    const to = freshName();
    const begun = await to.startCopyIncremental(source.url);
    assert.equal(begun.copyStatus, 'pending');
    assert.ok(begun.copyId !== undefined && begun.etag !== undefined && begun.lastModified instanceof Date);
    const properties = await ended(to);
    assert.equal(properties.copyStatus, 'success');
    assert.equal(properties.copyId, begun.copyId);
    assert.equal(properties.copySource, source.url);
    assert.equal(properties.copyProgress, `${3 * MIB}/${3 * MIB}`);
    assert.equal(properties.isIncrementalCopy, true);
    assert.equal(properties.blobType, 'PageBlob');
    assert.notEqual(properties.etag, begun.etag);
    const copied = to.withSnapshot(properties.destinationSnapshot ?? '');
    assert.ok((await copied.downloadToBuffer()).equals(await source.downloadToBuffer()));
    assert.deepEqual((await copied.getPageRanges()).pageRange, (await source.getPageRanges()).pageRange);
    const ofSnapshot = await copied.getProperties();
    for (const got of [properties, ofSnapshot]) {
      assert.equal(got.contentLength, 3 * MIB);
      assert.equal(got.contentType, 'disk/x');
      assert.equal(got.blobSequenceNumber, 7);
      assert.deepEqual(got.metadata, { a: '1' });
      assert.equal(got.destinationSnapshot, properties.destinationSnapshot);
      assert.equal(got.isIncrementalCopy, true);
    }
    assert.equal(ofSnapshot.etag, properties.etag);
  });

  test('of a later snapshot leaves the earlier ones as they were, and has just what has changed', async () => {
    const from = await freshPages(2 * MIB);
    await write(from, 0, 'a', 600 * KIB);
    await write(from, MIB, 'b', 4 * KIB);
    const to = freshName();
    const sources = [await snapshotOf(from)];
    const copies = [await copy(sources[0] as PageBlobClient, to)];
    for (const change of [
      () => write(from, 64 * KIB, 'c'),
      () => from.clearPages(MIB, KIB),
      () => from.resize(4 * MIB).then(() => write(from, 3 * MIB, 'd', 8 * KIB)),
      () => from.resize(MIB + 2 * KIB),
      () => from.clearPages(0, MIB),
      async () => {},
      () => from.resize(0),
    ]) {
      await change();
      const source = await snapshotOf(from);
      const copied = await copy(source, to);
      const [before, earlier] = [sources.at(-1), copies.at(-1)] as [PageBlobClient, PageBlobClient];
      const { contentLength = 0 } = await source.getProperties();
      const changed = await source.getPageRangesDiff(0, Math.max(contentLength, 1), snapshotTime(before)).catch(none);
      const copiedChange = await copied
        .getPageRangesDiff(0, Math.max(contentLength, 1), snapshotTime(earlier))
        .catch(none);
      assert.deepEqual(copiedChange && rangesOf(copiedChange), changed && rangesOf(changed));
      sources.push(source);
      copies.push(copied);
    }
    for (const [index, copied] of copies.entries()) {
      const [got, want] = await Promise.all([copied, sources[index] as PageBlobClient].map(bytesOf));
      assert.ok(got?.equals(want as Buffer), `copy ${index}`);
    }
    assert.equal((await to.getProperties()).contentLength, 0);
  });

  test('outlives its source, and can be copied from to go on with', async () => {
    const from = await freshPages(MIB);
    await write(from, 0, 'a', 64 * KIB);
    const to = freshName();
    const first = await copy(await snapshotOf(from), to);
    await write(from, KIB, 'b', 300 * KIB);
    const second = await copy(await snapshotOf(from), to);
    const [early, late] = [await first.downloadToBuffer(), await second.downloadToBuffer()];
    await from.delete({ deleteSnapshots: 'include' });
    assert.ok((await first.downloadToBuffer()).equals(early));
    const restored = freshName();
    await (await restored.beginCopyFromURL(second.url, { intervalInMs: 20 })).pollUntilDone();
    await write(restored, 0, 'c');
    late.fill('c', 0, PAGE);
    assert.ok((await restored.downloadToBuffer()).equals(late));
    assert.equal((await restored.getProperties()).isIncrementalCopy, undefined);
    const again = freshName();
    const copied = await copy(first, again);
    assert.ok((await copied.downloadToBuffer()).equals(early), 'its snapshots can be copied incrementally as well');
  });

  test('is listed as one, with its snapshots', async () => {
    const from = await freshPages(KIB);
    const to = freshName();
    const first = await copy(await snapshotOf(from), to);
    await copy(await snapshotOf(from), to);
    const { destinationSnapshot: last = '' } = await to.getProperties();
    const listed = [];
    for await (const { snapshot, properties } of container.listBlobsFlat({ includeSnapshots: true, prefix: to.name })) {
      listed.push([snapshot, properties.incrementalCopy]);
    }
    assert.deepEqual(listed, [
      [snapshotTime(first), true],
      [last, true],
      [undefined, true],
    ]);
    // The official client looks for the time of the snapshot under another name than the service gives it.
    const words = `restype=container&comp=list&include=snapshots,copy&prefix=${to.name}`;
    const { body } = await send(server.url, { method: 'GET', path: `/${container.containerName}?${words}` });
    const times = [...body.toString().matchAll(/<CopyDestinationSnapshot>([^<]*)</g)].map(([, time]) => time);
    assert.deepEqual(times, [snapshotTime(first), last, last]);
  });

  test('from another account needs a signature for the blob whose snapshot it is', async () => {
    const theirs = await freshContainer(blobService(server, SECOND_ACCOUNT));
    const from = theirs.getPageBlobClient(randomUUID());
    await from.create(KIB);
    await write(from, 0, 'z');
    const source = await snapshotOf(from);
    const to = freshName();
    assert.match(await refusal(to.startCopyIncremental(source.url)), /^40[134] CannotVerifyCopySource$/);
    const sas = generateBlobSASQueryParameters(
      {
        containerName: theirs.containerName,
        blobName: from.name,
        permissions: BlobSASPermissions.parse('r'),
        expiresOn: new Date(Date.now() + 3_600_000),
      },
      new StorageSharedKeyCredential(SECOND_ACCOUNT.name, SECOND_ACCOUNT.key),
    );
    await to.startCopyIncremental(`${source.url}&${sas.toString()}`);
    const { copySource, destinationSnapshot = '' } = await ended(to);
    assert.equal(copySource, source.url, 'the signature is nobody’s business');
    assert.ok((await to.withSnapshot(destinationSnapshot).downloadToBuffer()).equals(await source.downloadToBuffer()));
  });
});

describe('a blob that takes incremental copies', async () => {
  const from = await freshPages(KIB);
  const source = await snapshotOf(from);
  const to = freshName();
  await copy(source, to);

  for (const [what, act] of Object.entries<() => Promise<unknown>>({
    'Get Blob': () => to.download(),
    'Get Page Ranges': () => to.getPageRanges(),
    'Put Page': () => write(to, 0, 'x'),
    'Put Page From URL': () => to.uploadPagesFromURL(from.url, 0, 0, PAGE),
    'Clear Page': () => to.clearPages(0, PAGE),
    'Set Blob Properties': () => to.setHTTPHeaders({ blobContentType: 'x/y' }),
    'Set Blob Metadata': () => to.setMetadata({ a: 'b' }),
    'a resize': () => to.resize(PAGE),
    'Snapshot Blob': () => to.createSnapshot(),
    'Put Blob': () => to.create(KIB),
    'Put Block': () => container.getBlockBlobClient(to.name).stageBlock('YQ==', 'x', 1),
    'Copy Blob': () => to.beginCopyFromURL(from.url),
    'Copy Blob From URL': () => container.getBlockBlobClient(to.name).syncCopyFromURL(from.url),
    'a copy from it': () => freshName().beginCopyFromURL(to.url),
    'Put Page From URL from it': () => from.uploadPagesFromURL(to.url, 0, 0, PAGE),
  })) {
    test(`refuses ${what}`, async () => {
      const refused = await refusal(act());
      const isOtherType = what === 'Put Block';
      assert.equal(refused, isOtherType ? '409 InvalidBlobType' : '409 OperationNotAllowedOnIncrementalCopyBlob');
    });
  }

  test('can be asked for its properties, tagged, leased and, with its snapshots, deleted', async () => {
    const own = freshName();
    await copy(source, own);
    await own.setTags({ a: 'b' });
    const next = await snapshotOf(from);
    const conditions = { tagConditions: "a = 'c'" };
    assert.equal(await refusal(own.startCopyIncremental(next.url, { conditions })), '412 ConditionNotMet');
    await copy(next, own, { conditions: { tagConditions: "a = 'b'" } });
    assert.deepEqual((await own.getTags()).tags, { a: 'b' });
    const lease = own.getBlobLeaseClient();
    await lease.acquireLease(-1);
    const last = await snapshotOf(from);
    assert.equal(await refusal(own.startCopyIncremental(last.url)), '412 LeaseIdMissing');
    await lease.releaseLease();
    await copy(last, own);
    assert.equal(await refusal(own.delete()), '409 SnapshotsPresent');
    await own.delete({ deleteSnapshots: 'only' });
    assert.equal((await own.getProperties()).isIncrementalCopy, true);
    const kept = await copy(await snapshotOf(from), own);
    assert.ok((await kept.downloadToBuffer()).equals(await from.downloadToBuffer()));
    await own.delete({ deleteSnapshots: 'include' });
    assert.equal(await own.exists(), false);
    await own.create(KIB);
    await write(own, 0, 'a blob like any other');
  });
});

describe('an incremental copy is refused', async () => {
  const from = await freshPages(4 * KIB);
  await write(from, 0, 'a');
  const first = await snapshotOf(from);
  const second = await snapshotOf(from);

  test('of what is no snapshot of a page blob', async () => {
    const block = container.getBlockBlobClient(randomUUID());
    await block.upload('x', 1);
    const { snapshot = '' } = await block.createSnapshot();
    const outside = await OutsideSource.start(Buffer.alloc(PAGE));
    const missing = first.url.replace(from.name, 'missing');
    for (const [what, url, want] of [
      ['a blob', from.url, '409 IncrementalCopySourceMustBeSnapshot'],
      ['a version', `${from.url}?versionid=2024-01-01T00:00:00.0000000Z`, '409 IncrementalCopySourceMustBeSnapshot'],
      ['a snapshot of a block blob', block.withSnapshot(snapshot).url, '409 InvalidSourceBlobType'],
      ['a container', `${container.url}/?restype=container`, '409 InvalidSourceBlobUrl'],
      ['no URL', 'nonsense', '409 InvalidSourceBlobUrl'],
      ['a blob that is not there', missing, '404 CannotVerifyCopySource'],
      [
        'a snapshot that is not there',
        `${from.url}?snapshot=2019-03-29T18:12:15.6608647Z`,
        '404 CannotVerifyCopySource',
      ],
      ['another server', `${outside.url}?snapshot=2019-03-29T18:12:15.6608647Z`, '409 CannotVerifyCopySource'],
    ] as const) {
      const to = freshName();
      assert.equal(await begin(to, url), want, what);
      assert.equal(await to.exists(), false);
    }
    assert.equal((await beginRaw(freshName(), {})).outcome, '400 MissingRequiredHeader');
    assert.equal(outside.seen.length, 0);
  });

  test('to a blob that came about in another way, and of a source that is missing, for that first', async () => {
    const pages = await freshPages(KIB);
    assert.equal(await begin(pages, first.url), '409 IncrementalCopyBlobMismatch');
    assert.equal(await begin(pages, first.url.replace(from.name, 'missing')), '404 CannotVerifyCopySource');
    const append = container.getAppendBlobClient(randomUUID());
    await append.create();
    assert.equal(await begin(container.getPageBlobClient(append.name), first.url), '409 InvalidBlobType');
    const copied = freshName();
    await (await copied.beginCopyFromURL(first.url)).pollUntilDone();
    assert.equal(await begin(copied, second.url), '409 IncrementalCopyBlobMismatch');
    const nowhere = freshName().url.replace(container.containerName, 'no-such-container');
    const { outcome: got } = await send(server.url, {
      method: 'PUT',
      path: `/no-such-container/${nowhere.split('/').at(-1)}?comp=incrementalcopy`,
      headers: { 'x-ms-copy-source': first.url },
    });
    assert.equal(got, '404 ContainerNotFound');
  });

  test('of another blob, an earlier snapshot, the same again, or a source made anew', async () => {
    const disk = await freshPages(KIB);
    const snapshots = [await snapshotOf(disk), await snapshotOf(disk), await snapshotOf(disk)] as const;
    const to = freshName();
    await copy(snapshots[1], to);
    const before = await stateOf(to);
    assert.equal(await begin(to, first.url), '409 IncrementalCopyBlobMismatch');
    const earlier = '409 IncrementalCopyOfEarlierVersionSnapshotNotAllowed';
    assert.equal(await begin(to, snapshots[0].url), earlier);
    assert.equal(await begin(to, snapshots[1].url), earlier);
    await disk.create(KIB);
    const anew = await snapshotOf(disk);
    assert.equal(await begin(to, anew.url), '409 IncrementalCopyBlobMismatch');
    assert.deepEqual(await stateOf(to), before, 'nothing has changed');
    await copy(snapshots[2], to);
  });

  test('without the snapshot that was copied last, to which it would be compared', async () => {
    const disk = await freshPages(KIB);
    const last = await snapshotOf(disk);
    const to = freshName();
    const copied = await copy(last, to);
    await last.delete();
    assert.equal(await begin(to, (await snapshotOf(disk)).url), '409 PreviousSnapshotNotFound');
    await copied.downloadToBuffer();
  });

  test('where the destination does not meet its conditions', async () => {
    const to = freshName();
    assert.equal(await begin(to, first.url, { conditions: { ifMatch: '*' } }), '412 ConditionNotMet');
    await copy(first, to, { conditions: { ifNoneMatch: '*' } });
    const { etag = '' } = await to.getProperties();
    for (const [conditions, want] of [
      [{ ifNoneMatch: '*' }, '409 BlobAlreadyExists'],
      [{ ifMatch: '"0x1"' }, '412 ConditionNotMet'],
      [{ ifNoneMatch: etag }, '412 ConditionNotMet'],
      [{ ifModifiedSince: new Date(Date.now() + 60_000) }, '412 ConditionNotMet'],
      [{ ifUnmodifiedSince: new Date(0) }, '412 ConditionNotMet'],
      [{ ifMatch: etag }, 'ok'],
    ] as const) {
      assert.equal(await begin(to, second.url, { conditions }), want, JSON.stringify(conditions));
    }
    await ended(to);
  });

  test('to a token that may only create, where the blob is there', async () => {
    const own = container.credential as StorageSharedKeyCredential;
    const sas = (name: string, permissions: string): string =>
      generateBlobSASQueryParameters(
        {
          containerName: container.containerName,
          blobName: name,
          permissions: BlobSASPermissions.parse(permissions),
          expiresOn: new Date(Date.now() + 3_600_000),
        },
        own,
      ).toString();
    const to = freshName();
    const put = (url: string, permissions: string): Promise<RawResponse> =>
      send(server.url, {
        method: 'PUT',
        path: `/${container.containerName}/${to.name}?comp=incrementalcopy&${sas(to.name, permissions)}`,
        headers: { 'x-ms-copy-source': `${url}&${sas(from.name, 'r')}` },
        account: null,
      });
    assert.equal((await put(first.url, 'r')).outcome, '403 AuthorizationPermissionMismatch');
    assert.equal((await put(first.url, 'c')).outcome, '202');
    await ended(to);
    assert.equal((await put(second.url, 'c')).outcome, '403 UnauthorizedBlobOverwrite');
    assert.equal((await put(second.url, 'w')).outcome, '202');
    await ended(to);
  });

  test('with a body, and with a snapshot as its destination', async () => {
    const to = freshName();
    const path = `/${container.containerName}/${to.name}?comp=incrementalcopy`;
    const headers = { 'x-ms-copy-source': first.url };
    const { outcome: withBody } = await send(server.url, { method: 'PUT', path, headers, body: 'x' });
    assert.equal(withBody, '400 InvalidHeaderValue');
    const past = `${path}&snapshot=2019-03-29T18:12:15.6608647Z`;
    assert.equal(
      (await send(server.url, { method: 'PUT', path: past, headers })).outcome,
      '400 InvalidQueryParameterValue',
    );
  });
});

describe('races', () => {
  const random = new Random();

  test('an incremental copy against writes to the source is the snapshot, whatever is written', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const lengthBytes = 2 * MIB;
    const from = await freshPages(lengthBytes);
    const to = freshName();
    for (let round = 0; round < 6; round++) {
      const source = await snapshotOf(from);
      const want = await source.downloadToBuffer();
      const results = await together(16, async (index) => {
        if (index === random.below(8)) await to.startCopyIncremental(source.url).catch(() => {});
        const at = PAGE * random.below(lengthBytes / PAGE - 64);
        return random.chance(0.2)
          ? from.clearPages(at, 64 * PAGE)
          : write(from, at, String.fromCharCode(65 + index), PAGE * (1 + random.below(64)));
      });
      assert.deepEqual(tally(outcomes(results)), { ok: 16 });
      // Nobody's turn may have come to begin it.
      await to.startCopyIncremental(source.url).catch(() => {});
      const { copyStatus, copySource, destinationSnapshot = '' } = await ended(to);
      assert.equal(copyStatus, 'success');
      assert.equal(copySource, source.url);
      assert.ok((await to.withSnapshot(destinationSnapshot).downloadToBuffer()).equals(want), `round ${round}`);
    }
  });

  test('an incremental copy against the deletion of its source is whole, refused or failed', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    for (let round = 0; round < 10; round++) {
      const from = await freshPages(MIB);
      for (let at = 0; at < MIB; at += 128 * KIB) await write(from, at, String.fromCharCode(65 + round), 4 * KIB);
      const source = await snapshotOf(from);
      const want = await source.downloadToBuffer();
      const to = freshName();
      const acts = [
        () => to.startCopyIncremental(source.url),
        () => (round % 2 === 0 ? source.delete() : from.delete({ deleteSnapshots: 'include' })),
      ];
      if (random.chance(0.5)) acts.reverse();
      const results = await together(2, (index) => (acts[index] as () => Promise<unknown>)());
      for (const got of outcomes(results)) assert.ok(got === 'ok' || got === '404 CannotVerifyCopySource', got);
      if (!(await to.exists())) continue;
      const { copyStatus, destinationSnapshot = '' } = await ended(to);
      assert.equal(copyStatus, 'success', 'what was accepted is held');
      assert.ok((await to.withSnapshot(destinationSnapshot).downloadToBuffer()).equals(want));
    }
  });

  test('of many that begin the same copy one does, and of many snapshots they come in order', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const from = await freshPages(64 * KIB);
    const to = freshName();
    const sources: PageBlobClient[] = [];
    for (let index = 0; index < 6; index++) {
      await write(from, index * KIB, String.fromCharCode(65 + index), KIB);
      sources.push(await snapshotOf(from));
    }
    const same = await together(12, () => to.startCopyIncremental((sources[0] as PageBlobClient).url));
    const counts = tally(outcomes(same));
    assert.equal(counts['ok'], 1);
    await ended(to);
    const copied: string[] = [];
    await together(6, async (index) => {
      for (let attempt = 0; attempt < 10; attempt++) {
        const source = sources[(index + attempt) % sources.length] as PageBlobClient;
        const got = await outcome(to.startCopyIncremental(source.url));
        if (got === 'ok') copied.push(snapshotTime(source));
        else assert.match(got, /^409 (PendingCopyOperation|IncrementalCopyOfEarlierVersionSnapshotNotAllowed)$/);
      }
    });
    await ended(to);
    assert.equal(new Set(copied).size, copied.length, 'no snapshot is copied twice');
    // Answers may overtake each other on their way; in which order the copies were made, their snapshots show below.
    copied.sort();
    const listed: string[] = [];
    for await (const { snapshot } of container.listBlobsFlat({ includeSnapshots: true, prefix: to.name })) {
      if (snapshot !== undefined) listed.push(snapshot);
    }
    assert.equal(listed.length, 1 + copied.length);
    for (const [index, time] of [snapshotTime(sources[0] as PageBlobClient), ...copied].entries()) {
      const [got, want] = await Promise.all([
        to.withSnapshot(listed[index] as string).downloadToBuffer(),
        from.withSnapshot(time).downloadToBuffer(),
      ]);
      assert.ok(got.equals(want), `copy ${index}`);
    }
  });
});

test('what all of it left in the store checks out', async () => {
  await server.terminate();
  const { exitCode, output } = await runCheck(server.place);
  assert.equal(exitCode, 0, output);
  await server.start();
});
