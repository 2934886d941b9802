/**
 * The command line as one table: every option with its environment variable, its default and its sentence of help. What
 * users of Azurite type is understood too.
 */
import { ConfigError } from './config-error.ts';

export interface Option {
  readonly flag: string;
  /** What stands behind the flag in the help; null: the flag stands alone. */
  readonly value: string | null;
  readonly help: string;
  readonly environment: string;
  readonly fallback?: string;
  /** May be given several times; in the environment, separated by `;`. */
  readonly repeats?: boolean;
  /** Options that, given on the command line, void this one's environment variable; with which values they do not. */
  readonly instead?: Readonly<Record<string, readonly string[]>>;
  /** Other spellings. */
  readonly also?: readonly string[];
}

const OFF = ['false', '0'];

export const OPTIONS = {
  host: {
    flag: '--host',
    value: 'ADDRESS',
    help: 'address to listen on',
    environment: 'LARIMAR_HOST',
    fallback: '127.0.0.1',
    also: ['--blobHost', '--queueHost', '--tableHost'],
  },
  blobPort: {
    flag: '--blob-port',
    value: 'PORT',
    help: 'port for the Blob service; 0 picks a free one',
    environment: 'LARIMAR_BLOB_PORT',
    fallback: '10000',
    also: ['--blobPort'],
  },
  queuePort: {
    flag: '--queue-port',
    value: 'PORT',
    help: 'port for the Queue service; 0 picks a free one',
    environment: 'LARIMAR_QUEUE_PORT',
    fallback: '10001',
    also: ['--queuePort'],
  },
  tablePort: {
    flag: '--table-port',
    value: 'PORT',
    help: 'port for the Table service; 0 picks a free one',
    environment: 'LARIMAR_TABLE_PORT',
    fallback: '10002',
    also: ['--tablePort'],
  },
  filePort: {
    flag: '--file-port',
    value: 'PORT',
    help: 'port for the File service; 0 picks a free one',
    environment: 'LARIMAR_FILE_PORT',
    fallback: '10003',
  },
  smbPort: {
    flag: '--smb-port',
    value: 'PORT|off',
    help: 'port for files over SMB (for 445, see below); 0 picks a free one, off: no SMB',
    environment: 'LARIMAR_SMB_PORT',
    fallback: '10445',
  },
  smbEncryption: {
    flag: '--smb-encryption',
    value: 'MODE',
    help: 'who must encrypt SMB: auto (other machines), required (all), optional (none)',
    environment: 'LARIMAR_SMB_ENCRYPTION',
    fallback: 'auto',
  },
  adminPort: {
    flag: '--admin-port',
    value: 'PORT|off',
    help: 'port for /health and /ready; 0 picks a free one, off opens none',
    environment: 'LARIMAR_ADMIN_PORT',
    fallback: '10004',
  },
  webPort: {
    flag: '--web-port',
    value: 'PORT|off',
    help: 'port for static websites; 0 picks a free one, off opens none',
    environment: 'LARIMAR_WEB_PORT',
    fallback: '10005',
  },
  data: {
    flag: '--data',
    value: 'DIR',
    help: 'folder in which everything is stored',
    environment: 'LARIMAR_DATA',
    instead: { memory: OFF, engine: ['lmdb'] },
    fallback: './larimar-data',
    also: ['--location', '-l'],
  },
  memory: {
    flag: '--memory',
    value: null,
    help: 'store nothing on disk: everything is lost when the server stops',
    environment: 'LARIMAR_MEMORY',
    instead: { data: [], engine: [], content: [] },
    also: ['--inMemoryPersistence'],
  },
  engine: {
    flag: '--engine',
    value: 'lmdb|postgres://…',
    help: 'where records are kept: in the data folder, or in a database that nodes share',
    environment: 'LARIMAR_ENGINE',
    instead: { memory: OFF, data: [] },
    fallback: 'lmdb',
  },
  content: {
    flag: '--content',
    value: 'files|postgres|s3://…',
    help: 'where content is kept [files; postgres with --engine postgres://…]',
    environment: 'LARIMAR_CONTENT',
    instead: { memory: OFF, data: [] },
  },
  account: {
    flag: '--account',
    value: 'NAME:KEY[:KEY2]',
    help: 'an account with one or two Base64 keys; may be repeated',
    environment: 'LARIMAR_ACCOUNTS',
    repeats: true,
  },
  allowDevelopmentAccount: {
    flag: '--allow-development-account',
    value: null,
    help: 'let other machines use devstoreaccount1 too, although its key is public',
    environment: 'LARIMAR_ALLOW_DEVELOPMENT_ACCOUNT',
  },
  oauthIssuer: {
    flag: '--oauth-issuer',
    value: 'URL',
    help: 'accept bearer tokens from this issuer (their iss claim)',
    environment: 'LARIMAR_OAUTH_ISSUER',
  },
  oauthKeys: {
    flag: '--oauth-keys',
    value: 'FILE|URL',
    help: "the issuer's keys (JWKS) [found through its discovery document]",
    environment: 'LARIMAR_OAUTH_KEYS',
  },
  oauthAudience: {
    flag: '--oauth-audience',
    value: 'TEXT',
    help: 'aud claim that tokens must have; may be repeated [https://storage.azure.com]',
    environment: 'LARIMAR_OAUTH_AUDIENCES',
    repeats: true,
  },
  oauthDefaultRole: {
    flag: '--oauth-default-role',
    value: 'ROLE',
    help: 'role that a token has if it names none; may be repeated [no role]',
    environment: 'LARIMAR_OAUTH_DEFAULT_ROLE',
    repeats: true,
  },
  versioning: {
    flag: '--versioning',
    value: 'ACCOUNT|all',
    help: 'keep versions of blobs in this account; may be repeated or comma-separated',
    environment: 'LARIMAR_VERSIONING',
    repeats: true,
  },
  containerRetentionDays: {
    flag: '--container-retention-days',
    value: 'N',
    help: 'let deleted containers be restored for N days [not at all]',
    environment: 'LARIMAR_CONTAINER_RETENTION_DAYS',
  },
  rehydrationSeconds: {
    flag: '--rehydration-seconds',
    value: 'N',
    help: 'how long it takes to rehydrate an archived blob',
    environment: 'LARIMAR_REHYDRATION_SECONDS',
    fallback: '5',
  },
  outsideCopies: {
    flag: '--outside-copies',
    value: 'on|off',
    help: 'whether copies may read from other servers',
    environment: 'LARIMAR_OUTSIDE_COPIES',
    fallback: 'on',
  },
  cert: {
    flag: '--cert',
    value: 'FILE',
    help: 'TLS certificate (PEM); with --key, makes the server speak HTTPS',
    environment: 'LARIMAR_CERT',
  },
  key: {
    flag: '--key',
    value: 'FILE',
    help: 'private key of the certificate (PEM)',
    environment: 'LARIMAR_KEY',
  },
  drainSeconds: {
    flag: '--drain-seconds',
    value: 'N',
    help: 'when told to stop, report "not ready" at once and serve for another N seconds',
    environment: 'LARIMAR_DRAIN_SECONDS',
    fallback: '0',
  },
  log: {
    flag: '--log',
    value: 'text|json|silent',
    help: 'log format; silent prints nothing, not even errors',
    environment: 'LARIMAR_LOG',
    fallback: 'text',
  },
} as const satisfies Readonly<Record<string, Option>>;

