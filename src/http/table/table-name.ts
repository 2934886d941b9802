/** The names of tables in requests, judged where they are read: no operation ever sees an impossible one. */
import { refuseTableName } from '../../rules/names.ts';
import { StorageError } from '../../service/storage-error.ts';

/** The name as it came. Some clients know a name that is too short or too long by the sentence alone. */
export function parseTableName(name: string): string {
  const refusal = refuseTableName(name);
  if (refusal === null) return name;
  if (refusal !== 'OutOfRangeInput') throw new StorageError(refusal);
  throw new StorageError(refusal, {
    message: 'The specified resource name length is not within the permissible limits.',
  });
}
