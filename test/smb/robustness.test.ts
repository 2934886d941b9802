/**
 * What no well-behaved client sends over SMB. Whatever cannot be told apart into requests ends the connection that it came on, a
 * request that makes no sense is refused and the connection goes on; neither disturbs a client beside it.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { statusName } from '../../src/smb/statuses.ts';
import { CommandCode, FLAG_ASYNC, FLAG_RELATED, FLAG_SIGNED, HEADER_BYTES } from '../../src/smb/wire/header.ts';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { freshShare } from '../harness/file-clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import {
  changeNotifyBody,
  EMPTY_REQUEST,
  flushBody,
  ioctlBody,
  LOCK_EXCLUSIVE,
  LOCK_EXCLUSIVE_AT_ONCE,
  lockBody,
  NO_FILE_ID,
  oplockBreakBody,
  queryDirectoryBody,
  queryInfoBody,
  setInfoBody,
  treeConnectBody,
} from '../harness/smb-bodies.ts';
import {
  type Answer,
  closeBody,
  createBody,
  DIRECTORY_FILE,
  negotiateBody,
  ntlmAuthenticate,
  ntlmNegotiate,
  readBody,
  sessionSetup,
  WireClient,
  type WireTarget,
  writeBody,
} from '../harness/smb-wire.ts';
import { until } from '../harness/until.ts';

const LIMIT = { timeout: 30_000 };
const TRANSFER_BYTES_MAX = 1024 * 1024;
const MESSAGE_BYTES_MAX = 8 * 1024 * 1024 + 256 * 1024;
const STRANGER_BYTES_MAX = 64 * 1024;
const CREDIT_BYTES = 65_536;
const FSCTL_PIPE_TRANSCEIVE = 0x0011_c017;
const FILE_RENAME = 0x0a;
const FILE_END_OF_FILE = 0x14;

const server = await startInProcess({ smb: 'auto' });
const share = await freshShare(server);
const target: WireTarget = { port: server.smbPort, user: DEVELOPMENT_ACCOUNT.name, password: DEVELOPMENT_ACCOUNT.key };

/** The client beside: it goes on reading and writing, whatever others do. */
const beside = await WireClient.open(target, share.name);
const besideId = await beside.create('beside');
after(() => beside.destroy());

async function goesOn(client: WireClient, fileId: Buffer): Promise<void> {
  const bytes = randomBytes(1_000);
  await client.write(fileId, 0, bytes);
  assert.deepEqual(await client.read(fileId, 0, bytes.length), bytes);
}

const nameOfStatus = ({ header }: Answer): string => statusName(header.status);

async function statusOf(client: WireClient, ...request: Parameters<WireClient['request']>): Promise<string> {
  return nameOfStatus(await client.request(...request));
}

async function stillServed(client: WireClient): Promise<void> {
  assert.equal(await statusOf(client, CommandCode.ECHO, EMPTY_REQUEST), 'SUCCESS');
}

/** A request that is otherwise in order, as bytes. */
async function echo(client: WireClient, change: (message: Buffer) => void = () => {}): Promise<Buffer> {
  const message = Buffer.concat([client.header({ messageId: await client.take() }), EMPTY_REQUEST]);
  change(message);
  return message;
}

/** Ends that were not answered before: `act` sends something. */
function ends(name: string, open: () => Promise<WireClient>, act: (client: WireClient) => Promise<void>): void {
  test(`${name} ends that connection and nothing else`, LIMIT, async () => {
    const client = await open();
    const served = goesOn(beside, besideId);
    await act(client);
    await client.closed;
    await served;
    await goesOn(beside, besideId);
  });
}

const signedIn = (): Promise<WireClient> => WireClient.open(target, share.name);

const negotiated = async (): Promise<WireClient> => {
  const client = await WireClient.connect(target.port);
  await client.negotiate();
  return client;
};

const stranger = (): Promise<WireClient> => WireClient.connect(target.port);

function prefixOf(type: number, lengthBytes: number): Buffer {
  const prefix = Buffer.alloc(4, type);
  prefix.writeUIntBE(lengthBytes, 1, 3);
  return prefix;
}

function smb1Negotiate(dialect: string): Buffer {
  const header = Buffer.alloc(35);
  header.writeUInt32LE(0x424d_53ff, 0);
  header.writeUInt8(0x72, 4);
  const dialects = Buffer.from(`\u0002${dialect}\0`, 'latin1');
  header.writeUInt16LE(dialects.length, 33);
  return Buffer.concat([header, dialects]);
}

