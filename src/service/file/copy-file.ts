/**
 * Copy File. A file of this server is copied by sharing its pages, in one transaction if they are few; a short blob is read
 * and written in one, too. All else is a job (copy-run.ts), while the destination has its length already, shows zeros, and
 * refuses whoever writes to it.
 */
import { randomUUID } from 'node:crypto';
import type { Id } from '../../base/ids.ts';
import { NO_CONDITIONS } from '../../rules/conditions.ts';
import { type CopyState, pendingCopy } from '../../rules/copy.ts';
import type { ApiVersion } from '../../rules/versions.ts';
import { askSource, doneCopy } from '../copy/copy-blob.ts';
import type { FetchedSource } from '../copy/copy-job.ts';
import type { CopySource, FileSource, InsideSource, OutsideSource, SourceDemands } from '../copy/copy-source.ts';
import { doneSoon } from '../copy/done-soon.ts';
import { asMissingSource, findFileSource } from '../copy/file-source.ts';
import { loadSource } from '../copy/inside-source.ts';
import type { OutsideHead } from '../copy/outside.ts';
import { readingSource, sourceTooLarge } from '../copy/read-source.ts';
import { copyPagesIn } from '../pages/copy-pages.ts';
import type { PageHold } from '../pages/page-holds.ts';
import { createPages } from '../pages/page-map.ts';
import type { FileContent, FileRecord } from '../records/node-record.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { FILE_BYTES_MAX } from './create-file.ts';
import { OldBytes, writeBytes } from './file-bytes.ts';
import { type Found, type FoundFile, findNode } from './load.ts';
import { NOBODY } from './opens/admit.ts';
import type { Stored } from './request.ts';
import { type CopyDestinationRequest, refuseEarly, storeCopy } from './store-copy.ts';
import { takeRange } from './take-range.ts';

export interface CopyFileRequest extends CopyDestinationRequest {
  readonly source: CopySource;
  /** The source's URL as anybody may see it. */
  readonly shownSource: string;
  readonly version: ApiVersion;
}

export interface FileCopied extends Stored<FileRecord> {
  readonly copy: CopyState;
}

export async function copyFile(storage: Storage, request: CopyFileRequest): Promise<FileCopied> {
  const stored = await copyFrom(storage, request);
  return { ...stored, copy: stored.node.copy as CopyState };
}

function copyFrom(storage: Storage, request: CopyFileRequest): Promise<Stored<FileRecord>> {
  const { source } = request;
  switch (source.kind) {
    case 'file':
      return copyFromFile(storage, source, request);
    case 'inside':
      return copyFromBlob(storage, source, request);
    case 'outside':
      return copyFromOutside(storage, source, request);
  }
}

const EMPTY: FileContent = { kind: 'empty' };

// ---- a file

/** The source has more pages than one transaction copies. */
class TooMuch extends Error {}

async function copyFromFile(
  storage: Storage,
  source: FileSource,
  request: CopyFileRequest,
): Promise<Stored<FileRecord>> {
  try {
    return await shareAtOnce(storage, source, request);
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
    return (await shareByJob(storage, source, request)) ?? copyFromFile(storage, source, request);
  }
}

async function shareAtOnce(
  storage: Storage,
  { name }: FileSource,
  request: CopyFileRequest,
): Promise<Stored<FileRecord>> {
  const id = randomUUID();
  return storeCopy(storage, request, async (tx, { found, uses, nowMs }) => {
    const source = await findFileSource(storage, { reader: tx, uses }, name).catch((error: unknown) => {
      throw asMissingSource(error);
    });
    const { content: from, lengthBytes, headers, metadata } = source.node;
    let content: FileContent | 'own' = from;
    if (isInPlace(source, found)) content = 'own';
    else if (from.kind === 'pages') {
      content = createPages(tx, storage.ids);
      if (!(await copyPagesIn(tx, { from, to: content, lengthBytes }))) throw new TooMuch();
    }
    const copy = doneCopy({ id, source: request.shownSource, lengthBytes, nowMs });
    return { lengthBytes, content, headers, metadata, copy, source };
  });
}

const isInPlace = (source: FoundFile, { tree, node }: Found): boolean =>
  source.snapshot === null && source.tree.shareId === tree.shareId && source.node.id === node?.id;

/** Null: the source has no pages any more. */
async function shareByJob(
  storage: Storage,
  { name }: FileSource,
  request: CopyFileRequest,
): Promise<Stored<FileRecord> | null> {
  const { loaded, hold } = await storage.holds.take(async (tx) => {
    // Admitted a moment ago; what is copied is what the file holds now.
    const source = await findFileSource(storage, { reader: tx, uses: NOBODY }, name).catch((error: unknown) => {
      throw asMissingSource(error);
    });
    const { content } = source.node;
    return { source, content: content.kind === 'empty' ? null : content };
  });
  if (hold === null) return null;
  const { source } = loaded;
  const { etag, lengthBytes, metadata } = source.node;
  const { contentMd5 = null, ...headers } = source.node.headers;
  const [jobId, id] = [storage.ids.next(), randomUUID()];
  try {
    const begun = await storeCopy(storage, request, async (tx, { nowMs }) => ({
      lengthBytes,
      content: EMPTY,
      headers,
      metadata,
      copy: pendingCopy({ id, source: request.shownSource, lengthBytes }),
      source,
      job: {
        id: jobId,
        job: {
          kind: 'sharePages',
          copyId: id,
          startedMs: nowMs,
          source: { file: name, etag, lengthBytes, contentMd5 },
          map: createPages(tx, storage.ids),
        },
      },
    }));
    return await awaitCopied(storage, { jobId, hold, begun, request });
  } catch (error) {
    await hold.release();
    throw error;
  }
}

