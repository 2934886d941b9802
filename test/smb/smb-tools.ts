/** smbclient, and what tests of SMB clients share: a server with a share of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ShareClient } from '@azure/storage-file-share';
import { type Tool, type ToolRun, tool } from '../clients/tool.ts';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { freshShare } from '../harness/file-clients.ts';
import { type ServerProcess, startServerProcess } from '../harness/server-process.ts';

export interface SmbShare {
  readonly server: ServerProcess;
  readonly share: ShareClient;
  readonly folder: string;
  end(): Promise<void>;
}

export async function startSmbShare(purpose = 'smb'): Promise<SmbShare> {
  const server = await startServerProcess({ smb: 'auto' });
  const folder = await mkdtemp(join(tmpdir(), 'larimar-smb-'));
  const end = async (): Promise<void> => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { server, share: await freshShare(server, purpose), folder, end };
}

export const { name: ACCOUNT, key: KEY } = DEVELOPMENT_ACCOUNT;

export interface SmbClient {
  /** Runs commands, as after `smbclient -c`; expects success and gives what was printed. */
  succeed(commands: string, ...options: readonly string[]): Promise<string>;
  run(commands: string, ...options: readonly string[]): Promise<ToolRun>;
  readonly program: Tool;
}

export function smbclient({ server, share, folder }: SmbShare): SmbClient {
  const program = tool('smbclient', { cwd: folder, env: {} });
  const args = (commands: string, options: readonly string[]): string[] => [
    `//127.0.0.1/${share.name}`,
    '-p',
    String(server.smbPort),
    '-U',
    `${ACCOUNT}%${KEY}`,
    '-c',
    commands,
    ...options,
  ];
  return {
    succeed: (commands, ...options) => program.succeed(...args(commands, options)),
    run: (commands, ...options) => program.run(...args(commands, options)),
    program,
  };
}