/** Two requests, of which the first says where the second begins. */
const twoRequests = async (client: WireClient, nextCommand: number): Promise<Buffer> => {
  const first = client.header({ messageId: await client.take(), nextCommand });
  const second = client.header({ messageId: await client.take() });
  return Buffer.concat([first, EMPTY_REQUEST, Buffer.alloc(4), second, EMPTY_REQUEST]);
};

const context = (name: string, data: Buffer, change: (entry: Buffer) => void = () => {}): Buffer => {
  const entry = Buffer.alloc(24 + data.length);
  entry.writeUInt16LE(16, 4);
  entry.writeUInt16LE(4, 6);
  entry.writeUInt16LE(24, 10);
  entry.writeUInt32LE(data.length, 12);
  entry.write(name, 16, 'latin1');
  data.copy(entry, 24);
  change(entry);
  return entry;
};

const withContexts = (contexts: Buffer): Buffer => {
  const body = Buffer.concat([createBody('made-by-context'), contexts]);
  body.writeUInt32LE(HEADER_BYTES + body.length - contexts.length, 48);
  body.writeUInt32LE(contexts.length, 52);
  return body;
};

/** The request with another file's id in it. */
const withFileId = (body: Buffer, fileId: Buffer): Buffer => {
  const changed = Buffer.from(body);
  fileId.copy(changed, body.indexOf(someId));
  return changed;
};

const at = (body: Buffer, offset: bigint): Buffer => {
  body.writeBigUInt64LE(offset, 8);
  return body;
};

const element = (offset: bigint) => ({ offset, length: 1n, flags: LOCK_EXCLUSIVE_AT_ONCE });

const challengeOf = async (client: WireClient): Promise<Buffer> => {
  client.sessionId = 0n;
  const { header, body } = await client.request(CommandCode.SESSION_SETUP, sessionSetup(ntlmNegotiate()));
  assert.equal(statusName(header.status), 'MORE_PROCESSING_REQUIRED');
  client.sessionId = header.sessionId;
  return body.subarray(8);
};

const right = (challenge: Buffer): Buffer => ntlmAuthenticate(challenge, target.user, target.password);

function withUInt32(token: Buffer, offset: number, value: number): Buffer {
  const changed = Buffer.from(token);
  changed.writeUInt32LE(value, offset);
  return changed;
}

describe('what is no message of SMB2', () => {
  const HTTP = Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  for (const [who, open] of [
    ['a stranger', stranger],
    ['somebody who has negotiated', negotiated],
    ['a user', signedIn],
  ] as const) {
    const rows: readonly (readonly [string, (client: WireClient) => Promise<Buffer>])[] = [
      ['a request for a NetBIOS session', async () => prefixOf(0x81, 68)],
      ['a NetBIOS prefix that is none', async () => Buffer.from('deadbeef', 'hex')],
      ['a message of no bytes', async () => prefixOf(0, 0)],
      ['a message that is longer than any', async () => prefixOf(0, 0xff_ffff)],
      ['HTTP', async () => HTTP],
      ['a message of three bytes', async () => Buffer.concat([prefixOf(0, 3), Buffer.from('\xfeSM', 'latin1')])],
      ['a message of another protocol', async () => framed(Buffer.alloc(100, 0x41))],
      ['a compressed message', async (client) => framed(await echo(client, (message) => message.writeUInt8(0xfc, 0)))],
      ['a header that is cut off', async (client) => framed((await echo(client)).subarray(0, HEADER_BYTES - 1))],
      ['a header of another length', async (client) => framed(await echo(client, (m) => m.writeUInt16LE(65, 4)))],
      ['an encrypted message of no session', async () => framed(transformOf(7n, randomBytes(100)))],
      ['an encrypted message of no bytes', async () => framed(transformOf(0n, Buffer.alloc(0)))],
    ];
    for (const [what, bytesOf] of rows) {
      ends(`${what}, sent by ${who},`, open, async (client) => {
        client.socket.write(await bytesOf(client));
      });
    }
  }

  ends('a message that only users may send, sent by a stranger,', stranger, async (client) => {
    client.socket.write(prefixOf(0, STRANGER_BYTES_MAX + 1));
  });
  ends('a message longer than anything that a user has to say', signedIn, async (client) => {
    client.socket.write(prefixOf(0, MESSAGE_BYTES_MAX + 1));
  });
  ends('an encrypted message that somebody else has encrypted', encrypting, async (client) => {
    client.sendRaw(transformOf(client.sessionId, randomBytes(100)));
  });
  ends('an encrypted message that is cut off', encrypting, async (client) => {
    client.sendRaw(transformOf(client.sessionId, randomBytes(100)).subarray(0, 51));
  });
  ends('SMB1 after SMB2 was agreed on', negotiated, async (client) => client.sendRaw(smb1Negotiate('SMB 2.???')));
  ends('SMB1 for a second time', stranger, async (client) => {
    client.sendRaw(smb1Negotiate('SMB 2.???'));
    client.sendRaw(smb1Negotiate('SMB 2.???'));
  });
  ends('SMB1 and nothing else', stranger, async (client) => client.sendRaw(smb1Negotiate('NT LM 0.12')));
  ends('SMB1 that is cut off', stranger, async (client) => {
    client.sendRaw(smb1Negotiate('SMB 2.???').subarray(0, 20));
  });
});

