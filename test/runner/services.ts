/**
 * The servers that all test files share, a database and an object store: each is started once per run, if any file asks
 * for it, and is gone at the end, whatever the end is (harness/daemon-folder.ts).
 */
import { POSTGRES_VARIABLE } from '../harness/postgres.ts';
import { startPostgresServer } from '../harness/postgres-server.ts';
import { S3_VARIABLE } from '../harness/s3.ts';
import { startS3Server } from '../harness/s3-server.ts';
import { hasTool, type Tool } from '../packages.ts';
import { type StepFailure, step } from './steps.ts';

interface Server {
  readonly logOfDead: string | null;
  remove(): Promise<void>;
}

interface Service {
  readonly tool: Tool;
  readonly variable: string;
  start(): Promise<{ server: Server; address: string }>;
}

const SERVICES: readonly Service[] = [
  {
    tool: 'postgres',
    variable: POSTGRES_VARIABLE,
    async start() {
      const server = await startPostgresServer();
      return { server, address: server.url };
    },
  },
  {
    tool: 'radosgw',
    variable: S3_VARIABLE,
    async start() {
      const server = await startS3Server();
      return { server, address: server.endpoint };
    },
  },
];

export class Services {
  /** For test processes. */
  readonly env: Record<string, string> = {};
  readonly failures: StepFailure[] = [];
  readonly #running: { name: string; server: Server }[] = [];

  /** Starts those of the tools that are services and are installed. One that does not start is a failure. */
  async start(tools: ReadonlySet<Tool>): Promise<void> {
    const wanted = SERVICES.filter(({ tool }) => tools.has(tool) && hasTool(tool));
    await Promise.all(wanted.map((service) => this.#start(service)));
  }

  /** One that died by itself is a failure too. */
  async stop(): Promise<void> {
    for (const { name, server } of this.#running) {
      if (server.logOfDead !== null)
        this.failures.push({ name: `${name} died`, output: server.logOfDead, command: null });
    }
    await Promise.all(this.#running.map(({ server }) => server.remove()));
  }

  async #start(service: Service): Promise<void> {
    const name = `service ${service.tool}`;
    const failures = await step({ name, command: null }, async () => {
      try {
        const { server, address } = await service.start();
        this.#running.push({ name, server });
        this.env[service.variable] = address;
        return { exitCode: 0, output: '' };
      } catch (error) {
        return { exitCode: 1, output: String(error) };
      }
    });
    this.failures.push(...failures);
  }
}
