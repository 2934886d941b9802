import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import { removeFile, renameDirectory, renameFile } from '../../../test/harness/file-tree.ts';
import { Random } from '../../../test/harness/random.ts';
import { isVolatile } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import type { Moment } from '../../rules/moment.ts';
import { PAGE_SETTINGS } from '../pages/page-settings.ts';
import { type ListRangesRequest, listRanges } from './list-ranges.ts';
import { STEP_LIMITS, type StepLimits } from './ranges-step.ts';

const PAGE_BYTES = 512;
const A = 'aaaaaaaa-0000-0000-0000-000000000000';
const { chunkBytes: CHUNK_BYTES } = PAGE_SETTINGS;

interface Asked extends Partial<Omit<ListRangesRequest, 'range' | 'name'>> {
  readonly snapshot?: Moment | null;
  /** First and last byte. */
  readonly bytes?: readonly [number, number | null];
  readonly limits?: StepLimits;
}

function open(share: TestShare, path: string, { snapshot = null, bytes, limits, ...asked }: Asked = {}) {
  const range = bytes === undefined ? null : { firstOffsetBytes: bytes[0], lastOffsetBytes: bytes[1] };
  const request = { ...share.requestOf(path), name: share.nameOf(path, snapshot), range };
  const usual = { previous: null, followsRenames: false };
  return listRanges(share.store.storage, { ...request, ...usual, ...asked }, limits);
}

/** As `first-last`, with an x before what was cleared. */
async function list(share: TestShare, path: string, asked: Asked = {}): Promise<string> {
  const shown: string[] = [];
  for await (const { kind, offsetBytes, lengthBytes } of (await open(share, path, asked)).ranges) {
    shown.push(`${kind === 'clear' ? 'x' : ''}${offsetBytes}-${offsetBytes + lengthBytes - 1}`);
  }
  return shown.join(' ');
}

const isHold = (key: Uint8Array): boolean => isVolatile(key) && key[1] === 'M'.charCodeAt(0);

/** Readers that still hold something. */
async function holdCount(share: TestShare): Promise<number> {
  const everything = { from: Buffer.from([0]), to: Buffer.from([0xff]) };
  const rows = await share.store.storage.readers.inSnapshot((snapshot) =>
    snapshot.range(everything, { limit: 10_000 }),
  );
  return rows.filter(({ key }) => isHold(key)).length;
}

const page = (letter: string, count = 1): Buffer => Buffer.alloc(count * PAGE_BYTES, letter);

describe('the ranges of a file', () => {
  test('are whole pages, up to its end, joined where they touch', async () => {
    const share = await TestShare.create();
    await share.createFile('f', 2_049);
    assert.equal(await list(share, 'f'), '');
    await share.write('f', 10, Buffer.from('x'));
    assert.equal(await list(share, 'f'), '0-511');
    await share.write('f', 2_048, Buffer.from('x'));
    assert.equal(await list(share, 'f'), '0-511 2048-2048');
    await share.write('f', 500, page('x'));
    assert.equal(await list(share, 'f'), '0-1023 2048-2048');
    await share.clear('f', 1, 1_023);
    assert.equal(await list(share, 'f'), '0-511 2048-2048');
    await share.resize('f', 100);
    assert.equal(await list(share, 'f'), '0-99');
    await share.resize('f', 0);
    assert.equal(await list(share, 'f'), '');
  });

  test('after a write of ten bytes and a clear within them are these ten', async () => {
    const share = await TestShare.create();
    await share.createFile('f', 10);
    await share.write('f', 0, Buffer.from('0123456789'));
    await share.clear('f', 1, 8);
    assert.equal(await list(share, 'f'), '0-9');
  });

  test('are asked for in a part of it, of which they show whole pages', async () => {
    const share = await TestShare.create();
    await share.createFile('f', Buffer.alloc(3_000, 'x'));
    await share.clear('f', 1_024, 512);
    for (const [bytes, want] of [
      [[0, null], '0-1023 1536-2999'],
      [[600, 700], '512-1023'],
      [[1_024, 1_535], ''],
      [[1_000, 1_536], '512-1023 1536-2047'],
      [[2_999, 9_999], '2560-2999'],
    ] as const) {
      assert.equal(await list(share, 'f', { bytes }), want);
    }
    assert.equal(await refusal(list(share, 'f', { bytes: [3_000, null] })), 'InvalidRange');
  });

  test('of a snapshot are what they were', async () => {
    const share = await TestShare.create();
    await share.createFile('f', page('x', 4));
    const snapshot = await share.snapshot();
    await share.clear('f', 0, 1_024);
    await share.resize('f', 1_536);
    assert.equal(await list(share, 'f'), '1024-1535');
    assert.equal(await list(share, 'f', { snapshot }), '0-2047');
    await removeFile(share, 'f');
    assert.equal(await list(share, 'f', { snapshot }), '0-2047');
  });

  test('need no lease; an id that is given must be right', async () => {
    const share = await TestShare.create();
    await share.createFile('f', 1);
    assert.equal(await refusal(list(share, 'f', { leaseId: A })), 'LeaseNotPresentWithFileOperation');
  });

  for (const [path, want] of [
    ['nothing', 'ResourceNotFound'],
    ['nothing/f', 'ParentNotFound'],
    ['d', 'ResourceNotFound'],
  ] as const) {
    test(`of ${path}: ${want}`, async () => {
      const share = await TestShare.create();
      await share.createDirectory('d');
      assert.equal(await refusal(list(share, path)), want);
    });
  }
});

