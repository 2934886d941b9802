import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import {
  bodyOfReply,
  type MadeContext,
  makeContext,
  statusNameOf,
  TestClient,
} from '../../../test/harness/smb-context.ts';
import { until } from '../../../test/harness/until.ts';
import { listHandles } from '../../service/file/opens/handles.ts';
import { endOpens } from '../session/durable.ts';
import type { FileOpen } from '../session/open.ts';
import {
  APPEND_DATA,
  DELETE,
  FULL_ACCESS,
  GENERIC_READ,
  MAXIMUM_ALLOWED,
  READ_ATTRIBUTES,
  READ_DATA,
  SYNCHRONIZE,
  WRITE_DATA,
} from '../wire/access.ts';
import { CreateOption, type CreateRequest, OplockLevel } from '../wire/create.ts';
import type { CreateContexts, LeaseContext } from '../wire/create-contexts.ts';
import { FLAG_REPLAY, type Header } from '../wire/header.ts';
import { close } from './close.ts';
import type { Reply } from './command.ts';
import { create } from './create.ts';
import { logoff } from './logoff.ts';
import { oplockBreak } from './oplock-break.ts';

const NO_CONTEXTS: CreateContexts = {
  durable: null,
  reconnect: null,
  lease: null,
  maximalAccess: null,
  asksForDiskId: false,
  allocationBytes: null,
  snapshotAt: null,
  descriptor: null,
  hasExtendedAttributes: false,
  appInstanceId: null,
};

type Asked = Omit<Partial<CreateRequest>, 'contexts'> & { readonly contexts?: Partial<CreateContexts> };

const requestOf = (name: string, { contexts, ...asked }: Asked = {}): CreateRequest => ({
  oplockLevel: OplockLevel.NONE,
  impersonationLevel: 2,
  desiredAccess: READ_DATA | WRITE_DATA | DELETE | READ_ATTRIBUTES,
  attributes: 0,
  shareAccess: 7,
  disposition: 3,
  options: 0,
  name,
  ...asked,
  contexts: { ...NO_CONTEXTS, ...contexts },
});

let made: MadeContext;
let client: TestClient;

beforeEach(async () => {
  made = await makeContext();
  ({ client } = made);
});

afterEach(async () => {
  await endOpens(made.door, [...made.door.opens.values()], { keepsDurable: false });
  await made.share.store.close();
  assert.deepEqual(made.share.store.errors, []);
});

interface Opened {
  readonly open: FileOpen;
  readonly body: Buffer;
  readonly level: number;
  readonly action: number;
  /** Of RqLs: state, flags, and of the second version the epoch; null: there is none. */
  readonly lease: { state: number; flags: number; epoch: number | null } | null;
  readonly names: readonly string[];
}

function contextsIn(body: Buffer): Map<string, Buffer> {
  const found = new Map<string, Buffer>();
  const bytes = body.subarray(88, 88 + body.readUInt32LE(84));
  for (let at = 0; at < bytes.length; ) {
    const entry = bytes.subarray(at);
    const data = entry.subarray(entry.readUInt16LE(10), entry.readUInt16LE(10) + entry.readUInt32LE(12));
    found.set(entry.toString('latin1', 16, 20), data);
    const next = entry.readUInt32LE(0);
    at = next === 0 ? bytes.length : at + next;
  }
  return found;
}

function readReply(by: TestClient, reply: Reply): Opened {
  const body = bodyOfReply(reply);
  reply.onEncoded?.([]);
  const contexts = contextsIn(body);
  const data = contexts.get('RqLs');
  return {
    open: by.session.opens.get(body.readBigUInt64LE(72)) as FileOpen,
    body,
    level: body.readUInt8(2),
    action: body.readUInt32LE(4),
    lease:
      data === undefined
        ? null
        : {
            state: data.readUInt32LE(16),
            flags: data.readUInt32LE(20),
            epoch: data.length === 52 ? data.readUInt16LE(48) : null,
          },
    names: [...contexts.keys()],
  };
}

async function open(name: string, asked: Asked = {}, by = client, header: Partial<Header> = {}): Promise<Opened> {
  return readReply(by, await create.handle(by.context({ header }), requestOf(name, asked)));
}

const status = (name: string, asked: Asked = {}, by = client): Promise<string> =>
  statusNameOf(() => create.handle(by.context(), requestOf(name, asked)));

const closeFile = (opened: Opened, by = client, asksForAttributes = false) =>
  close.handle(by.context(), { fileId: opened.open.fileId, asksForAttributes });

