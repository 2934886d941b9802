/** What no engine takes, refused alike by all of them: a caller's mistake, never a state of the store. */
import { type Batch, KEY_BYTES_MAX, type Key } from './engine.ts';

export function refuseMalformed({ puts, deletes }: Batch): void {
  for (const { key } of puts) refuseLength(key);
  for (const key of deletes) refuseLength(key);
}

function refuseLength({ length }: Key): void {
  if (length < 1 || length > KEY_BYTES_MAX) {
    throw new RangeError(`a key must have 1 to ${KEY_BYTES_MAX} bytes; this one has ${length}`);
  }
}
