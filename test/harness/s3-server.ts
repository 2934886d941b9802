/**
 * A real S3 server: radosgw before the smallest Ceph there is, one monitor and one store of objects, in memory and on
 * loopback only. Ready in about two seconds.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Daemon, DaemonFolder } from './daemon-folder.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** The one account of every such server. */
export const S3_ACCOUNT = { key: 'testkey', secret: 'testsecret' } as const;

const START_LIMIT_SECONDS = 60;
const STARTS_MAX = 3;
const MEMORY_BYTES = 8 * 2 ** 30;

interface Ports {
  readonly monitor: number;
  readonly s3: number;
}

function section(name: string, settings: Readonly<Record<string, string | number>>): string {
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value}\n`);
  return `[${name}]\n${lines.join('')}`;
}

function configuration(folder: string, fsid: string, ports: Ports): string {
  return [
    section('global', {
      fsid,
      'mon host': monitorAddress(ports),
      'public addr': '127.0.0.1',
      'cluster addr': '127.0.0.1',
      'ms bind ipv6': 'false',
      'auth cluster required': 'none',
      'auth service required': 'none',
      'auth client required': 'none',
      // Without these, radosgw asks for an encrypted connection that nobody without keys can give it, for ever.
      'ms mon client mode': 'crc',
      'ms mon cluster mode': 'crc',
      'ms mon service mode': 'crc',
      'run dir': folder,
      'crash dir': folder,
      'admin socket': '',
      'pid file': '',
      'log file': '',
      'log to stderr': 'true',
      'mon data': join(folder, 'mon'),
      'osd data': join(folder, 'osd'),
      'osd objectstore': 'memstore',
      'memstore device bytes': MEMORY_BYTES,
      'osd pool default size': 1,
      'osd pool default min size': 1,
      'osd pool default pg num': 4,
      'osd pool default pgp num': 4,
      'osd pool default pg autoscale mode': 'off',
      'osd crush chooseleaf type': 0,
      'mon allow pool size one': 'true',
      'mon max pg per osd': 1000,
      // The monitor leaves a disk that is almost full alone.
      'mon data avail warn': 1,
      'mon data avail crit': 1,
      // Nobody else to agree with: each change of the map, such as a new pool, would otherwise take a second.
      'paxos propose interval': 0.02,
      'paxos min wait': 0.01,
    }),
    section('client.rgw', {
      // Small downloads take ten times as long without tcp_nodelay.
      'rgw frontends': `beast endpoint=127.0.0.1:${ports.s3} tcp_nodelay=1`,
      'rgw thread pool size': 64,
      'rgw dns name': 'localhost',
      'rgw gc obj min wait': 60,
      'rgw gc processor period': 30,
      'rgw enable usage log': 'false',
    }),
  ].join('\n');
}

const monitorAddress = ({ monitor }: Ports): string => `[v2:127.0.0.1:${monitor}]`;

export class S3Server {
  readonly #folder: DaemonFolder;
  readonly #daemons: Daemon[] = [];
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#folder = new DaemonFolder({ name: 's3', user: 'ceph', endSignal: 'SIGKILL' });
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#ports.s3}`;
  }

  /** Of what runs. */
  get pids(): number[] {
    return this.#folder.pids;
  }

  get folder(): string {
    return this.#folder.path;
  }

  /** The end of what the part of it printed that has ended; null while all run. */
  get logOfDead(): string | null {
    return this.#daemons.find(({ hasEnded }) => hasEnded)?.log ?? null;
  }

  /** Resolves once the account can sign in. */
  async start(): Promise<void> {
    const fsid = randomUUID();
    this.#folder.write('ceph.conf', configuration(this.#folder.path, fsid, this.#ports));
    await this.#startMonitor(fsid);
    await this.#startObjectStore();
    this.#start('radosgw', ['-f', '-n', 'client.rgw', '--rgw-zone=default']);
    await this.#until('radosgw answers', async () => {
      const response = await fetch(this.endpoint).catch(() => null);
      return response?.ok ?? false;
    });
    const { key, secret } = S3_ACCOUNT;
    const account = ['--uid=test', '--display-name=test', `--access-key=${key}`, `--secret-key=${secret}`];
    await this.#run('radosgw-admin', ['user', 'create', ...account]);
  }

  async remove(): Promise<void> {
    await this.#folder.remove();
  }

  async #startMonitor(fsid: string): Promise<void> {
    const map = join(this.#folder.path, 'monmap');
    await this.#run('monmaptool', ['--create', '--fsid', fsid, '--addv', 'a', monitorAddress(this.#ports), map]);
    this.#folder.makeFolder('mon');
    await this.#run('ceph-mon', ['--mkfs', '-i', 'a', '--monmap', map]);
    this.#start('ceph-mon', ['-f', '-i', 'a']);
  }

  async #startObjectStore(): Promise<void> {
    const uuid = randomUUID();
    const id = (await this.#ask('osd', 'new', uuid)).trim();
    this.#folder.makeFolder('osd');
    await this.#run('ceph-osd', ['--mkfs', '-i', id, '--osd-uuid', uuid]);
    this.#start('ceph-osd', ['-f', '-i', id]);
    await this.#until('the object store is up', async () => (await this.#ask('osd', 'stat')).includes(' 1 up'));
  }

  /** Of the monitor. */
  #ask(...words: readonly string[]): Promise<string> {
    return this.#run('ceph', ['--connect-timeout', String(START_LIMIT_SECONDS), ...words]);
  }

  #run(program: string, args: readonly string[]): Promise<string> {
    return this.#folder.run(program, ['-c', join(this.#folder.path, 'ceph.conf'), ...args]);
  }

  #start(program: string, args: readonly string[]): void {
    this.#daemons.push(this.#folder.start(program, ['-c', join(this.#folder.path, 'ceph.conf'), ...args]));
  }

  async #until(what: string, ask: () => Promise<boolean>): Promise<void> {
    await until({ what, limitSeconds: START_LIMIT_SECONDS }, () => {
      const log = this.logOfDead;
      if (log !== null) throw new Error(`waited until ${what}, and a part of it ended:\n${log}`);
      return ask();
    });
  }
}

/** Once more where somebody else was quicker to take a port. */
export async function startS3Server(): Promise<S3Server> {
  for (let attempt = 1; ; attempt++) {
    const server = new S3Server({ monitor: await freePort(), s3: await freePort() });
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.remove();
      if (attempt === STARTS_MAX) throw error;
    }
  }
}
