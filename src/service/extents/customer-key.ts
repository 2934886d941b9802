/**
 * Bytes sealed with a key that the customer provides with every request, and that is never kept: AES-256 in counter mode.
 * The counter begins with the extent's id, which is never used twice, so no two bytes are ever sealed with the same part
 * of the key stream, and any range can be read by itself. Sealing and opening are the same.
 */
import { createCipheriv } from 'node:crypto';
import { ID_BYTES, type Id } from '../../base/ids.ts';

export interface CustomerKey {
  /** 32 bytes. */
  readonly key: Buffer;
  /** In Base64. */
  readonly sha256: string;
}

const BLOCK_BYTES = 16;

export function sealBytes(
  { key }: CustomerKey,
  at: { readonly extentId: Id; readonly offsetBytes: number },
  bytes: Uint8Array,
): Uint8Array {
  return keyStream(key, at).update(bytes);
}

export async function* sealStream(
  { key }: CustomerKey,
  at: { readonly extentId: Id; readonly offsetBytes: number },
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const stream = keyStream(key, at);
  for await (const bytes of source) yield stream.update(bytes);
}

function keyStream(key: Buffer, { extentId, offsetBytes }: { extentId: Id; offsetBytes: number }) {
  const counter = Buffer.alloc(BLOCK_BYTES);
  counter.write(extentId, 0, 'hex');
  counter.writeUInt32BE(Math.floor(offsetBytes / BLOCK_BYTES), ID_BYTES);
  const cipher = createCipheriv('aes-256-ctr', key, counter);
  cipher.update(Buffer.alloc(offsetBytes % BLOCK_BYTES));
  return cipher;
}
