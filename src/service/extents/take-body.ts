/** Takes a request's body in: streams it to a staged extent while hashing it, and holds it against the hashes given. */
import { hash as hashOnce } from 'node:crypto';
import { BodyHash } from '../../base/body-hash.ts';
import { crc64Of } from '../../base/crc64.ts';
import { SourceLengthMismatch } from '../../content/content.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import type { CustomerKey } from './customer-key.ts';
import type { StagedExtent } from './extents.ts';

export interface Body {
  /** The body, one way or the other: in pieces as they come, or gathered. */
  stream(): AsyncIterable<Uint8Array>;
  whole(): Promise<Uint8Array>;
  readonly lengthBytes: number;
  /** What the client says the hashes are. */
  readonly md5: Buffer | null;
  readonly crc64: Buffer | null;
}

export interface TakenBody {
  /** Null for an empty body. */
  readonly extent: StagedExtent | null;
  readonly md5: Buffer | null;
  readonly crc64: Buffer | null;
}

interface Wanted {
  /** Hashes to compute even if the client gave none. */
  readonly md5: boolean;
  readonly crc64: boolean;
  /** What to seal the bytes with; hashes are of what the client sent. */
  readonly key?: CustomerKey | null | undefined;
}

export async function takeBody(storage: Storage, body: Body, want: Wanted): Promise<TakenBody> {
  const { key = null } = want;
  const compute = { md5: want.md5 || body.md5 !== null, crc64: want.crc64 || body.crc64 !== null, key };
  return storage.extents.isSmall(body.lengthBytes)
    ? takeSmall(storage, body, compute)
    : takeLarge(storage, body, compute);
}

async function takeSmall(storage: Storage, body: Body, compute: Wanted): Promise<TakenBody> {
  const bytes = await body.whole();
  if (bytes.length !== body.lengthBytes) throw new SourceLengthMismatch('the body does not have the announced length');
  const md5 = compute.md5 ? hashOnce('md5', bytes, 'buffer') : null;
  const crc64 = compute.crc64 ? crc64Of(bytes) : null;
  refuseHashMismatch(body, { md5, crc64 });
  return { extent: bytes.length === 0 ? null : storage.extents.stageSmall(bytes, compute.key), md5, crc64 };
}

async function takeLarge(storage: Storage, body: Body, { md5, crc64, key = null }: Wanted): Promise<TakenBody> {
  const hash = new BodyHash({ md5, crc64, lengthBytes: body.lengthBytes });
  try {
    const extent = await storage.extents.stageLarge(hashing(body.stream(), hash), body.lengthBytes, key);
    try {
      const digests = await hash.digest();
      refuseHashMismatch(body, digests);
      return { extent, ...digests };
    } catch (error) {
      await storage.extents.discard(extent);
      throw error;
    }
  } finally {
    hash.dispose();
  }
}

async function* hashing(bytes: AsyncIterable<Uint8Array>, hash: BodyHash): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    await hash.update(piece);
    yield piece;
  }
}

export function refuseHashMismatch(
  body: Pick<Body, 'md5' | 'crc64'>,
  computed: { md5: Buffer | null; crc64: Buffer | null },
): void {
  if (body.md5 !== null && computed.md5 !== null && !body.md5.equals(computed.md5)) {
    throw new StorageError('Md5Mismatch', {
      elements: {
        UserSpecifiedMd5: body.md5.toString('base64'),
        ServerCalculatedMd5: computed.md5.toString('base64'),
      },
    });
  }
  if (body.crc64 !== null && computed.crc64 !== null && !body.crc64.equals(computed.crc64)) {
    throw new StorageError('Crc64Mismatch', {
      elements: {
        UserSpecifiedCrc: body.crc64.toString('base64'),
        ServerCalculatedCrc: computed.crc64.toString('base64'),
      },
    });
  }
}
