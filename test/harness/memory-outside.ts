/** A source of copies without a network: one thing, whose bytes a test can hold back, take away or change. */
import type { BlobType } from '../../src/rules/precedence.ts';
import {
  type Outside,
  type OutsideBody,
  type OutsideHead,
  type OutsideReply,
  type OutsideRequest,
  SourceRefused,
} from '../../src/service/copy/outside.ts';

const PIECE_BYTES = 64 * 1024;

export class MemoryOutside implements Outside {
  bytes: Buffer;
  etag = '"first"';
  blobType: BlobType | null = null;
  /** Asked before every piece; it may wait, or throw what the body fails with. */
  beforePiece: (offsetBytes: number) => Promise<void> | void = () => {};
  /** Where every body began. */
  readonly opened: number[] = [];
  /** Bodies that are being read. */
  openCount = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  async open({ range, ifMatch, signal }: OutsideRequest): Promise<OutsideReply> {
    const head = this.#head(range?.firstOffsetBytes ?? 0, ifMatch);
    const firstOffsetBytes = range?.firstOffsetBytes ?? 0;
    this.opened.push(firstOffsetBytes);
    return { ...head, body: this.#body(this.bytes, firstOffsetBytes, signal) as OutsideBody };
  }

  async head({ ifMatch }: OutsideRequest): Promise<OutsideHead> {
    return this.#head(0, ifMatch);
  }

  #head(firstOffsetBytes: number, ifMatch: string | null): OutsideHead {
    if (ifMatch !== null && ifMatch !== this.etag) throw new SourceRefused({ status: 412, code: 'ConditionNotMet' });
    return {
      status: firstOffsetBytes === 0 ? 200 : 206,
      etag: this.etag,
      lastModifiedMs: null,
      lengthBytes: this.bytes.length - firstOffsetBytes,
      totalBytes: this.bytes.length,
      headers: {},
      metadata: [],
      blobType: this.blobType,
      sequenceNumber: null,
    };
  }

  async *#body(bytes: Buffer, firstOffsetBytes: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
    aborted.catch(() => {});
    this.openCount++;
    try {
      for (let offsetBytes = firstOffsetBytes; offsetBytes < bytes.length; offsetBytes += PIECE_BYTES) {
        signal.throwIfAborted();
        await Promise.race([this.beforePiece(offsetBytes), aborted]);
        yield bytes.subarray(offsetBytes, offsetBytes + PIECE_BYTES);
      }
    } finally {
      this.openCount--;
    }
  }
}
