/**
 * Programs outside npm that some tests drive, by the Debian packages that bring each. A test that needs one says
 * `{ skip: missingTool('strace') }`: the runner reads that in the file, installs the packages, and where it cannot, the
 * test is skipped by name.
 */
import { accessSync, constants, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

interface DebianTool {
  readonly packages: readonly string[];
  readonly use: string;
  /** All that must be there; without it, the program of the tool's own name. */
  readonly programs?: readonly string[];
  /** What a library brings, which has no program. */
  readonly file?: string;
}

const TOOLS = {
  strace: { packages: ['strace'], use: 'records what reaches the disk, to replay a power cut' },
  openssl: { packages: ['openssl'], use: 'makes certificates for tests over TLS' },
  rclone: { packages: ['rclone'], use: 'copies folders to and from the server' },
  restic: { packages: ['restic'], use: 'keeps a backup repository on the server' },
  az: { packages: ['azure-cli'], use: 'the official command line' },
  pythonStorage: {
    packages: ['python3-azure-storage'],
    use: 'the Python library',
    // Debian's own Python: one from elsewhere does not see Debian's packages.
    file: '/usr/lib/python3/dist-packages/azure/storage/blob/__init__.py',
  },
  pythonTables: {
    packages: ['python3-azure'],
    use: 'the Python library for tables',
    file: '/usr/lib/python3/dist-packages/azure/data/tables/__init__.py',
  },
  postgres: {
    packages: ['postgresql'],
    use: 'keeps the records, and content too, of several nodes',
    programs: ['postgres', 'initdb'],
  },
  radosgw: {
    packages: ['ceph-mon', 'ceph-osd', 'ceph-common', 'radosgw'],
    use: 'an S3 server, to keep content in',
    programs: ['monmaptool', 'ceph-mon', 'ceph-osd', 'ceph', 'radosgw', 'radosgw-admin'],
  },
  haproxy: { packages: ['haproxy'], use: 'one address before several nodes' },
  nginx: { packages: ['nginx-light'], use: 'the same', programs: ['nginx'] },
  pythonYaml: {
    packages: ['python3-yaml'],
    use: 'reads manifests',
    file: '/usr/lib/python3/dist-packages/yaml/__init__.py',
  },
  smbclient: { packages: ['smbclient'], use: "Samba's command line client" },
  smbtorture: { packages: ['samba-testsuite'], use: "Samba's tests of SMB servers" },
  impacket: {
    packages: ['python3-impacket'],
    use: 'an SMB client that is driven step by step',
    file: '/usr/lib/python3/dist-packages/impacket/smb3.py',
  },
  linuxGuest: {
    packages: ['qemu-system-x86', 'busybox-static', 'cpio', 'cifs-utils'],
    use: "a small machine whose kernel mounts shares: Linux's own SMB client",
    programs: ['qemu-system-x86_64', 'busybox', 'cpio', 'mount.cifs'],
  },
  faketime: { packages: ['faketime'], use: 'nodes whose clocks differ' },
} as const satisfies Readonly<Record<string, DebianTool>>;

export type Tool = keyof typeof TOOLS;

export const DEBIAN_TOOLS: Readonly<Record<Tool, DebianTool>> = TOOLS;

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

export function hasTool(tool: Tool): boolean {
  const { file, programs = [tool] } = DEBIAN_TOOLS[tool];
  if (file !== undefined) return isThere(file, constants.R_OK);
  return programs.every((program) => findProgram(program) !== null);
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
  const { packages } = DEBIAN_TOOLS[tool];
  const noun = packages.length === 1 ? 'package' : 'packages';
  return hasTool(tool) ? false : `needs ${tool} (Debian ${noun} ${packages.join(' ')})`;
}

/** The tools that a test file's text asks for. */
export function toolsNamedIn(text: string): Tool[] {
  const named = [...text.matchAll(/missingTool\(['"](\w+)['"]/g)].map((match) => match[1] as string);
  return [...new Set(named)].filter((name): name is Tool => Object.hasOwn(DEBIAN_TOOLS, name));
}
