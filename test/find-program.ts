/** Finds installed programs, also where Debian keeps those that are not on everybody's PATH. */
import { accessSync, constants, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export function isThere(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** Where Debian keeps programs that are not on everybody's PATH; of PostgreSQL's versions the newest first. */
function foldersOffPath(): string[] {
  const postgres = '/usr/lib/postgresql';
  const versions = isThere(postgres, constants.R_OK) ? readdirSync(postgres) : [];
  versions.sort((a, b) => Number(b) - Number(a));
  return ['/usr/sbin', ...versions.map((version) => join(postgres, version, 'bin'))];
}

/** The path of an installed program; null when there is none. */
export function findProgram(name: string): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...foldersOffPath()];
  const paths = folders.map((folder) => join(folder, name));
  return paths.find((path) => isThere(path, constants.X_OK)) ?? null;
}
