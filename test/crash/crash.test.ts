/**
 * Nothing acknowledged is ever lost: one place, and many times over a server on it that is killed at a random moment of
 * a random load, started again and looked through. Prints its seed; LARIMAR_SEED brings the same load back, though
 * not the same moment.
 */
// tier: system
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { givenEngine } from '../harness/engines.ts';
import { shareClient } from '../harness/file-clients.ts';
import { type RawRequest, send } from '../harness/http.ts';
import { queueClient } from '../harness/queue-clients.ts';
import { Random } from '../harness/random.ts';
import { type ServerProcess, startServerProcess } from '../harness/server-process.ts';
import { tableClient } from '../harness/table-clients.ts';
import { Kill } from './client.ts';
import { newShareEntry, type ShareEntry } from './file-journal.ts';
import { FileVerification } from './file-verify.ts';
import { type BlobType, type ContainerEntry, type Counter, newBlobEntry, newContainerEntry, Pool } from './journal.ts';
import { letSessionsLapse, runCheck } from './larimar-check.ts';
import { Load } from './load.ts';
import { newQueueEntry, type QueueEntry } from './queue-journal.ts';
import { QueueVerification } from './queue-verify.ts';
import { SharedFile } from './shared-file.ts';
import { SharedLog } from './shared-log.ts';
import { SharedQueue } from './shared-queue.ts';
import { SharedTable } from './shared-table.ts';
import { newSmbShareEntry } from './smb-journal.ts';
import { SmbLog } from './smb-log.ts';
import { SmbVerification } from './smb-verify.ts';
import { contentLeft, sparedCount, untilSwept } from './space.ts';
import { newTableEntry, type TableEntry } from './table-journal.ts';
import { TableVerification } from './table-verify.ts';
import { Verification } from './verify.ts';

/** A round over a database takes much longer: every byte goes through two processes and a log. */
const ROUND_COUNT = givenEngine() === 'postgres' ? 10 : 20;
const CLIENT_COUNT = 8;
/** So many of them use an account that keeps versions. */
const VERSIONED_CLIENT_COUNT = 2;
const BLOBS_PER_CLIENT: Readonly<Record<BlobType, number>> = { BlockBlob: 5, AppendBlob: 2, PageBlob: 2 };
const PARTITIONS_PER_TABLE = 3;
const ACKNOWLEDGED_BEFORE_KILL_MAX = 400;
/** Acknowledgements come in groups, after a sync: the kill must not always follow one. */
const KILL_DELAY_MAX_MS = 20;
/** From before the program is loaded to well after it listens. */
const START_KILL_DELAY_MAX_MS = 600;
const SWEEP_LIMIT_SECONDS = 30;
const SWEEP_PAUSE_MS = 500;

