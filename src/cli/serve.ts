/** `larimar serve`: starts the server, says where it is, and stops it in good order. */
import { DEVELOPMENT_KEY } from '../config/accounts.ts';
import { type Config, makeConfig, SERVE_OPTIONS } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import { readOptions } from '../config/options.ts';
import { type RunningServer, startServer } from '../main.ts';
import { readVersion } from './version.ts';

export async function serve(args: readonly string[]): Promise<number> {
  const config = await makeConfig(readOptions(args, process.env, SERVE_OPTIONS));
  const version = await readVersion();
  const server = await start(config);
  // Whoever reads the announcement may send a signal the next moment.
  const stopped = untilStopped(server);
  announce(config, server, version);
  await stopped;
  return 0;
}

async function start(config: Config): Promise<RunningServer> {
  try {
    return await startServer({
      ...(config.data === null ? { memory: true } : { data: config.data }),
      host: config.host,
      blobPort: config.blobPort,
      accounts: config.accounts,
      allowDevelopmentAccount: config.allowDevelopmentAccount,
      ...(config.tls === null ? {} : { tls: config.tls }),
      log: config.log,
    });
  } catch (error) {
    throw translate(error, config);
  }
}

/** What goes wrong on the way to listening is nearly always something the user can set right. */
function translate(error: unknown, config: Config): unknown {
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if (/^ERR_(OSSL|SSL|TLS|CRYPTO)/.test(code)) {
    return new ConfigError(`--cert and --key are no matching pair of PEM files (${(error as Error).message}).`);
  }
  const where = `${config.host}:${config.blobPort}`;
  switch (syscall === 'listen' || syscall === 'getaddrinfo' ? code : '') {
    case 'EADDRINUSE':
      return new ConfigError(`${where} is in use already. Choose another port with --blob-port (0 picks a free one).`);
    case 'EACCES':
      return new ConfigError(`${where}: not allowed to listen there. Choose a port above 1023 with --blob-port.`);
    case 'EADDRNOTAVAIL':
      return new ConfigError(`${config.host} is not an address of this machine. Set --host to one that is.`);
    case 'ENOTFOUND':
      return new ConfigError(`${config.host} is not known. Set --host to an address of this machine.`);
    default:
      return error;
  }
}

function announce(config: Config, server: RunningServer, version: string): void {
  if (config.log === 'silent') return;
  if (config.log === 'json') {
    const line = { event: 'listening', service: 'blob', url: server.origins.blob };
    process.stdout.write(`${JSON.stringify(line)}\n`);
    return;
  }
  process.stdout.write(
    [
      `Larimar ${version}`,
      `  Blob       ${server.origins.blob}`,
      `  data       ${config.data ?? 'in memory, gone at the end'}`,
      `  accounts   ${server.accounts.join(', ')}`,
      '',
      'Connection strings:',
      ...server.accounts.map((name) => `  ${renderConnectionString(config, server, name)}`),
      '',
      'Stop with Ctrl-C.',
      '',
    ].join('\n'),
  );
}

/** Ready to paste for the development account, whose key is public; another's key stays with its owner. */
function renderConnectionString(config: Config, server: RunningServer, name: string): string {
  const isOwn = config.accounts.some((account) => account.name === name);
  return server.connectionStringFor(name, isOwn ? 'YOUR-KEY' : DEVELOPMENT_KEY);
}

/** The first signal drains; a second one does not wait. */
function untilStopped(server: RunningServer): Promise<void> {
  return new Promise((resolve, reject) => {
    let stopping = false;
    const stop = (): void => {
      if (stopping) process.exit(1);
      stopping = true;
      server.close().then(resolve, reject);
    };
    process.on('SIGINT', stop).on('SIGTERM', stop);
  });
}
