import { SmbError, Status } from '../statuses.ts';
import { Malformed } from '../wire/message.ts';

/** What decoders cannot make anything of is the client's mistake. */
export function decodeOrRefuse<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof Malformed || error instanceof RangeError) throw new SmbError(Status.INVALID_PARAMETER);
    throw error;
  }
}
