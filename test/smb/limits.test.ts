/**
 * How much an SMB client may have at a time, and for how long it may stand still: beyond that it is refused, or its connection
 * ended, and nobody else notices. And how the server closes while clients are at work.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openMemoryContent } from '../../src/content/memory/memory-content.ts';
import { openMemoryEngine } from '../../src/engine/memory/memory-engine.ts';
import { listHandles } from '../../src/service/file/opens/handles.ts';
import { statusName } from '../../src/smb/statuses.ts';
import { CommandCode, FLAG_ASYNC } from '../../src/smb/wire/header.ts';
import { Hooks, hookContent, hookEngine } from '../harness/hooked-store.ts';
import { changeNotifyBody, EMPTY_REQUEST, LOCK_EXCLUSIVE, lockBody, treeConnectBody } from '../harness/smb-bodies.ts';
import { openTestDoor, type TestDoor } from '../harness/smb-door.ts';
import {
  createBody,
  DIRECTORY_FILE,
  ntlmNegotiate,
  readBody,
  sessionSetup,
  WireClient,
  writeBody,
} from '../harness/smb-wire.ts';
import { Gate } from '../harness/store.ts';
import { until } from '../harness/until.ts';

const LIMIT = { timeout: 30_000 };
const MIB = 1024 * 1024;
const SOON = { limitSeconds: 10 };

const signedIn = (door: TestDoor): Promise<WireClient> => WireClient.open(door, 'share');

async function statusOf(client: WireClient, ...request: Parameters<WireClient['request']>): Promise<string> {
  return statusName((await client.request(...request)).header.status);
}

async function stillServed(client: WireClient): Promise<void> {
  assert.equal(await statusOf(client, CommandCode.ECHO, EMPTY_REQUEST), 'SUCCESS');
}

async function openPathsOf({ share }: TestDoor): Promise<string[]> {
  const request = { name: share.nameOf(''), recursive: true, marker: null, limit: 1_000 };
  const { handles } = await listHandles(share.store.storage, request);
  return handles.map(({ path }) => path).sort();
}

const setUp = (client: WireClient): Promise<string> => {
  client.sessionId = 0n;
  return statusOf(client, CommandCode.SESSION_SETUP, sessionSetup(ntlmNegotiate()));
};

describe('clients that stand still', () => {
  test('whoever does not sign in is ended, wherever it stopped; users are not', LIMIT, async () => {
    const door = await openTestDoor({ limits: { signInTimeoutMs: 1_500 } });
    const user = await signedIn(door);
    const silent = await WireClient.connect(door.port);
    const negotiated = await WireClient.connect(door.port);
    await negotiated.negotiate();
    const halfway = await WireClient.connect(door.port);
    await halfway.negotiate();
    await halfway.request(CommandCode.SESSION_SETUP, sessionSetup(ntlmNegotiate()));
    const trickling = await WireClient.connect(door.port);
    const drip = setInterval(() => trickling.socket.write(Buffer.alloc(1)), 20);
    await Promise.all([silent, negotiated, halfway, trickling].map(({ closed }) => closed));
    clearInterval(drip);
    await stillServed(user);
    assert.deepEqual(door.errors, []);
  });

  test('whoever has nothing open and says nothing is ended; whoever has something open is not', LIMIT, async () => {
    const door = await openTestDoor({ limits: { idleTimeoutMs: 1_000, sendTimeoutMs: 700 } });
    // Those who stay are silent for longer than the one who goes.
    const holder = await signedIn(door);
    const fileId = await holder.create('held');
    const waiting = await signedIn(door);
    const directoryId = await waiting.create('', { options: DIRECTORY_FILE });
    void waiting.request(CommandCode.CHANGE_NOTIFY, changeNotifyBody(directoryId));
    await until({ what: 'it waits', ...SOON }, () => waiting.interims.length === 1);
    const idle = await signedIn(door);
    await idle.closed;
    await stillServed(waiting);
    await holder.write(fileId, 0, Buffer.from('still here'));
    await holder.close(fileId);
    await holder.closed;
    assert.deepEqual(await openPathsOf(door), ['']);
    assert.deepEqual(door.errors, []);
  });
});

describe('a client that never takes what is sent to it', () => {
  const limits = { underWayBytesMax: 4 * MIB, sendTimeoutMs: 1_000 };
  const COUNT = 400;

  /** A client with credits for all it is going to ask for, and a file of 1 MiB. */
  async function greedy(): Promise<{ door: TestDoor; client: WireClient; fileId: Buffer; reads: () => number }> {
    const hooks = new Hooks();
    const door = await openTestDoor({ limits, parts: { content: hookContent(openMemoryContent(), hooks) } });
    const client = await signedIn(door);
    const fileId = await client.create('large');
    await client.write(fileId, 0, Buffer.alloc(MIB, 7));
    await Promise.all(Array.from({ length: 40 }, () => client.request(CommandCode.ECHO, EMPTY_REQUEST)));
    let readCount = 0;
    hooks.before = ({ what }) => {
      if (what === 'read') readCount++;
    };
    client.socket.pause();
    return { door, client, fileId, reads: () => readCount };
  }

  async function endsInTime({ door, reads }: { door: TestDoor; reads: () => number }): Promise<void> {
    await until({ what: 'it is ended', ...SOON }, () =>
      door.notes.some((note) => note.includes('stopped reading for 1 s')),
    );
    // What is under way, what is being sent, and what the system keeps for both sides.
    assert.ok(reads() > 0);
    assert.ok(reads() < COUNT / 4, `${reads()} MiB were read for it`);
    const other = await signedIn(door);
    await stillServed(other);
    await until({ what: 'nothing is open', ...SOON }, async () => (await openPathsOf(door)).length === 0);
    assert.deepEqual(door.errors, []);
  }

  test('is ended, and what it asks for is not gathered in memory meanwhile', LIMIT, async () => {
    const { door, client, fileId, reads } = await greedy();
    for (let number = 0; number < COUNT; number++) {
      void client.request(CommandCode.READ, readBody(fileId, 0, MIB), MIB);
    }
    await endsInTime({ door, reads });
    client.destroy();
  });

  test('is ended, though it asks for all of it in one message', LIMIT, async () => {
    const { door, client, fileId, reads } = await greedy();
    const request = { command: CommandCode.READ, body: readBody(fileId, 0, MIB), payloadBytes: MIB };
    void client.compound(Array.from({ length: COUNT }, () => request));
    await endsInTime({ door, reads });
    client.destroy();
  });

  test('is served again, if it takes what was sent before its time is over', LIMIT, async () => {
    const { client, fileId } = await greedy();
    const answers = Array.from({ length: 100 }, () => client.read(fileId, 0, MIB));
    const request = { command: CommandCode.READ, body: readBody(fileId, 0, MIB), payloadBytes: MIB };
    const compound = await client.compound(Array.from({ length: 100 }, () => request));
    client.socket.resume();
    for (const bytes of await Promise.all(answers)) assert.equal(bytes.length, MIB);
    for (const { body } of await Promise.all(compound)) assert.equal(body.readUInt32LE(4), MIB);
    client.destroy();
  });
});

