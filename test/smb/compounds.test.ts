/**
 * Compounds ([MS-SMB2] 3.3.5.2.7): several requests in one message. What related ones hand on to each other, where that ends, what
 * becomes of those that wait, and that nobody gets more into memory by it than by single requests.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import { statusName } from '../../src/smb/statuses.ts';
import { CommandCode, FLAG_ASYNC, FLAG_RELATED } from '../../src/smb/wire/header.ts';
import {
  changeNotifyBody,
  EMPTY_REQUEST,
  LOCK_EXCLUSIVE,
  LOCK_EXCLUSIVE_AT_ONCE,
  lockBody,
  NO_FILE_ID,
  queryDirectoryBody,
  queryInfoBody,
  setInfoBody,
  treeConnectBody,
} from '../harness/smb-bodies.ts';
import { openTestDoor } from '../harness/smb-door.ts';
import {
  type Answer,
  closeBody,
  createBody,
  DIRECTORY_FILE,
  readBody,
  WireClient,
  type WireRequest,
  writeBody,
} from '../harness/smb-wire.ts';
import { until } from '../harness/until.ts';

const LIMIT = { timeout: 30_000 };
const MIB = 1024 * 1024;
const TRANSFER_BYTES_MAX = MIB;
const FILE_DISPOSITION = 0x0d;
const OPEN = 1;
const CREATE_NEW = 2;

const door = await openTestDoor();
let client: WireClient;

beforeEach(async () => {
  client = await WireClient.open(door, 'share');
});

afterEach(() => {
  client.destroy();
  assert.deepEqual(door.errors, []);
});

const unrelated = (command: number, body: Buffer, payloadBytes = 0): WireRequest => ({ command, body, payloadBytes });

/** Of the same session, tree and file as the one before it, whatever its header says of them. */
const related = (command: number, body: Buffer, payloadBytes = 0): WireRequest => ({
  command,
  body,
  payloadBytes,
  header: { flags: FLAG_RELATED, sessionId: 0xffff_ffff_ffff_ffffn, treeId: 0xffff_ffff },
});

const create = (name: string, terms: Parameters<typeof createBody>[1] = {}): WireRequest =>
  unrelated(CommandCode.CREATE, createBody(name, terms));
const echo = (): WireRequest => unrelated(CommandCode.ECHO, EMPTY_REQUEST);
const write = (text: string): WireRequest => related(CommandCode.WRITE, writeBody(NO_FILE_ID, 0, Buffer.from(text)));
const read = (lengthBytes = 100): WireRequest => related(CommandCode.READ, readBody(NO_FILE_ID, 0, lengthBytes));
const close = (): WireRequest => related(CommandCode.CLOSE, closeBody(NO_FILE_ID));

async function send(...requests: readonly WireRequest[]): Promise<Answer[]> {
  return Promise.all(await client.compound(requests));
}

const statusesOf = (answers: readonly Answer[]): string[] => answers.map(({ header }) => statusName(header.status));

async function statuses(...requests: readonly WireRequest[]): Promise<string[]> {
  return statusesOf(await send(...requests));
}

const textOf = ({ body }: Answer): string => body.subarray(16, 16 + body.readUInt32LE(4)).toString();

const notify = (): WireRequest => related(CommandCode.CHANGE_NOTIFY, changeNotifyBody(NO_FILE_ID));

/** Until it has credits for so much. */
async function saveUp(creditCount: number): Promise<void> {
  const asked = Math.ceil(creditCount / 250);
  await Promise.all(Array.from({ length: asked + 1 }, () => client.request(CommandCode.ECHO, EMPTY_REQUEST)));
}

