import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { messageOf } from '../../../test/harness/smb-context.ts';
import { decodeClose, encodeClose } from './close.ts';
import { type CreateRequest, decodeCreate, encodeCreate, summaryOf } from './create.ts';
import {
  type ContextAnswer,
  decodeContexts,
  encodeContexts,
  encodeDiskId,
  encodeDurable2,
  encodeLease,
  encodeMaximalAccess,
} from './create-contexts.ts';
import { HEADER_BYTES } from './header.ts';
import { Malformed } from './message.ts';
import { decodeOplockBreak, encodeLeaseAnswer, encodeLeaseBreak, encodeOplockBreak } from './oplock-break.ts';

const NODE = {
  id: '00000000000000ff',
  kind: 'file',
  attributes: 0x20,
  createdAt: '1',
  writtenAt: '3',
  changedAt: '4',
  lengthBytes: 5000,
} as const;

/** The body of a request, with fields at their offsets. */
function requestBody({ name = 'a\\b', contexts = Buffer.alloc(0), oplockLevel = 9 } = {}): Buffer {
  const text = Buffer.from(name, 'utf16le');
  const contextsAt = Math.ceil((HEADER_BYTES + 56 + text.length) / 8) * 8;
  const body = Buffer.alloc(contextsAt - HEADER_BYTES + contexts.length);
  body.writeUInt16LE(57, 0);
  body.writeUInt8(oplockLevel, 3);
  body.writeUInt32LE(2, 4);
  body.writeUInt32LE(0x8010_0080, 24);
  body.writeUInt32LE(0x20, 28);
  body.writeUInt32LE(7, 32);
  body.writeUInt32LE(5, 36);
  body.writeUInt32LE(0x40, 40);
  body.writeUInt16LE(HEADER_BYTES + 56, 44);
  body.writeUInt16LE(text.length, 46);
  body.writeUInt32LE(contexts.length === 0 ? 0 : contextsAt, 48);
  body.writeUInt32LE(contexts.length, 52);
  text.copy(body, 56);
  contexts.copy(body, contextsAt - HEADER_BYTES);
  return body;
}

const decode = (body: Buffer): CreateRequest => decodeCreate(messageOf(body));

describe('a CREATE request', () => {
  test('is what was asked for', () => {
    const { contexts, ...request } = decode(requestBody());
    assert.deepEqual(request, {
      oplockLevel: 9,
      impersonationLevel: 2,
      desiredAccess: 0x8010_0080,
      attributes: 0x20,
      shareAccess: 7,
      disposition: 5,
      options: 0x40,
      name: 'a\\b',
    });
    assert.deepEqual(contexts, decodeContexts(Buffer.alloc(0)));
  });

  test('without a name means the root', () => assert.equal(decode(requestBody({ name: '' })).name, ''));

  for (const [what, spoil] of [
    ['another StructureSize', (body: Buffer) => body.writeUInt16LE(56, 0)],
    ['half a character', (body: Buffer) => body.writeUInt16LE(3, 46)],
    ['a name behind its end', (body: Buffer) => body.writeUInt16LE(4000, 44)],
    ['a name within the header', (body: Buffer) => body.writeUInt16LE(8, 44)],
    ['contexts behind its end', (body: Buffer) => body.writeUInt32LE(4000, 52)],
  ] as const) {
    test(`with ${what} is malformed`, () => {
      const body = requestBody();
      spoil(body);
      assert.throws(() => decode(body), Malformed);
    });
  }

  test('that is cut short is malformed', () => {
    assert.throws(() => decode(requestBody().subarray(0, 40)), Malformed);
  });
});

const entry = (name: string, data: Buffer = Buffer.alloc(0)): ContextAnswer => ({ name, data });
const decoded = (...contexts: ContextAnswer[]) => decodeContexts(encodeContexts(contexts));

