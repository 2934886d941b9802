/** `larimar check` on a place whose servers have all ended, in order or not. */
import { execFile } from 'node:child_process';
import { type Place, storeArguments } from '../harness/engines.ts';
import { queryRows } from '../harness/postgres.ts';
import { LARIMAR_COMMAND } from '../harness/server-process.ts';

export interface CheckRun {
  readonly exitCode: number;
  readonly output: string;
}

export async function runCheck(place: Place): Promise<CheckRun> {
  await letSessionsLapse(place);
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [LARIMAR_COMMAND, 'check', ...storeArguments(place)], (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : error.code;
      if (typeof exitCode === 'number') resolve({ exitCode, output: stdout + stderr });
      else reject(error);
    });
  });
}

/**
 * A killed node is known to be dead only after a while, in which a check is refused and the messages that it was about to
 * hand out are kept for it. It has passed, for the database.
 */
export async function letSessionsLapse({ store: { engine } }: Place): Promise<void> {
  if (engine === undefined) return;
  await queryRows(engine, `UPDATE larimar_sessions SET renewed_at = renewed_at - interval '1 minute'`);
}
