/**
 * Programs outside npm that some tests drive, by the Debian package that brings each. A test that needs one says
 * `{ skip: missingTool('strace') }`: the runner reads that in the file, installs the package, and where it cannot, the
 * test is skipped by name.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

export const DEBIAN_PACKAGES = {
  strace: { package: 'strace', use: 'records what reaches the disk, to replay a power cut' },
  openssl: { package: 'openssl', use: 'makes certificates for tests over TLS' },
  rclone: { package: 'rclone', use: 'copies folders to and from the server' },
  restic: { package: 'restic', use: 'keeps a backup repository on the server' },
  az: { package: 'azure-cli', use: 'the official command line' },
  pythonStorage: {
    package: 'python3-azure-storage',
    use: 'the Python library',
    // Debian's own Python: one from elsewhere does not see Debian's packages.
    file: '/usr/lib/python3/dist-packages/azure/storage/blob/__init__.py',
  },
} as const satisfies Readonly<Record<string, { package: string; use: string; file?: string }>>;

export type Tool = keyof typeof DEBIAN_PACKAGES;

/** A program on the PATH, or the file that a library brings. */
export function hasTool(tool: Tool): boolean {
  const { file } = DEBIAN_PACKAGES[tool] as { file?: string };
  if (file !== undefined) return isThere(file, constants.R_OK);
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => isThere(join(folder, tool), constants.X_OK));
}

function isThere(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** For node:test's `skip`: false when the tool is there, else the reason. */
export function missingTool(tool: Tool): false | string {
  return hasTool(tool) ? false : `needs ${tool} (Debian package ${DEBIAN_PACKAGES[tool].package})`;
}

/** The tools that a test file's text asks for. */
export function toolsNamedIn(text: string): Tool[] {
  const named = [...text.matchAll(/missingTool\(['"](\w+)['"]/g)].map((match) => match[1] as string);
  return [...new Set(named)].filter((name): name is Tool => Object.hasOwn(DEBIAN_PACKAGES, name));
}