test('bytes that are being written are not gathered in memory without end', LIMIT, async () => {
  const hooks = new Hooks();
  const engine = hookEngine(openMemoryEngine(), hooks);
  const door = await openTestDoor({ limits: { underWayBytesMax: 4 * MIB }, parts: { engine } });
  const client = await signedIn(door);
  const fileId = await client.create('written');
  await Promise.all(Array.from({ length: 40 }, () => client.request(CommandCode.ECHO, EMPTY_REQUEST)));
  const gate = new Gate();
  hooks.before = ({ what }) => (what === 'commit' ? gate.passed : undefined);
  const writes = Array.from({ length: 64 }, (_, number) =>
    client.write(fileId, number * MIB, Buffer.alloc(MIB, number)),
  );
  // The server stops reading: what is left stays with the client.
  let leftBytes = -1;
  await until({ what: 'nothing moves any more', ...SOON }, () => {
    const isStill = client.socket.writableLength > 0 && client.socket.writableLength === leftBytes;
    leftBytes = client.socket.writableLength;
    return isStill;
  });
  assert.ok(client.socket.bytesWritten - client.socket.writableLength < 40 * MIB);
  gate.open();
  hooks.clear();
  await Promise.all(writes);
  assert.equal((await client.read(fileId, 63 * MIB, 1))[0], 63);
  client.destroy();
});

