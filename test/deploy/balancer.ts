/**
 * HAProxy and nginx with the files that we ship: only the addresses are a test's own. Each runs as a process that ends
 * with the test, or with the test's process.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../find-program.ts';
import { freePort } from '../harness/free-port.ts';
import { until } from '../harness/until.ts';

export const HAPROXY_FILE = 'deploy/haproxy.cfg';
export const NGINX_FILE = 'deploy/nginx.conf';

const START_LIMIT_SECONDS = 20;

export interface Upstream {
  readonly port: number;
  readonly queuePort: number;
  readonly tablePort: number;
  readonly filePort: number;
  readonly smbPort: number;
  readonly adminPort: number;
}

export interface Balancer {
  /** http://127.0.0.1:PORT */
  readonly url: string;
  readonly queueUrl: string;
  readonly tableUrl: string;
  readonly fileUrl: string;
  /** Null: it does not balance SMB. */
  readonly smbPort: number | null;
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Replaces what stands in the text exactly once: a file that has changed does not go unnoticed. */
function replaceOnce(text: string, [what, by]: readonly [string, string]): string {
  assert.equal(text.split(what).length, 2, `"${what}" does not stand there once`);
  return text.replace(what, () => by);
}

/** Three nodes, and where the balancer listens: for its clients, and for whoever watches it. */
export function haproxyText(
  shipped: string,
  nodes: readonly Upstream[],
  ports: { blob: number; queue: number; table: number; file: number; smb: number; status: number },
): string {
  assert.equal(nodes.length, 3);
  return [
    ['bind :10000\n', `bind 127.0.0.1:${ports.blob}\n`] as const,
    ['bind :10001\n', `bind 127.0.0.1:${ports.queue}\n`] as const,
    ['bind :10002\n', `bind 127.0.0.1:${ports.table}\n`] as const,
    ['bind :10003\n', `bind 127.0.0.1:${ports.file}\n`] as const,
    ['bind :10445\n', `bind 127.0.0.1:${ports.smb}\n`] as const,
    ['bind :10005\n', `bind 127.0.0.1:${ports.status}\n`] as const,
    ...nodes.flatMap(({ port, queuePort, tablePort, filePort, smbPort, adminPort }, index) => {
      const name = `node${index + 1}`;
      return [
        [`server ${name} ${name}:10000\n`, `server ${name} 127.0.0.1:${port} port ${adminPort}\n`] as const,
        [`server ${name} ${name}:10001\n`, `server ${name} 127.0.0.1:${queuePort} port ${adminPort}\n`] as const,
        [`server ${name} ${name}:10002\n`, `server ${name} 127.0.0.1:${tablePort} port ${adminPort}\n`] as const,
        [`server ${name} ${name}:10003\n`, `server ${name} 127.0.0.1:${filePort} port ${adminPort}\n`] as const,
        [`server ${name} ${name}:10445\n`, `server ${name} 127.0.0.1:${smbPort} port ${adminPort}\n`] as const,
      ];
    }),
  ].reduce(replaceOnce, shipped);
}

/** The nodes are to be up already: HAProxy takes them for that until its checks have failed. */
export async function startHaproxy(nodes: readonly Upstream[]): Promise<Balancer> {
  const ports = {
    blob: await freePort(),
    queue: await freePort(),
    table: await freePort(),
    file: await freePort(),
    smb: await freePort(),
    status: await freePort(),
  };
  const text = haproxyText(await readFile(HAPROXY_FILE, 'utf8'), nodes, ports);
  return start({
    program: 'haproxy',
    text,
    argv: ({ file }) => ['-db', '-f', file],
    url: `http://127.0.0.1:${ports.blob}`,
    queueUrl: `http://127.0.0.1:${ports.queue}`,
    tableUrl: `http://127.0.0.1:${ports.table}`,
    fileUrl: `http://127.0.0.1:${ports.file}`,
    smbPort: ports.smb,
    isUp: () => answersOk(`http://127.0.0.1:${ports.status}/alive`),
  });
}

export async function startNginx(nodes: readonly Upstream[]): Promise<Balancer> {
  const [port, queuePort, tablePort, filePort] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const folder = await mkdtemp(join(tmpdir(), 'larimar-nginx-'));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const text = [
    ['    listen 10000;\n', `    listen 127.0.0.1:${port};\n`] as const,
    ['    listen 10001;\n', `    listen 127.0.0.1:${queuePort};\n`] as const,
    ['    listen 10002;\n', `    listen 127.0.0.1:${tablePort};\n`] as const,
    ['    listen 10003;\n', `    listen 127.0.0.1:${filePort};\n`] as const,
    ['pid /tmp/nginx.pid;\n', `pid ${folder}/nginx.pid;\n`] as const,
    [
      'access_log /dev/stdout larimar;\n',
      `access_log ${folder}/access.log larimar;\n${temporary.join('\n')}\n`,
    ] as const,
    ...nodes.flatMap((node, index) => {
      const name = `node${index + 1}`;
      return [
        [`server ${name}:10000 `, `server 127.0.0.1:${node.port} `] as const,
        [`server ${name}:10001 `, `server 127.0.0.1:${node.queuePort} `] as const,
        [`server ${name}:10002 `, `server 127.0.0.1:${node.tablePort} `] as const,
        [`server ${name}:10003 `, `server 127.0.0.1:${node.filePort} `] as const,
      ];
    }),
  ].reduce(replaceOnce, await readFile(NGINX_FILE, 'utf8'));
  // Started by root, its workers are somebody else.
  await chmod(folder, 0o777);
  return start({
    program: 'nginx',
    text,
    folder,
    argv: ({ file, folder }) => ['-p', folder, '-c', file, '-g', 'daemon off;'],
    url: `http://127.0.0.1:${port}`,
    queueUrl: `http://127.0.0.1:${queuePort}`,
    tableUrl: `http://127.0.0.1:${tablePort}`,
    fileUrl: `http://127.0.0.1:${filePort}`,
    smbPort: null,
    isUp: () => accepts(port),
  });
}

interface Start {
  readonly program: string;
  readonly text: string;
  readonly folder?: string;
  readonly argv: (paths: { file: string; folder: string }) => readonly string[];
  readonly url: string;
  readonly queueUrl: string;
  readonly tableUrl: string;
  readonly fileUrl: string;
  readonly smbPort: number | null;
  readonly isUp: () => Promise<boolean>;
}

async function start({ program, text, folder: given, argv, isUp, ...urls }: Start): Promise<Balancer> {
  const folder = given ?? (await mkdtemp(join(tmpdir(), 'larimar-balancer-')));
  const file = join(folder, 'shipped.conf');
  await writeFile(file, text);
  const child = spawn(findProgram(program) ?? program, argv({ file, folder }), { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece: string) => {
      output += piece;
    });
  }
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    running.delete(child);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await until({ what: `${program} is up`, limitSeconds: START_LIMIT_SECONDS }, () => {
      if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
      return isUp();
    });
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}; it said:\n${output}`, { cause: error });
  }
  return { ...urls, stop };
}

async function answersOk(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
