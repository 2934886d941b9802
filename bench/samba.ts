/**
 * Samba, the peer over SMB: a server of its own in a contestant's folder, on loopback only, with one share and one user.
 * Its settings are the defaults but for what keeps it to that folder; `sync always` is what the two contestants differ in.
 */

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../test/find-program.ts';

export interface SambaOptions {
  folder: string;
  port: number;
  share: string;
  /** Whether a WRITE is answered once it is on the disk. */
  isSynchronous: boolean;
}

export interface SambaCommand {
  program: string;
  words: readonly string[];
  user: string;
  password: string;
}

/** Null if Samba's server can be compared, else what to do about it. */
export function missingSamba(): string | null {
  if (findProgram('smbd') === null || findProgram('smbpasswd') === null) {
    return 'Samba is not installed (smbd or smbpasswd is missing). Install it with apt-get install samba.';
  }
  if (process.getuid?.() !== 0) return 'Only root can run smbd, because it works as the user who signs in.';
  return missingSmbclient();
}

/** The same for its client, which the rows about SMB load a server with. */
export function missingSmbclient(): string | null {
  return findProgram('smbclient') === null ? 'smbclient is missing. Install it with apt-get install smbclient.' : null;
}

/** Makes the folders, the settings and the user, and gives what to run in a process group of its own. */
export async function prepareSamba(options: SambaOptions): Promise<SambaCommand> {
  const configFile = join(options.folder, 'smb.conf');
  for (const name of ['share', ...Object.values(ownFolders)]) {
    mkdirSync(join(options.folder, name), { recursive: true, mode: 0o700 });
  }
  writeFileSync(configFile, settingsOf(options));
  // Samba's users are the system's too: this one has the rights to the folder already.
  const user = userInfo().username;
  const password = randomBytes(12).toString('hex');
  const adding = promisify(execFile)(pathOf('smbpasswd'), ['-c', configFile, '-s', '-a', user]);
  // Where it ends before it has read this, it says why.
  adding.child.stdin?.on('error', () => {}).end(`${password}\n${password}\n`);
  await adding.catch((error: { stderr: string }) => {
    throw new Error(`smbpasswd: ${error.stderr.trim()}`, { cause: error });
  });
  const words = ['--foreground', '--no-process-group', '--debug-stdout', '--configfile', configFile];
  return { program: pathOf('smbd'), words, user, password };
}

const ownFolders = {
  'private dir': 'private',
  'state directory': 'state',
  'cache directory': 'cache',
  'lock directory': 'lock',
  'pid directory': 'pid',
  'ncalrpc dir': 'ncalrpc',
};

function settingsOf({ folder, port, share, isSynchronous }: SambaOptions): string {
  const folders = Object.entries(ownFolders).map(([setting, name]) => `${setting} = ${join(folder, name)}`);
  return `${[
    '[global]',
    'server role = standalone server',
    'interfaces = lo',
    'bind interfaces only = yes',
    `smb ports = ${port}`,
    'disable netbios = yes',
    'server min protocol = SMB2_10',
    'server signing = auto',
    `passdb backend = tdbsam:${join(folder, ownFolders['private dir'], 'passdb.tdb')}`,
    ...folders,
    'usershare max shares = 0',
    'load printers = no',
    'printing = bsd',
    'printcap name = /dev/null',
    'disable spoolss = yes',
    'log level = 0',
    `[${share}]`,
    `path = ${join(folder, 'share')}`,
    'read only = no',
    `sync always = ${isSynchronous ? 'yes' : 'no'}`,
  ].join('\n')}\n`;
}

function pathOf(name: string): string {
  const program = findProgram(name);
  if (program === null) throw new Error(missingSamba() ?? `${name} is missing`);
  return program;
}