const leaseAsk = (key: string, state: number, rest: Partial<LeaseContext> = {}): Asked => ({
  oplockLevel: OplockLevel.LEASE,
  contexts: {
    lease: { version: 2, key: key.repeat(32), state, flags: 0, parentKey: '0'.repeat(32), epoch: 0x10, ...rest },
  },
});

async function told(by: TestClient): Promise<void> {
  await until({ what: 'the client is told', limitSeconds: 10 }, async () => by.notified.length > 0);
}

describe('a request is refused', () => {
  beforeEach(async () => {
    await made.share.createFile('f', 1);
    await made.share.createDirectory('d');
  });

  for (const [what, name, asked, want] of [
    ['with an impersonation level that there is not', 'f', { impersonationLevel: 4 }, 'BAD_IMPERSONATION_LEVEL'],
    ['with a disposition that there is not', 'f', { disposition: 6 }, 'INVALID_PARAMETER'],
    ['without any access', 'f', { desiredAccess: 0 }, 'ACCESS_DENIED'],
    [
      'with access that there is not, before its attributes',
      'f',
      { desiredAccess: 0x400_0000, attributes: 8 },
      'ACCESS_DENIED',
    ],
    ['for the system’s list', 'f', { desiredAccess: 0x100_0000 }, 'PRIVILEGE_NOT_HELD'],
    ['with options that there are not', 'f', { options: 0x8000_0000 }, 'INVALID_PARAMETER'],
    ['with options that are not offered', 'f', { options: CreateOption.OPEN_BY_FILE_ID }, 'NOT_SUPPORTED'],
    ['for a directory that is a file at once', 'f', { options: 0x41 }, 'INVALID_PARAMETER'],
    ['for a directory, overwritten', 'd', { options: 1, disposition: 5 }, 'INVALID_PARAMETER'],
    ['for a volume', 'f', { attributes: 0x8 }, 'INVALID_PARAMETER'],
    ['for a temporary directory', 'x', { options: 1, attributes: 0x100 }, 'INVALID_PARAMETER'],
    ['to be encrypted', 'x', { attributes: 0x4000 }, 'ACCESS_DENIED'],
    ['to delete without the right to', 'f', { options: 0x1000, desiredAccess: READ_DATA }, 'INVALID_PARAMETER'],
    ['with extended attributes', 'x', { contexts: { hasExtendedAttributes: true } }, 'EAS_NOT_SUPPORTED'],
    ['for a snapshot that there is not', 'f', { contexts: { snapshotAt: 10_000n } }, 'OBJECT_NAME_NOT_FOUND'],
    ['for a file as a directory', 'f', { options: 1 }, 'NOT_A_DIRECTORY'],
    ['for a directory as a file', 'd', { options: 0x40 }, 'FILE_IS_A_DIRECTORY'],
    ['for a directory as content', 'd::$DATA', { disposition: 1 }, 'FILE_IS_A_DIRECTORY'],
    ['for what is not there', 'x', { disposition: 1 }, 'OBJECT_NAME_NOT_FOUND'],
    ['for what is in nothing', 'x\\y', {}, 'OBJECT_PATH_NOT_FOUND'],
    ['for what is there, anew', 'F', { disposition: 2 }, 'OBJECT_NAME_COLLISION'],
  ] as const) {
    test(`${what}: ${want}`, async () => assert.equal(await status(name, asked), want));
  }

  test('beyond what a session may have open', async () => {
    const few = await makeContext({ limits: { openCountMax: 2 } });
    for (const name of ['a', 'b']) assert.equal(await status(name, {}, few.client), 'SUCCESS');
    assert.equal(await status('c', {}, few.client), 'TOO_MANY_OPENED_FILES');
    await few.share.store.close();
  });

  test('with SYNCHRONIZE alone is not', async () =>
    assert.equal(await status('f', { desiredAccess: SYNCHRONIZE }), 'SUCCESS'));
});

