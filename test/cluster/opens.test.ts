// engines: postgres
// tier: system
/**
 * REST on three nodes while SMB clients have files open on others (C26, C27, C28): share modes, locks, marks for deletion and caches
 * hold everywhere, handles are listed and closed from anywhere, and a node that dies leaves nothing behind. All are processes
 * of their own over one database; those with SMB clients do what opener.ts says.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { HandleItem, ShareClient } from '@azure/storage-file-share';
import { DELETES, NO_ACCESS, READS, WRITES } from '../../src/rules/share-mode.ts';
import { fileAt, MISSING, namesIn, putFile, textOf } from '../file/racing.ts';
import { outcome } from '../harness/clients.ts';
import { type Cluster, startCluster } from '../harness/cluster.ts';
import { freshShare, shareClient } from '../harness/file-clients.ts';
import { send } from '../harness/http.ts';
import { meanwhile, tally } from '../harness/parallel.ts';
import { queryRows } from '../harness/postgres.ts';
import { until } from '../harness/until.ts';
import { missingTool } from '../packages.ts';
import type { Manner, OpenedThere, Order, Said, Visit } from './opener.ts';

const PROGRAM = fileURLToPath(new URL('opener.js', import.meta.url));
const LIMIT_SECONDS = 60;
const VISITS = 60;

const VIOLATION = '409 SharingViolation';
const PENDING = '409 SMBDeletePending';
const LOCKED = '409 FileLockConflict';
const DELAY = '408 ClientCacheFlushDelay';

const CLIENT_IP = '10.0.0.5:50312';
const CLIENT_NAME = 'desktop';

/** Those that still run when the test process ends end with it, also one that stands still. */
const running = new Set<ChildProcess>();
const endAll = (): void => {
  for (const child of running) child.kill('SIGKILL');
};
process.on('exit', endAll);

/** A node with SMB clients. */
class Opener {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #exit: Promise<unknown[]>;
  readonly #answers = new Map<number, (said: Said) => void>();
  /** What it said unasked, and nobody asked about yet. */
  readonly #events: string[] = [];
  #orderCount = 0;

