/** Everything a server is started with, checked and frozen: made from option texts here, or by hand as a library. */
import { readFile } from 'node:fs/promises';
import { type AccountSettingOptions, readAccountSettings } from './account-settings.ts';
import { type AccountSetting, parseAccountSetting } from './accounts.ts';
import { ConfigError } from './config-error.ts';
import { type OAuthOptions, readOAuth } from './oauth-setting.ts';
import { OPTIONS, type OptionName, type OptionTexts } from './options.ts';
import { chooseStore, type StoreSetting } from './store-setting.ts';

/** The format of the log: lines of text, lines of JSON, or nothing at all, not even errors. */
export type LogMode = 'text' | 'json' | 'silent';

/** Which SMB clients must encrypt: all except those on this machine (`auto`), all (`required`) or none (`optional`). */
export type SmbEncryption = 'auto' | 'required' | 'optional';

export interface Config {
  readonly host: string;
  readonly blobPort: number;
  readonly queuePort: number;
  readonly tablePort: number;
  readonly filePort: number;
  /** Of files over SMB; null: none. */
  readonly smbPort: number | null;
  readonly smbEncryption: SmbEncryption;
  /** Of health and readiness; null: none. */
  readonly adminPort: number | null;
  /** Of static websites; null: none. */
  readonly webPort: number | null;
  readonly store: StoreSetting;
  readonly accounts: readonly AccountSetting[];
  readonly allowDevelopmentAccount: boolean;
  /** Whose bearer tokens are accepted; null: nobody's. */
  readonly oauth: OAuthOptions | null;
  readonly accountSettings: AccountSettingOptions;
  /** Whether copies may fetch from other servers. */
  readonly outsideCopies: boolean;
  /** PEM. */
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | null;
  /** For how long the server goes on serving when it has said that it will stop. */
  readonly drainSeconds: number;
  readonly log: LogMode;
}

export const STORE_OPTIONS = ['data', 'engine', 'content'] as const satisfies readonly OptionName[];

export const SERVE_OPTIONS: readonly OptionName[] = [
  'host',
  'blobPort',
  'queuePort',
  'tablePort',
  'filePort',
  'smbPort',
  'smbEncryption',
  'adminPort',
  'webPort',
  'data',
  'memory',
  'engine',
  'content',
  'account',
  'allowDevelopmentAccount',
  'oauthIssuer',
  'oauthKeys',
  'oauthAudience',
  'oauthDefaultRole',
  'versioning',
  'containerRetentionDays',
  'rehydrationSeconds',
  'outsideCopies',
  'cert',
  'key',
  'drainSeconds',
  'log',
];

export async function makeConfig(texts: OptionTexts): Promise<Config> {
  const blobPort = parsePort('--blob-port', texts.blobPort?.[0] ?? OPTIONS.blobPort.fallback);
  const queuePort = parsePort('--queue-port', texts.queuePort?.[0] ?? OPTIONS.queuePort.fallback);
  const tablePort = parsePort('--table-port', texts.tablePort?.[0] ?? OPTIONS.tablePort.fallback);
  const filePort = parsePort('--file-port', texts.filePort?.[0] ?? OPTIONS.filePort.fallback);
  const smbPort = parsePortOrOff('--smb-port', texts.smbPort?.[0] ?? OPTIONS.smbPort.fallback);
  const adminPort = parsePortOrOff('--admin-port', texts.adminPort?.[0] ?? OPTIONS.adminPort.fallback);
  const webPort = parsePortOrOff('--web-port', texts.webPort?.[0] ?? OPTIONS.webPort.fallback);
  refuseSharedPort({
    '--blob-port': blobPort,
    '--queue-port': queuePort,
    '--table-port': tablePort,
    '--file-port': filePort,
    '--smb-port': smbPort,
    '--admin-port': adminPort,
    '--web-port': webPort,
  });
  return Object.freeze({
    host: texts.host?.[0] ?? OPTIONS.host.fallback,
    blobPort,
    queuePort,
    tablePort,
    filePort,
    smbPort,
    smbEncryption: parseSmbEncryption(texts.smbEncryption?.[0] ?? OPTIONS.smbEncryption.fallback),
    adminPort,
    webPort,
    store: makeStore(texts),
    accounts: (texts.account ?? []).map(parseAccountSetting),
    allowDevelopmentAccount: parseSwitch('--allow-development-account', texts.allowDevelopmentAccount?.[0]),
    oauth: await readOAuth(texts),
    accountSettings: readAccountSettings(texts),
    outsideCopies: parseOnOff('--outside-copies', texts.outsideCopies?.[0] ?? OPTIONS.outsideCopies.fallback),
    tls: await readTls(texts.cert?.[0], texts.key?.[0]),
    drainSeconds: parseSeconds('--drain-seconds', texts.drainSeconds?.[0] ?? OPTIONS.drainSeconds.fallback),
    log: parseLog(texts.log?.[0] ?? OPTIONS.log.fallback),
  });
}

/** Of what STORE_OPTIONS and --memory say. */
export function makeStore(texts: OptionTexts): StoreSetting {
  const [data, engine, content] = [texts.data?.[0], texts.engine?.[0], texts.content?.[0]];
  return chooseStore(
    {
      memory: parseSwitch('--memory', texts.memory?.[0]),
      ...(data === undefined ? {} : { data }),
      ...(engine === undefined ? {} : { engine }),
      ...(content === undefined ? {} : { content }),
    },
    OPTIONS.data.fallback,
  );
}

const parsePortOrOff = (flag: string, text: string): number | null =>
  text === 'off' ? null : parsePort(flag, text, ', or off');

function refuseSharedPort(ports: Readonly<Record<string, number | null>>): void {
  const flags = new Map<number, string>();
  for (const [flag, port] of Object.entries(ports)) {
    if (port === null || port === 0) continue;
    const other = flags.get(port);
    if (other !== undefined) {
      throw new ConfigError(`${other} and ${flag} are both ${port}: choose another port for one of them.`);
    }
    flags.set(port, flag);
  }
}

const SECONDS_MAX = 3_600;

function parseSeconds(flag: string, text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) > SECONDS_MAX) {
    throw new ConfigError(`${flag} takes a number of seconds from 0 to ${SECONDS_MAX}, not "${text}".`);
  }
  return Number(text);
}

function parsePort(flag: string, text: string, orElse = ''): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) {
    throw new ConfigError(`${flag} takes a number from 0 to 65535${orElse}, not "${text}".`);
  }
  return Number(text);
}

function parseSwitch(flag: string, text: string | undefined): boolean {
  if (text === undefined || text === 'false' || text === '0') return false;
  if (text === 'true' || text === '1') return true;
  throw new ConfigError(`${flag} takes true or false, not "${text}".`);
}

function parseOnOff(flag: string, text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new ConfigError(`${flag} takes on or off, not "${text}".`);
  return text === 'on';
}

function parseSmbEncryption(text: string): SmbEncryption {
  if (text === 'auto' || text === 'required' || text === 'optional') return text;
  throw new ConfigError(`--smb-encryption takes auto, required or optional, not "${text}".`);
}

function parseLog(text: string): LogMode {
  if (text === 'text' || text === 'json' || text === 'silent') return text;
  throw new ConfigError(`--log takes text, json or silent, not "${text}".`);
}

async function readTls(cert: string | undefined, key: string | undefined): Promise<Config['tls']> {
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined || key === undefined)
    throw new ConfigError('--cert and --key go together: give both or neither.');
  return { cert: await readPem('--cert', cert), key: await readPem('--key', key) };
}

async function readPem(flag: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new ConfigError(`${flag}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}
