/**
 * A source held to its announced length: what comes out is exactly that many bytes. The piece that completes them is
 * given out only when the source has ended, so that whoever sends on what comes out has not sent everything before it
 * is known to be good. Empty pieces are left out.
 */
import { SourceLengthMismatch } from '../content.ts';

export async function* exactly(source: AsyncIterable<Uint8Array>, lengthBytes: number): AsyncGenerator<Uint8Array> {
  let receivedBytes = 0;
  let last: Uint8Array | null = null;
  for await (const piece of source) {
    if (piece.length === 0) continue;
    receivedBytes += piece.length;
    if (receivedBytes > lengthBytes)
      throw new SourceLengthMismatch(`received more than the ${lengthBytes} bytes announced`);
    if (receivedBytes === lengthBytes) last = piece;
    else yield piece;
  }
  if (last === null) throw new SourceLengthMismatch(`received ${receivedBytes} of the ${lengthBytes} bytes announced`);
  yield last;
}