  private constructor(databaseUrl: string) {
    const argv = ['--enable-source-maps', PROGRAM, databaseUrl, CLIENT_IP, CLIENT_NAME];
    this.#child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
    running.add(this.#child);
    this.#exit = once(this.#child, 'exit').finally(() => running.delete(this.#child));
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#hear(JSON.parse(line) as Said));
  }

  static async start(databaseUrl: string): Promise<Opener> {
    const opener = new Opener(databaseUrl);
    assert.equal(await opener.told(), 'ready');
    return opener;
  }

  async open(file: string, rest: Partial<Order & { do: 'open' }> = {}): Promise<OpenedThere> {
    return this.#done<OpenedThere>({ do: 'open', file, ...rest });
  }

  async visit(file: string, manner: Manner, times: number): Promise<Visit[]> {
    return this.#done<Visit[]>({ do: 'visit', file, manner, times });
  }

  async does(order: Order): Promise<void> {
    await this.#done(order);
  }

  /** `done`, or what it was refused with. */
  async tries(order: Order): Promise<string> {
    const said = await this.#give(order);
    return 'refused' in said ? said.refused : 'done';
  }

  /** The next thing that happened to it: `RWH to RH`, `closed`. */
  told(): Promise<string> {
    const what = 'a node with SMB clients is told something';
    return until({ what, limitSeconds: LIMIT_SECONDS }, () => this.#events.shift() ?? null);
  }

  get untold(): readonly string[] {
    return this.#events;
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(name);
  }

  async kill9(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit;
  }

  async leave(): Promise<void> {
    this.#child.stdin.end();
    const [code] = await this.#exit;
    assert.equal(code, 0);
    assert.deepEqual(this.#events, []);
  }

  async #done<T>(order: Order): Promise<T> {
    const said = await this.#give(order);
    if (!('done' in said)) throw new Error(`${order.do}: ${JSON.stringify(said)}`);
    return said.done as T;
  }

  #give(order: Order): Promise<Said> {
    const to = this.#orderCount++;
    this.#child.stdin.write(`${JSON.stringify({ to, ...order })}\n`);
    const answer = new Promise<Said>((resolve) => this.#answers.set(to, resolve));
    return Promise.race([answer, this.#exit.then(() => assert.fail('a node with SMB clients has died'))]);
  }

  #hear(said: Said): void {
    if ('to' in said) {
      this.#answers.get(said.to)?.(said);
      this.#answers.delete(said.to);
    } else this.#events.push('what' in said ? said.what : said.event);
  }
}

const read = (share: ShareClient) => textOf(fileAt(share, 'file'));
const write = (share: ShareClient) => fileAt(share, 'file').uploadRange('other', 0, 5);
const describeIt = (share: ShareClient) => fileAt(share, 'file').setMetadata({ a: 'b' });
const look = (share: ShareClient) => fileAt(share, 'file').getProperties();
const remove = (share: ShareClient) => fileAt(share, 'file').delete();

/** What each node answers, if they agree. */
async function everywhere(
  shares: readonly ShareClient[],
  act: (share: ShareClient) => Promise<unknown>,
): Promise<string> {
  const answers: string[] = [];
  for (const share of shares) answers.push(await outcome(act(share)));
  return [...new Set(answers)].join(' or ');
}

async function handlesOf(share: ShareClient): Promise<HandleItem[]> {
  const handles: HandleItem[] = [];
  for await (const handle of share.rootDirectoryClient.listHandles({ recursive: true })) handles.push(handle);
  return handles.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** How many records there are of what is in use. */
async function usesCount({ databaseUrl }: Cluster): Promise<number> {
  const statement = `SELECT count(*) FROM larimar_volatile WHERE head >= '\\xf053' AND head < '\\xf054'`;
  const [[count] = []] = await queryRows(databaseUrl, statement);
  return Number(count);
}

/** Through all nodes at once, for as long as the file is visited, and once more. */
async function writeBeside(
  visiting: Promise<unknown>,
  shares: readonly ShareClient[],
  manner: Manner,
): Promise<string[]> {
  const answers: string[] = [];
  await Promise.all(
    [...shares, ...shares].map((share, index) =>
      meanwhile(visiting, async () => {
        const act = index < shares.length || manner === 'locks a range' ? write : describeIt;
        answers.push(await outcome(act(share)));
      }),
    ),
  );
  return answers;
}

describe('SMB clients on other nodes', { skip: missingTool('postgres') }, () => {
  let cluster: Cluster;
  let opener: Opener;
  before(async () => {
    cluster = await startCluster();
    opener = await Opener.start(cluster.databaseUrl);
  });
  after(async () => {
    try {
      await opener?.leave();
    } finally {
      endAll();
      await cluster?.stop();
    }
  });

  /** A share with a file, by way of each node; and the file's name as openers call it. */
  async function spreadShare(path = 'file'): Promise<{ shares: ShareClient[]; file: string }> {
    const { name } = await freshShare(cluster.node(0));
    const shares = cluster.nodes.map((node) => shareClient(node, name));
    await putFile(shares[0] as ShareClient, path, 'some text');
    return { shares, file: `${name}/${path}` };
  }

  test('what is open and not shared no node reads, writes or deletes until it is closed; all show its properties', async () => {
    const { shares, file } = await spreadShare();
    const { openId } = await opener.open(file, { share: NO_ACCESS });
    for (const act of [read, write, describeIt, remove]) assert.equal(await everywhere(shares, act), VIOLATION);
    assert.equal(await everywhere(shares, look), 'ok');
    await opener.does({ do: 'close', openId });
    for (const act of [read, write, describeIt]) assert.equal(await everywhere(shares, act), 'ok');
    await remove(shares[2] as ShareClient);
  });

  test('two nodes with SMB clients keep to what the other has open', async () => {
    const { file } = await spreadShare();
    const other = await Opener.start(cluster.databaseUrl);
    const { openId } = await opener.open(file, { share: READS });
    assert.equal(await other.tries({ do: 'open', file }), 'SharingViolation');
    const reader = await other.open(file, { access: READS });
    assert.equal(await other.tries({ do: 'lock', openId: reader.openId, range: [0, 4] }), 'done');
    assert.equal(await opener.tries({ do: 'lock', openId, range: [3, 4] }), 'FileLockConflict');
    await other.leave();
    await opener.does({ do: 'lock', openId, range: [3, 4] });
    await opener.does({ do: 'close', openId });
  });

  test('while a range is locked no node writes to the file', async () => {
    const { shares, file } = await spreadShare();
    const { openId } = await opener.open(file);
    await opener.does({ do: 'lock', openId, range: [100, 4] });
    assert.equal(await everywhere(shares, write), LOCKED);
    assert.equal(await everywhere(shares, read), 'ok');
    await opener.does({ do: 'unlock', openId, range: [100, 4] });
    assert.equal(await everywhere(shares, write), 'ok');
    await opener.does({ do: 'close', openId });
  });

  test('a file that is marked for deletion is out of reach and out of sight on all nodes, then back, then gone', async () => {
    const { shares, file } = await spreadShare();
    const [first] = shares as [ShareClient];
    await putFile(first, 'last', 'x');
    const { openId } = await opener.open(file);
    await opener.does({ do: 'mark', openId, isMarked: true });
    for (const act of [read, look, write, remove]) assert.equal(await everywhere(shares, act), PENDING);
    assert.equal(await everywhere(shares, (share) => fileAt(share, 'file').create(1)), PENDING);
    for (const share of shares) assert.deepEqual(await namesIn(share), ['last']);
    await opener.does({ do: 'mark', openId, isMarked: false });
    assert.equal(await everywhere(shares, read), 'ok');
    for (const share of shares) assert.deepEqual((await namesIn(share)).toSorted(), ['file', 'last']);
    await opener.does({ do: 'mark', openId, isMarked: true });
    await opener.does({ do: 'close', openId });
    assert.equal(await everywhere(shares, read), MISSING);
    await putFile(first, 'file', 'new text');
    for (const share of shares) assert.equal(await read(share), 'new text');
  });

  test('a read through another node waits for what a client has cached, and sees it', async () => {
    const { shares, file } = await spreadShare();
    for (const [index, share] of shares.entries()) {
      const { openId, caching } = await opener.open(file, { caching: 'RWH' });
      assert.equal(caching, 'RWH');
      const reading = read(share);
      // The client is asked because somebody reads: what it writes from now on is read only by those who wait for it.
      assert.equal(await opener.told(), 'RWH to R');
      await opener.does({ do: 'flush', file, text: `flushed ${index}` });
      await opener.does({ do: 'acknowledge', openId, caching: 'R' });
      assert.equal(await reading, `flushed ${index}`);
      await opener.does({ do: 'close', openId });
    }
    assert.deepEqual(opener.untold, []);
  });

  test('a client that says nothing lets a request end after its timeout, on whatever node; once it has said it, none waits', async () => {
    const { shares, file } = await spreadShare();
    const { openId } = await opener.open(file, { caching: 'RWH' });
    const request = { method: 'GET', path: `/${file}?timeout=1` };
    const delayed = await Promise.all(cluster.nodes.map(({ fileUrl }) => send(fileUrl, request)));
    assert.deepEqual(tally(delayed.map((answer) => answer.outcome)), { [DELAY]: cluster.nodes.length });
    assert.equal(await opener.told(), 'RWH to R');
    await opener.does({ do: 'acknowledge', openId, caching: 'R' });
    assert.equal(await everywhere(shares, read), 'ok');
    assert.equal(await everywhere(shares, write), 'ok');
    assert.equal(await opener.told(), 'R to none, unanswered');
    await opener.does({ do: 'close', openId });
    assert.deepEqual(opener.untold, []);
  });

  test('every node lists the handles of all clients, and closes them', async () => {
    const { shares, file } = await spreadShare('file');
    const [first, second, third] = shares as [ShareClient, ShareClient, ShareClient];
    await first.createDirectory('dir');
    await putFile(first, 'dir/file', 'x');
    const opened = [
      await opener.open(`${first.name}/dir/file`, { access: READS | DELETES }),
      await opener.open(file, { access: READS | WRITES, share: NO_ACCESS }),
      await opener.open(`${first.name}/dir`, { access: NO_ACCESS }),
    ];
    const ofFile = opened[1] as OpenedThere;
    for (const share of shares) {
      const handles = await handlesOf(share);
      assert.deepEqual(
        handles.map(({ path, accessRightList = [] }) => [path, accessRightList.join()]),
        [
          ['dir', ''],
          ['dir/file', 'Read,Delete'],
          ['file', 'Read,Write'],
        ],
      );
      assert.deepEqual(
        new Set(handles.map(({ handleId }) => handleId)),
        new Set(opened.map(({ handleId }) => handleId)),
      );
      for (const { clientIp, clientName } of handles)
        assert.deepEqual([clientIp, clientName], [CLIENT_IP, CLIENT_NAME]);
    }
    const closed = await fileAt(second, 'file').forceCloseHandle(ofFile.handleId);
    assert.deepEqual([closed.closedHandlesCount, closed.closeFailureCount], [1, 0]);
    assert.equal(await opener.told(), 'closed');
    assert.equal(await opener.tries({ do: 'lock', openId: ofFile.openId, range: [0, 1] }), 'OpenClosed');
    await remove(first);
    const all = await third.rootDirectoryClient.forceCloseAllHandles({ recursive: true });
    assert.deepEqual([all.closedHandlesCount, all.closeFailureCount], [2, 0]);
    assert.deepEqual([await opener.told(), await opener.told()], ['closed', 'closed']);
    for (const share of shares) assert.deepEqual(await handlesOf(share), []);
    await fileAt(first, 'dir/file').delete();
  });

  for (const [manner, refused] of [
    ['shares nothing', VIOLATION],
    ['locks a range', LOCKED],
    ['marks it for deletion', PENDING],
    ['caches writes', null],
  ] as const) {
    test(`no write is acknowledged while a client elsewhere has the file open and ${manner}`, async (t) => {
      const { shares, file } = await spreadShare();
      const visiting = opener.visit(file, manner, VISITS);
      const answers = tally(await writeBeside(visiting, shares, manner));
      const visits = await visiting;
      for (const etags of visits) assert.equal(new Set(etags).size, 1, 'the file was changed while it was visited');
      t.diagnostic(JSON.stringify(answers));
      const { ok = 0, ...others } = answers;
      assert.ok(new Set(visits.map(([etag]) => etag)).size > 1 && ok > 0, 'the file was changed between visits');
      assert.deepEqual(Object.keys(others), refused === null ? [] : [refused]);
      if (manner !== 'caches writes') assert.deepEqual(opener.untold, []);
      else while (opener.untold.length > 0) assert.equal(await opener.told(), 'RWH to none');
      assert.deepEqual(await handlesOf(shares[0] as ShareClient), []);
    });
  }

  describe('a node that is gone', { concurrency: true }, () => {
    test('and had files open, locked and marked, when it was killed: soon nobody knows of it', async () => {
      const { shares } = await spreadShare();
      const [first] = shares as [ShareClient];
      for (const path of ['locked', 'marked', 'cached']) await putFile(first, path, 'some text');
      const victim = await Opener.start(cluster.databaseUrl);
      await victim.open(`${first.name}/file`, { share: NO_ACCESS, deletesOnClose: true });
      const locked = await victim.open(`${first.name}/locked`);
      await victim.does({ do: 'lock', openId: locked.openId, range: [0, 4] });
      const marked = await victim.open(`${first.name}/marked`);
      await victim.does({ do: 'mark', openId: marked.openId, isMarked: true });
      await victim.open(`${first.name}/cached`, { caching: 'RWH' });
      await victim.kill9();
      assert.equal(await everywhere(shares, read), VIOLATION);
      const unanswered = await send(cluster.node(0).fileUrl, {
        method: 'GET',
        path: `/${first.name}/cached?timeout=1`,
      });
      assert.equal(unanswered.outcome, DELAY);
      const what = 'nothing is left of a node that was killed';
      await until({ what, limitSeconds: LIMIT_SECONDS }, async () => (await handlesOf(first)).length === 0);
      for (const share of shares) {
        assert.deepEqual(await handlesOf(share), []);
        assert.deepEqual((await namesIn(share)).toSorted(), ['cached', 'file', 'locked', 'marked']);
        for (const path of ['cached', 'file', 'locked', 'marked']) {
          assert.equal(await textOf(fileAt(share, path)), 'some text');
          await fileAt(share, path).uploadRange('some', 0, 4);
        }
      }
      for (const path of ['cached', 'file', 'locked', 'marked']) await fileAt(first, path).delete();
    });

    test('does not take with it one that lives and whose clients open and close without a pause', async () => {
      const { shares, file } = await spreadShare();
      const [first] = shares as [ShareClient];
      await putFile(first, 'visited', 'some text');
      const { openId } = await opener.open(file, { share: NO_ACCESS });
      const victim = await Opener.start(cluster.databaseUrl);
      await victim.open(`${first.name}/visited`);
      await victim.kill9();
      const waiting = { what: 'a node that was killed is given up', limitSeconds: LIMIT_SECONDS };
      const givenUp = until(waiting, async () => (await handlesOf(first)).every(({ path }) => path === 'file'));
      await meanwhile(givenUp, async () => {
        await opener.visit(`${first.name}/visited`, 'locks a range', 10);
      });
      await givenUp;
      assert.equal(await everywhere(shares, write), VIOLATION);
      await opener.does({ do: 'close', openId });
      assert.deepEqual(opener.untold, []);
    });

    test('and had the last handle of a file that another has marked: the file goes', async () => {
      const { shares, file } = await spreadShare();
      const victim = await Opener.start(cluster.databaseUrl);
      await victim.open(file);
      const { openId } = await opener.open(file);
      await opener.does({ do: 'mark', openId, isMarked: true });
      await opener.does({ do: 'close', openId });
      await victim.kill9();
      assert.equal(await everywhere(shares, look), PENDING);
      await until({ what: 'the marked file is gone', limitSeconds: LIMIT_SECONDS }, async () => {
        const answer = await outcome(look(shares[0] as ShareClient));
        assert.ok(answer === PENDING || answer === MISSING, answer);
        return answer === MISSING;
      });
      assert.equal(await everywhere(shares, look), MISSING);
    });

    test('and comes back: its clients hear that nothing is open any more', async () => {
      const { shares, file } = await spreadShare();
      const sleeper = await Opener.start(cluster.databaseUrl);
      const { openId } = await sleeper.open(file, { share: NO_ACCESS });
      sleeper.signal('SIGSTOP');
      assert.equal(await everywhere(shares, read), VIOLATION);
      await until({ what: 'a node that sleeps is given up', limitSeconds: LIMIT_SECONDS }, async () => {
        const answer = await outcome(write(shares[0] as ShareClient));
        assert.ok(answer === VIOLATION || answer === 'ok', answer);
        return answer === 'ok';
      });
      sleeper.signal('SIGCONT');
      assert.equal(await sleeper.told(), 'closed');
      assert.equal(await sleeper.tries({ do: 'mark', openId, isMarked: true }), 'OpenClosed');
      const again = await sleeper.open(file, { share: NO_ACCESS });
      assert.equal(await everywhere(shares, write), VIOLATION);
      await sleeper.does({ do: 'close', openId: again.openId });
      await sleeper.leave();
    });
  });

  test('once all is closed the database holds nothing of it', async () => {
    const { file } = await spreadShare();
    const { openId } = await opener.open(file);
    assert.ok((await usesCount(cluster)) > 0);
    await opener.does({ do: 'close', openId });
    const what = 'nothing is left of what was open';
    await until({ what, limitSeconds: LIMIT_SECONDS }, async () => (await usesCount(cluster)) === 0);
  });
});
