/** Pre-authentication integrity of 3.1.1 ([MS-SMB2] 3.3.5.4): a hash over all messages that come before the keys. */
import { createHash } from 'node:crypto';

const HASH_BYTES = 64;

export class PreauthHash {
  value: Buffer;

  constructor(value: Buffer = Buffer.alloc(HASH_BYTES)) {
    this.value = value;
  }

  add(...pieces: readonly Uint8Array[]): void {
    const hash = createHash('sha512').update(this.value);
    for (const piece of pieces) hash.update(piece);
    this.value = hash.digest();
  }

  /** From here on for one session. */
  fork(): PreauthHash {
    return new PreauthHash(this.value);
  }
}
