import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BadStub, NdrReader, NdrWriter } from './ndr.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const written = (write: (out: NdrWriter) => void): string => {
  const out = new NdrWriter();
  write(out);
  return out.result().toString('hex');
};

describe('what is written', () => {
  test('a text says its length three times over, ends with NUL, and what follows is aligned', () => {
    const hex = written((out) => {
      out.text('ä$');
      out.u32(7);
    });
    assert.equal(hex, bytes('03000000 00000000 03000000 e400 2400 0000 0000 07000000').toString('hex'));
  });

  test('what pointers of a structure point to stands behind it, each followed by what it points to itself', () => {
    const hex = written((out) => {
      out.structure(() => {
        out.u32(1);
        out.pointer(() => {
          out.u32(2);
          out.pointer(() => out.u32(3));
        });
        out.pointer(null);
        out.pointer(() => out.u32(4));
      });
      out.u32(5);
    });
    const structure = '01000000 00000200 00000000 04000200';
    assert.equal(hex, bytes(`${structure} 02000000 08000200 03000000 04000000 05000000`).toString('hex'));
  });

  test('more than was made room for at first', () => {
    const hex = written((out) => {
      for (let count = 0; count < 1000; count++) out.text('x'.repeat(count % 50));
    });
    const reader = new NdrReader(bytes(hex));
    for (let count = 0; count < 1000; count++) assert.equal(reader.text(), 'x'.repeat(count % 50));
  });
});

describe('what is read', () => {
  test('a text with a pointer before it, whatever fills the gap behind it', () => {
    const reader = new NdrReader(bytes('3fbb0000 01000000 00000000 01000000 0000 bfbf 64000000'));
    assert.deepEqual([reader.optionalText(), reader.u32()], ['', 100]);
  });

  test('no text, where the pointer points to nothing', () => {
    const reader = new NdrReader(bytes('00000000 65000000'));
    assert.deepEqual([reader.optionalText(), reader.u32()], [null, 101]);
  });

  for (const [what, hex] of [
    ['a number that is cut off', '010000'],
    ['a text longer than it may be', '01000000 00000000 02000000 41004200'],
    ['the middle of a text', '04000000 01000000 02000000 41004200'],
    ['a text beyond the end', '00000080 00000000 00000080 41004200'],
    ['a text without its lengths', '01000000 00000000'],
  ] as const) {
    test(`not ${what}`, () => {
      const reader = new NdrReader(bytes(hex));
      assert.throws(() => (hex.length < 8 ? reader.u32() : reader.text()), BadStub);
    });
  }
});