describe('what is opened', () => {
  test('has the id that List Handles tells, and is closed by it once', async () => {
    const opened = await open('f');
    assert.equal(opened.action, 2);
    const name = made.share.nameOf('f');
    const { handles } = await listHandles(made.storage, { name, recursive: false, marker: null, limit: 10 });
    assert.deepEqual(
      handles.map(({ id }) => BigInt(id)),
      [opened.open.fileId.persistent],
    );
    await closeFile(opened);
    assert.equal(await statusNameOf(() => closeFile(opened)), 'FILE_CLOSED');
    assert.equal(made.door.opens.size, 0);
  });

  test('is told of with times, attributes and sizes, and so is what is left', async () => {
    const node = await made.share.createFile('f', 5_000);
    const opened = await open('f');
    assert.equal(opened.body.readBigUInt64LE(8), BigInt(node.createdAt));
    assert.deepEqual([opened.body.readBigUInt64LE(40), opened.body.readBigUInt64LE(48)], [8192n, 5000n]);
    assert.equal(opened.body.readUInt32LE(56), node.attributes);
    const left = bodyOfReply(await closeFile(opened, client, true));
    assert.deepEqual([left.readUInt16LE(2), left.readBigUInt64LE(48)], [1, 5000n]);
  });

  test('takes the room that was asked for it when it was made, as its client is told', async () => {
    const contexts = { allocationBytes: 5_000n };
    const made = await open('f', { contexts });
    assert.equal(made.body.readBigUInt64LE(40), 8192n);
    assert.equal(bodyOfReply(await closeFile(made, client, true)).readBigUInt64LE(40), 8192n);
    const again = await open('f', { contexts });
    assert.equal(again.body.readBigUInt64LE(40), 0n);
    const directory = await open('d', { contexts, options: CreateOption.DIRECTORY_FILE });
    assert.equal(directory.body.readBigUInt64LE(40), 0n);
  });

  test('gets what generic bits stand for, and at most what can be', async () => {
    await made.share.createFile('f', 1);
    assert.equal((await open('f', { desiredAccess: GENERIC_READ })).open.access, 0x12_0089);
    assert.equal((await open('f', { desiredAccess: MAXIMUM_ALLOWED })).open.access, FULL_ACCESS);
    await open('r', { attributes: 0x1 });
    const readOnly = await open('r', { desiredAccess: MAXIMUM_ALLOWED });
    assert.equal(readOnly.open.access, FULL_ACCESS & ~(WRITE_DATA | APPEND_DATA));
    assert.equal(await status('r', { desiredAccess: MAXIMUM_ALLOWED | WRITE_DATA }), 'ACCESS_DENIED');
  });

  test('is told of with the contexts that were asked for', async () => {
    const { names, body } = await open('f', { contexts: { maximalAccess: { writtenAt: null }, asksForDiskId: true } });
    assert.deepEqual(names, ['MxAc', 'QFid']);
    assert.equal(contextsIn(body).get('MxAc')?.readUInt32LE(4), FULL_ACCESS);
    assert.deepEqual((await open('f')).names, []);
  });

  test('is gone with what it was opened for, once it is closed', async () => {
    await closeFile(await open('f', { options: CreateOption.DELETE_ON_CLOSE }));
    assert.equal(await status('f', { disposition: 1 }), 'OBJECT_NAME_NOT_FOUND');
  });

  test('has a new ETag once it is closed, if it was written', async () => {
    const before = await made.share.createFile('f', 1);
    await closeFile(await open('f'));
    const written = await open('f');
    written.open.hasWritten = true;
    await closeFile(written);
    const { handles } = await listHandles(made.storage, {
      name: made.share.nameOf('f'),
      recursive: false,
      marker: null,
      limit: 10,
    });
    assert.deepEqual(handles, []);
    const after = await made.share.resize('f', 1);
    assert.ok(after.etag > before.etag);
  });
});

describe('a client that ends while it opens something', () => {
  test('leaves nothing open', async () => {
    const opening = create.handle(client.context(), requestOf('f'));
    client.session.isEnded = true;
    assert.equal(await statusNameOf(() => opening as Promise<Reply>), 'NETWORK_NAME_DELETED');
    await until({ what: 'it is closed', limitSeconds: 10 }, async () => made.door.opens.size === 0);
  });
});