const framed = (message: Buffer): Buffer => Buffer.concat([prefixOf(0, message.length), message]);

function transformOf(sessionId: bigint, ciphertext: Buffer): Buffer {
  const header = Buffer.alloc(52);
  header.writeUInt32LE(0x424d_53fd, 0);
  randomBytes(32).copy(header, 4);
  header.writeUInt32LE(ciphertext.length, 36);
  header.writeUInt16LE(1, 42);
  header.writeBigUInt64LE(sessionId, 44);
  return Buffer.concat([header, ciphertext]);
}

/** In SMB 3.0, with a cipher. */
async function encrypting(): Promise<WireClient> {
  const client = await WireClient.connect(target.port);
  await client.negotiate({ dialect: 0x0300, capabilities: 0x40 });
  await client.authenticate(target.user, target.password);
  return client;
}

describe('messages out of turn', () => {
  ends('a second NEGOTIATE', signedIn, async (client) => {
    void client.request(CommandCode.NEGOTIATE, negotiateBody());
  });
  ends('anything but NEGOTIATE at first', stranger, async (client) => {
    client.sendRaw(await echo(client));
  });
  ends('NEGOTIATE in a compound', stranger, async (client) => {
    const first = client.header({ command: CommandCode.NEGOTIATE, nextCommand: 104 });
    const body = Buffer.concat([negotiateBody(), Buffer.alloc(2)]);
    client.sendRaw(Buffer.concat([first, body, client.header({ messageId: 1n }), EMPTY_REQUEST]));
  });
  ends('a message id that was used before', signedIn, async (client) => {
    const message = await echo(client);
    client.sendRaw(message);
    client.sendRaw(message);
  });
  ends('a message id that was used long before', signedIn, async (client) => {
    client.sendRaw(Buffer.concat([client.header({ messageId: 0n }), EMPTY_REQUEST]));
  });
  ends('a message id that was not granted', signedIn, async (client) => {
    client.sendRaw(Buffer.concat([client.header({ messageId: 100_000n }), EMPTY_REQUEST]));
  });
  ends('a message id beyond all', signedIn, async (client) => {
    client.sendRaw(Buffer.concat([client.header({ messageId: 0xffff_ffff_ffff_fffen }), EMPTY_REQUEST]));
  });
  ends('a charge of more credits than were granted', signedIn, async (client) => {
    client.sendRaw(
      Buffer.concat([client.header({ messageId: await client.take(), creditCharge: 0xffff }), EMPTY_REQUEST]),
    );
  });

  test('CANCEL of nothing is passed over, with any id', LIMIT, async () => {
    const client = await signedIn();
    for (const header of [
      { messageId: 0n },
      { messageId: 0xffff_ffff_ffff_ffffn },
      { messageId: 3n, flags: FLAG_ASYNC, asyncId: 17n },
      { messageId: 3n, sessionId: 17n, treeId: 99 },
    ]) {
      client.sendRaw(Buffer.concat([client.header({ command: CommandCode.CANCEL, ...header }), EMPTY_REQUEST]));
      client.sendRaw(client.header({ command: CommandCode.CANCEL, ...header }));
    }
    await stillServed(client);
    client.destroy();
  });
});

describe('compounds that cannot be taken apart', () => {
  const rows = [
    ['off the alignment', 73],
    ['in the header itself', 8],
    ['at the header that says so', 0xffff_fff8],
    ['behind the end', 144],
    ['so that no header fits', 136],
    ['where no header is', 80],
  ] as const;
  for (const [where, nextCommand] of rows) {
    ends(`a next request that is said to be ${where}`, signedIn, async (client) => {
      client.sendRaw(await twoRequests(client, nextCommand));
    });
  }
  ends('a chain that goes on until the message ends', signedIn, async (client) => {
    const pieces = Array.from({ length: 1_000 }, () => client.header({ nextCommand: HEADER_BYTES }));
    client.sendRaw(Buffer.concat(pieces));
  });
  ends('a compound of more requests than there are credits', signedIn, async (client) => {
    const first = await client.take();
    const pieces = Array.from({ length: 100_000 }, (_, index) => {
      const nextCommand = index === 99_999 ? 0 : 72;
      const head = client.header({ messageId: first + BigInt(index), nextCommand });
      return Buffer.concat([head, EMPTY_REQUEST, Buffer.alloc(4)]);
    });
    client.sendRaw(Buffer.concat(pieces));
  });
});

