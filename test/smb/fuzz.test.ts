/**
 * Requests of real SMB clients (test/vectors/smb-requests.json), put out of order in every part, by several clients at once.
 * Whatever comes is answered or ends its connection; nothing of the server's own breaks, a client beside them is served, memory
 * stays within bounds, and afterwards the store is in order. Seeded and bounded; LARIMAR_SEED replays what is sent, but for ids.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openFilesContent } from '../../src/content/files/files-content.ts';
import { openLmdbEngine } from '../../src/engine/lmdb/lmdb-engine.ts';
import { checkStore } from '../../src/service/check.ts';
import { md4 } from '../../src/smb/crypto/md4.ts';
import { Status, statusName } from '../../src/smb/statuses.ts';
import { splitCompound } from '../../src/smb/transport/compound.ts';
import { CommandCode, FLAG_ASYNC, FLAG_RELATED, HEADER_BYTES } from '../../src/smb/wire/header.ts';
import { encodeText } from '../../src/smb/wire/message.ts';
import { MECH_NTLM, mechTypesOf, NtlmClient, negTokenInit, negTokenResp } from '../harness/ntlm-client.ts';
import { Random } from '../harness/random.ts';
import { EMPTY_REQUEST, NO_FILE_ID, oplockBreakBody } from '../harness/smb-bodies.ts';
import { openTestDoor } from '../harness/smb-door.ts';
import {
  type Answer,
  createBody,
  DIRECTORY_FILE,
  ntlmAuthenticate,
  ntlmNegotiate,
  OPEN_IF,
  sessionSetup,
  WireClient,
} from '../harness/smb-wire.ts';
import { mutateBody, mutateBytes, mutateHeader, withFileId } from './mutate.ts';

const LANES = 4;
const MESSAGES_PER_LANE = 750;
/** Opens, locks and watches do not add up for ever. */
const MESSAGES_PER_CONNECTION = 40;
const SIGN_INS = 600;
const OPENS_KNOWN_MAX = 8;
const FILE_COUNT = 50;
const ATTRIBUTE_DIRECTORY = 0x10;
const DISPOSITION_AT = HEADER_BYTES + 36;
const OPEN = 1;
const ANSWER_LIMIT_MS = 20_000;
/** What has no answer yet may wait for somebody: the client gives way, and time passes. */
const STALL_MS = 20;
const MEMORY_BYTES_MAX = 512 * 1024 * 1024;

const { seed } = new Random();
const vectors = JSON.parse(await readFile(join('test', 'vectors', 'smb-requests.json'), 'utf8')) as Vectors;
const { negotiate: negotiations, ...sent } = vectors;

interface Vectors extends Record<string, readonly string[]> {
  readonly negotiate: readonly string[];
}

/** The requests of one message each. */
const MESSAGES: readonly (readonly Buffer[])[] = Object.values(sent)
  .flat()
  .map((hex) => (splitCompound(Buffer.from(hex, 'hex')) ?? []).map(({ bytes }) => bytes));
const REQUESTS = MESSAGES.flat();

// On disk, where keys and records have limits.
const folder = await mkdtemp(join(tmpdir(), 'larimar-fuzz-'));
const engine = await openLmdbEngine({ path: join(folder, 'records') });
const content = await openFilesContent({ path: join(folder, 'content') });
const door = await openTestDoor({ parts: { engine, content } });
after(async () => {
  await door.close();
  await engine.close();
  await content.close();
  await rm(folder, { recursive: true });
});

const memoryBytes = (): number => {
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
};

const NEVER = new Promise<never>(() => {});

// ---- one client

interface Known {
  readonly fileId: Buffer;
  readonly treeId: number;
  readonly isDirectory: boolean;
}

/** They make sense in directories only. */
const IN_DIRECTORIES: ReadonlySet<number> = new Set([CommandCode.QUERY_DIRECTORY, CommandCode.CHANGE_NOTIFY]);

class FuzzClient {
  readonly wire: WireClient;
  readonly #random: Random;
  readonly #trees: readonly number[];
  #known: Known[] = [];
  #meant: Known | null = null;

  private constructor(wire: WireClient, random: Random, trees: readonly number[]) {
    this.wire = wire;
    this.#random = random;
    this.#trees = trees;
  }

  static async open(random: Random): Promise<FuzzClient> {
    const wire = await WireClient.connect(door.port);
    await wire.negotiate({ dialect: random.pick([0x0210, 0x0300, 0x0302]) });
    await wire.authenticate(door.user, door.password);
    await wire.treeConnect('IPC$');
    const pipes = wire.treeId;
    await wire.treeConnect('share');
    const files = wire.treeId;
    const client = new FuzzClient(wire, random, [files, files, files, pipes]);
    await client.#create(pipes, createBody('srvsvc'));
    await client.#create(files, createBody('', { options: DIRECTORY_FILE }));
    return client;
  }

