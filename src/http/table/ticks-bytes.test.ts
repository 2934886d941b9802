import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { formatTicks, formatTicksShort } from '../../rules/edm.ts';
import { JsonBytes } from './json-bytes.ts';
import { TicksBytes } from './ticks-bytes.ts';

const FIRST = 504_911_232_000_000_000n;
const LAST = 3_155_378_975_999_999_999n;

test('times are those of the rules, in all three forms, whichever came before', () => {
  const times = new TicksBytes();
  const assertWritten = (ticks: bigint): void => {
    times.set(Number(ticks >> 32n), Number(ticks & 0xffff_ffffn));
    const forms = [
      (out: JsonBytes) => times.writeFull(out),
      (out: JsonBytes) => times.writeShort(out),
      (out: JsonBytes) => times.writeEncoded(out),
    ].map((write) => {
      const out = new JsonBytes();
      write(out);
      return out.whole().toString();
    });
    assert.deepEqual(forms, [formatTicks(ticks), formatTicksShort(ticks), formatTicks(ticks).replaceAll(':', '%3A')]);
  };
  const near = fc.tuple(fc.bigInt({ min: FIRST, max: LAST - 20_000_000n }), fc.bigInt({ min: 0n, max: 20_000_000n }));
  for (const ticks of [FIRST, LAST, FIRST + 1n, 638_501_636_960_000_000n, 638_501_636_961_000_000n])
    assertWritten(ticks);
  fc.assert(
    fc.property(near, ([ticks, later]) => {
      assertWritten(ticks);
      assertWritten(ticks + later);
      assertWritten(ticks - (ticks % 10_000_000n));
    }),
    seeded,
  );
});
