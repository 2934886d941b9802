/** The checksums that Azure knows for a body, fed together and in this thread. */
import { createHash } from 'node:crypto';
import { Crc64 } from './crc64.ts';

export interface DigestChoice {
  readonly md5: boolean;
  readonly crc64: boolean;
}

/** Null for what was not asked for. */
export interface BodyDigests {
  readonly md5: Buffer | null;
  readonly crc64: Buffer | null;
}

export class Digests {
  readonly #md5;
  readonly #crc64;

  constructor({ md5, crc64 }: DigestChoice) {
    this.#md5 = md5 ? createHash('md5') : null;
    this.#crc64 = crc64 ? new Crc64() : null;
  }

  update(bytes: Uint8Array): void {
    this.#md5?.update(bytes);
    this.#crc64?.update(bytes);
  }

  /** Once, at the end. */
  digest(): BodyDigests {
    return { md5: this.#md5?.digest() ?? null, crc64: this.#crc64?.digest() ?? null };
  }
}