describe('what has changed since a snapshot', () => {
  test('is told as ranges written and cleared, in their order', async () => {
    const share = await TestShare.create();
    await share.createFile('f', 2_049);
    await share.write('f', 0, page('x', 2));
    const previous = await share.snapshot();
    assert.equal(await list(share, 'f', { previous }), '');
    await share.clear('f', 0, 1_024);
    await share.write('f', 1_023, Buffer.from('hello'));
    assert.equal(await list(share, 'f', { previous }), 'x0-511 512-1535');
    assert.equal(await list(share, 'f', { previous, bytes: [1_024, null] }), '1024-1535');
  });

  test('of a file that had nothing is all that it has', async () => {
    const share = await TestShare.create();
    await share.createFile('f', 5_000);
    const previous = await share.snapshot();
    assert.equal(await list(share, 'f', { previous }), '');
    await share.write('f', 600, Buffer.from('x'));
    assert.equal(await list(share, 'f', { previous }), '512-1023');
  });

  test('between two snapshots knows nothing of what came later', async () => {
    const share = await TestShare.create();
    await share.createFile('f', page('a', 4));
    const previous = await share.snapshot();
    await share.write('f', 0, page('b'));
    const snapshot = await share.snapshot();
    await share.write('f', 512, page('c'));
    assert.equal(await list(share, 'f', { previous, snapshot }), '0-511');
    assert.equal(await list(share, 'f', { previous: snapshot, snapshot }), '');
    assert.equal(await list(share, 'f', { previous }), '0-1023');
    assert.equal(await list(share, 'f', { previous: snapshot }), '512-1023');
    assert.equal(
      await refusal(list(share, 'f', { previous: snapshot, snapshot: previous })),
      'PreviousSnapshotCannotBeNewer',
    );
  });

  test('is not told of a file that was not there, nor against a snapshot that is not', async () => {
    const share = await TestShare.create();
    const previous = await share.snapshot();
    await share.createDirectory('d');
    await share.createFile('d/f', 0);
    assert.equal(await refusal(list(share, 'd/f', { previous })), 'ResourceNotFound');
    assert.equal(await refusal(list(share, 'd/f', { previous, followsRenames: true })), 'ResourceNotFound');
    await share.snapshot();
    await renameFile(share, 'd/f', 'g');
    assert.equal(await refusal(list(share, 'g', { previous, followsRenames: true })), 'ResourceNotFound');
    for (const unknown of ['2020-01-01T00:00:00.0000000Z', 'yesterday']) {
      assert.equal(await refusal(list(share, 'g', { previous: unknown })), 'PreviousSnapshotNotFound');
    }
  });

  test('is not told of a file that was created anew since, in its place or after it was gone', async () => {
    const share = await TestShare.create();
    for (const path of ['a', 'b', 'c', 'other']) await share.createFile(path, page('x'));
    const previous = await share.snapshot();
    await share.createFile('a', page('y'));
    await removeFile(share, 'b');
    await share.createFile('b', page('y'));
    await renameFile(share, 'other', 'c', { replaces: true });
    for (const path of ['a', 'b', 'c']) {
      assert.equal(await refusal(list(share, path, { previous })), 'FileGenerationMismatch');
    }
    assert.equal(await refusal(list(share, 'a', { previous, followsRenames: true })), 'FileGenerationMismatch');
    assert.equal(await list(share, 'c', { previous, followsRenames: true }), '');
  });

  test('is found though very much has come and gone since', async () => {
    const share = await TestShare.create();
    await share.createFile('f', page('x', 2));
    const previous = await share.snapshot();
    const COUNT = 600;
    for (let index = 0; index < COUNT; index++) await share.createFile(`many${index}`, 0);
    await share.snapshot();
    for (let index = 0; index < COUNT; index++) await removeFile(share, `many${index}`);
    await share.snapshot();
    await renameFile(share, 'f', 'g');
    await share.write('g', 0, page('y'));
    assert.equal(await list(share, 'g', { previous, followsRenames: true }), '0-511');
  });

  test('is told of a file that had another name only to those who follow renames', async () => {
    const share = await TestShare.create();
    for (const path of ['d', 'd/e']) await share.createDirectory(path);
    for (const path of ['a', 'd/e/b', 'd/e/untouched']) await share.createFile(path, page('x', 2));
    for (let index = 0; index < 300; index++) await share.createFile(`many${index}`, 0);
    const previous = await share.snapshot();
    for (let index = 0; index < 300; index++) await removeFile(share, `many${index}`);
    const between = await share.snapshot();
    await renameFile(share, 'a', 'a1');
    await share.snapshot();
    await renameFile(share, 'a1', 'd/a2');
    await share.write('d/a2', 512, page('y'));
    await renameDirectory(share, 'd/e', 'e');
    await share.write('e/b', 0, page('y'));
    for (const [path, want] of [
      ['d/a2', '512-1023'],
      ['e/b', '0-511'],
      ['e/untouched', ''],
    ] as const) {
      for (const moment of [previous, between]) {
        assert.equal(await refusal(list(share, path, { previous: moment })), 'FileGenerationMismatch');
        assert.equal(await list(share, path, { previous: moment, followsRenames: true }), want);
      }
    }
    assert.equal(await list(share, 'd/a2', { previous: await share.snapshot() }), '');
  });
});

