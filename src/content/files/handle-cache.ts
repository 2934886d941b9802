/**
 * Open files for reading, shared by their readers and kept for the next one. Bounded: a file that nobody reads is
 * closed when there are too many. A file that was removed stays readable to whoever holds it, and is closed after.
 */
import type { FileHandle } from 'node:fs/promises';
import { ExtentMissing } from '../content.ts';
import { isMissing, type OpenFile } from './disk.ts';

export interface HeldHandle {
  readonly handle: FileHandle;
  release(): void;
}

interface Entry {
  readonly path: string;
  readonly opening: Promise<FileHandle>;
  holderCount: number;
}

export class HandleCache {
  readonly #openFile: OpenFile;
  readonly #handleCountMax: number;
  /** In order of last use. */
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new Set<Promise<void>>();

  constructor({ openFile, handleCountMax }: { openFile: OpenFile; handleCountMax: number }) {
    this.#openFile = openFile;
    this.#handleCountMax = handleCountMax;
  }

  async acquire(path: string): Promise<HeldHandle> {
    const entry = this.#entries.get(path) ?? { path, opening: this.#openFile(path, 'r'), holderCount: 0 };
    this.#entries.delete(path);
    this.#entries.set(path, entry);
    entry.holderCount++;
    this.#closeIdleBeyondMax();
    try {
      const handle = await entry.opening;
      return { handle, release: () => this.#release(entry) };
    } catch (error) {
      if (this.#isKept(entry)) this.#entries.delete(path);
      throw isMissing(error) ? new ExtentMissing(path) : error;
    }
  }

  /** The file is gone: nobody else shall find it here. */
  forget(path: string): void {
    const entry = this.#entries.get(path);
    if (entry === undefined) return;
    this.#entries.delete(path);
    if (entry.holderCount === 0) this.#close(entry);
  }

  /** Closes what is idle now; what is held is closed by its last holder. */
  async close(): Promise<void> {
    for (const path of this.#entries.keys()) this.forget(path);
    await Promise.all(this.#closing);
  }

  #release(entry: Entry): void {
    entry.holderCount--;
    if (entry.holderCount > 0) return;
    if (this.#isKept(entry)) this.#closeIdleBeyondMax();
    else this.#close(entry);
  }

  #isKept(entry: Entry): boolean {
    return this.#entries.get(entry.path) === entry;
  }

  #closeIdleBeyondMax(): void {
    if (this.#entries.size <= this.#handleCountMax) return;
    for (const entry of this.#entries.values()) {
      if (entry.holderCount > 0) continue;
      this.forget(entry.path);
      if (this.#entries.size <= this.#handleCountMax) return;
    }
  }

  #close(entry: Entry): void {
    const closing = entry.opening
      .then((handle) => handle.close())
      // Nothing was written through it, so a failure to close it loses nothing.
      .catch(() => {})
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}
