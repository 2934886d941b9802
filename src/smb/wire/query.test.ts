import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageOf } from '../../../test/harness/smb-context.ts';
import { Malformed } from './message.ts';
import { decodeQueryDirectory, encodeOutputHead } from './query-directory.ts';
import { decodeQueryInfo } from './query-info.ts';

const FILE_ID = '11000000000000002200000000000000';
const fileId = { persistent: 0x11n, volatile: 0x22n };

const bytesOf = (...hex: readonly string[]): Buffer => Buffer.from(hex.join('').replaceAll(' ', ''), 'hex');

test('a QUERY_DIRECTORY request is read', () => {
  const body = bytesOf('2100 25 03 00000000', FILE_ID, '6000 0400 00000100', '2a002e00');
  assert.deepEqual(decodeQueryDirectory(messageOf(body)), {
    infoClass: 37,
    flags: 3,
    fileId,
    pattern: '*.',
    outputBytesMax: 65_536,
  });
});

test('a QUERY_DIRECTORY request need not have a pattern', () => {
  const body = bytesOf('2100 25 00 00000000', FILE_ID, '0000 0000 00000100');
  assert.equal(decodeQueryDirectory(messageOf(body)).pattern, '');
});

test('a pattern that lies outside, or is half a character, is malformed', () => {
  for (const place of ['6000 0600', '2000 0400', '6000 0300']) {
    const body = bytesOf('2100 25 00 00000000', FILE_ID, place, '00000100', '2a002e00');
    assert.throws(() => decodeQueryDirectory(messageOf(body)), Malformed);
  }
});

test('a QUERY_INFO request is read', () => {
  const body = bytesOf('2900 03 00 00100000 6800 0000 00000000 07000000 00000000', FILE_ID, '00');
  assert.deepEqual(decodeQueryInfo(messageOf(body)), {
    infoType: 3,
    infoClass: 0,
    outputBytesMax: 4096,
    additional: 7,
    fileId,
  });
});

test('requests of another size, or cut off, are malformed', () => {
  const cut = bytesOf('2900 03 00 00100000 6800 0000');
  assert.throws(() => decodeQueryInfo(messageOf(cut)), Malformed);
  assert.throws(() => decodeQueryDirectory(messageOf(cut)), Malformed);
});

test('what is told stands behind its length', () => {
  assert.equal(encodeOutputHead(0x1234).toString('hex'), '0900480034120000');
});
