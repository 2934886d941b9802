/**
 * What the store asks of a disk beyond reading and writing: durable names and gone files. `openFile` is given, so
 * that a test can put a disk that fails underneath.
 */
import type { FileHandle } from 'node:fs/promises';
import { unlink } from 'node:fs/promises';
import { GroupSync } from './group-sync.ts';

export type OpenFile = (path: string, flags: string) => Promise<FileHandle>;

export class Folders {
  readonly #openFile: OpenFile;
  readonly #syncs = new Map<string, GroupSync>();

  constructor(openFile: OpenFile) {
    this.#openFile = openFile;
  }

  /** Resolves once every name that stood in the folder at the call is durable. */
  async sync(path: string): Promise<void> {
    // Windows cannot sync a folder; NTFS journals names by itself.
    if (process.platform === 'win32') return;
    const sync = this.#syncs.get(path) ?? new GroupSync(() => this.#syncOnce(path));
    this.#syncs.set(path, sync);
    try {
      await sync.wait();
    } catch (error) {
      // Everyone who shared the failure is told. A name that is put there from now on dirties the folder anew.
      if (this.#syncs.get(path) === sync) this.#syncs.delete(path);
      throw error;
    }
  }

  async #syncOnce(path: string): Promise<void> {
    const folder = await this.#openFile(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}

/** Whether there was something to remove. A name that comes back after a crash is found by the next recovery. */
export async function removeFile(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

export const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';
