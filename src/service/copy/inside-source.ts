/** A blob of this server as the source of a copy: whether it may be copied as it stands, and how a refusal is told. */
import type { Conditions } from '../../rules/conditions.ts';
import { isPending } from '../../rules/copy.ts';
import { hidesContent } from '../../rules/incremental-copy.ts';
import { refuseBlobReadOperation } from '../../rules/precedence.ts';
import { isArchived } from '../../rules/tier.ts';
import type { ApiVersion } from '../../rules/versions.ts';
import { type LoadedBlob, loadCommittedBlob, refuse, situation } from '../blob/load.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { type RecordReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import type { InsideSource } from './copy-source.ts';
import { cannotVerify, sourceConditionNotMet, sourceNotFound } from './verify-failure.ts';

export interface SourceQuestion {
  readonly source: InsideSource;
  readonly conditions: Conditions;
  readonly version: ApiVersion;
  /** The copy is for an online tier, which is a way out of the archive. */
  readonly leavesArchive: boolean;
}

export interface LoadedSource {
  readonly loaded: LoadedBlob;
  readonly blob: BlobRecord;
}

export async function loadSource(
  reader: RecordReader,
  storage: Storage,
  question: SourceQuestion,
  nowMs: number,
): Promise<LoadedSource> {
  const { source, conditions, version, leavesArchive } = question;
  const loaded = await loadCommittedBlob(reader, source, { nowMs, known: storage.known });
  const asked = situation(loaded, { name: source.name, conditions, leaseId: null, version, key: null }, nowMs);
  try {
    refuse(refuseBlobReadOperation({ ...asked, requiredType: null }));
  } catch (error) {
    throw asSourceRefusal(error);
  }
  const blob = loaded.blob as BlobRecord;
  refuseAsSource(blob, { isPast: loaded.state?.isPast === true });
  if (!leavesArchive && isArchived(blob, nowMs)) throw new StorageError('BlobArchived');
  return { loaded, blob };
}

/** What readers are shown of such a blob is not what it is going to be. */
export function refuseAsSource({ copy }: BlobRecord, { isPast }: { readonly isPast: boolean }): void {
  if (isPending(copy)) throw new StorageError('PendingCopyOperation');
  if (hidesContent(copy, { isPast })) throw new StorageError('OperationNotAllowedOnIncrementalCopyBlob');
}

/** The refusal of a read, as the refusal of a copy from there. */
export function asSourceRefusal(error: unknown): unknown {
  if (!(error instanceof StorageError)) return error;
  switch (error.code) {
    case 'ContainerNotFound':
    case 'BlobNotFound':
      return sourceNotFound();
    case 'ConditionNotMet':
      return sourceConditionNotMet({ notModified: error.details.notModified === true });
    case 'InvalidRange':
      return cannotVerify({
        status: 416,
        code: 'InvalidRange',
        sentence: 'The range is beyond the end of the source.',
      });
    default:
      return error;
  }
}
