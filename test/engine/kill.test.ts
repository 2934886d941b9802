/** A process that is killed in the middle of its commits loses none that it acknowledged. Seeded: LARIMAR_SEED. */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openLmdbEngine } from '../../src/engine/lmdb/lmdb-engine.ts';
import { Random } from '../harness/random.ts';
import { findFaults } from './load.ts';

const ROUNDS = 4;
const LOAD_PROCESS = fileURLToPath(new URL('./load-process.js', import.meta.url));

/** The commits that the process acknowledged until it was killed, after so many of them. */
async function acknowledgedUntilKilled(path: string, killAfter: number): Promise<number[]> {
  const child = spawn(process.execPath, [LOAD_PROCESS, path, '1000000'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const acknowledged: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== 'open') acknowledged.push(Number(line));
    if (acknowledged.length === killAfter) child.kill('SIGKILL');
  }
  await ended;
  return acknowledged;
}

test('a process killed again and again loses no acknowledged commit and leaves no half of one', async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const path = await mkdtemp(join(tmpdir(), 'larimar-kill-'));
  const acknowledged: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    acknowledged.push(...(await acknowledgedUntilKilled(path, 20 + random.below(200))));
    const engine = await openLmdbEngine({ path });
    assert.deepEqual(await findFaults(engine, acknowledged), [], `round ${round}`);
    await engine.close();
  }
  await rm(path, { recursive: true });
});
