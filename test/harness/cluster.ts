/** Several nodes of one store: the command line in a process each, over one database and one place for content. */
import type { Place } from './engines.ts';
import { freshDatabase } from './postgres.ts';
import { freshBucket } from './s3.ts';
import { type ServerProcess, type ServerProcessOptions, startServerProcess } from './server-process.ts';

export interface ClusterOptions {
  readonly nodeCount?: number;
  /** Where content is; in the database itself, unless it is said. */
  readonly content?: 'postgres' | 's3';
  /** The URL of a database server of the test's own. */
  readonly databaseServer?: string;
  /** What one node is started with beside the rest: `{ wrapper: ['faketime', …] }`. */
  readonly optionsOf?: (index: number) => ServerProcessOptions;
}

export class Cluster {
  readonly nodes: readonly ServerProcess[];
  readonly databaseUrl: string;
  readonly place: Place;

  constructor(nodes: readonly ServerProcess[], place: Place) {
    this.nodes = nodes;
    this.place = place;
    this.databaseUrl = place.store.engine as string;
  }

  node(index: number): ServerProcess {
    return this.nodes[index % this.nodes.length] as ServerProcess;
  }

  /** Ends every node that still runs and removes the data. */
  async stop(): Promise<void> {
    try {
      await Promise.all(this.nodes.map((node) => node.stop()));
    } finally {
      await this.place.remove();
    }
  }
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { nodeCount = 3, content = 'postgres', optionsOf = () => ({}) } = options;
  const database = await freshDatabase(options.databaseServer);
  const bucket = content === 's3' ? await freshBucket() : null;
  const place: Place = {
    store: { engine: database.url, content: bucket?.url ?? 'postgres' },
    async remove() {
      await database.drop();
      await bucket?.drop();
    },
    abandon: () => {},
  };
  // All at once: tables are made by whoever comes first.
  const starts = Array.from({ length: nodeCount }, (_, index) => startServerProcess({ ...optionsOf(index), place }));
  const started = await Promise.allSettled(starts);
  const nodes = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const cluster = new Cluster(nodes, place);
  const failed = started.find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    await cluster.stop();
    throw failed.reason;
  }
  return cluster;
}
