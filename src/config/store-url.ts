/**
 * The URLs of a database and of an object store, as users write them for other programs. They may hold a password: what
 * is shown of a URL never does, and of one that cannot be read nothing is shown.
 */
import { ConfigError } from './config-error.ts';

const DATABASE_FORM = 'postgres://user:password@host:port/database';
export const OBJECTS_FORM = 's3://KEY:SECRET@bucket?endpoint=https://host';

interface Form {
  readonly flag: string;
  readonly what: string;
  readonly form: string;
}

const DATABASE: Form = { flag: '--engine', what: 'the URL of a database', form: DATABASE_FORM };
const OBJECTS: Form = { flag: '--content', what: 'the URL of a bucket', form: OBJECTS_FORM };

/** As the client library takes it; throws a ConfigError where it is none. */
export function parseDatabaseUrl(text: string): string {
  const url = `postgres://${text.slice(text.indexOf('://') + 3)}`;
  refuseMisread(url, DATABASE);
  if (hostsOf(url).includes(',')) {
    throw new ConfigError(`--engine names several hosts. Name one, or a proxy in front of them: ${DATABASE_FORM}`);
  }
  parse(url, DATABASE);
  return url;
}

export function parseObjectsUrl(text: string): string {
  const url = `s3://${text.slice(text.indexOf('://') + 3)}`;
  refuseMisread(url, OBJECTS);
  if (parse(url, OBJECTS).hostname === '') throw unreadable(OBJECTS);
  return url;
}

/** `postgres://user@host:port/database`: whatever of it is written, without the rest. */
export function showDatabaseUrl(url: string): string {
  const { username, hostname, port, pathname, searchParams } = parse(url, DATABASE);
  const asked = (name: string): string => searchParams.get(name) ?? '';
  const user = asked('user') || decodeURIComponent(username);
  const socket = asked('host').startsWith('/') ? `?host=${asked('host')}` : '';
  const host = socket === '' ? asked('host') || hostname : '';
  const shownPort = asked('port') || port;
  return `postgres://${user === '' ? '' : `${user}@`}${host}${shownPort === '' ? '' : `:${shownPort}`}${pathname}${socket}`;
}

/** `s3://bucket?endpoint=http://host:port`. */
export function showObjectsUrl(url: string): string {
  const { host, pathname, searchParams } = parse(url, OBJECTS);
  const endpoint = searchParams.get('endpoint');
  const shown = endpoint !== null && URL.canParse(endpoint) ? new URL(endpoint) : null;
  return `s3://${host}${pathname}${shown === null ? '' : `?endpoint=${shown.protocol}//${shown.host}`}`;
}

/** For texts of others, which may quote a URL. */
export const withoutPasswords = (text: string): string =>
  text.replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/[^\s:@/]*):[^\s@]*@/gi, '$1@');

/** Where a special character of the password ends the part before the host, the rest would be taken for something else. */
function refuseMisread(url: string, form: Form): void {
  const [authority, rest] = split(url);
  if (/[@#]/.test(rest) || /%(?![0-9a-f]{2})/i.test(authority)) throw unreadable(form);
}

const split = (url: string): [authority: string, rest: string] => {
  const start = url.indexOf('://') + 3;
  const length = url.slice(start).search(/[/?#]/);
  return length === -1 ? [url.slice(start), ''] : [url.slice(start, start + length), url.slice(start + length)];
};

const hostsOf = (url: string): string => {
  const [authority] = split(url);
  return authority.slice(authority.lastIndexOf('@') + 1);
};

function parse(url: string, form: Form): URL {
  const [authority, rest] = split(url);
  // Without a host it is this machine's database, which everybody understands but the URL class.
  const whole = form === DATABASE && hostsOf(url) === '' ? `postgres://${authority}localhost${rest}` : url;
  try {
    const parsed = new URL(whole);
    for (const part of [parsed.username, parsed.password, parsed.pathname]) decodeURIComponent(part);
    return parsed;
  } catch {
    throw unreadable(form);
  }
}

const unreadable = ({ flag, what, form }: Form): ConfigError =>
  new ConfigError(
    `${flag} is not ${what}. Write ${form}, and percent-encode special characters in the password ` +
      '(@ as %40, / as %2F, # as %23, % as %25).',
  );