export type OptionName = keyof typeof OPTIONS;

/** Flags of Azurite that ask for what is the case here anyway. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set(['--skipApiVersionCheck', '--loose', '-L', '--disableTelemetry']);

/** Texts as given: on the command line, else in the environment; absent where neither has any. */
export type OptionTexts = { readonly [name in OptionName]?: readonly string[] };

export function readOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  accepted: readonly OptionName[],
): OptionTexts {
  const given = readArguments(args, accepted);
  const texts: { [name in OptionName]?: readonly string[] } = {};
  for (const name of accepted) {
    const option: Option = OPTIONS[name];
    const isVoid = Object.entries(option.instead ?? {}).some(([other, except]) => {
      const [value] = given.get(other as OptionName) ?? [];
      return value !== undefined && !except.includes(value);
    });
    const found = given.get(name) ?? (isVoid ? undefined : fromEnvironment(option, environment));
    if (found !== undefined) texts[name] = found;
  }
  return texts;
}

function readArguments(args: readonly string[], accepted: readonly OptionName[]): Map<OptionName, string[]> {
  const given = new Map<OptionName, string[]>();
  for (let at = 0; at < args.length; at++) {
    const [flag, inline] = splitAtEquals(args[at] as string);
    if (WITHOUT_EFFECT.has(flag)) continue;
    if (flag === '--silent' || flag === '-s') {
      if (given.has('log')) throw new ConfigError('--log is given twice.');
      given.set('log', ['silent']);
      continue;
    }
    const name = accepted.find((candidate) => spellings(OPTIONS[candidate]).includes(flag));
    if (name === undefined) throw unknownOption(flag, accepted);
    const option: Option = OPTIONS[name];
    const value = option.value === null ? (inline ?? 'true') : (inline ?? args[++at]);
    if (
      value === undefined ||
      value === '' ||
      (inline === undefined && option.value !== null && value.startsWith('--'))
    ) {
      throw new ConfigError(`${flag} needs a value: ${option.flag} ${option.value}`);
    }
    if (given.has(name) && option.repeats !== true) throw new ConfigError(`${option.flag} is given twice.`);
    given.set(name, [...(given.get(name) ?? []), value]);
  }
  return given;
}

