/**
 * Where a server stores: in memory, in a folder (records in LMDB, content in files), or in a PostgreSQL database that
 * many nodes share, with the content in the same database or in an object store. Nothing else goes together.
 */
import { ConfigError } from './config-error.ts';
import { OBJECTS_FORM, parseDatabaseUrl, parseObjectsUrl, showDatabaseUrl, showObjectsUrl } from './store-url.ts';

/** Where a server stores: in a data folder, in memory, or in a database. */
export interface StoreOptions {
  /** The folder in which everything is stored. It is created if it does not exist. */
  readonly data?: string;
  /** Store everything in memory. It is lost when the server stops. */
  readonly memory?: boolean;
  /** Where records are kept: `lmdb`, the default, in the data folder; or `postgres://…`, a database that nodes share. */
  readonly engine?: string;
  /** Where content is kept: `files`, the default with lmdb; `postgres`, the default with postgres; or `s3://…`. */
  readonly content?: string;
}

export type StoreSetting =
  | { readonly kind: 'memory' }
  | { readonly kind: 'folder'; readonly path: string }
  | {
      readonly kind: 'database';
      readonly url: string;
      /** The bucket that holds the content; null: the database does. */
      readonly objectsUrl: string | null;
    };

/** `fallbackPath`: the folder, where nothing else is named. */
export function chooseStore(options: StoreOptions, fallbackPath?: string): StoreSetting {
  const { data, memory = false, engine = 'lmdb', content } = options;
  if (memory) {
    refuseBeside('--memory', options);
    return { kind: 'memory' };
  }
  if (isUrlOf(/^postgres(?:ql)?$/i, engine)) return chooseDatabase(engine, { data, content });
  if (engine !== 'lmdb') throw unknownEngine(engine);
  if (content !== undefined && content !== 'files') {
    throw new ConfigError(
      'With --engine lmdb, content is kept as files in the data folder: leave --content out, ' +
        'or keep the records in a database too, with --engine postgres://…',
    );
  }
  const path = data ?? fallbackPath;
  if (path === undefined) {
    throw new TypeError("Say where to store: data: 'FOLDER', memory: true, or engine: 'postgres://…'.");
  }
  return { kind: 'folder', path };
}

/** What would choose this store again. */
export function storeOptionsOf(setting: StoreSetting): StoreOptions {
  switch (setting.kind) {
    case 'memory':
      return { memory: true };
    case 'folder':
      return { data: setting.path };
    case 'database':
      return { engine: setting.url, content: setting.objectsUrl ?? 'postgres' };
  }
}

function chooseDatabase(
  engine: string,
  { data, content = 'postgres' }: { data: string | undefined; content: string | undefined },
): StoreSetting {
  const url = parseDatabaseUrl(engine);
  if (data !== undefined) {
    throw new ConfigError(
      'With --engine postgres://…, nothing is stored in a folder: leave --data out (and LARIMAR_DATA unset).',
    );
  }
  if (content === 'postgres') return { kind: 'database', url, objectsUrl: null };
  if (isUrlOf(/^s3$/i, content)) return { kind: 'database', url, objectsUrl: parseObjectsUrl(content) };
  throw refusedContent(content);
}

function refuseBeside(flag: string, { data, engine, content }: StoreOptions): void {
  const others = Object.entries({ '--data': data, '--engine': engine, '--content': content });
  const [other] = others.find(([, given]) => given !== undefined) ?? [];
  if (other !== undefined) throw new ConfigError(`${flag} and ${other} exclude each other: choose one.`);
}

const isUrlOf = (scheme: RegExp, text: string): boolean => {
  const end = text.indexOf('://');
  return end > 0 && scheme.test(text.slice(0, end));
};

/** What is not understood may hold a password: it is not shown. */
function unknownEngine(engine: string): ConfigError {
  if (engine === 'memory') return new ConfigError('To store nothing on disk, write --memory without --engine.');
  const [start, example] = ['postgres://', 'postgres://user:password@host:port/database'];
  if (/^postgres/i.test(engine)) return new ConfigError(`--engine needs the database's URL: --engine ${example}`);
  return new ConfigError(`--engine takes lmdb or a URL that starts with ${start}, such as ${example}.`);
}

function refusedContent(content: string): ConfigError {
  if (content === 'files') {
    return new ConfigError(
      'Nodes cannot share files: with --engine postgres://…, write --content postgres or --content s3://…',
    );
  }
  if (/^postgres/i.test(content)) {
    return new ConfigError('Content is kept in the database that --engine names: write --content postgres.');
  }
  if (/^s3/i.test(content)) return new ConfigError(`--content needs the bucket's URL: --content '${OBJECTS_FORM}'`);
  return new ConfigError(`--content takes files, postgres, or a URL that starts with s3://, such as ${OBJECTS_FORM}.`);
}

/** For people, a line each: what is stored, and where. */
export function describeStore(setting: StoreSetting): readonly (readonly [what: string, where: string])[] {
  switch (setting.kind) {
    case 'memory':
      return [['data', 'in memory, lost when the server stops']];
    case 'folder':
      return [['data', setting.path]];
    case 'database':
      return [
        ['records', showDatabaseUrl(setting.url)],
        ['content', setting.objectsUrl === null ? 'in the same database' : showObjectsUrl(setting.objectsUrl)],
      ];
  }
}
