/** Everything a server is started with, checked and frozen: made from option texts here, or by hand as a library. */
import { readFile } from 'node:fs/promises';
import { type AccountSetting, parseAccountSetting } from './accounts.ts';
import { ConfigError } from './config-error.ts';
import { OPTIONS, type OptionName, type OptionTexts } from './options.ts';

export type LogMode = 'text' | 'json' | 'silent';

export interface Config {
  readonly host: string;
  readonly blobPort: number;
  /** A folder; null: in memory. */
  readonly data: string | null;
  readonly accounts: readonly AccountSetting[];
  readonly allowDevelopmentAccount: boolean;
  /** PEM. */
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | null;
  readonly log: LogMode;
}

export const SERVE_OPTIONS: readonly OptionName[] = [
  'host',
  'blobPort',
  'data',
  'memory',
  'account',
  'allowDevelopmentAccount',
  'cert',
  'key',
  'log',
];

export async function makeConfig(texts: OptionTexts): Promise<Config> {
  const memory = parseSwitch('--memory', texts.memory?.[0]);
  if (memory && texts.data !== undefined) throw new ConfigError('--memory and --data exclude each other: choose one.');
  return Object.freeze({
    host: texts.host?.[0] ?? OPTIONS.host.fallback,
    blobPort: parsePort('--blob-port', texts.blobPort?.[0] ?? OPTIONS.blobPort.fallback),
    data: memory ? null : (texts.data?.[0] ?? OPTIONS.data.fallback),
    accounts: (texts.account ?? []).map(parseAccountSetting),
    allowDevelopmentAccount: parseSwitch('--allow-development-account', texts.allowDevelopmentAccount?.[0]),
    tls: await readTls(texts.cert?.[0], texts.key?.[0]),
    log: parseLog(texts.log?.[0] ?? OPTIONS.log.fallback),
  });
}

function parsePort(flag: string, text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) {
    throw new ConfigError(`${flag} takes a number from 0 to 65535, not "${text}".`);
  }
  return Number(text);
}

function parseSwitch(flag: string, text: string | undefined): boolean {
  if (text === undefined || text === 'false' || text === '0') return false;
  if (text === 'true' || text === '1') return true;
  throw new ConfigError(`${flag} is on (true) or off (false), not "${text}".`);
}

function parseLog(text: string): LogMode {
  if (text === 'text' || text === 'json' || text === 'silent') return text;
  throw new ConfigError(`--log takes text, json or silent, not "${text}".`);
}

async function readTls(cert: string | undefined, key: string | undefined): Promise<Config['tls']> {
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined || key === undefined) throw new ConfigError('--cert and --key go together.');
  return { cert: await readPem('--cert', cert), key: await readPem('--key', key) };
}

async function readPem(flag: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new ConfigError(`${flag}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}
