/** Folders whose names survive a power cut: a name is durable only once the folder that holds it is synced. */
import { mkdir, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

export async function syncFolder(path: string): Promise<void> {
  // Windows cannot sync a folder; NTFS journals names by itself.
  if (process.platform === 'win32') return;
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Makes the folder and all that lead to it. Whoever put it there before may have crashed before its name was durable. */
export async function makeFolderDurably(path: string, options: { readonly mode?: number } = {}): Promise<void> {
  const bottom = resolve(path);
  const firstMade = (await mkdir(bottom, { recursive: true, ...options })) ?? bottom;
  for (let made = bottom; made.length >= firstMade.length; made = dirname(made)) await syncFolder(dirname(made));
}
