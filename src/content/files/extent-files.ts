/**
 * A file for each large extent. It is written under a temporary name, synced, renamed, and its folder synced; so under
 * a final name there is never less than the whole. Files are spread over sub-folders by a hash of their id.
 */
import { mkdir, opendir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type Id, isId } from '../../base/ids.ts';
import { ExtentMissing, type Placement } from '../content.ts';
import { type Folders, isMissing, type OpenFile, removeFile } from './disk.ts';
import { writeGathered } from './gathered-write.ts';
import type { HandleCache } from './handle-cache.ts';
import { type FilePlace, renderPlacement } from './placement.ts';
import type { Stray } from './stray.ts';

const SUB_FOLDER_FORM = /^[0-9a-f]{2}$/;
const TEMPORARY_FORM = /^[0-9a-f]{24}\.[0-9]+$/;

export interface ExtentFilesOptions {
  readonly folder: string;
  /** Where files are written before they get their names. In the same file system. */
  readonly incomingFolder: string;
  readonly openFile: OpenFile;
  readonly folders: Folders;
  readonly handles: HandleCache;
}

export class ExtentFiles {
  readonly #options: ExtentFilesOptions;
  readonly #subFolders = new Map<string, Promise<void>>();
  /** Temporary names in use. */
  readonly #underWay = new Set<string>();
  #written = 0;

  constructor(options: ExtentFilesOptions) {
    this.#options = options;
  }

  async write(id: Id, source: AsyncIterable<Uint8Array>, lengthBytes: number): Promise<Placement> {
    const temporaryName = `${id}.${this.#written++}`;
    const temporaryPath = join(this.#options.incomingFolder, temporaryName);
    this.#underWay.add(temporaryName);
    try {
      await this.#writeFile(temporaryPath, source, lengthBytes);
      await this.#publish(id, temporaryPath);
      return renderPlacement({ kind: 'file', id, lengthBytes });
    } catch (error) {
      await removeIfPossible(temporaryPath);
      throw error;
    } finally {
      this.#underWay.delete(temporaryName);
    }
  }

  locate({ id }: FilePlace): { path: string; startBytes: number } {
    return { path: this.#path(id), startBytes: 0 };
  }

  async free({ id }: FilePlace): Promise<void> {
    const path = this.#path(id);
    await removeFile(path);
    this.#options.handles.forget(path);
  }

  async verify(id: Id, place: FilePlace): Promise<'ok' | 'missing' | 'damaged'> {
    try {
      const { size } = await stat(this.#path(place.id));
      return id === place.id && size === place.lengthBytes ? 'ok' : 'damaged';
    } catch (error) {
      throw isMissing(error) ? new ExtentMissing(id) : error;
    }
  }

  /** Temporary files that nobody is writing, and files whose ids are not among the live ones. */
  async *strays(liveIds: ReadonlySet<Id>): AsyncGenerator<Stray> {
    const { incomingFolder, folder } = this.#options;
    yield* this.#unwanted(incomingFolder, (name) => TEMPORARY_FORM.test(name) && !this.#underWay.has(name));
    for await (const { name } of await opendir(folder)) {
      if (!SUB_FOLDER_FORM.test(name)) continue;
      yield* this.#unwanted(join(folder, name), (name) => isId(name) && !liveIds.has(name));
    }
  }

  async #writeFile(path: string, source: AsyncIterable<Uint8Array>, lengthBytes: number): Promise<void> {
    const handle = await this.#options.openFile(path, 'wx');
    try {
      await writeGathered({ handle, positionBytes: 0, source, lengthBytes });
      await handle.datasync();
    } finally {
      await handle.close();
    }
  }

  async #publish(id: Id, temporaryPath: string): Promise<void> {
    const subFolder = subFolderOf(id);
    const made = this.#subFolders.get(subFolder) ?? this.#makeSubFolder(subFolder);
    this.#subFolders.set(subFolder, made);
    await made;
    const path = this.#path(id);
    await rename(temporaryPath, path);
    try {
      await this.#options.folders.sync(join(this.#options.folder, subFolder));
    } catch (error) {
      await removeIfPossible(path);
      throw error;
    }
  }

  async #makeSubFolder(subFolder: string): Promise<void> {
    try {
      await mkdir(join(this.#options.folder, subFolder), { recursive: true });
      // Also when it was there: the process that made it may have crashed before its name was durable.
      await this.#options.folders.sync(this.#options.folder);
    } catch (error) {
      this.#subFolders.delete(subFolder);
      throw error;
    }
  }

  async *#unwanted(folder: string, unwanted: (name: string) => boolean): AsyncGenerator<Stray> {
    for await (const { name } of await opendir(folder)) {
      if (!unwanted(name)) continue;
      const path = join(folder, name);
      try {
        yield { path, extentCount: 1, bytes: (await stat(path)).size };
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    }
  }

  #path(id: Id): string {
    if (!isId(id)) throw new Error(`not an extent's id: ${id}`);
    return join(this.#options.folder, subFolderOf(id), id);
  }
}

/** After an error that the writer is told of. What stays behind is found by the next recovery. */
const removeIfPossible = (path: string): Promise<boolean> => removeFile(path).catch(() => false);

const subFolderOf = (id: Id): string => (crc32(id) & 0xff).toString(16).padStart(2, '0');
