/** A body that is refused, with a sentence that says where. */
import { StorageError } from '../../service/storage-error.ts';

export const invalidInput = (message: string): StorageError => new StorageError('InvalidInput', { message });

const QUOTED_UNITS_MAX = 64;

/** What the caller wrote, for a message: not all of it if it is long, and without control characters. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length > QUOTED_UNITS_MAX ? `${text.slice(0, QUOTED_UNITS_MAX)}…` : text);