describe('a server killed with kill -9', () => {
  const random = new Random();
  const pool = new Pool(random.seed);
  const clients = Array.from({ length: CLIENT_COUNT }, (_, index) => {
    const keepsVersions = index < VERSIONED_CLIENT_COUNT;
    const account = keepsVersions ? SECOND_ACCOUNT : DEVELOPMENT_ACCOUNT;
    const own = newContainerEntry(`client-${index}`, { account, keepsVersions });
    for (const [type, count] of Object.entries(BLOBS_PER_CLIENT)) {
      for (let blob = 0; blob < count; blob += 1) {
        own.blobs.push(newBlobEntry(`${type.toLowerCase()}-${blob}`, type as BlobType));
      }
    }
    const passing: ContainerEntry[] = [];
    const rest = { account, partitionCount: PARTITIONS_PER_TABLE };
    const [table, passingTable] = [newTableEntry(`client${index}`, rest), newTableEntry(`passing${index}`, rest)];
    const [queue, passingQueue] = [
      newQueueEntry(`client-${index}`, account),
      newQueueEntry(`passing-${index}`, account),
    ];
    const [share, passingShare] = [
      newShareEntry(`client-${index}`, account),
      newShareEntry(`passing-${index}`, account),
    ];
    const smbShare = newSmbShareEntry(`smb-${index}`, account);
    return { own, passing, table, passingTable, queue, passingQueue, share, passingShare, smbShare };
  });
  const counter: Counter = { container: 'counters', name: 'counter', acknowledgedCount: 0, pendingCount: 0 };
  const log = new SharedLog({ container: counter.container, name: 'log', pool });
  const sharedTable = new SharedTable();
  const sharedQueue = new SharedQueue();
  const sharedFile = new SharedFile(CLIENT_COUNT);
  const smbLog = new SmbLog();
  const tables: readonly TableEntry[] = clients.flatMap(({ table, passingTable }) => [table, passingTable]);
  const queues: readonly QueueEntry[] = clients.flatMap(({ queue, passingQueue }) => [queue, passingQueue]);
  const shares: readonly ShareEntry[] = clients.flatMap(({ share, passingShare }) => [share, passingShare]);
  const containers = (): ContainerEntry[] => clients.flatMap(({ own, passing }) => [own, ...passing]);
  let server: ServerProcess;

  before(async () => {
    server = await startServerProcess({
      accounts: [SECOND_ACCOUNT],
      smb: 'optional',
      options: [`--versioning=${SECOND_ACCOUNT.name}`],
    });
    const create = async (path: string, request: Partial<RawRequest> = {}): Promise<void> => {
      assert.equal((await send(server.url, { method: 'PUT', path, ...request })).outcome, '201');
    };
    for (const { own, table, queue, share, smbShare } of clients) {
      await create(`/${own.name}?restype=container`, { account: own.account });
      own.exists = true;
      await tableClient(server, table.name, table.account).createTable();
      table.exists = true;
      await queueClient(server, queue.name, queue.account).create();
      queue.exists = true;
      await shareClient(server, share.name, share.account).create();
      share.exists = true;
      await shareClient(server, smbShare.name, smbShare.account).create();
    }
    await sharedTable.create(server);
    await sharedQueue.create(server);
    await sharedFile.create(server);
    await smbLog.create(server);
    await create(`/${counter.container}?restype=container`);
    const counted = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-count': '0' };
    await create(`/${counter.container}/${counter.name}`, { headers: counted });
    await create(log.path, { headers: { 'x-ms-blob-type': 'AppendBlob' } });
  });
  after(() => server.stop());

  /** Load from all clients, until the kill. How many requests were acknowledged. */
  async function loadUntilKilled(): Promise<number> {
    const kill = new Kill(1 + random.below(ACKNOWLEDGED_BEFORE_KILL_MAX));
    const killDelayMs = random.below(KILL_DELAY_MAX_MS);
    const runs = clients.map(({ own: container, ...rest }, slot) => {
      const clientRandom = new Random(random.below(2 ** 31));
      return new Load({
        server,
        random: clientRandom,
        pool,
        container,
        ...rest,
        sharedTable,
        sharedQueue,
        sharedFile,
        smbLog,
        slot,
        counter,
        log,
        kill,
      }).run();
    });
    await Promise.race([kill.due, Promise.all(runs)]);
    await delay(killDelayMs);
    kill.done = true;
    await server.kill9();
    await Promise.all(runs);
    return kill.acknowledgedCount;
  }

  /** A start has clearing up to do after a crash: that can be cut off as well. */
  async function killWhileStarting(): Promise<void> {
    const started = server.start().catch(() => 'killed before it listened');
    await delay(random.below(START_KILL_DELAY_MAX_MS));
    await server.kill9();
    await started;
  }

  async function verify(round: number): Promise<number> {
    const verification = new Verification(server.url, pool);
    const ofTables = new TableVerification(server);
    const ofQueues = new QueueVerification(server);
    const ofFiles = new FileVerification(server);
    const ofSmb = new SmbVerification(server);
    const [ofSharedTable, ofSharedQueue, ofSharedFile, ofSmbLog] = await Promise.all([
      sharedTable.findings(server),
      sharedQueue.findings(server),
      sharedFile.findings(server),
      smbLog.findings(server),
      ...containers().map((one) => verification.container(one)),
      ...tables.map((one) => ofTables.table(one)),
      ...queues.map((one) => ofQueues.queue(one)),
      ...shares.map((one) => ofFiles.share(one)),
      ...clients.map(({ smbShare }) => ofSmb.share(smbShare)),
      verification.counter(counter),
      verification.log(log),
    ]);
    const parts = [verification, ofTables, ofQueues, ofFiles, ofSmb];
    const ofShared = [...ofSharedTable, ...ofSharedQueue, ...ofSharedFile, ...ofSmbLog];
    const findings = [...parts.flatMap((part) => part.findings), ...ofShared];
    assert.deepEqual(findings, [], `round ${round}, LARIMAR_SEED=${random.seed}`);
    return parts.reduce((sum, { tookEffectCount }) => sum + tookEffectCount, 0);
  }

  /** Stops in good order. A stop may come before the sweep is through: the next start goes on with it. */
  async function stopUntilEmpty(): Promise<void> {
    const deadlineMs = performance.now() + SWEEP_LIMIT_SECONDS * 1000;
    for (;;) {
      await server.terminate();
      const left = await contentLeft(server.place);
      if (left.length === 0) return;
      assert.ok(performance.now() < deadlineMs, `still there after ${SWEEP_LIMIT_SECONDS} s:\n${left.join('\n')}`);
      await server.start();
      await delay(SWEEP_PAUSE_MS);
    }
  }

  test('has everything it acknowledged, nothing by halves, and passes its own check', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    let acknowledgedCount = 0;
    let tookEffectCount = 0;
    for (let round = 1; round <= ROUND_COUNT; round += 1) {
      acknowledgedCount += await loadUntilKilled();
      if (random.chance(0.4)) await killWhileStarting();
      await letSessionsLapse(server.place);
      await server.start();
      tookEffectCount += await verify(round);
      if (round % 2 === 0) await server.terminate();
      else await server.kill9();
      const check = await runCheck(server.place);
      assert.equal(check.exitCode, 0, `check after round ${round}, LARIMAR_SEED=${random.seed}:\n${check.output}`);
      await server.start();
    }
    t.diagnostic(`${acknowledgedCount} acknowledged, ${tookEffectCount} took effect without an answer`);
  });

  test('gives the space back once everything is deleted', async () => {
    await server.terminate();
    const spared = await sparedCount(server.place);
    await server.start();
    for (const container of containers().filter(({ exists }) => exists)) {
      const { account, name } = container;
      const { outcome } = await send(server.url, { method: 'DELETE', path: `/${name}?restype=container`, account });
      assert.equal(outcome, '202');
    }
    await send(server.url, { method: 'DELETE', path: `/${counter.container}?restype=container` });
    for (const { name, account } of tables.filter(({ exists }) => exists)) {
      await tableClient(server, name, account).deleteTable();
    }
    await sharedTable.remove(server);
    for (const { name, account } of queues.filter(({ exists }) => exists)) {
      await queueClient(server, name, account).delete();
    }
    await sharedQueue.remove(server);
    for (const { name, account } of shares.filter(({ exists }) => exists)) {
      await shareClient(server, name, account).delete({ deleteSnapshots: 'include' });
    }
    await sharedFile.remove(server);
    for (const { smbShare } of clients) await shareClient(server, smbShare.name, smbShare.account).delete();
    await smbLog.remove(server);
    await untilSwept(server.place, spared);
    await stopUntilEmpty();
    const check = await runCheck(server.place);
    assert.equal(check.exitCode, 0, check.output);
  });
});