  /** Some of each: requests close them by and by. */
  async #haveOpens(): Promise<void> {
    const [files = 0] = this.#trees;
    const countOf = (wanted: boolean): number => this.#known.filter(({ isDirectory }) => isDirectory === wanted).length;
    const number = this.#random.below(FILE_COUNT);
    if (countOf(false) < 3) await this.#create(files, createBody(`file-${number}`));
    if (countOf(true) < 2) await this.#create(files, createBody(`directory-${number}`, { options: DIRECTORY_FILE }));
  }

  /** Others may have made that impossible. */
  async #create(treeId: number, body: Buffer): Promise<void> {
    const header = this.wire.header({ command: CommandCode.CREATE, treeId, messageId: await this.wire.take() });
    await this.send(Buffer.concat([header, body]));
  }

  /** With ids that mean something, and then out of order. */
  async message(): Promise<{ bytes: Buffer; isHeadless: boolean }> {
    const random = this.#random;
    await this.#haveOpens();
    const whole = random.pick(MESSAGES);
    const known = this.#pickFor((whole[0] as Buffer).readUInt16LE(12));
    this.#meant = known;
    const requests: Buffer[] = [];
    for (const [index, request] of whole.entries()) {
      requests.push(await this.#meaningful(request, known, index === 0));
    }
    const isHeadless = random.chance(0.05);
    for (let count = random.pick([0, 0, 1, 1, 1, 2, 3]); count > 0; count--) {
      const index = random.below(requests.length);
      const isLast = index === requests.length - 1;
      requests[index] = mutateBody(random, requests[index] as Buffer, { isLast, others: REQUESTS });
    }
    if (isHeadless) {
      const index = random.below(requests.length);
      requests[index] = mutateHeader(random, requests[index] as Buffer);
    }
    return { bytes: Buffer.concat(requests), isHeadless };
  }

  async #meaningful(request: Buffer, { treeId, fileId }: Known, isFirst: boolean): Promise<Buffer> {
    const changed = Buffer.from(this.#random.chance(0.95) ? withFileId(request, fileId) : request);
    // What clients open was there, and is not here.
    const isVain = changed.readUInt16LE(12) === CommandCode.CREATE && changed.readUInt32LE(DISPOSITION_AT) === OPEN;
    if (isVain && this.#random.chance(0.5)) changed.writeUInt32LE(OPEN_IF, DISPOSITION_AT);
    const charge = Math.max(1, changed.readUInt16LE(6));
    changed.writeBigUInt64LE(await this.wire.take(charge), 24);
    changed.writeUInt16LE(256, 14);
    const isRelated = (changed.readUInt32LE(16) & FLAG_RELATED) !== 0;
    if (isRelated && !isFirst) return changed;
    changed.writeUInt32LE((changed.readUInt32LE(16) & ~FLAG_ASYNC) >>> 0, 16);
    changed.writeUInt32LE(treeId, 36);
    changed.writeBigUInt64LE(this.wire.sessionId, 40);
    return changed;
  }

  /** What becomes of a message: the answers, or null: the connection has ended. Fails where neither comes. */
  async send(bytes: Buffer): Promise<Answer[] | null> {
    const headers = (splitCompound(bytes) ?? []).map(({ header }) => header);
    const isCancel = headers.length === 1 && headers[0]?.command === CommandCode.CANCEL;
    const mustEnd = headers.length === 0;
    const answers = Promise.all((isCancel ? [] : headers).map(({ messageId }) => this.wire.answerTo(messageId)));
    this.wire.sendRaw(bytes);
    const ended = this.wire.closed.then(() => null);
    const isOver = mustEnd ? ended : Promise.race([answers, ended]);
    for (const limitMs = performance.now() + ANSWER_LIMIT_MS; performance.now() < limitMs; ) {
      const result = await Promise.race([isOver, delay(STALL_MS, 'stalled' as const)]);
      this.#cacheNothing();
      if (result === 'stalled') {
        this.#waitNoLonger();
        continue;
      }
      for (const answer of result ?? []) this.#know(answer);
      return result;
    }
    throw new Error('no answer');
  }

  #pickFor(command: number): Known {
    const random = this.#random;
    const fits = this.#known.filter(({ isDirectory }) => isDirectory === IN_DIRECTORIES.has(command));
    const choices = fits.length === 0 || random.chance(0.2) ? this.#known : fits;
    const none = { fileId: NO_FILE_ID, treeId: random.pick(this.#trees), isDirectory: false };
    return choices.length === 0 || command === CommandCode.CREATE ? none : random.pick(choices);
  }

  /** What has been opened, by chance or not. */
  #know({ header: { command, status, treeId }, body }: Answer): void {
    const isClosed = command === CommandCode.CLOSE || status === Status.FILE_CLOSED;
    if (isClosed) this.#known = this.#known.filter((known) => known !== this.#meant);
    if (command !== CommandCode.CREATE || status !== Status.SUCCESS) return;
    const isDirectory = (body.readUInt32LE(56) & ATTRIBUTE_DIRECTORY) !== 0;
    const known = { fileId: Buffer.from(body.subarray(64, 80)), treeId, isDirectory };
    this.#known = [known, ...this.#known].slice(0, OPENS_KNOWN_MAX);
  }

  #waitNoLonger(): void {
    door.share.store.clock.advance({ seconds: 60 });
    for (const { asyncId } of this.wire.interims.splice(0)) {
      const header = this.wire.header({ command: CommandCode.CANCEL, flags: FLAG_ASYNC, asyncId });
      this.wire.sendRaw(Buffer.concat([header, EMPTY_REQUEST]));
    }
  }

  /** Others wait for the answer. */
  #cacheNothing(): void {
    for (const { body } of this.wire.notices.splice(0)) {
      const isOplock = body.readUInt16LE(0) === 24;
      const answer = isOplock ? oplockBreakBody(body.subarray(8, 24), 0) : leaseAnswer(body);
      void this.wire.request(CommandCode.OPLOCK_BREAK, answer);
    }
  }
}