// ---- requests that make no sense

const someId = randomBytes(16);

/** One of each command, in order. */
const REQUESTS: readonly (readonly [string, number, Buffer])[] = [
  ['SESSION_SETUP', CommandCode.SESSION_SETUP, sessionSetup(ntlmNegotiate())],
  ['LOGOFF', CommandCode.LOGOFF, EMPTY_REQUEST],
  ['TREE_CONNECT', CommandCode.TREE_CONNECT, treeConnectBody('\\\\server\\share')],
  ['TREE_DISCONNECT', CommandCode.TREE_DISCONNECT, EMPTY_REQUEST],
  ['CREATE', CommandCode.CREATE, createBody('name')],
  ['CLOSE', CommandCode.CLOSE, closeBody(someId)],
  ['FLUSH', CommandCode.FLUSH, flushBody(someId)],
  ['READ', CommandCode.READ, readBody(someId, 0, 100)],
  ['WRITE', CommandCode.WRITE, writeBody(someId, 0, Buffer.from('text'))],
  ['LOCK', CommandCode.LOCK, lockBody(someId, [{ offset: 0n, length: 1n, flags: LOCK_EXCLUSIVE }])],
  ['IOCTL', CommandCode.IOCTL, ioctlBody(someId, { code: FSCTL_PIPE_TRANSCEIVE, input: Buffer.from('text') })],
  ['ECHO', CommandCode.ECHO, EMPTY_REQUEST],
  ['QUERY_DIRECTORY', CommandCode.QUERY_DIRECTORY, queryDirectoryBody(someId)],
  ['CHANGE_NOTIFY', CommandCode.CHANGE_NOTIFY, changeNotifyBody(someId)],
  ['QUERY_INFO', CommandCode.QUERY_INFO, queryInfoBody(someId)],
  ['SET_INFO', CommandCode.SET_INFO, setInfoBody(someId, { infoClass: FILE_END_OF_FILE, buffer: Buffer.alloc(8) })],
  ['OPLOCK_BREAK', CommandCode.OPLOCK_BREAK, oplockBreakBody(someId, 0)],
];

/** Those that may end with what they have in front of the part of no fixed length. */
const fixedBytesOf = (body: Buffer): number => body.readUInt16LE(0) & ~1;

