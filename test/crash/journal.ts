/**
 * What the test process knows of the server's data: for every name the last acknowledged state and, while a request is
 * under way, the state that it would lead to. After a crash each name must be in one of these two states.
 */
import { createCipheriv, createHash } from 'node:crypto';
import type { TestAccount } from '../harness/accounts.ts';

const POOL_BYTES = 8 * 1024 * 1024;
export const PAGE_BYTES = 512;

/** A part of the pool. */
export interface Piece {
  readonly offsetBytes: number;
  readonly lengthBytes: number;
}

/** A page that nothing was written to. */
export const EMPTY_PAGE: Piece = { offsetBytes: POOL_BYTES, lengthBytes: PAGE_BYTES };

/** All content is cut from one pool of pseudo-random bytes, so that the journal holds offsets and not contents. */
export class Pool {
  readonly #bytes: Buffer;

  constructor(seed: number) {
    const key = createHash('md5').update(String(seed)).digest();
    const random = createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(POOL_BYTES));
    this.#bytes = Buffer.concat([random, Buffer.alloc(PAGE_BYTES)]);
  }

  cut(piece: Piece): Buffer {
    return this.#bytes.subarray(piece.offsetBytes, piece.offsetBytes + piece.lengthBytes);
  }

  /** A place for so many bytes; `fraction` in [0, 1) chooses where. */
  place(lengthBytes: number, fraction: number): Piece {
    return { offsetBytes: Math.floor(fraction * (POOL_BYTES - lengthBytes)), lengthBytes };
  }

  digest(pieces: readonly Piece[]): string {
    const hash = createHash('sha256');
    for (const piece of pieces) hash.update(this.cut(piece));
    return hash.digest('hex');
  }
}

export interface Block {
  readonly id: string;
  readonly piece: Piece;
}

export type BlobType = 'BlockBlob' | 'AppendBlob' | 'PageBlob';

export interface CommittedBlob {
  /** null: given in an answer that never came, so any but `etagBefore`. */
  readonly etag: string | null;
  readonly etagBefore: string | null;
  /** Where versions are kept; null: not known, or there are none. */
  readonly versionId: string | null;
  /** Of a page blob one for each page, of an append blob one for each block. */
  readonly content: readonly Piece[];
  /** The committed block list; a blob made by Put Blob has none. */
  readonly blocks: readonly Block[];
  readonly turn: string;
  /** The value of the one tag that blobs have; null: none. */
  readonly colour: string | null;
  /** null: nobody has set it. */
  readonly tier: string | null;
  readonly leaseId: string | null;
}

/** A snapshot, or an earlier version. */
export interface PastState {
  readonly kind: 'snapshot' | 'version';
  /** null: given in an answer that never came. */
  readonly moment: string | null;
  readonly content: readonly Piece[];
  readonly turn: string;
}

export interface BlobState {
  readonly committed: CommittedBlob | null;
  /** Uncommitted blocks. */
  readonly staged: readonly Block[];
  readonly past: readonly PastState[];
}

export const NO_BLOB: BlobState = { committed: null, staged: [], past: [] };

export interface BlobEntry {
  readonly name: string;
  readonly type: BlobType;
  acknowledged: BlobState;
  /** Where the request under way leads to, if it takes effect. */
  pending: BlobState | null;
}

export interface ContainerEntry {
  readonly account: TestAccount;
  /** Its account keeps versions of blobs. */
  readonly keepsVersions: boolean;
  readonly name: string;
  exists: boolean;
  pendingExists: boolean | null;
  readonly blobs: BlobEntry[];
}

/** A blob whose metadata many clients count up, each with the ETag that it read. */
export interface Counter {
  readonly container: string;
  readonly name: string;
  acknowledgedCount: number;
  pendingCount: number;
}

export const newBlobEntry = (name: string, type: BlobType): BlobEntry => ({
  name,
  type,
  acknowledged: NO_BLOB,
  pending: null,
});

export const newContainerEntry = (
  name: string,
  { account, keepsVersions }: Pick<ContainerEntry, 'account' | 'keepsVersions'>,
): ContainerEntry => ({ account, keepsVersions, name, exists: false, pendingExists: null, blobs: [] });
