import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Malformed } from '../wire/message.ts';
import { decodeElements, decodeOnly, encodeElement, Tag } from './der.ts';

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

for (const [lengthBytes, head] of [
  [0, '0400'],
  [127, '047f'],
  [128, '048180'],
  [255, '0481ff'],
  [256, '04820100'],
  [65_536, '0483010000'],
] as const) {
  test(`an element of ${lengthBytes} bytes begins with ${head}`, () => {
    const content = Buffer.alloc(lengthBytes, 0x5a);
    const element = encodeElement(Tag.OCTET_STRING, content);
    assert.equal(element.toString('hex', 0, head.length / 2), head);
    assert.deepEqual(decodeOnly(element, Tag.OCTET_STRING), content);
  });
}

test('elements follow each other, each with its content and as a whole', () => {
  const elements = decodeElements(bytesOf('0a01 01  0400  3003 0a0102'));
  assert.deepEqual(
    elements.map(({ tag, content, whole }) => [tag, content.toString('hex'), whole.toString('hex')]),
    [
      [Tag.ENUMERATED, '01', '0a0101'],
      [Tag.OCTET_STRING, '', '0400'],
      [Tag.SEQUENCE, '0a0102', '30030a0102'],
    ],
  );
});

test('a length in more bytes than it needs is taken', () => {
  assert.deepEqual(decodeOnly(bytesOf('04 84 00000002 abcd'), Tag.OCTET_STRING), bytesOf('abcd'));
});

for (const [what, hex] of [
  ['a tag without a length', '04'],
  ['an element that ends too early', '04 03 abcd'],
  ['a length that is cut', '04 82 01'],
  ['a length without end', '04 80 abcd 0000'],
  ['a length of five bytes', '04 85 0000000001 ab'],
  ['a length of nearly everything', '04 84 ffffffff ab'],
  ['a tag of several bytes', '1f 81 01 00'],
  ['more elements than any token has', '0400'.repeat(33)],
] as const) {
  test(`${what} is malformed`, () => {
    assert.throws(
      () => decodeElements(bytesOf(hex)),
      (error) => error instanceof Malformed || error instanceof RangeError,
    );
  });
}

for (const [what, hex] of [
  ['nothing', ''],
  ['another', '0400'],
  ['two', '3000 3000'],
] as const) {
  test(`${what} instead of one SEQUENCE is malformed`, () => {
    assert.throws(() => decodeOnly(bytesOf(hex), Tag.SEQUENCE), Malformed);
  });
}