function leaseAnswer(told: Buffer): Buffer {
  const body = Buffer.alloc(36);
  body.writeUInt16LE(36, 0);
  told.copy(body, 8, 8, 24);
  told.copy(body, 24, 28, 32);
  return body;
}

test('requests out of order are answered or end their connection, and harm nobody', async (t) => {
  t.diagnostic(`seed ${seed}`);
  for (let number = 0; number < FILE_COUNT; number++) {
    await door.share.createFile(`file-${number}`, Buffer.alloc(10_000, number));
    await door.share.createDirectory(`directory-${number}`);
    await door.share.createFile(`directory-${number}/file`, Buffer.from('text'));
  }
  await door.share.snapshot();
  const beside = await WireClient.open(door, 'share');
  const besideId = await beside.create('beside', { share: 0 });
  const memoryBefore = memoryBytes();

  const counts: Record<string, number> = {};
  const count = (what: string): void => void (counts[what] = (counts[what] ?? 0) + 1);
  const faults: string[] = [];
  const lane = async (number: number): Promise<void> => {
    const random = new Random(seed + number);
    let client = await FuzzClient.open(random);
    for (let sentCount = 0; sentCount < MESSAGES_PER_LANE && faults.length === 0; sentCount++) {
      const { bytes, isHeadless } = await client.message();
      const shown = `lane ${number}, message ${sentCount}: ${bytes.toString('hex', 0, 600)}`;
      const answers = await client.send(bytes).catch((error: Error) => void faults.push(`${error.message}, ${shown}`));
      for (const { header } of answers ?? []) {
        count(statusName(header.status));
        if (header.status === Status.UNEXPECTED_NETWORK_ERROR) faults.push(`a failure of the server's, ${shown}`);
      }
      if (answers === null) count('ended');
      if (door.errors.length > 0) faults.push(`${inspected(door.errors[0])}, ${shown}`);
      if (sentCount % 100 === 0) {
        const written = Buffer.from(`beside ${sentCount}`);
        await beside.write(besideId, 1_000 * number, written);
        assert.deepEqual(await beside.read(besideId, 1_000 * number, written.length), written);
        assert.ok(memoryBytes() - memoryBefore < MEMORY_BYTES_MAX, 'memory is used without end');
      }
      if (answers !== null && !isHeadless && sentCount % MESSAGES_PER_CONNECTION !== 0) continue;
      client.wire.destroy();
      client = await FuzzClient.open(random);
    }
    client.wire.destroy();
  };
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));

  t.diagnostic(`answers by status: ${JSON.stringify(counts)}`);
  assert.deepEqual(faults, []);
  for (const status of ['SUCCESS', 'INVALID_PARAMETER', 'FILE_CLOSED', 'ended', 'OBJECT_NAME_NOT_FOUND', 'CANCELLED']) {
    assert.ok((counts[status] ?? 0) > 0, `some answers are ${status}`);
  }
  await beside.close(besideId);
  beside.destroy();
});