// ---- a blob

/** So much is read and written before the answer. */
const AT_ONCE_BYTES_MAX = 4 * 1024 * 1024;
const NO_DEMANDS: SourceDemands = { conditions: NO_CONDITIONS, ifTags: null, range: null, md5: null, crc64: null };

async function copyFromBlob(
  storage: Storage,
  source: InsideSource,
  request: CopyFileRequest,
): Promise<Stored<FileRecord>> {
  await refuseEarly(storage, request);
  const id = randomUUID();
  const { shownSource, version } = request;
  const asked = { source, demands: NO_DEMANDS, version, bytesMax: FILE_BYTES_MAX };
  const stored = await readingSource(storage, asked, async ({ body, headers, metadata }) => {
    const { lengthBytes } = body;
    if (lengthBytes > AT_ONCE_BYTES_MAX) return null;
    const taken = lengthBytes === 0 ? null : await takeRange(storage, 0, body);
    return storage.extents.publishing(taken?.bytes.middle ?? null, () =>
      storeCopy(storage, request, async (tx, { nowMs }) => ({
        lengthBytes,
        content:
          taken === null ? EMPTY : await writeBytes(tx, storage, EMPTY, { taken: taken.bytes, old: new OldBytes() }),
        headers,
        metadata,
        copy: doneCopy({ id, source: shownSource, lengthBytes, nowMs }),
        source: null,
      })),
    );
  });
  return stored ?? fetchBlob(storage, source, request);
}

async function fetchBlob(
  storage: Storage,
  source: InsideSource,
  request: CopyFileRequest,
): Promise<Stored<FileRecord>> {
  const question = { source, conditions: NO_CONDITIONS, version: request.version, leavesArchive: false };
  const { blob } = await storage.readers.inSnapshot((snapshot) =>
    loadSource(snapshotReader(snapshot), storage, question, storage.clock.nowMs()),
  );
  const { name, at } = source;
  const from = { inside: { name, at }, url: '', authorization: null };
  const begun = await beginFetching(storage, { head: { ...blob, etag: `"${blob.etag}"` }, from }, request);
  return awaitCopied(storage, { ...begun, hold: null, request });
}

// ---- what has to be fetched

async function copyFromOutside(
  storage: Storage,
  source: OutsideSource,
  request: CopyFileRequest,
): Promise<Stored<FileRecord>> {
  await refuseEarly(storage, request);
  const head = await askSource(storage, source, NO_DEMANDS);
  const { url, authorization } = source;
  const { begun, jobId } = await beginFetching(storage, { head, from: { url, authorization } }, request);
  void storage.copies.begun(jobId, null);
  return begun;
}

type SourceHead = Pick<OutsideHead, 'etag' | 'lastModifiedMs' | 'lengthBytes' | 'headers' | 'metadata'>;

async function beginFetching(
  storage: Storage,
  { head, from }: { head: SourceHead; from: Pick<FetchedSource, 'inside' | 'url' | 'authorization'> },
  request: CopyFileRequest,
): Promise<{ begun: Stored<FileRecord>; jobId: Id }> {
  const { etag, lastModifiedMs, lengthBytes, metadata } = head;
  if (lengthBytes > FILE_BYTES_MAX) throw sourceTooLarge(FILE_BYTES_MAX);
  const { contentMd5 = null, ...headers } = head.headers;
  const fetched: FetchedSource = { ...from, etag, lastModifiedMs, lengthBytes, contentMd5 };
  const [jobId, id] = [storage.ids.next(), randomUUID()];
  const begun = await storeCopy(storage, request, async (tx, { nowMs }) => ({
    lengthBytes,
    content: EMPTY,
    headers,
    metadata,
    copy: pendingCopy({ id, source: request.shownSource, lengthBytes }),
    source: null,
    job: {
      id: jobId,
      job: {
        kind: 'fetchPages',
        copyId: id,
        startedMs: nowMs,
        source: fetched,
        map: createPages(tx, storage.ids),
        reachedBytes: 0,
      },
    },
  }));
  return { begun, jobId };
}

/** The destination as it is when the copy is done, or has taken too long to wait for. */
async function awaitCopied(
  storage: Storage,
  {
    jobId,
    hold,
    begun,
    request,
  }: { jobId: Id; hold: PageHold | null; begun: Stored<FileRecord>; request: CopyFileRequest },
): Promise<Stored<FileRecord>> {
  await doneSoon(storage, jobId, hold);
  const node = await storage.readers.inSnapshot((snapshot) =>
    findNode(snapshotReader(snapshot), request.name, storage.known).then(
      (found) => found.node,
      () => null,
    ),
  );
  // Another may have been put in its place since, or it is gone.
  return node?.kind === 'file' && node.copy?.id === begun.node.copy?.id ? { ...begun, node } : begun;
}
