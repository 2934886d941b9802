/** `larimar check` on a data folder that no server has open. */
import { execFile } from 'node:child_process';
import { LARIMAR_COMMAND } from '../harness/server-process.ts';

export interface CheckRun {
  readonly exitCode: number;
  readonly output: string;
}

export function runCheck(dataFolder: string): Promise<CheckRun> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [LARIMAR_COMMAND, 'check', `--data=${dataFolder}`], (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : error.code;
      if (typeof exitCode === 'number') resolve({ exitCode, output: stdout + stderr });
      else reject(error);
    });
  });
}