describe('what is handed on', () => {
  test('a file that is opened is meant by the requests after it', LIMIT, async () => {
    const answers = await send(create('a'), write('some text'), read(), close());
    assert.deepEqual(statusesOf(answers), ['SUCCESS', 'SUCCESS', 'SUCCESS', 'SUCCESS']);
    assert.equal(textOf(answers[2] as Answer), 'some text');
    assert.equal((await door.share.read('a')).toString(), 'some text');
  });

  test('the refusal to open is that of the requests after it', LIMIT, async () => {
    const missing = create('nowhere', { disposition: OPEN });
    const refused = 'OBJECT_NAME_NOT_FOUND';
    assert.deepEqual(await statuses(missing, read(), write('text'), close()), [refused, refused, refused, refused]);
  });

  test('a refusal of anything else is its own affair', LIMIT, async () => {
    const tooLong = related(CommandCode.READ, readBody(NO_FILE_ID, 1_000, 10));
    assert.deepEqual(await statuses(create('b'), tooLong, write('text'), close()), [
      'SUCCESS',
      'END_OF_FILE',
      'SUCCESS',
      'SUCCESS',
    ]);
  });

  test('a file that is named is meant by the related requests after it', LIMIT, async () => {
    const fileId = await client.create('c');
    await client.write(fileId, 0, Buffer.from('of the named file'));
    const named = unrelated(CommandCode.QUERY_INFO, queryInfoBody(fileId));
    const answers = await send(named, read(), close());
    assert.deepEqual(statusesOf(answers), ['SUCCESS', 'SUCCESS', 'SUCCESS']);
    assert.equal(textOf(answers[1] as Answer), 'of the named file');
  });

  test('the second of two files that are opened is meant by what follows', LIMIT, async () => {
    await door.share.createFile('first', Buffer.from('first'));
    await door.share.createFile('second', Buffer.from('second'));
    const second = related(CommandCode.CREATE, createBody('second'));
    const answers = await send(create('first'), second, read());
    assert.equal(textOf(answers[2] as Answer), 'second');
  });

  test('a second file that is not opened leaves nothing to be meant', LIMIT, async () => {
    const second = related(CommandCode.CREATE, createBody('d', { disposition: CREATE_NEW }));
    assert.deepEqual(await statuses(create('d'), second, read()), [
      'SUCCESS',
      'OBJECT_NAME_COLLISION',
      'OBJECT_NAME_COLLISION',
    ]);
  });

  test('a file that is closed on the way is closed', LIMIT, async () => {
    assert.deepEqual(await statuses(create('e'), close(), read(), close()), [
      'SUCCESS',
      'SUCCESS',
      'FILE_CLOSED',
      'FILE_CLOSED',
    ]);
  });

  test('a share that is connected to is meant by what follows', LIMIT, async () => {
    const connect = unrelated(CommandCode.TREE_CONNECT, treeConnectBody('\\\\server\\share'));
    const made = related(CommandCode.CREATE, createBody('f'));
    const answers = await send(connect, made, write('on the new one'), close());
    assert.deepEqual(statusesOf(answers), ['SUCCESS', 'SUCCESS', 'SUCCESS', 'SUCCESS']);
    const [connected, opened] = answers as [Answer, Answer];
    assert.notEqual(connected.header.treeId, client.treeId);
    assert.equal(opened.header.treeId, connected.header.treeId);
    assert.equal((await door.share.read('f')).toString(), 'on the new one');
  });

  test('after the user has left, nobody is meant', LIMIT, async () => {
    const leave = unrelated(CommandCode.LOGOFF, EMPTY_REQUEST);
    const [left, opened, made] = await statuses(leave, related(CommandCode.CREATE, createBody('g')), create('g'));
    assert.equal(left, 'SUCCESS');
    assert.deepEqual([opened, made], ['USER_SESSION_DELETED', 'USER_SESSION_DELETED']);
  });

  test('a session that there is not leaves nothing to be related to', LIMIT, async () => {
    const lost = { ...create('h'), header: { sessionId: 17n } };
    assert.deepEqual(await statuses(lost, read(), close()), [
      'USER_SESSION_DELETED',
      'INVALID_PARAMETER',
      'INVALID_PARAMETER',
    ]);
  });
});

