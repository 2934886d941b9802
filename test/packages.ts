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
} as const;

export type Tool = keyof typeof DEBIAN_PACKAGES;

export function hasTool(tool: Tool): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, tool), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
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