describe('requests of the wrong form', () => {
  for (const [name, command, body] of REQUESTS) {
    test(`${name} of another structure is refused, and the connection goes on`, LIMIT, async () => {
      const client = await signedIn();
      for (const size of [0, 1, body.readUInt16LE(0) - 1, body.readUInt16LE(0) + 1, 0xffff]) {
        const changed = Buffer.from(body);
        changed.writeUInt16LE(size, 0);
        assert.equal(await statusOf(client, command, changed), 'INVALID_PARAMETER', `a size of ${size}`);
      }
      await stillServed(client);
      client.destroy();
    });

    test(`${name} that is cut off is refused, wherever that is, and the connection goes on`, LIMIT, async () => {
      const client = await signedIn();
      const lengths = Array.from({ length: fixedBytesOf(body) }, (_, length) => length);
      const statuses = await Promise.all(lengths.map((length) => statusOf(client, command, body.subarray(0, length))));
      assert.deepEqual(
        statuses,
        lengths.map(() => 'INVALID_PARAMETER'),
      );
      await stillServed(client);
      client.destroy();
    });
  }

  const U16 = 2;
  const U32 = 4;
  /** Where each command says where a part of it is, and how long: field, bytes of the field, value. */
  const parts = new Map<string, { offset: [number, number]; length: [number, number] }[]>([
    ['SESSION_SETUP', [{ offset: [12, U16], length: [14, U16] }]],
    ['TREE_CONNECT', [{ offset: [4, U16], length: [6, U16] }]],
    [
      'CREATE',
      [
        { offset: [44, U16], length: [46, U16] },
        { offset: [48, U32], length: [52, U32] },
      ],
    ],
    ['WRITE', [{ offset: [2, U16], length: [4, U32] }]],
    ['IOCTL', [{ offset: [24, U32], length: [28, U32] }]],
    ['QUERY_DIRECTORY', [{ offset: [24, U16], length: [26, U16] }]],
    ['SET_INFO', [{ offset: [8, U16], length: [4, U32] }]],
  ]);
  for (const [name, command, body] of REQUESTS.filter(([each]) => parts.has(each))) {
    test(`${name} with a part that lies outside is refused, and the connection goes on`, LIMIT, async () => {
      const client = await signedIn();
      for (const { offset, length } of parts.get(name) ?? []) {
        const endBytes = HEADER_BYTES + body.length;
        const rows: [number, number][] = [
          [0, 2],
          [HEADER_BYTES - 2, 2],
          [endBytes, 2],
          [endBytes - 2, 4],
          [HEADER_BYTES + 24, 0xfffe],
          [0xfffe, 2],
          ...(offset[1] === U32 ? ([[0xffff_fffe, 4]] as [number, number][]) : []),
          ...(length[1] === U32 ? ([[HEADER_BYTES + 24, 0xffff_fffe]] as [number, number][]) : []),
        ];
        for (const [at, lengthBytes] of rows) {
          const changed = Buffer.from(body);
          changed.writeUIntLE(at, ...offset);
          changed.writeUIntLE(lengthBytes, ...length);
          assert.equal(await statusOf(client, command, changed), 'INVALID_PARAMETER', `${lengthBytes} bytes at ${at}`);
        }
      }
      await stillServed(client);
      client.destroy();
    });
  }

  test('CREATE with contexts that are not what they say is refused, and the connection goes on', LIMIT, async () => {
    const client = await signedIn();
    const data = Buffer.alloc(8);
    const rows: [string, Buffer][] = [
      ['too short', Buffer.alloc(8)],
      ['a next one off the alignment', context('MxAc', data, (entry) => entry.writeUInt32LE(4, 0))],
      ['a next one outside', context('MxAc', data, (entry) => entry.writeUInt32LE(0xffff_fff8, 0))],
      ['a name outside', context('MxAc', data, (entry) => entry.writeUInt16LE(400, 4))],
      ['a name that is too short', context('MxAc', data, (entry) => entry.writeUInt16LE(3, 6))],
      ['data outside', context('MxAc', data, (entry) => entry.writeUInt32LE(0xffff_ffff, 12))],
      ['a lease of another length', context('RqLs', Buffer.alloc(33))],
      ['a durable request of another length', context('DH2Q', Buffer.alloc(4))],
      ['a time of another length', context('TWrp', Buffer.alloc(4))],
    ];
    for (const [what, contexts] of rows) {
      assert.equal(await statusOf(client, CommandCode.CREATE, withContexts(contexts)), 'INVALID_PARAMETER', what);
    }
    await stillServed(client);
    client.destroy();
  });

  test('half a character of a name is refused', LIMIT, async () => {
    const client = await signedIn();
    const named = createBody('name');
    named.writeUInt16LE(7, 46);
    assert.equal(await statusOf(client, CommandCode.CREATE, named), 'INVALID_PARAMETER');
    const listed = queryDirectoryBody(someId, { pattern: 'ab' });
    listed.writeUInt16LE(3, 26);
    assert.equal(await statusOf(client, CommandCode.QUERY_DIRECTORY, listed), 'INVALID_PARAMETER');
    client.destroy();
  });

  test('a command that there is not is refused, and the connection goes on', LIMIT, async () => {
    const client = await signedIn();
    for (const command of [0x13, 0x14, 0x100, 0xffff]) {
      assert.equal(await statusOf(client, command, EMPTY_REQUEST), 'INVALID_PARAMETER');
    }
    await stillServed(client);
    client.destroy();
  });
});

