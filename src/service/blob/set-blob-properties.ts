/** Set Blob Properties: content headers; of a page blob, also its length and its sequence number. */
import type { Transaction } from '../../engine/transact.ts';
import { resolveSequenceAction, type SequenceAction, type SequenceNumber } from '../../rules/sequence-number.ts';
import { resizePages } from '../pages/write-pages.ts';
import type { BlobHeaders, BlobRecord, PagesContent } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { changeBlob } from './change-blob.ts';
import type { BlobRequest } from './load.ts';

export interface SetBlobPropertiesRequest extends BlobRequest {
  /** Any one header sent clears those not sent; none sent leaves all as they are. */
  readonly headers: BlobHeaders;
  /** The new length of a page blob; null: as it is. */
  readonly lengthBytes: number | null;
  readonly sequence: { readonly action: SequenceAction; readonly given: SequenceNumber | null } | null;
}

export function setBlobProperties(storage: Storage, request: SetBlobPropertiesRequest): Promise<BlobRecord> {
  const { headers, lengthBytes, sequence } = request;
  const isOnPages = lengthBytes !== null || sequence !== null;
  const sentAny = Object.keys(headers).length > 0;
  return changeBlob(
    storage,
    { ...request, ...(isOnPages ? { requiredType: 'PageBlob' as const } : {}) },
    async (stored, tx) => {
      const { copy: _, ...blob } = stored;
      return {
        ...blob,
        headers: sentAny ? headers : blob.headers,
        ...(lengthBytes === null ? {} : await resize(tx, storage, blob, lengthBytes)),
        ...(sequence === null ? {} : nextSequence(blob, sequence)),
      };
    },
  );
}

async function resize(
  tx: Transaction,
  storage: Storage,
  blob: BlobRecord,
  lengthBytes: number,
): Promise<Pick<BlobRecord, 'content' | 'lengthBytes'>> {
  const sizes = { fromBytes: blob.lengthBytes, toBytes: lengthBytes };
  return { content: await resizePages(tx, storage.extents, blob.content as PagesContent, sizes), lengthBytes };
}

function nextSequence(
  blob: BlobRecord,
  { action, given }: NonNullable<SetBlobPropertiesRequest['sequence']>,
): Pick<BlobRecord, 'sequenceNumber'> {
  const result = resolveSequenceAction(BigInt(blob.sequenceNumber ?? '0'), action, given);
  if ('refusal' in result) throw new StorageError(result.refusal);
  return { sequenceNumber: String(result.sequenceNumber) };
}
