/**
 * Consumers that are killed with messages in their hands: when the timeout has passed, others get these messages, and in the
 * end each was handled, at least once, and none is left. Consumers are processes and time is real; nothing depends on how
 * fast it passes. When they are killed is drawn from a seed (LARIMAR_SEED replays it).
 */
// tier: system
import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { QueueClient } from '@azure/storage-queue';
import { meanwhile } from '../harness/parallel.ts';
import { freshQueue } from '../harness/queue-clients.ts';
import { Random } from '../harness/random.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { until } from '../harness/until.ts';
import { type Delivery, type Fate, Ledger } from './ledger.ts';
import { clientsOf, countOf, drain, numbered, putAll, textsOf } from './racing.ts';

const PROGRAM = fileURLToPath(new URL('consumer-process.js', import.meta.url));
/** So many messages a consumer gets at once. */
const BATCH = 8;
const VICTIMS = 4;
const SURVIVORS = 2;
const BACKLOG = 150;

const server = await startServerProcess();
after(() => server.stop());
const random = new Random();

type Exit = [code: number | null, signal: NodeJS.Signals | null];

class Consumer {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #closed: Promise<Exit>;
  readonly #ledger: Ledger;
  /** By count and text. */
  readonly #deliveries = new Map<string, Delivery>();
  #gotCount = 0;

  constructor(ledger: Ledger, jobs: QueueClient, results: QueueClient) {
    this.#ledger = ledger;
    const env = { ...process.env, AZURE_STORAGE_CONNECTION_STRING: server.connectionString() };
    const argv = ['--enable-source-maps', PROGRAM, jobs.name, results.name];
    this.#child = spawn(process.execPath, argv, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#closed = once(this.#child, 'close') as Promise<Exit>;
    after(() => this.#child.kill('SIGKILL'));
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#hear(line));
  }

  #hear(line: string): void {
    const [, what, count, text] = /^(\w+) (\d+) (.+)$/.exec(line) ?? [];
    if (what === undefined || text === undefined) return;
    const key = `${count} ${text}`;
    const delivery = this.#deliveries.get(key);
    if (delivery !== undefined) {
      delivery.fate = what as Fate;
      return;
    }
    assert.equal(what, 'got', line);
    this.#gotCount++;
    this.#deliveries.set(key, this.#ledger.note({ messageText: text, dequeueCount: Number(count) }));
  }

  /** Dies as soon as it got so many messages. */
  async killedAfter(gotCount: number): Promise<void> {
    await until({ what: `a consumer got ${gotCount} messages`, limitSeconds: 120 }, () => this.#gotCount >= gotCount);
    this.#child.kill('SIGKILL');
    const [, signal] = await this.#closed;
    assert.equal(signal, 'SIGKILL');
  }

  async end(): Promise<void> {
    this.#child.stdin.end();
    const [code] = await this.#closed;
    assert.equal(code, 0);
  }

  /** What it had in its hands, as far as it told. */
  held(): Delivery[] {
    return [...this.#deliveries.values()].filter(({ fate }) => fate === 'unknown');
  }
}

test(`${SURVIVORS} consumers handle every message, though ${VICTIMS} others are killed with some in their hands`, async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const jobs = await freshQueue(server, 'jobs');
  const results = await freshQueue(server, 'results');
  const ledger = new Ledger();
  const consumers = (count: number): Consumer[] =>
    Array.from({ length: count }, () => new Consumer(ledger, jobs, results));
  const victims = consumers(VICTIMS);
  const survivors = consumers(SURVIVORS);
  const killing = Promise.all(victims.map((victim) => victim.killedAfter(1 + random.below(10 * BATCH))));
  const putters = clientsOf(server, jobs, 8);
  const texts: string[] = [];
  // There is always something to get for those who have not died yet.
  await meanwhile(killing, async () => {
    const more = numbered(BACKLOG / 2, `job-${texts.length}`);
    texts.push(...more);
    await putAll(putters, more);
    await until({ what: 'the backlog shrinks', limitSeconds: 120 }, async () => (await countOf(jobs)) < BACKLOG);
  });
  await killing;
  await until({ what: 'no message is left', limitSeconds: 120 }, async () => (await countOf(jobs)) === 0);
  for (const survivor of survivors) await survivor.end();
  const { repeatedCount, unheardCount } = ledger.settle(texts);
  const held = victims.flatMap((victim) => victim.held());
  t.diagnostic(
    `${texts.length} messages, ${repeatedCount} of them more than once; ${held.length} died with their consumer`,
  );
  assert.ok(held.length > 0 && repeatedCount > 0, 'some died in the middle of their work');
  assert.ok(unheardCount <= VICTIMS * BATCH, 'only the dead say nothing of what they got');
  for (const survivor of survivors) assert.deepEqual(survivor.held(), []);
  assert.deepEqual(new Set(textsOf(await drain(results))), new Set(texts), 'all were handled');
});
