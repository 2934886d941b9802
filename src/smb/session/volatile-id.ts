import { randomBytes } from 'node:crypto';
import type { Session } from './session.ts';

/** Never 0, nor all ones, which mean no file. */
export function newVolatileId({ opens }: Session): bigint {
  for (;;) {
    const id = BigInt.asUintN(63, randomBytes(8).readBigUInt64LE());
    if (id !== 0n && !opens.has(id)) return id;
  }
}
