/**
 * The port to sources outside this server: something with a URL, read over HTTP(S). What a reply promises is one state
 * of the source: its length, its ETag and its bytes belong together, and a body that comes to its end is complete.
 */
import type { Conditions } from '../../rules/conditions.ts';
import type { Metadata } from '../../rules/names.ts';
import type { BlobType } from '../../rules/precedence.ts';
import type { ByteRange } from '../../rules/range-header.ts';
import type { BlobHeaders } from '../records/blob-record.ts';

export interface Outside {
  /**
   * Rejects with SourceRefused, SourceUnreachable, or the signal's reason. A condition that the source does not know of
   * is judged here, by the ETag and Last-Modified of its answer. A range is clipped at the source's end.
   */
  open(request: OutsideRequest): Promise<OutsideReply>;
  /** The same without the body: what `open` would promise now. */
  head(request: OutsideRequest): Promise<OutsideHead>;
}

export interface OutsideRequest {
  readonly url: string;
  /** Sent to the URL's own origin, and to no other that it redirects to. */
  readonly authorization: string | null;
  readonly range: ByteRange | null;
  /** An ETag that an earlier reply gave: the source as it was then, or SourceRefused (412). */
  readonly ifMatch: string | null;
  readonly conditions: Conditions;
  /** The text of a condition on tags. */
  readonly ifTags: string | null;
  /** Ends the request, or the body that is being read, at any time. */
  readonly signal: AbortSignal;
}

export interface OutsideHead {
  /** 206 where a range was asked for, and only then. */
  readonly status: 200 | 206;
  /** As it stands in the answer, quotes included. */
  readonly etag: string | null;
  readonly lastModifiedMs: number | null;
  /** Of the bytes that were asked for. */
  readonly lengthBytes: number;
  /** Of the whole source; null where a ranged answer does not say. */
  readonly totalBytes: number | null;
  /** `contentMd5` is that of the whole source. */
  readonly headers: BlobHeaders;
  readonly metadata: Metadata;
  /** Null for what is no blob. */
  readonly blobType: BlobType | null;
  /** Of a page blob: decimal digits. */
  readonly sequenceNumber: string | null;
}

export interface OutsideReply extends OutsideHead {
  readonly body: OutsideBody;
}

/**
 * Exactly `lengthBytes`, as fast as they are taken; fails with SourceUnreachable or the signal's reason rather than end
 * early. It holds a connection: read it to its end, or give it up with `return()`, also before the first piece.
 */
export interface OutsideBody extends AsyncIterableIterator<Uint8Array> {
  return(): Promise<IteratorResult<Uint8Array>>;
}

/** The source answered, and it is no success. */
export class SourceRefused extends Error {
  override readonly name = 'SourceRefused';
  /** 304, or 400 and above. */
  readonly status: number;
  /** The source's own words, if it is of the kind that has them. */
  readonly code: string | null;
  readonly sentence: string | null;

  constructor({
    status,
    code = null,
    sentence = null,
  }: {
    readonly status: number;
    readonly code?: string | null;
    readonly sentence?: string | null;
  }) {
    super(`the source answered ${status}${code === null ? '' : ` ${code}`}`);
    this.status = status;
    this.code = code;
    this.sentence = sentence;
  }
}

export type UnreachableReason =
  /** A URL that cannot be asked. */
  | 'malformed'
  /** An address that this server does not ask, or it asks none at all. */
  | 'forbidden'
  | 'redirects'
  | 'connection'
  | 'timeout'
  /** It began to give its bytes, and did not finish. */
  | 'brokeOff'
  /** An answer that cannot be used. */
  | 'answer';

/** The source gave no answer, or none that can be used. The message holds no secret of the URL. */
export class SourceUnreachable extends Error {
  override readonly name = 'SourceUnreachable';
  readonly reason: UnreachableReason;

  constructor(reason: UnreachableReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** A URL as it may be shown: what follows its path (a signature, often) and who it logs in as are left out. */
export function showUrl(url: string): string {
  if (!URL.canParse(url)) return 'the URL given';
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