describe('oplocks', () => {
  for (const [what, asked, want] of [
    ['Level II', OplockLevel.LEVEL_II, 1],
    ['Exclusive', OplockLevel.EXCLUSIVE, 8],
    ['Batch', OplockLevel.BATCH, 9],
    ['one that there is not', 0x78, 0],
    ['a lease without its context', OplockLevel.LEASE, 0],
  ] as const) {
    test(`${what} is granted as ${want}`, async () => {
      assert.equal((await open('f', { oplockLevel: asked })).level, want);
    });
  }

  test('are broken, answered, and not answered twice', async () => {
    const held = await open('f', { oplockLevel: OplockLevel.BATCH });
    const other = new TestClient(made.door);
    const opening = open('f', { oplockLevel: OplockLevel.BATCH }, other);
    await told(client);
    assert.equal(client.notified[0]?.readUInt8(2), OplockLevel.LEVEL_II);
    assert.equal(client.notified[0]?.readBigUInt64LE(8), held.open.fileId.persistent);
    const answer = (level: number) => () =>
      oplockBreak.handle(client.context(), { kind: 'oplock', fileId: held.open.fileId, level });
    assert.equal(await statusNameOf(answer(OplockLevel.LEVEL_II)), 'SUCCESS');
    assert.equal((await opening).level, OplockLevel.LEVEL_II);
    assert.equal(held.open.caching, 'R');
    assert.equal(await statusNameOf(answer(OplockLevel.NONE)), 'INVALID_OPLOCK_PROTOCOL');
    assert.equal(await statusNameOf(answer(OplockLevel.LEASE)), 'INVALID_PARAMETER');
  });

  test('that are answered with more than was asked for are lost', async () => {
    const held = await open('f', { oplockLevel: OplockLevel.BATCH });
    const opening = open('f', { disposition: 5 }, new TestClient(made.door));
    await told(client);
    const { fileId } = held.open;
    const act = () => oplockBreak.handle(client.context(), { kind: 'oplock', fileId, level: OplockLevel.LEVEL_II });
    assert.equal(await statusNameOf(act), 'INVALID_OPLOCK_PROTOCOL');
    assert.equal((await opening).action, 3);
    assert.equal(held.open.caching, '');
  });

  test('are not told of before the client knows what it has opened', async () => {
    const reply = await create.handle(client.context(), requestOf('f', { oplockLevel: OplockLevel.BATCH }));
    const cancel = new AbortController();
    let isWaiting = false;
    const context = new TestClient(made.door).context({
      cancelled: cancel.signal,
      onPend: () => {
        isWaiting = true;
      },
    });
    const opening = Promise.resolve(create.handle(context, requestOf('f')));
    opening.catch(() => {});
    await until({ what: 'the other waits', limitSeconds: 10 }, async () => isWaiting);
    assert.equal(client.notified.length, 0);
    reply.onEncoded?.([]);
    await told(client);
    cancel.abort();
    assert.equal(await statusNameOf(() => opening), 'CANCELLED');
  });
});

describe('leases', () => {
  test('are granted as asked, and grow with an epoch', async () => {
    assert.deepEqual((await open('f', leaseAsk('a', 1))).lease, { state: 1, flags: 0, epoch: 0x11 });
    const grown = await open('f', leaseAsk('a', 7));
    assert.deepEqual([grown.level, grown.lease], [0xff, { state: 7, flags: 0, epoch: 0x12 }]);
    assert.deepEqual((await open('f', leaseAsk('a', 3))).lease, { state: 7, flags: 0, epoch: 0x12 });
  });

  test('answer in the version that they began with', async () => {
    assert.equal((await open('f', leaseAsk('a', 1, { version: 1 }))).lease?.epoch, null);
    assert.equal((await open('f', leaseAsk('a', 3))).lease?.epoch, null);
  });

  test('of the second version are not for clients of SMB 2.1', async () => {
    const old = new TestClient(made.door, { dialect: 0x0210 });
    const { level, lease } = await open('f', leaseAsk('a', 7), old);
    assert.deepEqual([level, lease], [0, null]);
    assert.equal((await open('g', leaseAsk('a', 7, { version: 1 }), old)).lease?.state, 7);
  });

  test('of states that there are not are none', async () => {
    for (const state of [0, 2, 4, 6])
      assert.deepEqual((await open(`f${state}`, leaseAsk(`${state}`, state))).lease?.state, 0);
  });

  test('are not for directories', async () => {
    const { level, lease } = await open('d', { ...leaseAsk('a', 7), options: 1 });
    assert.deepEqual([level, lease], [0, null]);
  });

  test('have one file for each key, until it is closed', async () => {
    const first = await open('f', leaseAsk('a', 7));
    assert.equal(await status('g', leaseAsk('a', 7)), 'INVALID_PARAMETER');
    assert.equal(await status('g', { disposition: 1 }), 'OBJECT_NAME_NOT_FOUND');
    assert.equal((await open('g', leaseAsk('a', 7), new TestClient(made.door))).lease?.state, 7);
    await closeFile(first);
    assert.equal(await status('h', leaseAsk('a', 7)), 'SUCCESS');
  });

  test('of two requests at once with one key for two files one is refused, and leaves nothing open', async () => {
    const both = await Promise.all([status('f', leaseAsk('a', 7)), status('g', leaseAsk('a', 7))]);
    assert.deepEqual(both.toSorted(), ['INVALID_PARAMETER', 'SUCCESS']);
    await until({ what: 'one is closed', limitSeconds: 10 }, async () => made.door.opens.size === 1);
  });

  test('are broken on the client’s oldest connection, and answered on any', async () => {
    const key = 'a'.repeat(32);
    const second = new TestClient(made.door, { clientGuid: client.connection.negotiated?.clientGuid as string });
    await open('f', leaseAsk('a', 7), second);
    const opening = open('f', {}, new TestClient(made.door));
    await told(client);
    assert.equal(second.notified.length, 0);
    const [body] = client.notified as [Buffer];
    assert.deepEqual(
      [2, 4, 24, 28].map((at) => body.readUInt16LE(at)),
      [0x12, 1, 7, 3],
    );
    const again = await open('f', leaseAsk('a', 7), second);
    assert.deepEqual(again.lease, { state: 7, flags: 2, epoch: 0x12 });
    const answer = (state: number) => () => oplockBreak.handle(second.context(), { kind: 'lease', key, state });
    assert.equal(await statusNameOf(answer(7)), 'REQUEST_NOT_ACCEPTED');
    assert.equal(await statusNameOf(answer(2)), 'REQUEST_NOT_ACCEPTED');
    assert.equal(await statusNameOf(answer(3)), 'SUCCESS');
    await opening;
    assert.equal(await statusNameOf(answer(3)), 'UNSUCCESSFUL');
    const stranger = () => oplockBreak.handle(client.context(), { kind: 'lease', key: 'b'.repeat(32), state: 0 });
    assert.equal(await statusNameOf(stranger), 'OBJECT_NAME_NOT_FOUND');
    assert.equal((await open('f', leaseAsk('a', 0), second)).lease?.state, 3);
  });
});