const splitAtEquals = (arg: string): [string, string | undefined] => {
  const cut = arg.startsWith('--') ? arg.indexOf('=') : -1;
  return cut === -1 ? [arg, undefined] : [arg.slice(0, cut), arg.slice(cut + 1)];
};

const SHOWN_LENGTH_MAX = 30;

const spellings = (option: Option): readonly string[] => [option.flag, ...(option.also ?? [])];

function fromEnvironment(
  option: Option,
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] | undefined {
  const text = environment[option.environment];
  if (text === undefined || text === '') return undefined;
  return option.repeats === true ? text.split(';').filter((part) => part !== '') : [text];
}

function unknownOption(flag: string, accepted: readonly OptionName[]): ConfigError {
  const flags = accepted.map((name) => OPTIONS[name].flag);
  const [nearest] = flags
    .map((candidate) => ({ candidate, distance: editDistance(flag, candidate) }))
    .sort((a, b) => a.distance - b.distance);
  // What was meant as a key must not end up on a screen or in a log.
  const shown = flag.startsWith('-') ? (flag.split(/[:=]/)[0] as string) : flag;
  const isSafe = shown.length <= SHOWN_LENGTH_MAX && !shown.includes(':');
  const what = flag.startsWith('-') ? `There is no option ${shown}.` : `"${shown}" is not understood here.`;
  const told = isSafe ? what : 'One of the arguments belongs to no option.';
  const isNear = nearest !== undefined && nearest.distance <= 3;
  return new ConfigError(`${told} ${isNear ? `Did you mean ${nearest.candidate}?` : 'See: larimar --help'}`);
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replace, (previous[j] as number) + 1, (current[j - 1] as number) + 1));
    }
    previous = current;
  }
  return previous[b.length] as number;
}

export function renderOptions(accepted: readonly OptionName[]): string {
  const rows = accepted.map((name) => {
    const option: Option = OPTIONS[name];
    const left = option.value === null ? option.flag : `${option.flag} ${option.value}`;
    const fallback = option.fallback === undefined ? '' : ` [${option.fallback}]`;
    return { left, right: `${option.help}${fallback}`, environment: option.environment };
  });
  const width = Math.max(...rows.map((row) => row.left.length));
  return rows
    .map((row) => `  ${row.left.padEnd(width)}  ${row.right}\n  ${' '.repeat(width)}  (${row.environment})`)
    .join('\n');
}
