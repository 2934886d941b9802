import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { ConfigError } from './config-error.ts';
import { lockData } from './data-lock.ts';

const MODULE = new URL(`./data-lock${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url).href;

/** Locks the folder that a line names, says how that went, and lets go of it at the next line, or when it is killed. */
const HOLDER = `
  import { createInterface } from 'node:readline';
  const { lockData } = await import(${JSON.stringify(MODULE)});
  let lock = null;
  console.log('ready');
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      if (lock === null) {
        lock = await lockData(line);
        console.log(lock.afterCrash ? 'locked after a crash' : 'locked');
      } else {
        await lock.release();
        lock = null;
        console.log('released');
      }
    } catch (error) {
      console.log(error.name + ' ' + error.message);
    }
  }
`;

class Holder {
  readonly #child: ChildProcess;
  readonly #said: AsyncIterator<string>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#said = linesOf(child);
  }

  /** `wrapper`: a command that starts the one behind it. */
  static async start(t: TestContext, wrapper: readonly string[] = []): Promise<Holder> {
    const [program, ...args] = [...wrapper, process.execPath, '--input-type=module', '-e', HOLDER];
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    const holder = new Holder(child);
    assert.equal(await holder.#nextLine(), 'ready');
    return holder;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  lock(folder: string): Promise<string> {
    this.#child.stdin?.write(`${folder}\n`);
    return this.#nextLine();
  }

  release(): Promise<string> {
    return this.lock('');
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  async #nextLine(): Promise<string> {
    return String((await this.#said.next()).value);
  }
}

async function* linesOf(child: ChildProcess): AsyncGenerator<string> {
  let text = '';
  for await (const piece of child.stdout as AsyncIterable<Buffer>) {
    text += piece.toString();
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n')) {
      yield text.slice(0, end);
      text = text.slice(end + 1);
    }
  }
}

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-lock-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Beyond the largest number that Linux gives. */
const PID_OF_NOBODY = 2 ** 22 + 1;
const RACE_ROUNDS = 25;

const lockFile = (folder: string): string => join(folder, 'larimar.lock');

test('a folder is made, locked, and left without a trace', async (t) => {
  const folder = join(await makeFolder(t), 'deep', 'down');
  const lock = await lockData(folder);
  assert.equal(lock.afterCrash, false);
  assert.deepEqual(await readdir(folder), ['larimar.lock']);
  await lock.release();
  assert.deepEqual(await readdir(folder), []);
});

test('a folder that this process has locked is refused to it a second time', async (t) => {
  const folder = await makeFolder(t);
  const lock = await lockData(folder);
  await assert.rejects(lockData(folder), /is in use by process/);
  await lock.release();
  await (await lockData(folder)).release();
});

test('while its holder lives, a folder is refused, and the refusal names folder, process and what to do', async (t) => {
  const folder = await makeFolder(t);
  const holder = await Holder.start(t);
  assert.equal(await holder.lock(folder), 'locked');
  await assert.rejects(lockData(folder), (error) => {
    assert.ok(error instanceof ConfigError);
    assert.ok(error.message.includes(folder) && error.message.includes(`process ${holder.pid}`), error.message);
    assert.match(error.message, /--data DIR/);
    return true;
  });
  assert.equal(await holder.release(), 'released');
  const lock = await lockData(folder);
  assert.equal(lock.afterCrash, false);
  await lock.release();
});

test('a folder is taken over in the very moment in which its holder is killed', async (t) => {
  for (let round = 0; round < 5; round++) {
    const folder = await makeFolder(t);
    const holder = await Holder.start(t);
    assert.equal(await holder.lock(folder), 'locked');
    process.kill(holder.pid, 'SIGKILL');
    const lock = await lockData(folder);
    assert.ok(lock.afterCrash);
    await lock.release();
  }
});

test('a holder that has ended counts no more, though its parent never asks how', {
  skip: process.platform === 'linux' ? false : 'only Linux shows it',
}, async (t) => {
  const folder = await makeFolder(t);
  // What the shell turns into knows nothing of the child that the shell had.
  const script = 'exec 3<&0; "$0" "$@" <&3 & exec sleep 600';
  const holder = await Holder.start(t, ['sh', '-c', script]);
  assert.equal(await holder.lock(folder), 'locked');
  const { pid } = JSON.parse(await readFile(lockFile(folder), 'utf8')) as { pid: number };
  process.kill(pid, 'SIGKILL');
  const lock = await lockData(folder);
  assert.match(await readFile(`/proc/${pid}/stat`, 'utf8'), /\) Z /);
  assert.ok(lock.afterCrash);
  await lock.release();
});

test('after its holder is killed, a folder is taken over, and the crash is told', async (t) => {
  const folder = await makeFolder(t);
  const holder = await Holder.start(t);
  assert.equal(await holder.lock(folder), 'locked');
  await holder.kill();
  const lock = await lockData(folder);
  assert.equal(lock.afterCrash, true);
  await lock.release();
  assert.deepEqual(await readdir(folder), []);
});

describe('a lock file', () => {
  const rows: readonly (readonly [what: string, change: (own: object) => string, outcome: 'refused' | 'taken over'])[] =
    [
      ['of a living process', (own) => JSON.stringify(own), 'refused'],
      [
        'of a living process that started at another time: a later one with the same number',
        (own) => JSON.stringify({ ...own, started: '1' }),
        'taken over',
      ],
      [
        'of a living process that does not say when it started',
        (own) => JSON.stringify({ ...own, started: null }),
        'refused',
      ],
      ['of a process that is gone', (own) => JSON.stringify({ ...own, pid: PID_OF_NOBODY }), 'taken over'],
      ['of another machine', (own) => JSON.stringify({ ...own, host: `not-${hostname()}` }), 'refused'],
      ['that is empty, as after a power cut', () => '', 'taken over'],
      ['that is torn', (own) => JSON.stringify(own).slice(0, 9), 'taken over'],
      ['that holds something else', () => 'null', 'taken over'],
    ];
  for (const [what, change, outcome] of rows) {
    test(`${what}, is ${outcome}`, async (t) => {
      const folder = await makeFolder(t);
      const own = await lockData(folder);
      const holder = JSON.parse(await readFile(lockFile(folder), 'utf8')) as object;
      await own.release();
      await writeFile(lockFile(folder), change(holder));
      if (outcome === 'refused') {
        await assert.rejects(lockData(folder), ConfigError);
        assert.deepEqual(await readdir(folder), ['larimar.lock']);
      } else {
        const lock = await lockData(folder);
        assert.equal(lock.afterCrash, true);
        await lock.release();
      }
    });
  }
});

test('a lock of another machine counts for as long as its holder touches it', async (t) => {
  const folder = await makeFolder(t);
  await writeFile(lockFile(folder), JSON.stringify({ pid: process.pid, host: `not-${hostname()}`, started: null }));
  await assert.rejects(lockData(folder), ConfigError);
  const longAgo = new Date(Date.now() - 60_000);
  await utimes(lockFile(folder), longAgo, longAgo);
  const lock = await lockData(folder);
  assert.equal(lock.afterCrash, true);
  await lock.release();
});

test('a lock that is taken only to look leaves a crash on record, and the folder free', async (t) => {
  for (const host of [hostname(), `not-${hostname()}`]) {
    const folder = await makeFolder(t);
    const dead = JSON.stringify({ pid: PID_OF_NOBODY, host, started: '1' });
    await writeFile(lockFile(folder), dead);
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(lockFile(folder), longAgo, longAgo);
    const looking = await lockData(folder, { keepsCrashMark: true });
    await assert.rejects(lockData(folder), ConfigError);
    await looking.release();
    assert.equal(await readFile(lockFile(folder), 'utf8'), dead);
    const lock = await lockData(folder);
    assert.equal(lock.afterCrash, true);
    await lock.release();
  }
});

test('a folder that cannot be made is refused in plain words', async (t) => {
  const file = join(await makeFolder(t), 'file');
  await writeFile(file, '');
  await assert.rejects(lockData(join(file, 'below')), (error) => {
    assert.ok(error instanceof ConfigError, String(error));
    assert.match(error.message, /cannot be created \(ENOTDIR\)/);
    return true;
  });
});

describe('of eight processes that want one folder at once', () => {
  for (const before of ['is free', 'was left by a process that is gone'] as const) {
    test(`exactly one gets it, when it ${before}`, async (t) => {
      const holders = await Promise.all(Array.from({ length: 8 }, () => Holder.start(t)));
      for (let round = 0; round < RACE_ROUNDS; round++) {
        const folder = await makeFolder(t);
        const gone = JSON.stringify({ pid: PID_OF_NOBODY, host: hostname(), started: '1' });
        if (before !== 'is free') await writeFile(lockFile(folder), gone);
        const said = await Promise.all(holders.map((holder) => holder.lock(folder)));
        const winners = holders.filter((_, index) => said[index]?.startsWith('locked'));
        assert.equal(winners.length, 1, `round ${round}:\n${said.join('\n')}`);
        assert.deepEqual(await readdir(folder), ['larimar.lock']);
        assert.equal(await winners[0]?.release(), 'released');
      }
    });
  }
});
