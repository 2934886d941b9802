/** Put Page: writes or clears a range of a page blob in place. Each is atomic, and costs what it touches. */
import { refusePageRange } from '../../rules/page-range.ts';
import { refuseBlobWriteOperation } from '../../rules/precedence.ts';
import type { Slice } from '../../rules/range-header.ts';
import { refuseSequence, type SequenceNumber } from '../../rules/sequence-number.ts';
import { type Body, type TakenBody, takeBody } from '../extents/take-body.ts';
import { writePages } from '../pages/write-pages.ts';
import type { BlobRecord, PagesContent } from '../records/blob-record.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { changeBlob } from './change-blob.ts';
import { type BlobRequest, loadCommittedBlob, refuse, situation } from './load.ts';

export interface SequenceConditions {
  readonly le: SequenceNumber | null;
  readonly lt: SequenceNumber | null;
  readonly eq: SequenceNumber | null;
}

export interface PutPageRequest extends BlobRequest {
  readonly range: Slice;
  /** Null: the range is cleared. */
  readonly body: Body | null;
  readonly sequence: SequenceConditions;
}

export type PagePut = Pick<TakenBody, 'md5' | 'crc64'> & { readonly record: BlobRecord };

export async function putPage(storage: Storage, request: PutPageRequest): Promise<PagePut> {
  const { body, range } = request;
  if (body !== null && !storage.extents.isSmall(body.lengthBytes)) await refuseEarly(storage, request);
  const { extent, md5, crc64 } = await takePages(storage, request);
  const record = await storage.extents.publishing(extent, () =>
    changeBlob(storage, { ...request, requiredType: 'PageBlob' }, async (blob, tx) => {
      refusePages(blob, request);
      const content = await writePages(tx, storage.extents, blob.content as PagesContent, range, extent);
      return { ...blob, content };
    }),
  );
  return { record, md5, crc64 };
}

async function takePages(storage: Storage, { body, key }: PutPageRequest): Promise<TakenBody> {
  if (body === null) return { extent: null, md5: null, crc64: null };
  return takeBody(storage, body, { md5: false, crc64: body.md5 === null, key });
}

/** A long body is not taken in for a request that is refused anyway. Judged again in the transaction. */
async function refuseEarly(storage: Storage, request: PutPageRequest): Promise<void> {
  await storage.readers.inSnapshot(async (snapshot) => {
    const nowMs = storage.clock.nowMs();
    const { name } = request;
    const loaded = await loadCommittedBlob(snapshotReader(snapshot), { name }, { nowMs, known: storage.known });
    const asked = situation(loaded, request, nowMs);
    refuse(refuseBlobWriteOperation({ ...asked, creates: false, requiredType: 'PageBlob' }));
    refusePages(loaded.blob as BlobRecord, request);
  });
}

function refusePages(blob: BlobRecord, { range, sequence }: PutPageRequest): void {
  const code = refuseSequence(BigInt(blob.sequenceNumber ?? '0'), sequence) ?? refusePageRange(range, blob.lengthBytes);
  if (code !== null) throw new StorageError(code);
}
