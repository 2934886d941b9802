/** What the races over files share: clients that set off together, and files as they are at the end. */
import type { ShareClient, ShareFileClient } from '@azure/storage-file-share';
import type { Reachable } from '../harness/clients.ts';
import { shareClient } from '../harness/file-clients.ts';
import { together } from '../harness/parallel.ts';

export const CLIENTS = 24;

export const NO_PARENT = '404 ParentNotFound';
export const MISSING = '404 ResourceNotFound';
export const EXISTS = '409 ResourceAlreadyExists';
export const NOT_EMPTY = '409 DirectoryNotEmpty';
export const LEASED = '412 LeaseIdMissing';

/** `dir/file`, or a file of the root. */
export function fileAt(share: ShareClient, path: string): ShareFileClient {
  const names = path.split('/');
  return share.getDirectoryClient(names.slice(0, -1).join('/')).getFileClient(names.at(-1) as string);
}

/** Clients of one share set off from one starting line; each is a client of its own. */
export function raceOn(...servers: readonly Reachable[]) {
  return <T>(
    share: ShareClient,
    act: (share: ShareClient, index: number) => Promise<T>,
    count = CLIENTS,
  ): Promise<PromiseSettledResult<T>[]> => {
    const clients = Array.from({ length: count }, (_, index) =>
      shareClient(servers[index % servers.length] as Reachable, share.name),
    );
    return together(count, (index) => act(clients[index] as ShareClient, index));
  };
}

export async function putFile(share: ShareClient, path: string, text: string): Promise<ShareFileClient> {
  const file = fileAt(share, path);
  await file.create(text.length);
  if (text !== '') await file.uploadRange(text, 0, text.length);
  return file;
}

export const textOf = async (file: ShareFileClient): Promise<string> => (await file.downloadToBuffer()).toString();

export async function namesIn(share: ShareClient, directory = ''): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of share.getDirectoryClient(directory).listFilesAndDirectories()) names.push(name);
  return names;
}
