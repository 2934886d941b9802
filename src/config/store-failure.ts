/**
 * Why a store could not be opened, in words for whoever started the server: out of reach, which may pass, or refused,
 * which somebody must set right. Errors are told by the codes that the system, PostgreSQL and S3 give them.
 */
import { ConfigError } from './config-error.ts';
import { showDatabaseUrl, showObjectsUrl } from './store-url.ts';

/** The database or the object store does not answer, or not yet. */
export class StoreUnreachable extends Error {
  override readonly name = 'StoreUnreachable';
  /** `the database at postgres://user@host:port/database`. */
  readonly place: string;
  readonly reason: string;
  readonly #advice: string;

  constructor({ place, reason, advice }: { place: string; reason: string; advice: string }, waitedSeconds = 0) {
    const within = waitedSeconds === 0 ? 'cannot be reached' : `could not be reached within ${waitedSeconds} s`;
    super(`${place[0]?.toUpperCase()}${place.slice(1)} ${within}: ${reason}. ${advice}`);
    this.place = place;
    this.reason = reason;
    this.#advice = advice;
  }

  after(waitedSeconds: number): StoreUnreachable {
    return new StoreUnreachable({ place: this.place, reason: this.reason, advice: this.#advice }, waitedSeconds);
  }
}

const OUT_OF_REACH: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection lost',
  ECONNABORTED: 'connection lost',
  EPIPE: 'connection lost',
  ETIMEDOUT: 'no answer',
  EHOSTUNREACH: 'no route to its host',
  ENETUNREACH: 'no route to its host',
  ENOTFOUND: 'its host name cannot be resolved',
  EAI_AGAIN: 'its host name cannot be resolved',
  ENOENT: 'nothing listens on its socket',
  '25006': 'it is read-only',
  '57P01': 'it is shutting down',
  '57P02': 'it has crashed',
  '57P03': 'it is starting up or shutting down',
};

/** The client library has no code for these. */
const OUT_OF_REACH_WORDS = /^(?:timeout expired|query read timeout|connection terminated)/i;

/** What is to be thrown in place of an error met while opening the database; null: the error tells enough. */
export function explainDatabaseFailure(error: unknown, url: string): Error | null {
  const shown = showDatabaseUrl(url);
  const place = `the database at ${shown}`;
  for (const { code, name, message } of chainOf(error)) {
    const reason = OUT_OF_REACH[code] ?? (OUT_OF_REACH_WORDS.test(message) ? 'no answer' : null);
    if (reason !== null) {
      return new StoreUnreachable({ place, reason, advice: 'Start it, or correct --engine.' });
    }
    if (/^(?:08|53)/.test(code) && code.length === 5) {
      return new StoreUnreachable({ place, reason: message, advice: 'Check the database.' });
    }
    const advice = adviceOn({ code, name, message });
    if (advice !== null) return new ConfigError(`The database at ${shown} cannot be used: ${message}. ${advice}`);
  }
  return null;
}

function adviceOn({ code, name, message }: Link): string | null {
  if (name === 'SchemaError' || name === 'TooManyNodes') return 'Nothing was changed in it.';
  if (code === '3D000') return 'Create it with createdb, or name another one in --engine.';
  if (code === '28P01' || (code === '' && /^SASL\b.*password/i.test(message))) {
    return 'Give the user and password in --engine postgres://user:password@…, or the password in PGPASSWORD.';
  }
  if (code === '28000') return 'Give another user in --engine, or give this one access (pg_hba.conf, CREATE ROLE).';
  if (code === '42501') return 'Grant the user this permission, or give another user in --engine.';
  if (/SSL|certificate/i.test(message) || /CERT|SSL|TLS/.test(code)) {
    return 'Set sslmode and sslrootcert in the URL of --engine accordingly.';
  }
  return null;
}

/** An answer of the server that asks for another try. */
const BUSY_ANSWER = /\((?:5\d\d|429)\b/;

/** The same for the object store, whose adapter has put its refusals into words already. */
export function explainObjectsFailure(error: unknown, url: string): Error | null {
  const place = `the bucket ${showObjectsUrl(url)}`;
  const advice = 'Start its server, or correct --content.';
  const links = [...chainOf(error)];
  for (const { code } of links) {
    const reason = OUT_OF_REACH[code];
    if (reason !== undefined) return new StoreUnreachable({ place, reason, advice });
  }
  const [{ name, message } = { name: '', message: '' }] = links;
  if (links.some((link) => /CERT|SSL|TLS/.test(link.code))) return refusedObjects(message);
  if (links.some((link) => link.name === 'ConnectionLost')) {
    return new StoreUnreachable({ place, reason: 'no answer', advice });
  }
  if (BUSY_ANSWER.test(message)) return new StoreUnreachable({ place, reason: message, advice });
  return name === 'ContentUnavailable' || message.startsWith('The S3 ') ? refusedObjects(message) : null;
}

const refusedObjects = (message: string): ConfigError => new ConfigError(`--content: ${message.replace(/\.$/, '')}.`);

interface Link {
  readonly code: string;
  readonly name: string;
  readonly message: string;
}

/** An error and what caused it, outermost first. */
function* chainOf(error: unknown): Generator<Link> {
  let link = error;
  while (link instanceof Error) {
    const { name, message, cause } = link;
    const { code, errors } = link as { code?: unknown; errors?: readonly unknown[] };
    yield { code: typeof code === 'string' ? code : '', name, message };
    link = cause ?? errors?.[0];
  }
}