describe('how much a client may have', () => {
  test('sessions beyond the limit are refused, also such as were only begun, until one ends', LIMIT, async () => {
    const door = await openTestDoor({ limits: { sessionCountMax: 3 } });
    const client = await signedIn(door);
    const { sessionId } = client;
    const fileId = await client.create('file');
    client.sessionId = 0n;
    await client.authenticate(door.user, door.password);
    const second = client.sessionId;
    assert.equal(await setUp(client), 'MORE_PROCESSING_REQUIRED');
    assert.equal(await setUp(client), 'INSUFFICIENT_RESOURCES');
    client.sessionId = second;
    assert.equal(await statusOf(client, CommandCode.LOGOFF, EMPTY_REQUEST), 'SUCCESS');
    assert.equal(await setUp(client), 'MORE_PROCESSING_REQUIRED');
    client.sessionId = sessionId;
    await client.write(fileId, 0, Buffer.from('text'));
    await stillServed(await signedIn(door));
    client.destroy();
  });

  test('shares beyond the limit are refused until one is left', LIMIT, async () => {
    const door = await openTestDoor({ limits: { treeCountMax: 2 } });
    const client = await signedIn(door);
    const connect = (): Promise<string> => statusOf(client, CommandCode.TREE_CONNECT, treeConnectBody('\\\\h\\share'));
    assert.deepEqual([await connect(), await connect()], ['SUCCESS', 'INSUFFICIENT_RESOURCES']);
    assert.equal(await statusOf(client, CommandCode.TREE_DISCONNECT, EMPTY_REQUEST), 'SUCCESS');
    assert.deepEqual([await connect(), await connect()], ['SUCCESS', 'INSUFFICIENT_RESOURCES']);
    client.destroy();
  });

  test('opens beyond the limit are refused until one is closed, and make nothing', LIMIT, async () => {
    const door = await openTestDoor({ limits: { openCountMax: 3 } });
    const client = await signedIn(door);
    const fileIds = [await client.create('a'), await client.create('b'), await client.create('c')];
    assert.equal(await statusOf(client, CommandCode.CREATE, createBody('d')), 'TOO_MANY_OPENED_FILES');
    const other = await signedIn(door);
    assert.equal(
      await statusOf(other, CommandCode.CREATE, createBody('d', { disposition: 1 })),
      'OBJECT_NAME_NOT_FOUND',
    );
    await client.close(fileIds[0] as Buffer);
    await client.create('d');
    assert.deepEqual(await openPathsOf(door), ['b', 'c', 'd']);
    client.destroy();
  });

  test('pipes count as well', LIMIT, async () => {
    const door = await openTestDoor({ limits: { openCountMax: 2 } });
    const client = await signedIn(door);
    await client.treeConnect('IPC$');
    await client.create('srvsvc');
    await client.create('srvsvc');
    assert.equal(await statusOf(client, CommandCode.CREATE, createBody('srvsvc')), 'TOO_MANY_OPENED_FILES');
    client.destroy();
  });

  test(
    'requests that wait beyond the limit are refused until one is answered, and wait for nothing',
    LIMIT,
    async () => {
      const door = await openTestDoor({ limits: { pendingCountMax: 2 } });
      const other = await signedIn(door);
      const theirs = await other.create('locked');
      const exclusive = [{ offset: 0n, length: 10n, flags: LOCK_EXCLUSIVE }];
      await other.succeed(CommandCode.LOCK, lockBody(theirs, exclusive));
      const client = await signedIn(door);
      const directoryId = await client.create('watched', { options: DIRECTORY_FILE });
      const fileId = await client.create('locked');
      const notify = (): Promise<string> => statusOf(client, CommandCode.CHANGE_NOTIFY, changeNotifyBody(directoryId));
      const lock = (): Promise<string> => statusOf(client, CommandCode.LOCK, lockBody(fileId, exclusive));
      const waiting = [notify(), lock()] as const;
      await until({ what: 'both wait', ...SOON }, () => client.interims.length === 2);
      assert.equal(await notify(), 'INSUFFICIENT_RESOURCES');
      assert.equal(await lock(), 'INSUFFICIENT_RESOURCES');
      // Nobody else is refused for that.
      const another = await signedIn(door);
      void another.request(CommandCode.LOCK, lockBody(await another.create('locked'), exclusive));
      await until({ what: 'it waits', ...SOON }, () => another.interims.length === 1);
      another.destroy();
      await another.closed;

      const locking = client.interims[1]?.asyncId ?? 0n;
      const cancel = client.header({ command: CommandCode.CANCEL, flags: FLAG_ASYNC, asyncId: locking });
      client.sendRaw(Buffer.concat([cancel, EMPTY_REQUEST]));
      assert.equal(await waiting[1], 'CANCELLED');
      const next = notify();
      await until({ what: 'another waits', ...SOON }, () => client.interims.length === 3);
      // Those that were refused take nothing away from those that wait.
      await other.close(await other.create('watched\\first'));
      assert.equal(await waiting[0], 'SUCCESS');
      await other.close(await other.create('watched\\second'));
      assert.equal(await next, 'SUCCESS');
      await other.close(theirs);
      assert.equal(await lock(), 'SUCCESS');
      client.destroy();
      assert.deepEqual(door.errors, []);
    },
  );

  test('credits beyond the limit are not granted, and enough of them to go on', LIMIT, async () => {
    const door = await openTestDoor({ limits: { creditCountMax: 16 } });
    const client = await signedIn(door);
    const granted = await Promise.all(
      Array.from({ length: 200 }, async () => (await client.request(CommandCode.ECHO, EMPTY_REQUEST)).header.credits),
    );
    assert.ok(Math.max(...granted) <= 16);
    const fileId = await client.create('file');
    await client.write(fileId, 0, Buffer.alloc(MIB, 1));
    assert.equal((await client.read(fileId, 0, MIB)).length, MIB);
    client.destroy();
  });

  test('connections beyond the limit are ended at once, until one goes', LIMIT, async () => {
    const door = await openTestDoor({ limits: { connectionCountMax: 2 } });
    const [first, second] = [await signedIn(door), await signedIn(door)];
    const third = await WireClient.connect(door.port);
    await third.closed;
    await stillServed(first);
    await stillServed(second);
    second.destroy();
    const fourth = await until({ what: 'there is room', ...SOON }, async () => {
      const client = await WireClient.connect(door.port);
      const isServed = await Promise.race([client.negotiate(), client.closed.then(() => null)]);
      return isServed === null ? null : client;
    });
    await stillServed(fourth);
    await stillServed(first);
  });
});

