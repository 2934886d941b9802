/**
 * The server's log: one line for each request, lines for start-up and for errors. Lines are gathered and written
 * together, so that a request never waits for a terminal or a disk. Keys, signatures and Authorization stay out of it.
 */

export type LogMode = 'text' | 'json' | 'silent';

export interface AccessEntry {
  readonly atMs: number;
  readonly remote: string;
  readonly method: string;
  /** As on the request line; secrets are struck out here. */
  readonly url: string;
  readonly status: number;
  readonly errorCode: string | null;
  readonly operation: string | null;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly durationMs: number;
  readonly requestId: string;
}

export interface Log {
  access(entry: AccessEntry): void;
  /** What the operator should know: started, listening, stopping. */
  info(message: string): void;
  /** Something of ours broke. The error's stack goes here and nowhere else. */
  error(message: string, error?: unknown): void;
  /** Writes what is gathered, now. */
  flush(): void;
}

/** Where lines go: process.stdout, a file's stream, a test's array. */
export interface LogSink {
  write(text: string): unknown;
}

/** Nobody reads along closely enough to notice; a burst is one write. */
const FLUSH_AFTER_MS = 100;
const FLUSH_AT_CHARACTERS = 64 * 1024;

export function openLog({
  mode,
  sink,
  now = Date.now,
}: {
  readonly mode: LogMode;
  readonly sink: LogSink;
  readonly now?: () => number;
}): Log {
  if (mode === 'silent') return SILENT;
  return new BufferedLog(mode === 'json' ? JSON_LINES : TEXT_LINES, sink, now);
}

const SILENT: Log = { access() {}, info() {}, error() {}, flush() {} };

interface LineFormat {
  access(entry: AccessEntry): string;
  message(message: { readonly atMs: number; readonly level: 'info' | 'error'; readonly text: string }): string;
}

class BufferedLog implements Log {
  readonly #format: LineFormat;
  readonly #sink: LogSink;
  readonly #now: () => number;
  #gathered = '';
  #timer: NodeJS.Timeout | null = null;

  constructor(format: LineFormat, sink: LogSink, now: () => number) {
    this.#format = format;
    this.#sink = sink;
    this.#now = now;
  }

  access(entry: AccessEntry): void {
    this.#gather(this.#format.access(entry));
  }

  info(message: string): void {
    this.#gather(this.#format.message({ atMs: this.#now(), level: 'info', text: redactText(message) }));
  }

  error(message: string, error?: unknown): void {
    const text = error === undefined ? message : `${message}: ${describe(error)}`;
    this.#gather(this.#format.message({ atMs: this.#now(), level: 'error', text: redactText(text) }));
  }

  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#gathered === '') return;
    const text = this.#gathered;
    this.#gathered = '';
    this.#sink.write(text);
  }

  #gather(line: string): void {
    this.#gathered += `${line}\n`;
    if (this.#gathered.length >= FLUSH_AT_CHARACTERS) this.flush();
    else this.#timer ??= setTimeout(this.#onTimer, FLUSH_AFTER_MS).unref();
  }

  readonly #onTimer = (): void => this.flush();
}

const TEXT_LINES: LineFormat = {
  access: (entry) =>
    `${isoTime(entry.atMs)} ${entry.remote} ${printable(entry.method)} ${printable(redactUrl(entry.url))} ` +
    `${entry.status} ${entry.errorCode ?? '-'} "${entry.operation ?? '-'}" ` +
    `in=${entry.receivedBytes} out=${entry.sentBytes} ${tenths(entry.durationMs)}ms ${entry.requestId}`,
  message: ({ atMs, level, text }) => `${isoTime(atMs)} ${level} ${text}`,
};

const JSON_LINES: LineFormat = {
  access: (entry) =>
    JSON.stringify({
      time: isoTime(entry.atMs),
      remote: entry.remote,
      method: entry.method,
      url: redactUrl(entry.url),
      status: entry.status,
      errorCode: entry.errorCode,
      operation: entry.operation,
      receivedBytes: entry.receivedBytes,
      sentBytes: entry.sentBytes,
      durationMs: tenths(entry.durationMs),
      requestId: entry.requestId,
    }),
  message: ({ atMs, level, text }) => JSON.stringify({ time: isoTime(atMs), level, message: text }),
};

const tenths = (value: number): number => Math.round(value * 10) / 10;

let lastSecondMs = Number.NaN;
let lastSecondText = '';

/** `2024-01-01T00:00:00.000Z`; all of it but the milliseconds is remembered for the second. */
function isoTime(atMs: number): string {
  const wholeMs = Math.floor(atMs);
  const milliseconds = ((wholeMs % 1000) + 1000) % 1000;
  if (wholeMs - milliseconds !== lastSecondMs) {
    lastSecondMs = wholeMs - milliseconds;
    lastSecondText = new Date(lastSecondMs).toISOString().slice(0, -4);
  }
  return `${lastSecondText}${String(milliseconds).padStart(3, '0')}Z`;
}

const REDACTED = 'REDACTED';
const SECRET_PARAMETERS: ReadonlySet<string> = new Set(['sig', 'signature', 'accountkey', 'key', 'token', 'password']);

/** The URL with the values of secret parameters struck out, however their names are written. */
export function redactUrl(url: string): string {
  const mark = url.indexOf('?');
  if (mark < 0) return url;
  const pairs = url.slice(mark + 1).split('&');
  return `${url.slice(0, mark)}?${pairs.map(redactPair).join('&')}`;
}

function redactPair(pair: string): string {
  const equals = pair.indexOf('=');
  if (equals < 0) return pair;
  const name = pair.slice(0, equals);
  return SECRET_PARAMETERS.has(plainName(name)) ? `${name}=${REDACTED}` : pair;
}

function plainName(name: string): string {
  try {
    return (name.includes('%') ? decodeURIComponent(name) : name).toLowerCase();
  } catch {
    return name.toLowerCase();
  }
}

/** Messages are ours, but an error below may quote a URL, a connection string or a header. */
function redactText(text: string): string {
  return text
    .replaceAll(/\b(sig|AccountKey|SharedAccessSignature)=[^&;\s"']+/gi, `$1=${REDACTED}`)
    .replaceAll(/\b(SharedKey(?:Lite)?|Bearer) \S+/gi, `$1 ${REDACTED}`);
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\ncaused by ${describe(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}

const UNPRINTABLE = /[^\u0021-\u007e]/;
const UNPRINTABLE_ALL = new RegExp(UNPRINTABLE, 'g');

/** One line stays one line, whatever a client sends. Node gives bytes beyond ASCII as Latin-1: they become `%xx`. */
function printable(text: string): string {
  if (!UNPRINTABLE.test(text)) return text;
  return text.replaceAll(UNPRINTABLE_ALL, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
