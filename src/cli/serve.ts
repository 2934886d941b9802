/** `larimar serve`: starts the server, says where it is, and stops it in good order. */
import { DEVELOPMENT_KEY } from '../config/accounts.ts';
import { type Config, makeConfig, SERVE_OPTIONS } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import { readOptions } from '../config/options.ts';
import { describeStore, storeOptionsOf } from '../config/store-setting.ts';
import { type RunningServer, startServer } from '../main.ts';
import { readVersion } from './version.ts';

/** For how long a database or object store may be out of reach at the start. */
const WAIT_SECONDS = 60;

export async function serve(args: readonly string[]): Promise<number> {
  const config = await makeConfig(readOptions(args, process.env, SERVE_OPTIONS));
  const version = await readVersion();
  const signals = new StopSignals();
  const server = await start(config);
  // Whoever reads the announcement may send a signal the next moment.
  const stopped = signals.next().then(() => server.close({ drainSeconds: config.drainSeconds }));
  announce(config, server, version);
  await stopped;
  return 0;
}

async function start(config: Config): Promise<RunningServer> {
  try {
    return await startServer({
      ...storeOptionsOf(config.store),
      host: config.host,
      blobPort: config.blobPort,
      queuePort: config.queuePort,
      tablePort: config.tablePort,
      filePort: config.filePort,
      smbPort: config.smbPort,
      smbEncryption: config.smbEncryption,
      adminPort: config.adminPort,
      webPort: config.webPort,
      accounts: config.accounts,
      allowDevelopmentAccount: config.allowDevelopmentAccount,
      ...(config.oauth === null ? {} : { oauth: config.oauth }),
      ...config.accountSettings,
      outsideCopies: config.outsideCopies,
      ...(config.tls === null ? {} : { tls: config.tls }),
      log: config.log,
      waitSeconds: WAIT_SECONDS,
      onWaiting: (message) => print(config, { json: [{ event: 'waiting', message }], text: [message] }),
    });
  } catch (error) {
    throw translate(error, config);
  }
}

/** What goes wrong on the way to listening is nearly always something the user can set right. */
function translate(error: unknown, config: Config): unknown {
  const { code = '', syscall, port } = error as NodeJS.ErrnoException & { port?: number };
  if (/^ERR_(OSSL|SSL|TLS|CRYPTO)/.test(code)) {
    return new ConfigError(`--cert and --key are not a matching pair of PEM files (${(error as Error).message}).`);
  }
  const { flag, asked, instead } = doorAt(port, config);
  const where = `${config.host}:${asked}`;
  switch (syscall === 'listen' || syscall === 'getaddrinfo' ? code : '') {
    case 'EADDRINUSE':
      return new ConfigError(`${where} is in use already. Choose another port with ${flag} (${instead}).`);
    case 'EACCES':
      return new ConfigError(
        `This user is not allowed to listen on ${where}. Choose a port above 1023 with ${flag}` +
          `${flag === '--smb-port' ? ', or see "Files over SMB" in larimar --help' : ''}.`,
      );
    case 'EADDRNOTAVAIL':
      return new ConfigError(`${config.host} is not an address of this machine. Set --host to one that is.`);
    case 'ENOTFOUND':
      return new ConfigError(
        `The host name ${config.host} cannot be resolved. Set --host to an address of this machine.`,
      );
    default:
      return error;
  }
}

/** Which option asked for a port, and what else it takes. */
function doorAt(port: number | undefined, config: Config): { flag: string; asked: number; instead: string } {
  const instead = '0 picks a free one';
  const ports = [
    ['--queue-port', config.queuePort],
    ['--table-port', config.tablePort],
    ['--file-port', config.filePort],
  ] as const;
  const optional = [
    ['--smb-port', config.smbPort],
    ['--admin-port', config.adminPort],
    ['--web-port', config.webPort],
  ] as const;
  for (const [flag, asked] of ports) if (port === asked) return { flag, asked, instead };
  for (const [flag, asked] of optional) {
    if (asked !== null && port === asked) return { flag, asked, instead: `${instead}, off opens none` };
  }
  return { flag: '--blob-port', asked: config.blobPort, instead };
}

/** All doors are open. Of the lines of JSON the Blob service's is the last. */
function announce(config: Config, server: RunningServer, version: string): void {
  const { blob, queue, table, file, smb, admin, web } = server.origins;
  const others = [
    ...(admin === null ? [] : [{ service: 'admin', url: admin }]),
    ...(web === null ? [] : [{ service: 'web', url: web }]),
  ];
  const overSmb = smb === null ? [] : [{ service: 'smb', url: smb }];
  const rows = [
    ['Blob', blob],
    ['Queue', queue],
    ['Table', table],
    ['File', file],
    ...overSmb.map(({ url }) => ['SMB', url]),
    ...others.map(({ service, url }) => [service, url]),
    ...describeStore(config.store),
    ['accounts', server.accounts.join(', ')],
  ];
  print(config, {
    json: [
      ...others,
      { service: 'queue', url: queue },
      { service: 'table', url: table },
      { service: 'file', url: file },
      ...overSmb,
      { service: 'blob', url: blob },
    ].map((door) => ({ event: 'listening', ...door })),
    text: [
      `Larimar ${version}`,
      ...rows.map(([what = '', where]) => `  ${what.padEnd(10)} ${where}`),
      '',
      'Connection strings:',
      ...server.accounts.map((name) => `  ${renderConnectionString(config, server, name)}`),
      '',
      'Stop with Ctrl-C.',
    ],
  });
}

/** In the form that the log has. */
function print({ log }: Config, { json, text }: { json: readonly object[]; text: readonly string[] }): void {
  if (log === 'silent') return;
  const lines = log === 'json' ? json.map((line) => JSON.stringify(line)) : text;
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Ready to paste for the development account, whose key is public; another's key stays with its owner. */
function renderConnectionString(config: Config, server: RunningServer, name: string): string {
  const isOwn = config.accounts.some((account) => account.name === name);
  return server.connectionStringFor(name, isOwn ? 'YOUR-KEY' : DEVELOPMENT_KEY);
}

/** The first signal is asked for and drains; one more, or one before it is asked for, does not wait. */
class StopSignals {
  #isAwaited: (() => void) | null = null;

  constructor() {
    // As a container's first process, a program that does not listen for signals would not hear them.
    process.on('SIGINT', this.#stop).on('SIGTERM', this.#stop);
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#isAwaited = resolve;
    });
  }

  readonly #stop = (): void => {
    const resolve = this.#isAwaited;
    if (resolve === null) process.exit(1);
    this.#isAwaited = null;
    resolve();
  };
}