describe('an open that REST closes by force', () => {
  test('is closed for its client too', async () => {
    const opened = await open('f', leaseAsk('a', 7));
    const place = opened.open.place as NonNullable<FileOpen['place']>;
    await made.storage.opens.askToClose(place, [opened.open.openId], 10_000);
    assert.equal(opened.open.isClosed, true);
    assert.equal(await statusNameOf(() => closeFile(opened)), 'FILE_CLOSED');
    assert.equal((await open('g', leaseAsk('a', 7))).lease?.state, 7);
  });
});

/** Its connection is lost. */
async function lose(by: TestClient): Promise<void> {
  by.connection.destroy('lost');
  by.connection.sessions.clear();
  await endOpens(made.door, [...by.session.opens.values()], { keepsDurable: true });
}

async function timeoutGranted(name: string, timeoutMs: number): Promise<number | undefined> {
  const durable = { version: 2, timeoutMs, createGuid: name.repeat(32) } as const;
  const { body } = await open(name, { oplockLevel: OplockLevel.BATCH, contexts: { durable } });
  return contextsIn(body).get('DH2Q')?.readUInt32LE(0);
}

describe('durable opens', () => {
  const GUID = 'c'.repeat(32);
  const durable2 = { durable: { version: 2, timeoutMs: 0, createGuid: GUID } } as const;
  const batch = { oplockLevel: OplockLevel.BATCH } as const;

  const comeBack = (opened: Opened, by: TestClient, asked: Asked = {}, createGuid = GUID) =>
    statusNameOf(() =>
      create.handle(
        by.context(),
        requestOf('f', {
          ...asked,
          contexts: { ...asked.contexts, reconnect: { version: 2, fileId: opened.open.fileId, createGuid } },
        }),
      ),
    );

  for (const [what, asked, want] of [
    ['a batch oplock', { ...batch, contexts: { durable: { version: 1 } } }, ['DHnQ']],
    ['a batch oplock, in the second version', { ...batch, contexts: durable2 }, ['DH2Q']],
    ['an exclusive oplock', { oplockLevel: OplockLevel.EXCLUSIVE, contexts: durable2 }, []],
    [
      'a lease of the handle',
      { ...leaseAsk('a', 3), contexts: { ...leaseAsk('a', 3).contexts, ...durable2 } },
      ['DH2Q', 'RqLs'],
    ],
    ['a lease without it', { ...leaseAsk('a', 5), contexts: { ...leaseAsk('a', 5).contexts, ...durable2 } }, ['RqLs']],
  ] as const) {
    test(`are granted with ${what}: ${want.join() || 'not so'}`, async () => {
      assert.deepEqual((await open('f', asked)).names, want);
    });
  }

  test('are granted for as long as was asked for, within reason', async () => {
    assert.deepEqual(
      [await timeoutGranted('a', 0), await timeoutGranted('b', 5_000), await timeoutGranted('d', 10_000_000)],
      [60_000, 5_000, 300_000],
    );
  });

  test('are there again for a client that comes back, and others were kept out meanwhile', async () => {
    const opened = await open('f', { ...batch, shareAccess: 0, contexts: durable2 });
    await lose(client);
    assert.equal(made.door.opens.size, 1);
    const back = new TestClient(made.door, { clientGuid: client.connection.negotiated?.clientGuid as string });
    assert.equal(await comeBack(opened, back, {}, 'd'.repeat(32)), 'OBJECT_NAME_NOT_FOUND');
    assert.equal(await comeBack(opened, back, leaseAsk('a', 7)), 'OBJECT_NAME_NOT_FOUND');
    assert.equal(await comeBack(opened, back), 'SUCCESS');
    assert.equal(back.session.opens.get(opened.open.fileId.volatile), opened.open);
    assert.equal(await comeBack(opened, back), 'OBJECT_NAME_NOT_FOUND');
    const name = made.share.nameOf('f');
    const { handles } = await listHandles(made.storage, { name, recursive: false, marker: null, limit: 10 });
    assert.notEqual(handles[0]?.reconnectedMs, null);
    await closeFile(opened, back);
  });

  test('with a lease are the client’s alone, by key and name', async () => {
    const asked = { ...leaseAsk('a', 7), contexts: { ...leaseAsk('a', 7).contexts, ...durable2 } };
    const opened = await open('f', asked);
    await lose(client);
    assert.equal(await comeBack(opened, new TestClient(made.door), leaseAsk('a', 0)), 'OBJECT_NAME_NOT_FOUND');
    const back = new TestClient(made.door, { clientGuid: client.connection.negotiated?.clientGuid as string });
    assert.equal(await comeBack(opened, back), 'OBJECT_NAME_NOT_FOUND');
    assert.equal(await comeBack(opened, back, leaseAsk('b', 0)), 'OBJECT_NAME_NOT_FOUND');
    assert.equal(await comeBack(opened, back, { ...leaseAsk('a', 0), name: 'g' }), 'INVALID_PARAMETER');
    assert.equal(await comeBack(opened, back, leaseAsk('a', 0)), 'SUCCESS');
    assert.equal(opened.open.caching, 'RWH');
  });

  test('are given up when another needs what they cache, and nobody waits for their client', async () => {
    const opened = await open('f', { ...batch, contexts: durable2 });
    await lose(client);
    const other = await open('f', { ...batch }, new TestClient(made.door));
    assert.equal(other.level, OplockLevel.BATCH);
    assert.equal(opened.open.isClosed, true);
  });

  test('are closed with those that are not, where the client ends by itself', async () => {
    await open('f', { ...batch, contexts: durable2 });
    await endOpens(made.door, [...client.session.opens.values()], { keepsDurable: false });
    assert.equal(made.door.opens.size, 0);
  });

  test('outlive the session, and others do not', async () => {
    const { open: held } = await open('f', { ...batch, contexts: durable2 });
    const { open: other } = await open('g');
    assert.equal(await statusNameOf(() => logoff.handle(client.context(), undefined)), 'SUCCESS');
    assert.deepEqual([held.isClosed, held.tree, other.isClosed], [false, null, true]);
  });

  test('that were asked to cache less when their client was lost are closed', async () => {
    const { open: held } = await open('f', { ...batch, contexts: durable2 });
    const opening = open('f', {}, new TestClient(made.door));
    await told(client);
    await lose(client);
    assert.equal(held.isClosed, true);
    assert.equal((await opening).action, 1);
  });

  test('are the same for a request that is sent again, and another with its id is refused', async () => {
    const asked = { ...batch, contexts: durable2 };
    const first = await open('f', asked);
    const again = await open('f', asked, client, { flags: FLAG_REPLAY });
    assert.equal(again.open, first.open);
    assert.equal(again.action, 2);
    assert.equal(await status('f', asked), 'DUPLICATE_OBJECTID');
    await closeFile(first);
    assert.equal(await status('f', asked), 'SUCCESS');
  });
});