describe('create contexts', () => {
  const key = '00112233445566778899aabbccddeeff';

  test('are found whatever their order, and unknown ones are passed over', () => {
    const id = Buffer.alloc(16, 0xab);
    const found = decoded(
      entry('xxxxx', Buffer.alloc(3)),
      entry('DHnC', id),
      entry('MxAc'),
      entry('QFid'),
      entry('AlSi', Buffer.from('0010000000000000', 'hex')),
      entry('TWrp', Buffer.from('0200000000000000', 'hex')),
      entry('SecD', Buffer.of(1, 2)),
      entry('ExtA'),
    );
    assert.deepEqual(found, {
      durable: null,
      reconnect: { version: 1, fileId: { persistent: id.readBigUInt64LE(), volatile: id.readBigUInt64LE() } },
      lease: null,
      maximalAccess: { writtenAt: null },
      asksForDiskId: true,
      allocationBytes: 0x1000n,
      snapshotAt: 2n,
      descriptor: Buffer.of(1, 2),
      hasExtendedAttributes: false,
      appInstanceId: null,
    });
  });

  test('carry the id of an application, under a name that is no text', () => {
    const head = '000000001000100000002000';
    const name = '45bca66aefa7f74a9008fa462e144d74';
    const named = Buffer.from(`${head}14000000${name}14000000${key}`, 'hex');
    assert.equal(decodeContexts(named).appInstanceId, key);
    named.writeUInt32LE(0x13, 12);
    assert.throws(() => decodeContexts(named), Malformed);
  });

  for (const version of [1, 2] as const) {
    test(`carry a lease of version ${version} there and back`, () => {
      const lease = {
        version,
        key,
        state: 7,
        flags: 4,
        parentKey: version === 2 ? key : '',
        epoch: version === 2 ? 9 : 0,
      };
      assert.deepEqual(decoded(encodeLease(lease)).lease, lease);
    });
  }

  test('carry what makes an open durable', () => {
    const data = Buffer.alloc(32);
    data.writeUInt32LE(1234, 0);
    data.write(key, 16, 'hex');
    assert.deepEqual(decoded(entry('DH2Q', data)).durable, { version: 2, timeoutMs: 1234, createGuid: key });
    assert.deepEqual(decoded(entry('DHnQ', Buffer.alloc(16))).durable, { version: 1 });
    const again = Buffer.alloc(36);
    again.writeBigUInt64LE(7n, 0);
    again.write(key, 16, 'hex');
    const want = { version: 2, fileId: { persistent: 7n, volatile: 0n }, createGuid: key };
    assert.deepEqual(decoded(entry('DH2C', again)).reconnect, want);
  });

  for (const [what, contexts] of [
    ['a name of three letters', [entry('xxx')]],
    ['a lease of another length', [entry('RqLs', Buffer.alloc(40))]],
    ['AlSi of another length', [entry('AlSi', Buffer.alloc(7))]],
    ['TWrp without a time', [entry('TWrp')]],
    ['both versions of what makes an open durable', [entry('DHnQ', Buffer.alloc(16)), entry('DH2Q', Buffer.alloc(32))]],
    ['DH2C beside DHnC', [entry('DHnC', Buffer.alloc(16)), entry('DH2C', Buffer.alloc(36))]],
  ] as const) {
    test(`with ${what} are malformed`, () => assert.throws(() => decoded(...contexts), Malformed));
  }

  test('that lie outside themselves are malformed', () => {
    const bytes = encodeContexts([entry('MxAc', Buffer.alloc(8)), entry('QFid')]);
    for (const [offset, value] of [
      [0, 4],
      [0, 4096],
      [4, 200],
      [12, 5000],
    ] as const) {
      const spoilt = Buffer.from(bytes);
      if (offset === 4) spoilt.writeUInt16LE(value, offset);
      else spoilt.writeUInt32LE(value, offset);
      assert.throws(() => decodeContexts(spoilt), Malformed, `${offset}`);
    }
    assert.throws(() => decodeContexts(bytes.subarray(0, 10)));
  });
});