describe('where a chain ends', () => {
  test('a request that is not related begins anew: no file is meant after it', LIMIT, async () => {
    assert.deepEqual(await statuses(create('i'), echo(), read()), ['SUCCESS', 'SUCCESS', 'INVALID_HANDLE']);
  });

  test('two chains of one message do not know of each other', LIMIT, async () => {
    await door.share.createFile('one', Buffer.from('one'));
    await door.share.createFile('two', Buffer.from('two'));
    const answers = await send(create('one'), read(), close(), create('two'), read(), close());
    assert.deepEqual(statusesOf(answers), Array(6).fill('SUCCESS'));
    assert.deepEqual([textOf(answers[1] as Answer), textOf(answers[4] as Answer)], ['one', 'two']);
    const missing = create('nowhere', { disposition: OPEN });
    assert.deepEqual(await statuses(missing, read(), create('two'), read()), [
      'OBJECT_NAME_NOT_FOUND',
      'OBJECT_NAME_NOT_FOUND',
      'SUCCESS',
      'SUCCESS',
    ]);
  });

  test('a file of one message is not meant in the next', LIMIT, async () => {
    assert.deepEqual(await statuses(create('j')), ['SUCCESS']);
    assert.deepEqual(await statuses(echo(), read()), ['SUCCESS', 'INVALID_HANDLE']);
  });

  test('requests that make no sense are refused one by one, and the others are done', LIMIT, async () => {
    const cut = unrelated(CommandCode.CREATE, createBody('k').subarray(0, 20));
    const unknown = unrelated(0x77, EMPTY_REQUEST);
    const cancel = unrelated(CommandCode.CANCEL, EMPTY_REQUEST);
    assert.deepEqual(await statuses(echo(), cut, unknown, cancel, create('k'), read()), [
      'SUCCESS',
      'INVALID_PARAMETER',
      'INVALID_PARAMETER',
      'INVALID_PARAMETER',
      'SUCCESS',
      'END_OF_FILE',
    ]);
  });

  test('CANCEL at the beginning of a compound does not swallow what follows', LIMIT, async () => {
    const [, served] = await client.compound([unrelated(CommandCode.CANCEL, EMPTY_REQUEST), echo()]);
    assert.deepEqual(statusesOf([(await served) as Answer]), ['SUCCESS']);
  });
});

