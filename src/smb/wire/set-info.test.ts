import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { messageOf } from '../../../test/harness/smb-context.ts';
import { SmbError, statusName } from '../statuses.ts';
import { HEADER_BYTES } from './header.ts';
import { Malformed } from './message.ts';
import { decodeFileSetting } from './set-file-info.ts';
import { decodeSetInfo } from './set-info.ts';

function bodyOf(buffer: Buffer, { lengthBytes = buffer.length, offset = HEADER_BYTES + 32, structureSize = 33 } = {}) {
  const body = Buffer.alloc(32);
  body.writeUInt16LE(structureSize, 0);
  body.writeUInt8(3, 2);
  body.writeUInt8(10, 3);
  body.writeUInt32LE(lengthBytes, 4);
  body.writeUInt16LE(offset, 8);
  body.writeUInt32LE(5, 12);
  body.writeBigUInt64LE(7n, 16);
  body.writeBigUInt64LE(9n, 24);
  return messageOf(Buffer.concat([body, buffer]));
}

describe('a SET_INFO', () => {
  test('says what is set, on what, and with which bytes', () => {
    assert.deepEqual(decodeSetInfo(bodyOf(Buffer.from('abc'))), {
      infoType: 3,
      infoClass: 10,
      additionalInformation: 5,
      fileId: { persistent: 7n, volatile: 9n },
      buffer: Buffer.from('abc'),
    });
  });

  test('may have no buffer, wherever that is said to be', () => {
    assert.equal(decodeSetInfo(bodyOf(Buffer.alloc(0), { offset: 0 })).buffer.length, 0);
  });

  for (const [what, options] of [
    ['a buffer that ends outside', { lengthBytes: 9 }],
    ['a buffer within the header', { offset: 8 }],
    ['another structure', { structureSize: 32 }],
  ] as const) {
    test(`with ${what} is malformed`, () => {
      assert.throws(() => decodeSetInfo(bodyOf(Buffer.alloc(8), options)), Malformed);
    });
  }

  test('that is cut short is malformed', () => {
    const { header, bytes } = bodyOf(Buffer.alloc(8));
    for (let length = HEADER_BYTES; length < bytes.length; length++) {
      assert.throws(
        () => decodeSetInfo({ header, bytes: bytes.subarray(0, length) }),
        (error) => error instanceof Malformed || error instanceof RangeError,
      );
    }
  });
});