describe('a long list of ranges', () => {
  const SMALL: StepLimits = { rows: 4, ranges: 3 };

  test('is read in steps while it is sent, and shows what was there when it was asked for', async () => {
    const share = await TestShare.create();
    const COUNT = 20;
    await share.createFile('f', COUNT * 2 * PAGE_BYTES);
    const all: string[] = [];
    for (let index = 0; index < COUNT; index++) {
      const offset = index * 2 * PAGE_BYTES;
      await share.write('f', offset, page('x'));
      all.push(`${offset}-${offset + PAGE_BYTES - 1}`);
    }
    const snapshot = await share.snapshot();
    for (const limits of [SMALL, STEP_LIMITS]) {
      assert.equal(await list(share, 'f', { limits }), all.join(' '));
      assert.equal(await list(share, 'f', { limits, snapshot }), all.join(' '));
    }
    const { ranges, node } = await open(share, 'f', { limits: SMALL });
    assert.equal(await holdCount(share), 1);
    const shown: string[] = [];
    for await (const { offsetBytes, lengthBytes } of ranges) {
      shown.push(`${offsetBytes}-${offsetBytes + lengthBytes - 1}`);
      if (shown.length === 1) await share.clear('f', 0, node.lengthBytes);
      if (shown.length === 2) await removeFile(share, 'f');
      if (shown.length === 3) await share.deleteSnapshot(snapshot);
      await share.store.sweep();
    }
    assert.deepEqual(shown, all);
    assert.equal(await holdCount(share), 0);
    await share.store.sweep();
    assert.deepEqual(share.store.errors, []);
    assert.deepEqual(
      (await share.store.records()).filter(([letter]) => 'MHNVIX'.includes(letter as string)),
      [],
    );
  });

  test('joins a range that is longer than a step', async () => {
    const share = await TestShare.create();
    const COUNT = 30;
    await share.createFile('f', COUNT * CHUNK_BYTES);
    for (let index = 0; index < COUNT; index++) {
      await share.write('f', index * CHUNK_BYTES, Buffer.alloc(index === 20 ? 1_024 : CHUNK_BYTES, 'x'));
    }
    const want = `0-${20 * CHUNK_BYTES + 1_023} ${21 * CHUNK_BYTES}-${COUNT * CHUNK_BYTES - 1}`;
    for (const limits of [{ rows: 4, ranges: 100 }, SMALL, STEP_LIMITS]) {
      assert.equal(await list(share, 'f', { limits }), want);
    }
  });

  for (const when of ['before its first range', 'in the middle']) {
    test(`given up ${when} holds nothing any more`, async () => {
      const share = await TestShare.create();
      await share.createFile('f', 20 * PAGE_BYTES);
      for (let index = 0; index < 10; index++) await share.write('f', index * 2 * PAGE_BYTES, page('x'));
      const previous = await share.snapshot();
      for (let index = 0; index < 10; index++) await share.write('f', index * 2 * PAGE_BYTES, page('y'));
      const ranges = (await open(share, 'f', { limits: SMALL, previous })).ranges[Symbol.asyncIterator]();
      assert.equal(await holdCount(share), 2);
      if (when !== 'before its first range') await ranges.next();
      await ranges.return?.();
      assert.equal(await holdCount(share), 0);
    });
  }

  test('that loses its snapshot before it holds it is refused, and holds nothing', async () => {
    const engine = openMemoryEngine();
    const share = await TestShare.create({ engine });
    await share.createFile('f', page('x', 20));
    const previous = await share.snapshot();
    for (let index = 0; index < 10; index++) await share.write('f', index * 2 * PAGE_BYTES, page('y'));
    const commit = engine.commit.bind(engine);
    let isGone = false;
    engine.commit = async (batch) => {
      const outcome = await commit(batch);
      if (!isGone && batch.puts.some(({ key }) => isHold(key))) {
        isGone = true;
        await share.deleteSnapshot(previous);
      }
      return outcome;
    };
    assert.equal(await refusal(open(share, 'f', { limits: SMALL, previous })), 'PreviousSnapshotNotFound');
    assert.deepEqual([isGone, await holdCount(share)], [true, 0]);
  });

  test('of changes is the same in one step and in many, whatever has been written, cleared and cut', async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const share = await TestShare.create();
    const PAGES = 4_096;
    let lengthPages = PAGES;
    await share.createFile('f', PAGES * PAGE_BYTES);
    const current = new Map<number, number>();
    const past: { moment: Moment; pages: Map<number, number> }[] = [];
    for (let step = 1; step <= 250; step++) {
      const first = random.below(lengthPages);
      const count = Math.min(1 + random.below(random.chance(0.1) ? 1_200 : 4), lengthPages - first);
      if (random.chance(0.03)) {
        lengthPages = 1 + random.below(PAGES);
        await share.resize('f', lengthPages * PAGE_BYTES);
        for (const index of current.keys()) if (index >= lengthPages) current.delete(index);
      } else if (random.chance(0.6)) {
        await share.write('f', first * PAGE_BYTES, page('x', count));
        for (let index = first; index < first + count; index++) current.set(index, step);
      } else {
        await share.clear('f', first * PAGE_BYTES, count * PAGE_BYTES);
        for (let index = first; index < first + count; index++) current.delete(index);
      }
      if (random.chance(0.03)) past.push({ pages: new Map(current), moment: await share.snapshot() });
      if (random.chance(0.9)) continue;
      for (const { moment, pages } of past.slice(-3)) {
        const want = changedPages(pages, current, lengthPages);
        for (const limits of [SMALL, STEP_LIMITS]) {
          assert.equal(await list(share, 'f', { previous: moment, limits }), want);
        }
      }
    }
    assert.equal(await holdCount(share), 0);
  });
});

/** Of pages that are known by the step that wrote them. */
function changedPages(before: Map<number, number>, after: Map<number, number>, count: number): string {
  const ranges: { kind: string; from: number; to: number }[] = [];
  for (let index = 0; index < count; index++) {
    if (before.get(index) === after.get(index)) continue;
    const kind = after.has(index) ? '' : 'x';
    const last = ranges.at(-1);
    if (last?.kind === kind && last.to === index) last.to++;
    else ranges.push({ kind, from: index, to: index + 1 });
  }
  return ranges.map(({ kind, from, to }) => `${kind}${from * PAGE_BYTES}-${to * PAGE_BYTES - 1}`).join(' ');
}
