/**
 * The store that many nodes share: records in PostgreSQL, content there or in an object store. Knows these adapters, as
 * main.ts knows the others, and is loaded only by who asks for such a store.
 */
import type { Clock } from './base/clock.ts';
import { ConfigError } from './config/config-error.ts';
import type { Endings } from './config/endings.ts';
import { Patience } from './config/patience.ts';
import { explainDatabaseFailure, explainObjectsFailure } from './config/store-failure.ts';
import type { StoreSetting } from './config/store-setting.ts';
import { showDatabaseUrl } from './config/store-url.ts';
import type { ContentStore } from './content/content.ts';
import { openPostgresContent } from './content/postgres/postgres-content.ts';
import { openS3Content } from './content/s3/s3-content.ts';
import type { Engine } from './engine/engine.ts';
import { openPostgresEngine } from './engine/postgres/postgres-engine.ts';
import { Database, sqlStateOf } from './postgres/database.ts';
import { openPostgresSignals } from './signals/postgres/postgres-signals.ts';
import type { Signals } from './signals/signals.ts';

/** The parts of a store of any kind. */
export interface StoreParts {
  readonly engine: Engine;
  readonly content: ContentStore;
  readonly signals: Signals;
  /** The clock that all nodes use; null if each uses its machine's own. */
  readonly clock: Clock | null;
  /** This node's number among the running nodes; null if the store is not shared. */
  readonly slot: () => number | null;
  /** Whether several nodes can use the store at the same time. */
  readonly isShared: boolean;
  /** How many other nodes are using the store. */
  otherNodes(): Promise<number>;
}

export interface WaitOptions {
  /** How long to wait at the start for a database or object store that cannot be reached. The default is 0. */
  readonly waitSeconds?: number;
  /** Called at once and then every ten seconds, with what the server is waiting for. Passwords are left out. */
  readonly onWaiting?: (message: string) => void;
}

export type SharedSetting = StoreSetting & { readonly kind: 'database' };

/** What it has opened is among the endings, also when it fails half-way. */
export async function openSharedStore(
  { url, objectsUrl }: SharedSetting,
  { waitSeconds = 0, onWaiting = () => {} }: WaitOptions,
  endings: Endings,
): Promise<StoreParts> {
  const patience = new Patience({ limitSeconds: waitSeconds, onWaiting });
  const inDatabase = explaining((error) => explainDatabaseFailure(error, url));
  const open = async <T extends { close(): Promise<void> }>(attempt: () => Promise<T>): Promise<T> =>
    endings.keep(await patience.open(attempt));

  const engine = await open(() => inDatabase(openPostgresEngine({ url })));
  const { storeId, clock } = engine;
  const content = await open(() =>
    objectsUrl === null
      ? inDatabase(openPostgresContent({ url }))
      : explaining((error) => explainObjectsFailure(error, objectsUrl))(openS3Content({ url: objectsUrl, storeId })),
  );
  const signals = await open(() => inDatabase(openPostgresSignals({ url, storeId })));
  const slot = (): number => engine.slot();
  return { engine, content, signals, clock, slot, isShared: true, otherNodes: () => engine.otherNodes() };
}

const explaining =
  (explain: (error: unknown) => Error | null) =>
  <T>(opening: Promise<T>): Promise<T> =>
    opening.catch((error: unknown) => {
      throw explain(error) ?? error;
    });

const UNDEFINED_TABLE = '42P01';

/** For whoever only looks: to open the engine would make its tables. */
export async function refuseEmptyDatabase({ url }: SharedSetting): Promise<void> {
  const database = new Database({ url });
  try {
    await database.query({ text: 'SELECT value FROM larimar_settings LIMIT 1' });
  } catch (error) {
    if (sqlStateOf(error) !== UNDEFINED_TABLE) throw explainDatabaseFailure(error, url) ?? error;
    throw new ConfigError(`There is no Larimar store in ${showDatabaseUrl(url)}. Name its database in --engine.`);
  } finally {
    await database.close();
  }
}