describe('requests that mean nothing', () => {
  const needs = (need: 'session' | 'tree'): typeof REQUESTS =>
    REQUESTS.filter(([name]) => {
      const needsNothing = name === 'SESSION_SETUP' || name === 'ECHO';
      return !needsNothing && (need === 'session' || (name !== 'LOGOFF' && name !== 'TREE_CONNECT'));
    });

  test('nothing is done before somebody has signed in', LIMIT, async () => {
    const client = await negotiated();
    for (const [name, command, body] of needs('session')) {
      assert.equal(await statusOf(client, command, body), 'USER_SESSION_DELETED', name);
    }
    await client.authenticate(target.user, target.password);
    await client.treeConnect(share.name);
    await goesOn(client, await client.create('late'));
    client.destroy();
  });

  test('nothing is done in the middle of signing in', LIMIT, async () => {
    const client = await negotiated();
    const challenge = await client.request(CommandCode.SESSION_SETUP, sessionSetup(ntlmNegotiate()));
    client.sessionId = challenge.header.sessionId;
    for (const [name, command, body] of needs('session')) {
      assert.equal(await statusOf(client, command, body), 'USER_SESSION_DELETED', name);
    }
    client.destroy();
  });

  test('a session that there is not, and one of another connection, are refused', LIMIT, async () => {
    const client = await signedIn();
    const { sessionId } = client;
    for (const other of [0n, 17n, beside.sessionId, 0xffff_ffff_ffff_ffffn]) {
      client.sessionId = other;
      for (const [name, command, body] of needs('session')) {
        assert.equal(await statusOf(client, command, body), 'USER_SESSION_DELETED', name);
      }
    }
    client.sessionId = sessionId;
    await stillServed(client);
    await goesOn(beside, besideId);
    client.destroy();
  });

  test('a share that nobody has connected to is refused', LIMIT, async () => {
    const client = await signedIn();
    for (const treeId of [0, 99, 0xffff_ffff]) {
      client.treeId = treeId;
      for (const [name, command, body] of needs('tree')) {
        assert.equal(await statusOf(client, command, body), 'NETWORK_NAME_DELETED', name);
      }
    }
    client.destroy();
  });

  const THROUGH_OPENS = ['CLOSE', 'FLUSH', 'READ', 'WRITE', 'LOCK', 'QUERY_DIRECTORY', 'CHANGE_NOTIFY', 'QUERY_INFO'];
  const throughOpens = REQUESTS.filter(([name]) => [...THROUGH_OPENS, 'SET_INFO', 'OPLOCK_BREAK'].includes(name));

  test('what is not open is refused, also what another has open, or the user on another share', LIMIT, async () => {
    const client = await signedIn();
    const { treeId } = client;
    await client.treeConnect((await freshShare(server)).name);
    const elsewhere = await client.create('elsewhere');
    client.treeId = treeId;
    const mixed = Buffer.concat([besideId.subarray(0, 8), elsewhere.subarray(8)]);
    for (const fileId of [Buffer.alloc(16), NO_FILE_ID, someId, besideId, elsewhere, mixed]) {
      for (const [name, command, body] of throughOpens) {
        assert.equal(await statusOf(client, command, withFileId(body, fileId)), 'FILE_CLOSED', name);
      }
    }
    await goesOn(beside, besideId);
    client.destroy();
  });

  test('what was closed is refused', LIMIT, async () => {
    const client = await signedIn();
    const fileId = await client.create('closed');
    await client.close(fileId);
    for (const [name, command, body] of throughOpens) {
      assert.equal(await statusOf(client, command, withFileId(body, fileId)), 'FILE_CLOSED', name);
    }
    client.destroy();
  });

  test('a wrong signature is refused, and the connection goes on', LIMIT, async () => {
    const client = await signedIn();
    const fileId = await client.create('signed');
    for (const [name, command, body] of REQUESTS.filter(([each]) => each !== 'SESSION_SETUP')) {
      const header = { flags: FLAG_SIGNED };
      assert.equal(await statusOf(client, command, body, 0, header), 'ACCESS_DENIED', name);
    }
    await goesOn(client, fileId);
    client.destroy();
  });

  test('the first request of a message is related to nothing', LIMIT, async () => {
    const client = await signedIn();
    for (const [name, command, body] of REQUESTS) {
      assert.equal(await statusOf(client, command, body, 0, { flags: FLAG_RELATED }), 'INVALID_PARAMETER', name);
    }
    client.destroy();
  });
});

