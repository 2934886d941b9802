/** How much an SMB client may have copied within the server with one request ([MS-SMB2] 3.3.3). */

export const CHUNK_COUNT_MAX = 256;
export const CHUNK_BYTES_MAX = 1024 * 1024;
export const COPY_BYTES_MAX = 16 * 1024 * 1024;

/** A chunk of nothing is one that is not allowed, too. */
export function isCopyable(chunkLengthsBytes: readonly number[]): boolean {
  return (
    chunkLengthsBytes.length <= CHUNK_COUNT_MAX &&
    chunkLengthsBytes.every((lengthBytes) => lengthBytes > 0 && lengthBytes <= CHUNK_BYTES_MAX) &&
    chunkLengthsBytes.reduce((sum, lengthBytes) => sum + lengthBytes, 0) <= COPY_BYTES_MAX
  );
}