describe('requests that wait', () => {
  const watched = 'watched';
  const openDirectory = (): WireRequest => create(watched, { options: DIRECTORY_FILE });
  const exclusive = { offset: 0n, length: 10n, flags: LOCK_EXCLUSIVE };
  const lock = (): WireRequest => related(CommandCode.LOCK, lockBody(NO_FILE_ID, [exclusive]));

  test('the last may wait: what comes before it is answered first', LIMIT, async () => {
    const [opened, told] = await client.compound([openDirectory(), notify()]);
    assert.equal(statusName((await opened)?.header.status ?? -1), 'SUCCESS');
    await until({ what: 'it is told to wait', limitSeconds: 10 }, () => client.interims.length === 1);
    await client.close(await client.create(`${watched}\\new`));
    const answer = (await told) as Answer;
    assert.equal(statusName(answer.header.status), 'SUCCESS');
    assert.equal(answer.header.flags & FLAG_ASYNC, FLAG_ASYNC);
    assert.equal(answer.header.asyncId, client.interims[0]?.asyncId);
  });

  test('one in the middle that may wait for ever is refused, and what follows is done', LIMIT, async () => {
    const other = await WireClient.open(door, 'share');
    const theirs = await other.create('l');
    await other.succeed(CommandCode.LOCK, lockBody(theirs, [exclusive]));
    assert.deepEqual(await statuses(create('l'), lock(), close()), ['SUCCESS', 'INTERNAL_ERROR', 'SUCCESS']);
    assert.deepEqual(await statuses(openDirectory(), notify(), close()), ['SUCCESS', 'INTERNAL_ERROR', 'SUCCESS']);
    assert.deepEqual(client.interims, []);
    other.destroy();
  });

  test('one in the middle that need not wait is answered', LIMIT, async () => {
    assert.deepEqual(await statuses(create('m'), lock(), write('text'), close()), Array(4).fill('SUCCESS'));
  });

  test(
    'what was refused in the middle waits for nothing: the next request is told of what happens',
    LIMIT,
    async () => {
      const [opened, refused] = await send(openDirectory(), notify(), echo());
      assert.equal(statusName(refused?.header.status ?? -1), 'INTERNAL_ERROR');
      const directoryId = Buffer.from((opened as Answer).body.subarray(64, 80));
      const told = client.request(CommandCode.CHANGE_NOTIFY, changeNotifyBody(directoryId));
      await until({ what: 'it is told to wait', limitSeconds: 10 }, () => client.interims.length === 1);
      await client.close(await client.create(`${watched}\\newer`));
      assert.deepEqual(statusesOf([await told]), ['SUCCESS']);
    },
  );

  test('what was refused in the middle does no harm when the directory goes', LIMIT, async () => {
    const [opened] = await send(create('going', { options: DIRECTORY_FILE }), notify(), echo());
    const directoryId = Buffer.from((opened as Answer).body.subarray(64, 80));
    const disposition = { infoClass: FILE_DISPOSITION, buffer: Buffer.from([1]) };
    await client.succeed(CommandCode.SET_INFO, setInfoBody(directoryId, disposition));
    await client.close(directoryId);
    assert.deepEqual(await statuses(echo()), ['SUCCESS']);
  });

  test('a lock that is waited for at the end of a compound can be cancelled', LIMIT, async () => {
    const other = await WireClient.open(door, 'share');
    const theirs = await other.create('n');
    await other.succeed(CommandCode.LOCK, lockBody(theirs, [exclusive]));
    const [, locked] = await client.compound([create('n'), lock()]);
    await until({ what: 'it is told to wait', limitSeconds: 10 }, () => client.interims.length === 1);
    const asyncId = client.interims[0]?.asyncId ?? 0n;
    const cancel = client.header({ command: CommandCode.CANCEL, flags: FLAG_ASYNC, asyncId });
    client.sendRaw(Buffer.concat([cancel, EMPTY_REQUEST]));
    assert.deepEqual(statusesOf([(await locked) as Answer]), ['CANCELLED']);
    await other.close(theirs);
    const again = await other.create('n');
    const atOnce = lockBody(again, [{ ...exclusive, flags: LOCK_EXCLUSIVE_AT_ONCE }]);
    await other.succeed(CommandCode.LOCK, atOnce);
    other.destroy();
  });
});

describe('compounds without end', () => {
  test('thousands of requests in one message are answered, each once', LIMIT, async () => {
    await saveUp(5_000);
    const answers = await send(...Array.from({ length: 5_000 }, echo));
    assert.deepEqual(new Set(statusesOf(answers)), new Set(['SUCCESS']));
    assert.equal(new Set(answers.map(({ header }) => header.messageId)).size, 5_000);
  });

  test('answers that are too long for one message come in several', LIMIT, async () => {
    await saveUp(1_000);
    const bytes = randomBytes(TRANSFER_BYTES_MAX);
    const fileId = await client.create('long');
    await client.write(fileId, 0, bytes);
    const whole = unrelated(CommandCode.READ, readBody(fileId, 0, bytes.length), bytes.length);
    const list = related(CommandCode.QUERY_DIRECTORY, queryDirectoryBody(NO_FILE_ID));
    const nine = Array.from({ length: 9 }, () => whole);
    const answers = await send(...nine, list, ...nine, echo());
    const succeed = Array.from({ length: 9 }, () => 'SUCCESS');
    assert.deepEqual(statusesOf(answers), [...succeed, 'INVALID_PARAMETER', ...succeed, 'SUCCESS']);
    const read = [...answers.slice(0, 9), ...answers.slice(10, 19)];
    for (const { body } of read) assert.ok(body.subarray(16, 16 + bytes.length).equals(bytes));
  });
});

test('a client beside them all is served', LIMIT, async () => {
  assert.deepEqual(await statuses(create('beside'), write('text'), read(), close()), Array(4).fill('SUCCESS'));
});

after(async () => {
  await door.close();
  assert.deepEqual(door.errors, []);
});
