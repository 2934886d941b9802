import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { JsonBytes } from './json-bytes.ts';

const written = (write: (out: JsonBytes) => void): string => {
  const out = new JsonBytes(1);
  write(out);
  assert.equal(out.length, out.whole().length);
  return out.whole().toString();
};

test('a string is what JSON.stringify makes of it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const source = Buffer.from(`<${text}>`);
      assert.equal(
        written((out) => out.string(source, 1, source.length - 1)),
        JSON.stringify(text),
      );
    }),
    seeded,
  );
  const everything = String.fromCharCode(...Array.from({ length: 0x100 }, (_, unit) => unit));
  const source = Buffer.from(everything);
  assert.equal(
    written((out) => out.string(source, 0, source.length)),
    JSON.stringify(everything),
  );
});

test('a whole number has the digits that it has', () => {
  for (const value of [0, 1, -1, 9, 10, 99, 100, -100, 2 ** 31 - 1, -(2 ** 31), Number.MAX_SAFE_INTEGER]) {
    assert.equal(
      written((out) => out.integer(value)),
      String(value),
    );
  }
  fc.assert(
    fc.property(fc.maxSafeInteger(), (value) => {
      assert.equal(
        written((out) => out.integer(value)),
        String(value),
      );
    }),
    seeded,
  );
});

test('pieces of every kind and length follow each other', () => {
  const piece = fc.oneof(
    fc.string({ maxLength: 200 }).map((text) => ({ text, write: (out: JsonBytes) => out.text(text) })),
    fc.string({ maxLength: 200 }).map((text) => {
      const bytes = Buffer.from(`..${text}.`);
      return { text, write: (out: JsonBytes) => out.copy(bytes, 2, bytes.length - 1) };
    }),
    fc.integer({ min: 0x20, max: 0x7e }).map((unit) => {
      const text = String.fromCharCode(unit);
      return { text, write: (out: JsonBytes) => out.byte(unit) };
    }),
    fc.constantFrom('', 'false', '"Edm.Int64",').map((text) => ({ text, write: (out: JsonBytes) => out.ascii(text) })),
    fc.string({ maxLength: 100 }).map((text) => {
      const other = new JsonBytes();
      other.text(`x${text}`);
      return { text, write: (out: JsonBytes) => out.copyFrom(other, 1, other.length) };
    }),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const all = written((out) => {
        for (const { write } of pieces) write(out);
      });
      assert.equal(all, pieces.map(({ text }) => text).join(''));
    }),
    seeded,
  );
});

test('what was cleared is written over', () => {
  const out = new JsonBytes();
  out.ascii('before');
  out.clear();
  out.ascii('now');
  assert.equal(out.whole().toString(), 'now');
});
