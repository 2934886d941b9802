/**
 * Linux's own SMB client: a small emulated machine boots Debian's kernel, mounts a share with cifs.ko, and runs a script on it.
 * Kernel and modules come out of Debian's kernel package and are unpacked once. The machine has two serial lines: one for the
 * kernel's words, one for what the script prints, which ends with its exit code.
 */
import { execFile, spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { access, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../find-program.ts';

const exec = promisify(execFile);

/** What the guest needs for its network, for SMB and for what SMB encrypts and signs with. */
const MODULES = [
  'virtio_pci',
  'virtio_net',
  'cmac',
  'ccm',
  'ghash-generic',
  'gcm',
  'aesni-intel',
  'ctr',
  'sha512_generic',
  'ecb',
  'nls_utf8',
  'cifs',
];

/** This machine, as the guest sees it. */
const HOST = '10.0.2.2';
const MEMORY_MIB = 384;
const DEFAULT_TIMEOUT_MS = 240_000;
const CACHE = '.cache/linux-guest';

export interface GuestRun {
  readonly exitCode: number;
  readonly output: string;
}

export interface GuestOptions {
  readonly port: number;
  readonly share: string;
  readonly account: string;
  readonly key: string;
  /** Of mount.cifs, beside port and dialect: `vers=3.0,seal`. */
  readonly options?: string;
  /** For sh, in a folder on the share. */
  readonly script: string;
  readonly timeoutMs?: number;
}

/** Boots, mounts, runs the script to its end. Throws where it does not get as far as that. */
export async function runInGuest(guest: GuestOptions): Promise<GuestRun> {
  const parts = await guestParts();
  const folder = await mkdtemp(join(tmpdir(), 'larimar-guest-'));
  try {
    const initrd = join(folder, 'initrd');
    await layInitrd(guest, { base: parts.base, folder, initrd });
    return await boot({ kernel: parts.kernel, initrd, folder, timeoutMs: guest.timeoutMs ?? DEFAULT_TIMEOUT_MS });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

// ---- what every guest boots with

interface GuestParts {
  readonly kernel: string;
  readonly base: string;
}

let parts: Promise<GuestParts> | null = null;

const guestParts = (): Promise<GuestParts> => (parts ??= findParts());

async function findParts(): Promise<GuestParts> {
  const found = { kernel: join(CACHE, 'vmlinuz'), base: join(CACHE, 'base.cpio') };
  if (await exists(found.base)) return found;
  const folder = await mkdtemp(join(tmpdir(), 'larimar-kernel-'));
  try {
    await unpackKernel(folder);
    const root = join(folder, 'root');
    await layRoot(join(folder, 'kernel'), root);
    await mkdir(CACHE, { recursive: true });
    const boot = join(folder, 'kernel', 'boot');
    const [kernel = ''] = (await readdir(boot)).filter((name) => name.startsWith('vmlinuz-'));
    await copyFile(join(boot, kernel), found.kernel);
    await pack(root, `${found.base}.new`);
    await rename(`${found.base}.new`, found.base);
    return found;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The kernel that Debian's newest package for this architecture needs. */
async function unpackKernel(folder: string): Promise<void> {
  const dependsOn = await exec('apt-cache', ['depends', 'linux-image-amd64']);
  const [name] = /linux-image-\d\S*/.exec(dependsOn.stdout) ?? [];
  if (name === undefined) throw new Error('apt knows no package linux-image-amd64; run: apt-get update');
  await exec('apt-get', ['download', name], { cwd: folder });
  const [file = ''] = (await readdir(folder)).filter((each) => each.endsWith('.deb'));
  await exec('dpkg-deb', ['-x', join(folder, file), join(folder, 'kernel')]);
}

async function layRoot(kernel: string, root: string): Promise<void> {
  for (const each of ['bin', 'dev', 'etc', 'mnt', 'modules', 'proc', 'sys', 'tmp', 'job']) {
    await mkdir(join(root, each), { recursive: true });
  }
  for (const program of ['busybox', 'mount.cifs', 'flock']) await addProgram(root, program);
  const { stdout } = await exec('find', [kernel, '-name', '*.ko']);
  const files = new Map(stdout.split('\n').map((path) => [moduleName(basename(path, '.ko')), path]));
  const order: string[] = [];
  const add = async (name: string): Promise<void> => {
    const module = moduleName(name);
    if (order.includes(module)) return;
    const file = files.get(module);
    if (file === undefined) throw new Error(`the kernel package has no module ${name}`);
    for (const needed of await dependenciesOf(file)) await add(needed);
    await copyFile(file, join(root, 'modules', `${module}.ko`));
    order.push(module);
  };
  for (const name of MODULES) await add(name);
  await writeFile(join(root, 'modules', 'order'), order.join('\n'));
}

/** File names have hyphens where modules name each other with underscores. */
const moduleName = (name: string): string => name.replaceAll('-', '_');

/** A module tells which others must be loaded before it; that differs from one kernel to the next. */
async function dependenciesOf(file: string): Promise<string[]> {
  const [, names = ''] = /\0depends=([^\0]*)\0/.exec(await readFile(file, 'latin1')) ?? [];
  return names.split(',').filter((name) => name !== '');
}

/** With the libraries that it needs. */
async function addProgram(root: string, name: string): Promise<void> {
  const path = findProgram(name);
  if (path === null) throw new Error(`no program ${name}`);
  await copyFile(path, join(root, 'bin', name));
  // A program without libraries is none that ldd likes.
  const libraries = await exec('ldd', [path]).catch(() => ({ stdout: '' }));
  for (const [library] of libraries.stdout.matchAll(/\/\S+/g)) {
    await mkdir(join(root, dirname(library)), { recursive: true });
    await copyFile(library, join(root, library));
  }
}

/** A folder as an archive that the kernel unpacks. */
async function pack(folder: string, archive: string): Promise<void> {
  await exec('sh', ['-c', `cd "$1" && find . | cpio -o -H newc -R 0:0 --quiet`, 'sh', folder], {
    encoding: 'buffer',
    maxBuffer: 512 * 1024 * 1024,
  }).then(({ stdout }) => writeFile(archive, stdout));
}

// ---- one guest

const INIT = `#!/bin/busybox sh
export PATH=/bin HOME=/ LANG=C.UTF-8
/bin/busybox --install -s /bin 2>/dev/null
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
stty -F /dev/ttyS1 raw -echo 2>/dev/null
exec >/dev/ttyS1 2>&1 </dev/null
finish() { echo; echo "guest-exit: $1"; sync; poweroff -f; }
for module in $(cat /modules/order); do insmod /modules/$module.ko || finish "no module $module"; done
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0 && ip link set eth0 up || finish "no network"
. /job/mount
mount.cifs "$unc" /mnt -o "credentials=/job/credentials,$options" || { dmesg | tail -n 8; finish "mount failed"; }
rm /job/credentials
cd /mnt
sh /job/script
code=$?
cd /
umount /mnt || finish "unmount failed after $code"
finish $code
`;

async function layInitrd(
  { port, share, account, key, options, script }: GuestOptions,
  { base, folder, initrd }: { base: string; folder: string; initrd: string },
): Promise<void> {
  const root = join(folder, 'root');
  await mkdir(join(root, 'job'), { recursive: true });
  await writeFile(join(root, 'init'), INIT, { mode: 0o755 });
  await symlink('/proc/mounts', join(root, 'job', 'mounts'));
  await writeFile(join(root, 'job', 'script'), script);
  await writeFile(join(root, 'job', 'credentials'), `username=${account}\npassword=${key}\n`);
  const all = [`port=${port}`, ...(options === undefined ? [] : [options])].join(',');
  await writeFile(join(root, 'job', 'mount'), `unc='//${HOST}/${share}'\noptions='${all}'\n`);
  const own = join(folder, 'own.cpio');
  await pack(root, own);
  await writeFile(initrd, Buffer.concat([await readFile(base), await readFile(own)]));
}

const LAST_LINE = /^guest-exit: (.*)$/m;

async function boot({
  kernel,
  initrd,
  folder,
  timeoutMs,
}: {
  kernel: string;
  initrd: string;
  folder: string;
  timeoutMs: number;
}): Promise<GuestRun> {
  const [log, printed] = [join(folder, 'kernel.log'), join(folder, 'output')];
  const machine = spawn(
    'qemu-system-x86_64',
    [
      ['-accel', 'tcg,thread=multi', '-cpu', 'max', '-smp', '2', '-m', String(MEMORY_MIB)],
      ['-nodefaults', '-display', 'none', '-no-reboot'],
      ['-kernel', kernel, '-initrd', initrd],
      ['-append', 'console=ttyS0 quiet panic=-1 oops=panic mitigations=off'],
      ['-serial', `file:${log}`, '-serial', `file:${printed}`],
      ['-netdev', 'user,id=n', '-device', 'virtio-net-pci,netdev=n,romfile='],
    ].flat(),
    { stdio: ['ignore', 'ignore', 'pipe'], timeout: timeoutMs, killSignal: 'SIGKILL' },
  );
  let said = '';
  machine.stderr.on('data', (piece: Buffer) => {
    said += String(piece);
  });
  await new Promise((resolve, reject) => machine.once('error', reject).once('close', resolve));
  const output = await readText(printed);
  const [, ending] = LAST_LINE.exec(output) ?? [];
  const shown = output.replace(LAST_LINE, '').replaceAll('\r', '');
  if (ending !== undefined && /^\d+\s*$/.test(ending)) return { exitCode: Number(ending), output: shown };
  const kernelWords = (await readText(log)).slice(-2_000);
  throw new Error(`the guest did not finish: ${ending ?? 'no word of it'}\n${shown}\n${said}\n${kernelWords}`);
}

async function readText(path: string): Promise<string> {
  if (!(await exists(path))) return '';
  let text = '';
  for await (const piece of createReadStream(path, 'utf8')) text += piece;
  return text;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
