/** SRV_REQUEST_RESUME_KEY and SRV_COPYCHUNK ([MS-SMB2] 2.2.31.1, 2.2.32.1, 2.2.32.3). */

const KEY_BYTES = 24;
const COPY_BYTES = 32;
const CHUNK_BYTES = 24;
const RESUME_KEY_BYTES = 32;

export const COPIED_BYTES = 12;

export interface Chunk {
  readonly sourceBytes: bigint;
  readonly targetBytes: bigint;
  readonly lengthBytes: number;
}

export interface CopyChunkInput {
  /** In hex. */
  readonly resumeKey: string;
  readonly chunks: readonly Chunk[];
}

export interface Copied {
  readonly chunkCount: number;
  /** Of the chunk that was not written to its end; among limits, the longest chunk. */
  readonly chunkBytes: number;
  readonly totalBytes: number;
}

/** More chunks than `chunkCountMax` are not decoded: null. Throws RangeError. */
export function decodeCopyChunk(input: Buffer, chunkCountMax: number): CopyChunkInput | null {
  const chunkCount = input.readUInt32LE(KEY_BYTES);
  if (chunkCount > chunkCountMax) return null;
  const chunks = Array.from({ length: chunkCount }, (_, index): Chunk => {
    const at = COPY_BYTES + index * CHUNK_BYTES;
    return {
      sourceBytes: input.readBigUInt64LE(at),
      targetBytes: input.readBigUInt64LE(at + 8),
      lengthBytes: input.readUInt32LE(at + 16),
    };
  });
  return { resumeKey: input.toString('hex', 0, KEY_BYTES), chunks };
}

export function encodeCopied({ chunkCount, chunkBytes, totalBytes }: Copied): Buffer {
  const output = Buffer.alloc(COPIED_BYTES);
  output.writeUInt32LE(chunkCount, 0);
  output.writeUInt32LE(chunkBytes, 4);
  output.writeUInt32LE(totalBytes, 8);
  return output;
}

/** `key`: 24 bytes in hex. */
export function encodeResumeKey(key: string): Buffer {
  const output = Buffer.alloc(RESUME_KEY_BYTES);
  output.write(key, 'hex');
  return output;
}
