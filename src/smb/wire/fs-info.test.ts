import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FS_LAYOUTS, FsClass, type VolumeFacts, volumeIdOf } from './fs-info.ts';

const GIB = 1024 ** 3;
const FACTS: VolumeFacts = {
  shareId: '0'.repeat(24),
  label: 'docs',
  createdAt: '133000000000000000',
  quotaBytes: 5 * GIB,
  usedBytes: GIB + 1,
};

function encoded(infoClass: number, facts: Partial<VolumeFacts> = {}): Buffer {
  const layout = FS_LAYOUTS.get(infoClass);
  assert.ok(layout !== undefined);
  return layout.encode({ ...FACTS, ...facts });
}

/** 5 GiB, and 4 GiB but one unit. */
const TOTAL = '0000140000000000';
const FREE = 'ffff0f0000000000';
const UNIT = '08000000 00020000';

describe('a volume is told by class', () => {
  for (const [name, infoClass, want] of [
    ['size', FsClass.SIZE, `${TOTAL} ${FREE} ${UNIT}`],
    ['device', FsClass.DEVICE, '07000000 20000000'],
    ['attributes', FsClass.ATTRIBUTE, '0e000000 ff000000 08000000 4e00540046005300'],
    ['control', FsClass.CONTROL, `${'00'.repeat(24)} ${'ff'.repeat(16)} 00000000 00000000`],
    ['full size', FsClass.FULL_SIZE, `${TOTAL} ${FREE} ${FREE} ${UNIT}`],
    ['sector size', FsClass.SECTOR_SIZE, '00020000 00100000 00100000 00100000 03000000 00000000 00000000'],
  ] as const) {
    test(name, () => assert.equal(encoded(infoClass).toString('hex'), want.replaceAll(' ', '')));
  }

  test('label and serial number', () => {
    const bytes = encoded(FsClass.VOLUME);
    assert.equal(bytes.readBigUInt64LE(0), 133_000_000_000_000_000n);
    assert.equal(BigInt(bytes.readUInt32LE(8)), BigInt.asUintN(32, volumeIdOf(FACTS.shareId)));
    assert.equal(bytes.subarray(12).toString('hex'), '08000000 00 00 64006f0063007300'.replaceAll(' ', ''));
  });

  test('object id', () => {
    const bytes = encoded(FsClass.OBJECT_ID);
    assert.equal(bytes.length, 64);
    assert.equal(bytes.readBigUInt64LE(0), volumeIdOf(FACTS.shareId));
    assert.deepEqual(bytes.subarray(16), Buffer.alloc(48));
  });
});

test('shares have different serial numbers, and the same one always', () => {
  const serials = Array.from({ length: 100 }, (_, index) =>
    encoded(FsClass.VOLUME, { shareId: index.toString(16).padStart(24, '0') }).readUInt32LE(8),
  );
  assert.equal(new Set(serials).size, 100);
  assert.equal(encoded(FsClass.VOLUME).readUInt32LE(8), serials[0]);
});

test('a share that has outgrown its quota has nothing free', () => {
  assert.equal(encoded(FsClass.SIZE, { usedBytes: 6 * GIB }).readBigUInt64LE(8), 0n);
});

test('what a client must have room for does not depend on names', () => {
  const fixed = [...FS_LAYOUTS].map(([infoClass, { fixedBytes }]) => [infoClass, fixedBytes]);
  assert.deepEqual(Object.fromEntries(fixed), { 1: 24, 3: 24, 4: 8, 5: 16, 6: 48, 7: 32, 8: 64, 11: 28 });
});
