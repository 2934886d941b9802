/** `larimar serve`: starts the server, says where it is, and stops it in good order. */
import { DEVELOPMENT_ACCOUNT } from '../config/accounts.ts';
import { type Config, makeConfig, SERVE_OPTIONS } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import { readOptions } from '../config/options.ts';
import { type RunningServer, startServer } from '../main.ts';
import { readVersion } from './version.ts';

export async function serve(args: readonly string[]): Promise<number> {
  const config = await makeConfig(readOptions(args, process.env, SERVE_OPTIONS));
  const server = await start(config);
  await announce(config, server);
  await untilStopped(server);
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
  const { code } = error as NodeJS.ErrnoException;
  const where = `${config.host}:${config.blobPort}`;
  switch (code) {
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

async function announce(config: Config, server: RunningServer): Promise<void> {
  if (config.log === 'silent') return;
  if (config.log === 'json') {
    const line = { event: 'listening', service: 'blob', url: server.origins.blob };
    process.stdout.write(`${JSON.stringify(line)}\n`);
    return;
  }
  const accounts = [...new Set([DEVELOPMENT_ACCOUNT, ...config.accounts.map((account) => account.name)])];
  process.stdout.write(
    [
      `Larimar ${await readVersion()}`,
      `  Blob       ${server.endpoints.blob}`,
      `  data       ${config.data ?? 'in memory, gone at the end'}`,
      `  accounts   ${accounts.join(', ')}`,
      '',
      'Connection string:',
      `  ${server.connectionString}`,
      '',
      'Stop with Ctrl-C.',
      '',
    ].join('\n'),
  );
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
