/** Requests as impacket and Samba's clients send them, byte for byte. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { NEW_SHARE } from '../../../test/harness/file-store.ts';
import { Random } from '../../../test/harness/random.ts';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import { createShare } from '../../service/file/create-share.ts';
import type { Pipe } from '../session/pipe.ts';
import { SmbError, statusName } from '../statuses.ts';
import { NdrReader } from './ndr.ts';
import { openRpcPipe } from './open-rpc-pipe.ts';
import { FRAGMENT_BYTES_MAX } from './pdu.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

const SRVSVC = 'c84f324b7016d30112785a47bf6ee188 03000000';
const WKSSVC = '98d0ff6b12a11036983346c3f87e345a 01000000';
const NDR = '045d888aeb1cc9119fe808002b104860 02000000';
const NDR64 = '33057171babe37498319b5dbef9ccc36 01000000';
const BIND_TIME_FEATURES = '2c1cb76c12984045 0300000000000000 01000000';
const NOTHING = `${'00'.repeat(16)} 00000000`;

/** `\\127.0.0.1`, as a pointer to a text. */
const SERVER = '20080000 0c000000 00000000 0c000000 5c005c003100320037002e0030002e0030002e0031000000';

const u16 = (value: number): string => Buffer.from(Uint16Array.of(value).buffer).toString('hex');
const u32 = (value: number): string => Buffer.from(Uint32Array.of(value).buffer).toString('hex');

/** As the first message of a type, or a fragment in the middle of it. */
function pdu(type: number, body: string, { flags = 3, callId = 1, auth = 0 } = {}): Buffer {
  const bytes = hex(body);
  const head = Buffer.from([5, 0, type, flags, 0x10, 0, 0, 0]);
  return Buffer.concat([head, hex(u16(16 + bytes.length) + u16(auth) + u32(callId)), bytes]);
}

const bindBody = (contexts: readonly string[], takes = FRAGMENT_BYTES_MAX): string =>
  `b810 ${u16(takes)} 00000000 0${contexts.length}000000 ${contexts.map((each, id) => `${u16(id)} 0100 ${each}`).join('')}`;

const bind = (...contexts: readonly string[]): Buffer => pdu(11, bindBody(contexts));

const request = (
  operation: number,
  stub: string,
  options: { flags?: number; callId?: number; context?: number } = {},
) => pdu(0, `${u32(stub.length / 2)} ${u16(options.context ?? 0)} ${u16(operation)} ${stub}`, options);

const enumStub = (level: number, { bytesMax = 0xffff_ffff, resumeAt = null as number | null } = {}): string =>
  `${SERVER} ${u32(level)} ${u32(level)} d18c0000 00000000 00000000 ${u32(bytesMax)} ` +
  (resumeAt === null ? '00000000' : `01000000 ${u32(resumeAt)}`);

async function ask(pipe: Pipe, message: Buffer): Promise<Buffer> {
  const first = await pipe.transceive(message, 1 << 20);
  assert.ok(first !== null && !first.hasMore);
  return Buffer.from(first.bytes);
}

/** The results of a call, from all fragments of its answer. */
async function call(pipe: Pipe, operation: number, stub: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let fragment = await ask(pipe, request(operation, stub));
  for (;;) {
    assert.equal(fragment[2], 2, `no response but ${fragment.toString('hex')}`);
    assert.equal(fragment.readUInt16LE(8), fragment.length);
    assert.ok(fragment.length <= FRAGMENT_BYTES_MAX);
    assert.equal(((fragment[3] as number) & 1) !== 0, pieces.length === 0);
    pieces.push(fragment.subarray(24));
    if (((fragment[3] as number) & 2) !== 0) return Buffer.concat(pieces);
    fragment = Buffer.from((await pipe.read(1 << 20))?.bytes as Uint8Array);
  }
}

async function faultOf(pipe: Pipe, message: Buffer): Promise<string> {
  const answer = await ask(pipe, message);
  return answer[2] === 3 ? answer.readUInt32LE(24).toString(16) : `type ${answer[2]}`;
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof SmbError, String(error));
  return statusName(error.status);
}

