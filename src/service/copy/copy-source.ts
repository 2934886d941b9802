/** What a copy reads from, and what its request asks of that: settled by the front end before a service sees it. */
import type { Conditions } from '../../rules/conditions.ts';
import type { ByteRange } from '../../rules/range-header.ts';
import type { BlobAt, BlobName } from '../blob/load.ts';
import type { FileName } from '../file/load.ts';

/** A blob of this server, of any of its accounts, that the caller may read. Whether it exists is not known yet. */
export interface InsideSource {
  readonly kind: 'inside';
  readonly name: BlobName;
  /** A snapshot or version of it. */
  readonly at: BlobAt | null;
  /** Whether what opens the source opens its tags too. */
  readonly mayReadTags: boolean;
}

/** A file of this server, of any of its accounts, that the caller may read. Whether it exists is not known yet. */
export interface FileSource {
  readonly kind: 'file';
  readonly name: FileName;
}

/** Something that is fetched over HTTP. Both texts may hold secrets: neither belongs into a log or an answer. */
export interface OutsideSource {
  readonly kind: 'outside';
  readonly url: string;
  /** `Bearer …`, for the source. */
  readonly authorization: string | null;
}

export type CopySource = InsideSource | FileSource | OutsideSource;

/** The `x-ms-source-*` headers. */
export interface SourceDemands {
  /** With `ifTags`, parsed. */
  readonly conditions: Conditions;
  /** The condition on tags as it was sent, for a source that judges it itself. */
  readonly ifTags: string | null;
  readonly range: ByteRange | null;
  /** What the bytes read must hash to; at most one of the two is given. */
  readonly md5: Buffer | null;
  readonly crc64: Buffer | null;
}