describe('the server closes', () => {
  test('at once, though clients are connected, have opens and wait', LIMIT, async () => {
    const door = await openTestDoor({ limits: { closeTimeoutMs: 3_600_000 } });
    const idle = await signedIn(door);
    const stranger = await WireClient.connect(door.port);
    const holder = await signedIn(door);
    const directoryId = await holder.create('', { options: DIRECTORY_FILE });
    const fileId = await holder.create('held');
    const exclusive = [{ offset: 0n, length: 10n, flags: LOCK_EXCLUSIVE }];
    await holder.succeed(CommandCode.LOCK, lockBody(fileId, exclusive));
    void holder.request(CommandCode.CHANGE_NOTIFY, changeNotifyBody(directoryId));
    const waiting = await signedIn(door);
    void waiting.request(CommandCode.LOCK, lockBody(await waiting.create('held'), exclusive));
    await until({ what: 'both wait', ...SOON }, () => holder.interims.length + waiting.interims.length === 2);
    await door.close();
    await Promise.all([idle, stranger, holder, waiting].map(({ closed }) => closed));
    assert.deepEqual(await openPathsOf(door), []);
    assert.deepEqual(door.errors, []);
  });

  test('when what was begun is done and answered: nothing is written by half', LIMIT, async () => {
    const hooks = new Hooks();
    const engine = hookEngine(openMemoryEngine(), hooks);
    const door = await openTestDoor({ limits: { closeTimeoutMs: 3_600_000 }, parts: { engine } });
    const clients = await Promise.all(Array.from({ length: 4 }, () => signedIn(door)));
    const fileIds = await Promise.all(clients.map((client, number) => client.create(`file-${number}`)));
    const gate = new Gate();
    let commitCount = 0;
    hooks.before = ({ what }) => {
      if (what !== 'commit') return undefined;
      commitCount++;
      return gate.passed;
    };
    const answered = clients.map(() => new Set<number>());
    for (const [index, client] of clients.entries()) {
      for (let block = 0; block < 32; block++) {
        const body = writeBody(fileIds[index] as Buffer, block * 100_000, Buffer.alloc(100_000, block + 1));
        void client.request(CommandCode.WRITE, body, 100_000).then(({ header }) => {
          assert.equal(statusName(header.status), 'SUCCESS');
          answered[index]?.add(block);
        });
      }
    }
    await until({ what: 'each is about to be written', ...SOON }, () => commitCount >= clients.length);
    const closed = door.close();
    gate.open();
    await closed;
    await Promise.all(clients.map((client) => client.closed));
    for (const [index] of clients.entries()) {
      const bytes = await door.share.read(`file-${index}`);
      assert.ok((answered[index]?.size ?? 0) > 0, 'what was under way is answered');
      for (let block = 0; block < 32; block++) {
        const values = new Set(bytes.subarray(block * 100_000, (block + 1) * 100_000));
        const isWhole = values.size === 1 && values.has(block + 1);
        const isNone = values.size === 0 || (values.size === 1 && values.has(0));
        assert.ok(isWhole || isNone, `block ${block} is there by half`);
        assert.equal(isWhole, answered[index]?.has(block), `block ${block} is written if that was said, and only then`);
      }
    }
    assert.deepEqual(await openPathsOf(door), []);
    assert.deepEqual(door.errors, []);
  });

  test('in the end, though a client does not take its answers', LIMIT, async () => {
    const door = await openTestDoor({ limits: { closeTimeoutMs: 200 } });
    const client = await signedIn(door);
    const fileId = await client.create('large');
    await client.write(fileId, 0, Buffer.alloc(MIB, 7));
    await Promise.all(Array.from({ length: 10 }, () => client.request(CommandCode.ECHO, EMPTY_REQUEST)));
    client.socket.pause();
    for (let number = 0; number < 48; number++) void client.request(CommandCode.READ, readBody(fileId, 0, MIB), MIB);
    await until({ what: 'all was sent', ...SOON }, () => client.socket.writableLength === 0);
    await door.close();
    client.destroy();
    assert.deepEqual(await openPathsOf(door), []);
  });
});