const inspected = (error: unknown): string => {
  const { stack, cause } = error as Error;
  return `${stack}\n${cause instanceof Error ? cause.stack : String(cause)}`;
};

test('what strangers say out of order is answered or ends their connection, and lets nobody in', async (t) => {
  t.diagnostic(`seed ${seed}`);
  const random = new Random(seed);
  const beside = await WireClient.open(door, 'share');
  const counts: Record<string, number> = {};
  const count = (what: string): void => void (counts[what] = (counts[what] ?? 0) + 1);

  /** Null: the connection has ended, or it was CANCEL by chance, which has no answer. */
  const say = async (client: WireClient, command: number, body: Buffer): Promise<Answer | null> => {
    const request = Buffer.concat([client.header({ command, messageId: await client.take() }), body]);
    const message = random.chance(0.05) ? mutateHeader(random, request) : request;
    const [first] = splitCompound(message) ?? [];
    const answered = first === undefined ? NEVER : client.answerTo(first.header.messageId);
    client.sendRaw(message);
    if (first?.header.command === CommandCode.CANCEL) return null;
    const limit = delay(ANSWER_LIMIT_MS, 'none' as const, { ref: false });
    const answer = await Promise.race([answered, client.closed.then(() => null), limit]);
    if (answer === 'none') throw new Error(`no answer to ${message.toString('hex')}`);
    return answer;
  };

  for (let number = 0; number < SIGN_INS; number++) {
    const client = await WireClient.connect(door.port);
    const chosen = Buffer.from(random.pick(negotiations), 'hex').subarray(HEADER_BYTES);
    const negotiated = await say(
      client,
      CommandCode.NEGOTIATE,
      random.chance(0.5) ? mutateBytes(random, chosen) : chosen,
    );
    count(negotiated === null ? 'ended' : statusName(negotiated.header.status));
    if (negotiated?.header.status === Status.SUCCESS) await signInBadly(client);
    client.destroy();
  }

  async function signInBadly(client: WireClient): Promise<void> {
    const isWrapped = random.chance(0.5);
    const mechTypes = mechTypesOf([MECH_NTLM]);
    const ntlm = new NtlmClient({ user: door.user, ntHash: md4(encodeText('not the key')) });
    const first = isWrapped ? negTokenInit(mechTypes, ntlm.negotiate()) : ntlmNegotiate();
    const begun = await say(client, CommandCode.SESSION_SETUP, badly(first, 0.5));
    count(begun === null ? 'ended' : statusName(begun.header.status));
    if (begun?.header.status !== Status.MORE_PROCESSING_REQUIRED) return;
    client.sessionId = begun.header.sessionId;
    const token = begun.body.subarray(8);
    const challengeAt = token.indexOf('NTLMSSP');
    const challenge = token.subarray(challengeAt);
    const wrapped = (): Buffer => negTokenResp(challengeAt < 0 ? ntlm.negotiate() : ntlm.authenticate(challenge));
    const right = isWrapped ? wrapped() : ntlmAuthenticate(challenge, door.user, 'not the key');
    const done = await say(client, CommandCode.SESSION_SETUP, badly(right, 0.8));
    count(done === null ? 'ended' : statusName(done.header.status));
    assert.notEqual(done?.header.status, Status.SUCCESS, 'nobody is let in');
  }

  function badly(token: Buffer, probability: number): Buffer {
    const changed = random.chance(probability) ? mutateBytes(random, token) : token;
    const body = sessionSetup(changed);
    return random.chance(0.2) ? mutateBytes(random, body) : body;
  }

  t.diagnostic(`answers by status: ${JSON.stringify(counts)}`);
  assert.deepEqual(door.errors, []);
  for (const status of ['SUCCESS', 'INVALID_PARAMETER', 'LOGON_FAILURE', 'MORE_PROCESSING_REQUIRED', 'ended']) {
    assert.ok((counts[status] ?? 0) > 0, `some answers are ${status}`);
  }
  assert.equal((await beside.request(CommandCode.ECHO, EMPTY_REQUEST)).header.status, Status.SUCCESS);
  beside.destroy();
});

test('after all of them the store is in order', async () => {
  await door.close();
  assert.deepEqual(door.errors, []);
  assert.deepEqual(door.share.store.errors, []);
  const { findings } = await checkStore({ engine, content, afterCrash: false });
  assert.deepEqual(findings, []);
});
