/** Put Range: writes or clears bytes of a file in place. Atomic, whoever comes last wins, and it costs what it touches. */

import { endOf } from '../../rules/page-ranges.ts';
import type { Slice } from '../../rules/range-header.ts';
import type { Body } from '../extents/take-body.ts';
import type { FileRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { changeFile, refuseFileChange } from './change-file.ts';
import { clearBytes, withOldBytes, writeBytes } from './file-bytes.ts';
import { findNode, refuseUnlessFile } from './load.ts';
import { NOBODY, reading, type Uses } from './opens/admit.ts';
import { NO_CHANGES, type PropertyChanges } from './properties.ts';
import type { FileRequest, Stored } from './request.ts';
import { takeRange } from './take-range.ts';

const OPERATION = 'put range';

export interface PutRangeRequest extends FileRequest {
  readonly range: Slice;
  /** Null: the range is cleared. */
  readonly body: Body | null;
  /** The time of the last write stays what it was. */
  readonly keepsWriteTime: boolean;
}

export interface RangePut extends Stored<FileRecord> {
  /** Null where the range was cleared. */
  readonly md5: Buffer | null;
}

export async function putRange(storage: Storage, request: PutRangeRequest): Promise<RangePut> {
  const { body, range } = request;
  if (body !== null && !storage.extents.isSmall(body.lengthBytes)) await refuseRangeEarly(storage, request);
  const taken = body === null ? null : await takeRange(storage, range.offsetBytes, body);
  const properties: PropertyChanges = { ...NO_CHANGES, writtenAt: request.keepsWriteTime ? null : 'now' };
  const stored = await storage.extents.publishing(taken?.bytes.middle ?? null, () =>
    withOldBytes(storage, (old) =>
      changeFile(storage, request, {
        operation: OPERATION,
        properties,
        async change(file, tx) {
          refuseRange(file, range);
          const content =
            taken === null
              ? await clearBytes(tx, storage, file.content, { range, old })
              : await writeBytes(tx, storage, file.content, { taken: taken.bytes, old });
          return { ...file, content };
        },
      }),
    ),
  );
  return { ...stored, md5: taken?.md5 ?? null };
}

/** A long body is not taken in for a request that is refused anyway. Judged again in the transaction. */
export async function refuseRangeEarly(
  storage: Storage,
  request: Pick<PutRangeRequest, 'name' | 'leaseId' | 'waitMs' | 'range'>,
): Promise<void> {
  await reading(storage, request, async (_snapshot, reader, uses) => {
    const found = await findNode(reader, request.name, storage.known);
    refuseUnlessFile(found);
    // Who else uses the file is asked once, in the transaction.
    const early: Uses = { ...NOBODY, refusePending: (each) => uses.refusePending(each) };
    const { leaseId } = request;
    await refuseFileChange(storage, found, { leaseId, operation: OPERATION, uses: early, properties: NO_CHANGES });
    refuseRange(found.node, request.range);
  });
}

/** A file never grows by a write. */
function refuseRange({ lengthBytes }: FileRecord, range: Slice): void {
  if (endOf(range) > lengthBytes) {
    throw new StorageError('InvalidRange', { headers: { 'Content-Range': `bytes */${lengthBytes}` } });
  }
}