function renameInfo(name: string, { flags = 0, rootDirectory = 0n, nameBytes = name.length * 2, padding = 0 } = {}) {
  const head = Buffer.alloc(20);
  head.writeUInt32LE(flags, 0);
  head.writeBigUInt64LE(rootDirectory, 8);
  head.writeUInt32LE(nameBytes, 16);
  return Buffer.concat([head, Buffer.from(name, 'utf16le'), Buffer.alloc(padding)]);
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function basicInfo(times: readonly bigint[], attributes = 0): Buffer {
  return Buffer.concat([...times.map(int64), uint32(attributes), Buffer.alloc(4)]);
}

const KEEPS = [0n, 0n, 0n, 0n];

describe('what is set of a file', () => {
  for (const [what, infoClass, buffer, want] of [
    [
      'times and attributes',
      4,
      basicInfo([116_444_736_000_000_001n, 0n, -1n, -2n], 0x21),
      {
        what: 'basic',
        info: {
          createdAt: { at: '116444736000000001' },
          accessedAt: 'keep',
          writtenAt: 'freeze',
          changedAt: 'thaw',
          attributes: 0x21,
        },
      },
    ],
    [
      'a name',
      10,
      renameInfo('d\\f'),
      { what: 'rename', info: { path: ['d', 'f'], replaces: false, ignoresReadOnly: false } },
    ],
    [
      'a short name that is padded to the size of the structure',
      10,
      renameInfo('f', { padding: 2 }),
      { what: 'rename', info: { path: ['f'], replaces: false, ignoresReadOnly: false } },
    ],
    [
      'a name with padding behind it, to replace what has it',
      10,
      renameInfo('name', { flags: 1, padding: 8 }),
      { what: 'rename', info: { path: ['name'], replaces: true, ignoresReadOnly: false } },
    ],
    [
      'a name whose first byte is all that says whether it replaces',
      10,
      renameInfo('f', { flags: 0xff00 }),
      { what: 'rename', info: { path: ['f'], replaces: false, ignoresReadOnly: false } },
    ],
    [
      'a name from the root on',
      10,
      renameInfo('\\d\\f'),
      { what: 'rename', info: { path: ['d', 'f'], replaces: false, ignoresReadOnly: false } },
    ],
    [
      'a name with flags',
      65,
      renameInfo('f', { flags: 0x43 }),
      { what: 'rename', info: { path: ['f'], replaces: true, ignoresReadOnly: true } },
    ],
    ['a mark for deletion', 13, Buffer.of(1), { what: 'disposition', isMarked: true }],
    ['no mark for deletion', 13, Buffer.of(0), { what: 'disposition', isMarked: false }],
    ['a mark for deletion with flags', 64, uint32(5), { what: 'disposition', isMarked: true }],
    ['no mark for deletion with flags', 64, uint32(0), { what: 'disposition', isMarked: false }],
    ['a position', 14, int64(123n), { what: 'position', positionBytes: 123n }],
    ['no extended attributes', 15, Buffer.alloc(0), { what: 'extended attributes', isEmpty: true }],
    ['extended attributes', 15, Buffer.alloc(12), { what: 'extended attributes', isEmpty: false }],
    ['a mode', 16, uint32(2), { what: 'mode', mode: 2 }],
    ['room', 19, int64(4096n), { what: 'allocation', allocationBytes: 4096 }],
    ['a length', 20, int64(1n << 40n), { what: 'end of file', lengthBytes: 2 ** 40 }],
    ['a valid length', 39, int64(1n), { what: 'valid data length' }],
  ] as const) {
    test(what, () => assert.deepEqual(decodeFileSetting(infoClass, buffer), want));
  }

  for (const [what, infoClass, buffer, want] of [
    ['times that are cut', 4, Buffer.alloc(39), 'INFO_LENGTH_MISMATCH'],
    ['a time that means nothing', 4, basicInfo([-3n, 0n, 0n, 0n]), 'INVALID_PARAMETER'],
    ['a name without its head', 10, Buffer.alloc(19), 'INFO_LENGTH_MISMATCH'],
    ['a name without letters', 10, renameInfo('', { padding: 4 }), 'INVALID_PARAMETER'],
    ['half a letter', 10, renameInfo('f', { nameBytes: 1 }), 'INVALID_PARAMETER'],
    ['a name that is longer than it is', 10, renameInfo('f', { nameBytes: 4 }), 'INVALID_PARAMETER'],
    ['a name of a length beyond all', 65, renameInfo('f', { nameBytes: 0xffff_fffe }), 'INVALID_PARAMETER'],
    ['a name in another directory', 10, renameInfo('f', { rootDirectory: 1n }), 'INVALID_PARAMETER'],
    ['a link', 11, renameInfo('f'), 'NOT_SUPPORTED'],
    ['a mark that is not there', 13, Buffer.alloc(0), 'INFO_LENGTH_MISMATCH'],
    ['a mark with flags that is cut', 64, Buffer.alloc(3), 'INFO_LENGTH_MISMATCH'],
    ['a deletion that frees the name', 64, uint32(3), 'INVALID_INFO_CLASS'],
    ['a deletion of what is read-only', 64, uint32(0x11), 'INVALID_INFO_CLASS'],
    ['a position before all', 14, int64(-1n), 'INVALID_PARAMETER'],
    ['a mode that is cut', 16, Buffer.alloc(3), 'INFO_LENGTH_MISMATCH'],
    ['room of less than nothing', 19, int64(-1n), 'INVALID_PARAMETER'],
    ['half a length', 20, Buffer.alloc(7), 'INFO_LENGTH_MISMATCH'],
    ['a length of less than nothing', 20, int64(-1n), 'INVALID_PARAMETER'],
    ['what can only be asked', 5, Buffer.alloc(24), 'INVALID_INFO_CLASS'],
    ['what nobody knows', 200, Buffer.alloc(0), 'INVALID_INFO_CLASS'],
  ] as const) {
    test(`${what}: ${want}`, () => {
      assert.throws(
        () => decodeFileSetting(infoClass, buffer),
        (error) => error instanceof SmbError && statusName(error.status) === want,
      );
    });
  }

  test('nothing at all is decoded as it is', () => {
    const kept = { createdAt: 'keep', accessedAt: 'keep', writtenAt: 'keep', changedAt: 'keep', attributes: 0 };
    assert.deepEqual(decodeFileSetting(4, basicInfo(KEEPS)), { what: 'basic', info: kept });
  });
});
