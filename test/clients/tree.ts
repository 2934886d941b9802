/** Folders full of files, for programs that copy and back up folders: made from a list, and read back to compare. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** Path (with forward slashes) → content. */
export type Tree = ReadonlyMap<string, Uint8Array>;

export async function writeTree(folder: string, tree: Tree): Promise<void> {
  for (const [path, content] of tree) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** Path → hash of the content, in the order of the paths. */
export type Digests = readonly (readonly [path: string, digest: string])[];

const sorted = (digests: [string, string][]): Digests => digests.sort(([a], [b]) => (a < b ? -1 : 1));

const digest = (bytes: Uint8Array, algorithm: string): string => createHash(algorithm).update(bytes).digest('hex');

export function digestTree(tree: Tree, algorithm = 'sha256'): Digests {
  return sorted([...tree].map(([path, content]) => [path, digest(content, algorithm)]));
}

export async function digestFolder(folder: string, algorithm = 'sha256'): Promise<Digests> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return sorted(
    await Promise.all(
      files.map(async (file): Promise<[string, string]> => {
        return [relative(folder, file), digest(await readFile(file), algorithm)];
      }),
    ),
  );
}