test('a CREATE response has its fields at their offsets, and contexts that can be read back', () => {
  const contexts = [encodeMaximalAccess({ status: 0, access: 0x1f01ff }), encodeDiskId({ file: 255n, volume: 7n })];
  const fileId = { persistent: 11n, volatile: 12n };
  const body = encodeCreate({
    ...summaryOf(NODE, { reservedBytes: 0 }),
    oplockLevel: 0xff,
    action: 2,
    fileId,
    contexts,
  });
  assert.equal(body.readUInt16LE(0), 89);
  assert.equal(body.readUInt8(2), 0xff);
  assert.equal(body.readUInt32LE(4), 2);
  assert.deepEqual(
    [8, 16, 24, 32, 40, 48].map((at) => body.readBigUInt64LE(at)),
    [1n, 3n, 3n, 4n, 8192n, 5000n],
  );
  assert.equal(body.readUInt32LE(56), 0x20);
  assert.deepEqual([body.readBigUInt64LE(64), body.readBigUInt64LE(72)], [11n, 12n]);
  assert.equal(body.readUInt32LE(80), HEADER_BYTES + 88);
  assert.equal(body.readUInt32LE(84), body.length - 88);
  const found = decodeContexts(body.subarray(88));
  assert.equal(found.maximalAccess?.writtenAt, 0x1f01ffn << 32n);
  assert.equal(found.asksForDiskId, true);
  assert.equal(encodeDurable2(60_000).data.readUInt32LE(0), 60_000);
});

test('a CREATE response without contexts says so', () => {
  const body = encodeCreate({
    ...summaryOf(NODE, { reservedBytes: 0 }),
    oplockLevel: 0,
    action: 1,
    fileId: { persistent: 1n, volatile: 2n },
    contexts: [],
  });
  assert.equal(body.length, 89);
  assert.deepEqual([body.readUInt32LE(80), body.readUInt32LE(84)], [0, 0]);
});

test('CLOSE says which file, and is answered with what is left of it or nothing', () => {
  const body = Buffer.alloc(24);
  body.writeUInt16LE(24, 0);
  body.writeUInt16LE(1, 2);
  body.writeBigUInt64LE(5n, 8);
  body.writeBigUInt64LE(6n, 16);
  const want = { asksForAttributes: true, fileId: { persistent: 5n, volatile: 6n } };
  assert.deepEqual(decodeClose(messageOf(body)), want);
  assert.throws(() => decodeClose(messageOf(body.subarray(0, 20))), Malformed);
  const told = encodeClose(summaryOf(NODE, { reservedBytes: 0 }));
  assert.deepEqual(
    [told.length, told.readUInt16LE(2), told.readBigUInt64LE(48), told.readUInt32LE(56)],
    [60, 1, 5000n, 0x20],
  );
  assert.ok(
    encodeClose(null)
      .subarray(2)
      .every((byte) => byte === 0),
  );
});

describe('OPLOCK_BREAK', () => {
  const key = 'ffeeddccbbaa99887766554433221100';

  test('of an oplock goes there and back', () => {
    const told = { fileId: { persistent: 3n, volatile: 4n }, level: 1 };
    assert.deepEqual(decodeOplockBreak(messageOf(encodeOplockBreak(told))), { kind: 'oplock', ...told });
  });

  test('of a lease is answered with its key and state', () => {
    const kept = { key, state: 3 };
    assert.deepEqual(decodeOplockBreak(messageOf(encodeLeaseAnswer(kept))), { kind: 'lease', ...kept });
  });

  test('of a lease says from what to what, and whether to answer', () => {
    const body = encodeLeaseBreak({ key, from: 7, to: 3, epoch: 5, mustAnswer: true });
    assert.equal(body.length, 44);
    assert.deepEqual(
      [2, 4, 24, 28].map((at) => body.readUInt16LE(at)),
      [5, 1, 7, 3],
    );
    assert.equal(body.toString('hex', 8, 24), key);
  });

  test('of another size, or cut short, is malformed', () => {
    assert.throws(
      () => decodeOplockBreak(messageOf(encodeLeaseBreak({ key, from: 7, to: 3, epoch: 0, mustAnswer: true }))),
      Malformed,
    );
    assert.throws(() => decodeOplockBreak(messageOf(encodeLeaseAnswer({ key, state: 1 }).subarray(0, 20))), Malformed);
  });
});
