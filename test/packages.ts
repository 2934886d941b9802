/**
 * Programs that some tests drive and npm does not bring, with the Debian packages that do. A test that needs one says
 * `{ skip: missingTool('strace') }`: it is skipped by name where the program is not installed. `npm run test:setup`
 * installs all of them.
 */
import { constants } from 'node:fs';
import { findProgram, isThere } from './find-program.ts';
import { hasPostgres } from './harness/postgres-programs.ts';

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
  openssl: { packages: ['openssl'], use: 'makes certificates as the documentation says' },
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
  nginx: { packages: ['nginx-light'], use: 'another such program', programs: ['nginx'] },
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
  wrk: { packages: ['wrk'], use: 'puts load on a server, for benchmarks' },
  faketime: { packages: ['faketime'], use: 'nodes whose clocks differ' },
} as const satisfies Readonly<Record<string, DebianTool>>;

export type Tool = keyof typeof TOOLS;

export const DEBIAN_TOOLS: Readonly<Record<Tool, DebianTool>> = TOOLS;

/** Whether a test can use it: PostgreSQL also comes with npm. */
export const hasTool = (tool: Tool): boolean => (tool === 'postgres' && hasPostgres()) || hasDebianTool(tool);

export function hasDebianTool(tool: Tool): boolean {
  const { file, programs = [tool] } = DEBIAN_TOOLS[tool];
  if (file !== undefined) return isThere(file, constants.R_OK);
  return programs.every((program) => findProgram(program) !== null);
}

/** For node:test's `skip`: false when the tool is there, else the reason. */
export function missingTool(tool: Tool): false | string {
  return hasTool(tool) ? false : `needs ${DEBIAN_TOOLS[tool].packages.join(', ')}, which npm run test:setup installs`;
}

/** The tools that a test file's text asks for. */
export function toolsNamedIn(text: string): Tool[] {
  const named = [...text.matchAll(/missingTool\(['"](\w+)['"]/g)].map((match) => match[1] as string);
  return [...new Set(named)].filter((name): name is Tool => Object.hasOwn(DEBIAN_TOOLS, name));
}