describe('requests for too much', () => {
  test('what was not paid for is refused, and nothing of it is done', LIMIT, async () => {
    const client = await signedIn();
    const fileId = await client.create('unpaid');
    await client.write(fileId, 0, Buffer.from('as it was'));
    const twice = 2 * CREDIT_BYTES;
    const rows: [string, number, Buffer][] = [
      ['READ', CommandCode.READ, readBody(fileId, 0, twice)],
      ['WRITE', CommandCode.WRITE, writeBody(fileId, 0, Buffer.alloc(twice, 1))],
      ['QUERY_DIRECTORY', CommandCode.QUERY_DIRECTORY, queryDirectoryBody(fileId, { outputBytesMax: twice })],
      ['CHANGE_NOTIFY', CommandCode.CHANGE_NOTIFY, changeNotifyBody(fileId, { outputBytesMax: twice })],
      ['QUERY_INFO', CommandCode.QUERY_INFO, queryInfoBody(fileId, { outputBytesMax: twice })],
      ['SET_INFO', CommandCode.SET_INFO, setInfoBody(fileId, { infoClass: FILE_RENAME, buffer: Buffer.alloc(twice) })],
      ['IOCTL', CommandCode.IOCTL, ioctlBody(fileId, { code: FSCTL_PIPE_TRANSCEIVE, outputBytesMax: twice })],
    ];
    for (const [name, command, body] of rows) {
      assert.equal(await statusOf(client, command, body), 'INVALID_PARAMETER', name);
      assert.equal(await statusOf(client, command, body, 0, { creditCharge: 0 }), 'INVALID_PARAMETER', name);
    }
    assert.equal((await client.read(fileId, 0, 100)).toString(), 'as it was');
    client.destroy();
  });

  test('more than the longest transfer is refused, though it was paid for', LIMIT, async () => {
    const client = await signedIn();
    const fileId = await client.create('large');
    const directoryId = await client.create('', { options: DIRECTORY_FILE });
    const tooMuch = TRANSFER_BYTES_MAX + 1;
    const farTooMuch = 8 * TRANSFER_BYTES_MAX + 1;
    const longest = Buffer.alloc(TRANSFER_BYTES_MAX, 1);
    const rows: [string, number, Buffer][] = [
      ['READ', CommandCode.READ, readBody(fileId, 0, tooMuch)],
      ['WRITE', CommandCode.WRITE, writeBody(fileId, 0, Buffer.alloc(tooMuch))],
      ['QUERY_DIRECTORY', CommandCode.QUERY_DIRECTORY, queryDirectoryBody(directoryId, { outputBytesMax: farTooMuch })],
      ['CHANGE_NOTIFY', CommandCode.CHANGE_NOTIFY, changeNotifyBody(directoryId, { outputBytesMax: farTooMuch })],
      ['QUERY_INFO', CommandCode.QUERY_INFO, queryInfoBody(fileId, { outputBytesMax: farTooMuch })],
      ['IOCTL', CommandCode.IOCTL, ioctlBody(fileId, { code: FSCTL_PIPE_TRANSCEIVE, outputBytesMax: farTooMuch })],
    ];
    for (const [name, command, body] of rows) {
      assert.equal(await statusOf(client, command, body, farTooMuch), 'INVALID_PARAMETER', name);
    }
    assert.equal(
      await statusOf(client, CommandCode.READ, readBody(fileId, 0, 100)),
      'END_OF_FILE',
      'nothing was written',
    );
    await client.write(fileId, 0, longest);
    assert.deepEqual(await client.read(fileId, 0, longest.length), longest);
    client.destroy();
  });

  test('offsets beyond every file are refused or beyond the end', LIMIT, async () => {
    const client = await signedIn();
    const fileId = await client.create('offsets');
    for (const offset of [2n ** 63n - 1n, 2n ** 63n, 0xffff_ffff_ffff_fff0n, 0xffff_ffff_ffff_ffffn]) {
      const read = at(readBody(fileId, 0, 100), offset);
      assert.equal(await statusOf(client, CommandCode.READ, read), 'INVALID_PARAMETER', `READ at ${offset}`);
      const write = at(writeBody(fileId, 0, Buffer.from('text')), offset);
      assert.equal(await statusOf(client, CommandCode.WRITE, write), 'INVALID_PARAMETER', `WRITE at ${offset}`);
    }
    const far = at(readBody(fileId, 0, 100), 2n ** 62n);
    assert.equal(await statusOf(client, CommandCode.READ, far), 'END_OF_FILE');
    client.destroy();
  });

  test('locks that do not fit into the request, or are too many, are refused', LIMIT, async () => {
    const client = await signedIn();
    const fileId = await client.create('locked');
    for (const count of [0, 2, 1_000, 0xffff]) {
      const body = lockBody(fileId, [element(0n)]);
      body.writeUInt16LE(count, 2);
      assert.equal(await statusOf(client, CommandCode.LOCK, body), 'INVALID_PARAMETER', `${count} that are not there`);
    }
    const many = lockBody(
      fileId,
      Array.from({ length: 40_000 }, (_, index) => element(BigInt(index))),
    );
    assert.equal(await statusOf(client, CommandCode.LOCK, many, many.length), 'INVALID_PARAMETER');
    // Nothing is locked by any of these.
    const whole = lockBody(fileId, [{ offset: 0n, length: 0xffff_ffffn, flags: LOCK_EXCLUSIVE_AT_ONCE }]);
    assert.equal(await statusOf(client, CommandCode.LOCK, whole), 'SUCCESS');
    client.destroy();
  });
});