interface Enumerated {
  readonly rows: [name: string, type: number, remark: string][];
  readonly total: number;
  readonly resumeAt: number | null;
  readonly code: number;
}

/** Of level 1. */
function enumerated(stub: Buffer): Enumerated {
  const reader = new NdrReader(stub);
  assert.deepEqual([reader.u32(), reader.u32(), reader.hasPointee()], [1, 1, true]);
  const count = reader.u32();
  const rows: [string, number, string][] = [];
  if (reader.hasPointee()) {
    assert.equal(reader.u32(), count);
    const types = Array.from({ length: count }, () => [reader.u32(), reader.u32(), reader.u32()][1] as number);
    for (const type of types) rows.push([reader.text(), type, reader.text()]);
  }
  const total = reader.u32();
  const resumeAt = reader.hasPointee() ? reader.u32() : null;
  return { rows, total, resumeAt, code: reader.u32() };
}

function shareStub(name: string, level: number): string {
  const length = u32(name.length + 1);
  const gap = name.length % 2 === 0 ? 'bfbf' : '';
  return `${SERVER} ${length} 00000000 ${length} ${Buffer.from(`${name}\0`, 'utf16le').toString('hex')} ${gap} ${u32(level)}`;
}

describe('pipes', () => {
  let store: TestStore;
  before(async () => {
    store = await TestStore.open();
    for (const share of ['photos', 'letters', 'bills']) {
      await createShare(store.storage, { account: ACCOUNT, share }, NEW_SHARE);
    }
    await createShare(store.storage, { account: 'another', share: 'secret' }, NEW_SHARE);
  });

  const open = (name: string, account = ACCOUNT): Pipe => {
    const pipe = openRpcPipe(name, { storage: store.storage, account });
    assert.ok(pipe !== null);
    return pipe;
  };
  const bound = async (account = ACCOUNT): Promise<Pipe> => {
    const pipe = open('srvsvc', account);
    await ask(pipe, bind(SRVSVC + NDR));
    return pipe;
  };

  test('are known by their names in several spellings, and there are no others', () => {
    for (const name of ['srvsvc', '\\srvsvc', 'PIPE\\SRVSVC', '\\pipe\\wkssvc']) open(name);
    for (const name of ['', 'lsarpc', 'srvsvc2', '\\\\srvsvc', 'pipe\\pipe\\srvsvc']) {
      assert.equal(openRpcPipe(name, { storage: store.storage, account: ACCOUNT }), null);
    }
  });

  describe('a bind', () => {
    test('of impacket is acknowledged, with the name of the pipe', async () => {
      const message = hex(
        '05000b03100000004800000001000000b810b810000000000100000000000100c84f324b7016d30112785a47bf6ee18803000000' +
          '045d888aeb1cc9119fe808002b10486002000000',
      );
      const answer = await ask(open('srvsvc'), message);
      const head = `05000c03 10000000 4400 0000 01000000 b810 b810 ${answer.toString('hex', 20, 24)}`;
      const address = `0d00 ${Buffer.from('\\PIPE\\srvsvc\0').toString('hex')} 00`;
      assert.deepEqual(answer, hex(`${head} ${address} 01000000 0000 0000 ${NDR}`));
    });

    test('takes the way to write arguments that it knows, and refuses the others of Windows', async () => {
      const pipe = open('srvsvc');
      const answer = await ask(pipe, bind(SRVSVC + NDR64, SRVSVC + NDR, SRVSVC + BIND_TIME_FEATURES));
      assert.deepEqual(answer.subarray(40), hex(`03000000 0200 0200 ${NOTHING} 0000 0000 ${NDR} 0200 0200 ${NOTHING}`));
      const stub = `00000000 ${u32(100)}`;
      assert.equal(await faultOf(pipe, request(21, stub, { context: 0 })), '1c010003');
      assert.equal((await ask(pipe, request(21, stub, { context: 1 })))[2], 2);
    });

    test('to an interface that is not there is refused, and altered to one that is', async () => {
      const pipe = open('srvsvc');
      const answer = await ask(pipe, bind(WKSSVC + NDR));
      assert.deepEqual(answer.subarray(40), hex(`01000000 0200 0100 ${NOTHING}`));
      assert.equal(await faultOf(pipe, request(21, `00000000 ${u32(100)}`)), '1c010003');
      const altered = await ask(pipe, pdu(14, bindBody([SRVSVC + NDR])));
      assert.deepEqual([altered[2], altered.subarray(28)], [15, hex(`01000000 0000 0000 ${NDR}`)]);
      assert.equal((await call(pipe, 21, `00000000 ${u32(100)}`)).readUInt32LE(0), 100);
    });

    test('with security of its own is refused as such', async () => {
      const answer = await ask(open('srvsvc'), pdu(11, `${bindBody([SRVSVC + NDR])} ${'00'.repeat(24)}`, { auth: 16 }));
      assert.deepEqual([answer[2], answer.readUInt16LE(16)], [13, 8]);
    });
  });

  describe('NetrShareEnum', () => {
    test('tells the shares of the account, and IPC$', async () => {
      assert.deepEqual(enumerated(await call(await bound(), 15, enumStub(1))), {
        rows: [
          ['bills', 0, ''],
          ['letters', 0, ''],
          ['photos', 0, ''],
          ['IPC$', 0x8000_0003, ''],
        ],
        total: 4,
        resumeAt: null,
        code: 0,
      });
    });

    test('and of no other', async () => {
      const { rows } = enumerated(await call(await bound('another'), 15, enumStub(1)));
      assert.deepEqual(rows, [
        ['secret', 0, ''],
        ['IPC$', 0x8000_0003, ''],
      ]);
    });

    test('goes on where it was told to, for whoever wants little at a time', async () => {
      const pipe = await bound();
      const told: string[] = [];
      let resumeAt = 0;
      for (let code = 234; code === 234; ) {
        const page = enumerated(await call(pipe, 36, enumStub(1, { bytesMax: 150, resumeAt })));
        assert.ok(page.rows.length > 0 && page.total === 4 - told.length);
        told.push(...page.rows.map(([name]) => name));
        ({ code } = page);
        resumeAt = page.resumeAt as number;
      }
      assert.deepEqual([told, resumeAt], [['bills', 'letters', 'photos', 'IPC$'], 0]);
    });

    test('tells all of many, in fragments', async () => {
      const many = Array.from({ length: 300 }, (_, at) => `many-${String(at).padStart(3, '0')}`);
      for (const share of many) await createShare(store.storage, { account: 'large', share }, NEW_SHARE);
      const { rows } = enumerated(await call(await bound('large'), 15, enumStub(1)));
      assert.deepEqual(
        rows.map(([name]) => name),
        [...many, 'IPC$'],
      );
    });

    for (const [level, rowBytes] of [
      [0, 4],
      [2, 32],
      [501, 16],
      [502, 40],
    ] as const) {
      test(`knows level ${level}`, async () => {
        const reader = new NdrReader(await call(await bound('another'), 15, enumStub(level)));
        assert.deepEqual([reader.u32(), reader.u32(), reader.hasPointee(), reader.u32()], [level, level, true, 2]);
        assert.deepEqual([reader.hasPointee(), reader.u32()], [true, 2]);
        for (let at = 0; at < 2 * rowBytes; at += 4) reader.u32();
        assert.equal(reader.text(), 'secret');
      });
    }

    test('refuses a level that it does not know', async () => {
      const told = await call(await bound(), 15, enumStub(503));
      assert.deepEqual(told, hex(`${u32(503)} ${u32(503)} 00000000 00000000 00000000 ${u32(124)}`));
    });
  });

  describe('NetrShareGetInfo', () => {
    test('tells of a share by its name in any case', async () => {
      const reader = new NdrReader(await call(await bound(), 16, shareStub('Photos', 1)));
      assert.deepEqual([reader.u32(), reader.hasPointee()], [1, true]);
      assert.deepEqual([reader.hasPointee(), reader.u32(), reader.hasPointee()], [true, 0, true]);
      assert.deepEqual([reader.text(), reader.text(), reader.u32()], ['photos', '', 0]);
    });

    test('tells that there is no such share, also when another account has it', async () => {
      for (const name of ['secret', 'nothing', '']) {
        const told = await call(await bound(), 16, shareStub(name, 1));
        assert.deepEqual(told, hex(`${u32(1)} 00000000 ${u32(2310)}`), name);
      }
    });
  });

  test('NetrServerGetInfo tells name and version, in each of its levels', async () => {
    for (const [level, numbersBehind] of [
      [100, 0],
      [101, 4],
      [102, 11],
    ] as const) {
      const reader = new NdrReader(await call(await bound(), 21, `${SERVER} ${u32(level)}`));
      assert.deepEqual(
        [reader.u32(), reader.hasPointee(), reader.u32(), reader.hasPointee()],
        [level, true, 500, true],
      );
      for (let count = 0; count < numbersBehind; count++) reader.u32();
      assert.equal(reader.text(), 'LARIMAR');
    }
    const told = await call(await bound(), 21, `${SERVER} ${u32(1)}`);
    assert.deepEqual(told, hex(`${u32(1)} 00000000 ${u32(124)}`));
  });

  test('NetrWkstaGetInfo tells name, group and version', async () => {
    const pipe = open('wkssvc');
    await ask(pipe, bind(WKSSVC + NDR));
    const stub = '3fbb0000 01000000 00000000 01000000 0000 bfbf 64000000';
    const reader = new NdrReader(await call(pipe, 0, stub));
    assert.deepEqual([reader.u32(), reader.hasPointee(), reader.u32()], [100, true, 500]);
    assert.deepEqual([reader.hasPointee(), reader.hasPointee(), reader.u32(), reader.u32()], [true, true, 10, 0]);
    assert.deepEqual([reader.text(), reader.text(), reader.u32()], ['LARIMAR', 'WORKGROUP', 0]);
  });

  describe('a message', () => {
    const server100 = `${SERVER} ${u32(100)}`;

    test('may come in pieces, and several in one', async () => {
      const pipe = open('srvsvc');
      const both = Buffer.concat([bind(SRVSVC + NDR), request(21, server100)]);
      for (const at of both.keys()) await pipe.write(both.subarray(at, at + 1));
      assert.equal((await pipe.read(9999))?.bytes[2], 12);
      assert.equal((await pipe.read(9999))?.bytes[2], 2);
      await pipe.write(Buffer.concat([request(21, server100), request(21, server100)]));
      assert.equal((await pipe.read(9999))?.bytes[2], 2);
      assert.equal((await pipe.read(9999))?.bytes[2], 2);
      assert.equal(await pipe.read(9999), null);
    });

    test('whose arguments come in fragments is put together', async () => {
      const pipe = await bound();
      const cut = SERVER.length;
      await pipe.write(request(21, server100.slice(0, cut), { flags: 1 }));
      assert.equal(await pipe.read(9999), null);
      assert.equal((await ask(pipe, request(21, server100.slice(cut), { flags: 2 })))[2], 2);
    });

    test('is read as long as the reader likes, and says that there is more', async () => {
      const pipe = await bound();
      const whole = await ask(pipe, request(21, server100));
      const first = await pipe.transceive(request(21, server100), 10);
      assert.deepEqual([first?.bytes.length, first?.hasMore], [10, true]);
      const rest = await pipe.read(9999);
      assert.deepEqual([Buffer.concat([first?.bytes as Buffer, rest?.bytes as Buffer]), rest?.hasMore], [whole, false]);
    });

    test('is not answered before what was answered before is read', async () => {
      const pipe = await bound();
      await pipe.write(request(21, server100));
      assert.equal(await refusalOf(pipe.transceive(request(21, server100), 9999)), 'PIPE_BUSY');
    });

    test('of those that nobody reads the answers to ends the pipe when they are too many', async () => {
      const pipe = await bound();
      const many = Buffer.concat(Array.from({ length: 5_000 }, () => request(21, server100)));
      assert.equal(await refusalOf(pipe.write(many)), 'PIPE_DISCONNECTED');
      assert.equal((await pipe.read(9999))?.bytes[2], 2);
    });

    for (const [what, message, fault] of [
      ['an operation that is not there', request(99, ''), '1c010002'],
      ['arguments that end too early', request(15, SERVER), '6f7'],
      ['no arguments', request(15, ''), '6f7'],
      ['a text that is longer than its message', request(21, '01000000 ffffff7f 00000000 ffffff7f'), '6f7'],
      ['a fragment that follows nothing', request(21, server100, { flags: 2 }), '1c01000b'],
      ['security of its own', pdu(0, `00000000 0000 1500 ${server100}`, { auth: 8 }), '1c01000b'],
    ] as const) {
      test(`with ${what} is answered with a fault, and the pipe goes on`, async () => {
        const pipe = await bound();
        assert.equal(await faultOf(pipe, message), fault);
        assert.equal((await ask(pipe, request(21, server100)))[2], 2);
      });
    }

    test('whose arguments are too many is answered with a fault', async () => {
      const pipe = await bound();
      const stub = '00'.repeat(4_096);
      for (let count = 0; count < 16; count++) await pipe.write(request(21, stub, { flags: count === 0 ? 1 : 0 }));
      assert.equal(await faultOf(pipe, request(21, stub, { flags: 0 })), '1c00001b');
    });

    test('that calls before it binds is answered with a fault', async () => {
      assert.equal(await faultOf(open('srvsvc'), request(21, server100)), '1c01000b');
    });

    test('that is anything at all is answered, or ends the pipe', async () => {
      const random = new Random();
      console.log(`seed ${random.seed}`);
      const messages = [
        bind(SRVSVC + NDR, SRVSVC + NDR64),
        pdu(14, bindBody([SRVSVC + NDR])),
        request(15, enumStub(1, { resumeAt: 1 })),
        request(21, server100, { flags: 1 }),
        request(21, server100),
        pdu(18, ''),
      ];
      for (let count = 0; count < 2_000; count++) {
        const pipe = random.chance(0.1) ? open('srvsvc') : await bound();
        const bytes = Buffer.concat(Array.from({ length: 1 + random.below(4) }, () => random.pick(messages)));
        for (let changes = random.below(4); changes > 0; changes--)
          bytes[random.below(bytes.length)] = random.below(256);
        const told = await pipe.write(bytes.subarray(0, random.below(bytes.length + 1))).then(
          () => 'taken',
          (error: unknown) => (error instanceof SmbError ? statusName(error.status) : String(error)),
        );
        assert.ok(told === 'taken' || told === 'PIPE_DISCONNECTED', told);
      }
    });

    for (const [what, message] of [
      ['of another protocol', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
      ['that says it is shorter than its head', hex('05000003 10000000 0f00 0000 01000000')],
      ['that says it is longer than a fragment', hex('05000003 10000000 ffff 0000 01000000')],
      ['with the most significant byte first', hex('05000003 00000000 0010 0000 00000001')],
      ['of no type', pdu(77, '')],
      ['that binds to nothing', pdu(11, '')],
      ['that binds to more than it names', pdu(11, 'b810b810 00000000 ff000000')],
      ['that binds a second time', bind(SRVSVC + NDR)],
      ['that is half a call', pdu(0, '00000000')],
    ] as const) {
      test(`${what} ends the pipe`, async () => {
        const pipe = await bound();
        assert.equal(await refusalOf(pipe.write(message)), 'PIPE_DISCONNECTED');
        assert.equal(await refusalOf(pipe.read(9999)), 'PIPE_DISCONNECTED');
        assert.equal(await refusalOf(pipe.write(request(21, server100))), 'PIPE_DISCONNECTED');
      });
    }
  });
});