describe('signing in with what makes no sense', () => {
  test('a first token that is none is refused', LIMIT, async () => {
    const client = await negotiated();
    const ntlm = ntlmNegotiate();
    const tokens: [string, Buffer][] = [
      ['nothing', Buffer.alloc(0)],
      ['zeros', Buffer.alloc(100)],
      ['chance', randomBytes(500)],
      ['a name and no more', ntlm.subarray(0, 8)],
      ['a message that is cut off', ntlm.subarray(0, 14)],
      ['a message of another kind', Buffer.from(ntlm).fill(9, 8, 12)],
      ['nested without end', Buffer.alloc(10_000, 0x60)],
      ['a length without end', Buffer.concat([Buffer.from('6084ffffffff', 'hex'), Buffer.alloc(100)])],
      ['one that only ever opens', Buffer.from('60820100'.repeat(100), 'hex')],
    ];
    for (const [what, token] of tokens) {
      client.sessionId = 0n;
      assert.equal(await statusOf(client, CommandCode.SESSION_SETUP, sessionSetup(token)), 'LOGON_FAILURE', what);
    }
    await client.authenticate(target.user, target.password);
    client.destroy();
  });

  test('a second token that is none is refused, and one may begin again', LIMIT, async () => {
    const client = await negotiated();
    // What is no answer to a challenge at all is told apart from a wrong one.
    const changes: [string, (token: Buffer) => Buffer, string][] = [
      ['nothing', () => Buffer.alloc(0), 'INVALID_PARAMETER'],
      ['the first one again', () => ntlmNegotiate(), 'INVALID_PARAMETER'],
      ['cut off in its fields', (token) => token.subarray(0, 40), 'INVALID_PARAMETER'],
      ['cut off in what they point to', (token) => token.subarray(0, 100), 'INVALID_PARAMETER'],
      ['a response outside', (token) => withUInt32(token, 24, 0xffff_fff0), 'INVALID_PARAMETER'],
      ['a response in the head', (token) => withUInt32(token, 24, 0), 'LOGON_FAILURE'],
      ['a response of no length', (token) => withUInt32(token, 20, 0), 'LOGON_FAILURE'],
      ['a response of 16 bytes', (token) => withUInt32(token, 20, 0x0010_0010), 'LOGON_FAILURE'],
      ['a user outside', (token) => withUInt32(token, 40, 0xffff_fff0), 'INVALID_PARAMETER'],
      [
        'a session key outside',
        (token) => withUInt32(withUInt32(token, 52, 0x0010_0010), 56, 0xffff_fff0),
        'INVALID_PARAMETER',
      ],
      ['another password', (token) => withUInt32(token, 64 + 24 + 4, 17), 'LOGON_FAILURE'],
    ];
    for (const [what, change, status] of changes) {
      const token = change(right(await challengeOf(client)));
      assert.equal(await statusOf(client, CommandCode.SESSION_SETUP, sessionSetup(token)), status, what);
      const again = await statusOf(client, CommandCode.SESSION_SETUP, sessionSetup(token));
      assert.equal(again, 'USER_SESSION_DELETED', 'a sign-in that was refused is over');
    }
    const challenge = await challengeOf(client);
    assert.equal(await statusOf(client, CommandCode.SESSION_SETUP, sessionSetup(right(challenge))), 'SUCCESS');
    client.destroy();
  });
});

describe('a client that goes away', () => {
  test('leaves nothing open, wherever it was', LIMIT, async () => {
    const place = await freshShare(server);
    const other = await WireClient.open(target, place.name);
    const locked = await other.create('locked');
    const client = await WireClient.open(target, place.name);
    const mine = await client.create('locked');
    const directory = await client.create('', { options: DIRECTORY_FILE });
    const exclusive = { offset: 0n, length: 10n, flags: LOCK_EXCLUSIVE };
    await other.succeed(CommandCode.LOCK, lockBody(locked, [exclusive]));
    // One that waits for a lock, one for a change, one that is being written, one about to be opened, one that is half sent.
    void client.request(CommandCode.LOCK, lockBody(mine, [exclusive]));
    void client.request(CommandCode.CHANGE_NOTIFY, changeNotifyBody(directory));
    await until({ what: 'both wait', limitSeconds: 10 }, () => client.interims.length === 2);
    const written = await client.create('written');
    void client.request(CommandCode.WRITE, writeBody(written, 0, Buffer.alloc(1_000_000, 1)), 1_000_000);
    for (let number = 0; number < 20; number++) void client.request(CommandCode.CREATE, createBody(`opened-${number}`));
    client.socket.write(prefixOf(0, 5_000));
    client.socket.write(randomBytes(100), () => client.destroy());
    await client.closed;

    const handlesOf = async (): Promise<string[]> => {
      const handles: string[] = [];
      for await (const handle of place.getDirectoryClient('').listHandles({ recursive: true }))
        handles.push(handle.path);
      return handles;
    };
    await until({ what: 'only what the other has is open', limitSeconds: 10 }, async () => {
      const handles = await handlesOf();
      return handles.join() === 'locked';
    });
    await other.close(locked);
    await until({ what: 'nothing is open', limitSeconds: 10 }, async () => (await handlesOf()).length === 0);
    const again = await other.create('locked', { share: 0 });
    assert.equal(
      await statusOf(other, CommandCode.LOCK, lockBody(again, [{ ...exclusive, flags: LOCK_EXCLUSIVE_AT_ONCE }])),
      'SUCCESS',
      'nobody has a lock any more',
    );
    other.destroy();
  });
});
