import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { Hooks, hookContent, hookEngine } from '../../../test/harness/hooked-store.ts';
import { blockIdOf, Gate, gather, TestStore } from '../../../test/harness/store.ts';
import type { ContentStore } from '../../content/content.ts';
import { openFilesContent } from '../../content/files/files-content.ts';
import { openMemoryContent } from '../../content/memory/memory-content.ts';
import type { Engine } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import type { BlockListEntry } from '../../rules/block-list.ts';
import { STAGING_LIFE_MS } from '../blob/staging.ts';
import { checkStore } from '../check.ts';
import { doWhatIsDue } from '../do-what-is-due.ts';

const KIB = 1024;
const large = (fill: string): Buffer => Buffer.alloc(20 * KIB, fill);
const small = (fill: string): Buffer => Buffer.alloc(50, fill);

/** Blocks are told apart by a letter: capitals are large, the others small. */
const bytesOf = (letter: string): Buffer => (letter < 'a' ? large(letter) : small(letter));
const wholeOf = (letters: string): Buffer => Buffer.concat(letters.split('').map(bytesOf));
const idOfLetter = (letter: string): string => blockIdOf(letter.charCodeAt(0));
const entriesOf = (letters: string, kind: BlockListEntry['kind']): BlockListEntry[] =>
  letters.split('').map((letter) => ({ kind, id: idOfLetter(letter) }));

async function stage(store: TestStore, blob: string, letters: string): Promise<void> {
  for (const letter of letters) await store.putBlock('box', blob, idOfLetter(letter), bytesOf(letter));
}

/** The blob's next version: some of the committed blocks, then newly staged ones; some more are staged in vain. */
async function commitBlocks(
  store: TestStore,
  blob: string,
  { keep = '', add = '', inVain = '' }: { keep?: string; add?: string; inVain?: string },
): Promise<void> {
  await stage(store, blob, add + inVain);
  await store.putBlockList('box', blob, [...entriesOf(keep, 'committed'), ...entriesOf(add, 'uncommitted')]);
}

async function openStore(parts: { engine?: Engine; content?: ContentStore } = {}): Promise<TestStore> {
  const store = await TestStore.open(parts);
  await store.createContainer('box');
  return store;
}

async function openStream(store: TestStore, blob: string): Promise<AsyncIterableIterator<Uint8Array>> {
  const { bytes } = await store.open('box', blob);
  assert.ok(!(bytes instanceof Uint8Array));
  return bytes[Symbol.asyncIterator]() as AsyncIterableIterator<Uint8Array>;
}

/** Nothing waits, nothing is wrong, and there is exactly so much content. */
async function assertSwept(store: TestStore, { extents }: { extents: number }): Promise<void> {
  assert.deepEqual(await store.garbage(), []);
  const report = await checkStore({ engine: store.engine, content: store.content, afterCrash: false });
  assert.deepEqual(report.findings, []);
  assert.equal(report.extents, extents);
}

const tablesOf = async (store: TestStore): Promise<string[]> => (await store.records()).map((key) => key[0] as string);

describe('each kind of garbage', () => {
  const rows: readonly (readonly [string, (store: TestStore) => Promise<void>, number])[] = [
    [
      'a small blob that is deleted',
      async (store) => {
        await store.put('box', 'b', small('s'));
        await store.delete('box', 'b');
      },
      0,
    ],
    [
      'a large blob that is deleted',
      async (store) => {
        await store.put('box', 'b', large('l'));
        await store.delete('box', 'b');
      },
      0,
    ],
    [
      'a large blob that is overwritten',
      async (store) => {
        await store.put('box', 'b', large('l'));
        await store.put('box', 'b', large('m'));
      },
      1,
    ],
    [
      'a block that is staged again, large and small',
      async (store) => {
        await stage(store, 'b', 'Aa');
        await stage(store, 'b', 'Aa');
      },
      2,
    ],
    [
      'staged blocks whose blob is put whole',
      async (store) => {
        await stage(store, 'b', 'Aa');
        await store.put('box', 'b', small('s'));
      },
      1,
    ],
    [
      'staged blocks that are deleted',
      async (store) => {
        await stage(store, 'b', 'Aa');
        await store.delete('box', 'b');
      },
      0,
    ],
    [
      'staged blocks that a commit takes over, and those it does not',
      async (store) => {
        await commitBlocks(store, 'b', { add: 'AaB', inVain: 'CcD' });
      },
      3,
    ],
    [
      'a block that stands twice in a list',
      async (store) => {
        await stage(store, 'b', 'Aa');
        await store.putBlockList('box', 'b', entriesOf('AaAa', 'latest'));
        await store.putBlockList('box', 'b', entriesOf('aa', 'latest'));
      },
      1,
    ],
    [
      'a list that keeps some of its predecessor',
      async (store) => {
        await commitBlocks(store, 'b', { add: 'AaBb' });
        await commitBlocks(store, 'b', { keep: 'aB', add: 'Cc' });
      },
      4,
    ],
    [
      'a list that nothing is left of',
      async (store) => {
        await commitBlocks(store, 'b', { add: 'AaBb' });
        await store.putBlockList('box', 'b', []);
      },
      0,
    ],
    [
      'a list that is overwritten whole',
      async (store) => {
        await commitBlocks(store, 'b', { add: 'AaBb' });
        await store.put('box', 'b', large('l'));
      },
      1,
    ],
    [
      'a whole blob that a list replaces',
      async (store) => {
        await store.put('box', 'b', large('l'));
        await commitBlocks(store, 'b', { add: 'Aa' });
      },
      2,
    ],
    [
      'a container with all of this',
      async (store) => {
        await store.put('box', 'small', small('s'));
        await store.put('box', 'large', large('l'));
        await store.put('box', 'empty', Buffer.alloc(0));
        await commitBlocks(store, 'blocks', { add: 'AaB', inVain: 'c' });
        await stage(store, 'blocks', 'Dd');
        await stage(store, 'staged', 'Aa');
        await store.deleteContainer('box');
      },
      0,
    ],
  ];
  for (const [what, make, extents] of rows) {
    test(`is swept: ${what}`, async () => {
      const store = await openStore();
      await make(store);
      await store.sweep();
      await assertSwept(store, { extents });
      await store.close();
    });
  }

  test('of a put that was refused leaves nothing', async () => {
    const store = await openStore();
    await assert.rejects(store.put('missing', 'b', large('l')));
    await assert.rejects(store.putBlock('missing', 'b', blockIdOf(1), large('l')));
    await assertSwept(store, { extents: 0 });
    await store.close();
  });
});

describe('a chain of block lists, with a reader on the first', () => {
  // L → M → N: B goes with the second list, C with the third, A and a stay.
  const first = 'AaBbC';
  const makeChain = async (store: TestStore): Promise<AsyncIterableIterator<Uint8Array>[]> => {
    const readers: AsyncIterableIterator<Uint8Array>[] = [];
    await commitBlocks(store, 'b', { add: first });
    readers.push(await openStream(store, 'b'));
    await commitBlocks(store, 'b', { keep: 'AaC', add: 'Dd', inVain: 'E' });
    readers.push(await openStream(store, 'b'));
    await commitBlocks(store, 'b', { keep: 'Aad', add: 'F' });
    readers.push(await openStream(store, 'b'));
    return readers;
  };
  const contents = [first, 'AaCDd', 'AadF'].map(wholeOf);

  for (const order of [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ]) {
    test(`gives each reader its version, finished in the order ${order.join(', ')}, swept in between`, async () => {
      const store = await openStore();
      const readers = await makeChain(store);
      for (const index of order) {
        await store.sweep();
        assert.deepEqual(await gather(readers[index] as AsyncIterableIterator<Uint8Array>), contents[index]);
      }
      await store.sweep();
      assert.deepEqual(await store.read('box', 'b'), contents[2]);
      await assertSwept(store, { extents: 4 });
      await store.close();
    });
  }

  test('keeps what the first list needs though the blob is deleted meanwhile', async () => {
    const store = await openStore();
    const [reader, ...others] = await makeChain(store);
    for (const other of others) await other.return?.();
    await store.delete('box', 'b');
    await store.sweep();
    assert.deepEqual(await gather(reader as AsyncIterableIterator<Uint8Array>), contents[0]);
    await store.sweep();
    await assertSwept(store, { extents: 0 });
    await store.close();
  });

  test('keeps what the first list needs though a later change becomes visible in the middle of a pass', async () => {
    const hooks = new Hooks();
    const store = await openStore({ engine: hookEngine(openMemoryEngine(), hooks) });
    await commitBlocks(store, 'b', { add: 'AB' });
    await store.sweep();
    const reader = await openStream(store, 'b');

    // The second list's garbage has its id, and is not committed yet, when three hundred others come and go.
    const mayCommit = new Gate();
    const isHeld = new Gate();
    hooks.before = (call) => {
      if (call.what !== 'commit') return;
      hooks.clear();
      isHeld.open();
      return mayCommit.passed;
    };
    const second = commitBlocks(store, 'b', { keep: 'AB' });
    await isHeld.passed;
    for (let count = 0; count < 300; count++) await stage(store, 'other', 'a');

    // A pass has read the first of the rows when the second and the third list arrive.
    hooks.before = async (call) => {
      if (call.what !== 'ranged' || call.from[0] !== 'G'.charCodeAt(0)) return;
      hooks.clear();
      mayCommit.open();
      await second;
      await commitBlocks(store, 'b', { keep: 'A' });
    };
    await store.sweeper.sweep();
    assert.deepEqual(await gather(reader), wholeOf('AB'));
    await store.sweep();
    assert.deepEqual(await store.garbage(), []);
    assert.deepEqual(await store.read('box', 'b'), wholeOf('A'));
    await store.close();
  });
});

describe('a deleted container', () => {
  test('of a thousand blobs and staged blocks ends without content, and after a week without a record', async () => {
    const store = await openStore();
    for (let count = 0; count < 1_000; count++) {
      const name = `blob ${count}`;
      if (count % 4 === 0) await store.put('box', name, small('s'));
      if (count % 4 === 1) await store.put('box', name, large('l'));
      if (count % 4 === 2) await commitBlocks(store, name, { add: 'Aa' });
      if (count % 4 === 3) await stage(store, name, 'Aa');
    }
    await store.deleteContainer('box');
    await store.createContainer('box');
    await store.sweep();
    await assertSwept(store, { extents: 0 });
    assert.deepEqual([...new Set(await tablesOf(store))], ['C', 'E']);
    store.clock.advance({ seconds: STAGING_LIFE_MS / 1000 });
    await doWhatIsDue(store.storage);
    assert.deepEqual(await tablesOf(store), ['C']);
    await store.close();
  });
});

describe('passes', () => {
  test('that are asked for at the same time do not overlap', async () => {
    const store = await openStore();
    for (const name of ['one', 'two', 'three']) {
      await commitBlocks(store, name, { add: 'AaBb' });
      await commitBlocks(store, name, { keep: 'aB' });
    }
    await store.deleteContainer('box');
    await Promise.all([store.sweeper.sweep(), store.sweeper.sweep(), store.sweeper.sweep()]);
    await store.sweep();
    await assertSwept(store, { extents: 0 });
    await store.close();
  });

  test('that are asked for during a pass follow it one after the other', async () => {
    const hooks = new Hooks();
    const store = await openStore({ engine: hookEngine(openMemoryEngine(), hooks) });
    const inPass = new Gate();
    const mayGoOn = new Gate();
    let starts = 0;
    await store.put('box', 'b', large('l'));
    await store.delete('box', 'b');
    hooks.before = async (call) => {
      if (call.what !== 'range' || call.from.length !== 1 || call.from[0] !== 'G'.charCodeAt(0)) return;
      starts++;
      if (starts > 1) return;
      inPass.open();
      await mayGoOn.passed;
    };
    const passes = [store.sweeper.sweep()];
    await inPass.passed;
    passes.push(store.sweeper.sweep(), store.sweeper.sweep());
    assert.equal(starts, 1);
    const closing = store.close();
    mayGoOn.open();
    await Promise.all([...passes, closing]);
    assert.ok(starts <= 2, 'a pass that was asked for and had not begun does not begin after closing');
  });

  test('do nothing once the sweeper is closed', async () => {
    const store = await openStore();
    await store.put('box', 'b', large('l'));
    await store.delete('box', 'b');
    await store.close();
    await store.sweeper.sweep();
    assert.equal((await store.garbage()).length, 1);
  });

  test('go on behind a row that cannot be read', async () => {
    const store = await openStore();
    const unreadable = Buffer.concat([Buffer.from('G'), Buffer.alloc(12)]);
    await store.engine.commit({ checks: [], puts: [{ key: unreadable, value: Buffer.from([9]) }], deletes: [] });
    await store.put('box', 'b', large('l'));
    await store.delete('box', 'b');
    await store.sweeper.sweep().catch(() => {});
    assert.equal((await store.garbage()).length, 1, 'only the unreadable row is left');
    await store.close();
  });
});

class Cut extends Error {}

/** Fails the call of this number, and all that follow. */
function cutOff(hooks: Hooks, atCall: number): void {
  let calls = 0;
  hooks.before = () => {
    if (++calls >= atCall) throw new Cut();
  };
}

async function isCutOff(sweeping: Promise<void>): Promise<boolean> {
  try {
    await sweeping;
    return false;
  } catch (error) {
    if (error instanceof Cut) return true;
    throw error;
  }
}

/** Some of each kind. */
async function makeGarbage(store: TestStore): Promise<void> {
  await store.put('box', 'whole', large('1'));
  await store.put('box', 'whole', large('2'));
  await commitBlocks(store, 'chain', { add: 'AaBb', inVain: 'Xx' });
  await commitBlocks(store, 'chain', { keep: 'aB', add: 'C' });
  await commitBlocks(store, 'chain', { keep: 'B', add: 'Dd' });
  await stage(store, 'staged', 'Aa');
  await stage(store, 'staged', 'A');
  await store.createContainer('gone');
  await store.put('gone', 'large', large('3'));
  await store.put('gone', 'small', small('3'));
  await store.putBlock('gone', 'staged', blockIdOf(1), large('3'));
  await store.putBlock('gone', 'blocks', blockIdOf(1), large('3'));
  await store.putBlockList('gone', 'blocks', [{ kind: 'latest', id: blockIdOf(1) }]);
  await store.deleteContainer('gone');
}

async function assertAllThere(store: TestStore): Promise<void> {
  assert.deepEqual(await store.read('box', 'whole'), large('2'));
  assert.deepEqual(await store.read('box', 'chain'), wholeOf('BDd'));
  await store.putBlockList('box', 'staged', entriesOf('Aa', 'uncommitted'));
  assert.deepEqual(await store.read('box', 'staged'), wholeOf('Aa'));
  await store.sweep();
  await assertSwept(store, { extents: 6 });
}

describe('a pass that is cut off', () => {
  for (const afterwards of ['goes on', 'starts anew'] as const) {
    test(`at any call ends clean when the server ${afterwards}`, async () => {
      let cuts = 0;
      for (let cutAt = 1; ; cutAt++) {
        const hooks = new Hooks();
        const engine = hookEngine(openMemoryEngine(), hooks);
        const content = hookContent(openMemoryContent(), hooks);
        const store = await openStore({ engine, content });
        await makeGarbage(store);
        cutOff(hooks, cutAt);
        const isCut = await isCutOff(store.sweep());
        hooks.clear();
        const half = await checkStore({ engine, content, afterCrash: true });
        assert.deepEqual(half.findings, [], `cut at call ${cutAt}`);
        if (afterwards === 'starts anew') await store.reopen();
        await store.sweep();
        await assertAllThere(store);
        await store.close();
        if (!isCut) break;
        cuts++;
      }
      assert.ok(cuts > 30, `${cuts} places to cut`);
    });
  }
});

async function openFiles(t: TestContext) {
  const path = await mkdtemp(join(tmpdir(), 'larimar-sweeper-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  const open = () => openFilesContent({ path, segmentBytesMax: 256 * KIB });
  return { open, segments: async () => (await readdir(join(path, 'segments'))).length };
}

/** Three segments' worth of blobs, of which every tenth stays. */
async function fill(store: TestStore): Promise<string[]> {
  const names = Array.from({ length: 30 }, (_, index) => `blob ${index}`);
  for (const name of names) await store.put('box', name, Buffer.alloc(20 * KIB, name));
  const kept = names.filter((_, index) => index % 10 === 0);
  for (const name of names) if (!kept.includes(name)) await store.delete('box', name);
  return kept;
}

describe('a sparse segment', () => {
  test('gives its space back: survivors are moved, and their readers do not notice', async (t) => {
    const { open, segments } = await openFiles(t);
    const content = await open();
    const store = await openStore({ content });
    const kept = await fill(store);
    const before = await segments();
    const reader = await openStream(store, kept[0] as string);
    await store.sweep();
    await store.sweep();
    assert.ok((await segments()) < before, `${await segments()} of ${before} segments are left`);
    assert.deepEqual(await gather(reader), Buffer.alloc(20 * KIB, kept[0]));
    for (const name of kept) assert.deepEqual(await store.read('box', name), Buffer.alloc(20 * KIB, name));
    await assertSwept(store, { extents: kept.length });
    await store.close();
    await content.close();
  });

  test('whose emptying is cut off at any call ends clean after a restart', async (t) => {
    let cuts = 0;
    for (let cutAt = 1; ; cutAt += 3) {
      const { open } = await openFiles(t);
      const hooks = new Hooks();
      const inner = openMemoryEngine();
      const content = await open();
      const store = await openStore({
        engine: hookEngine(inner, hooks),
        content: hookContent(content, hooks),
      });
      const kept = await fill(store);
      await store.sweeper.sweep();
      cutOff(hooks, cutAt);
      // The garbage is gone; what is cut off are the moves.
      const isCut = await isCutOff(store.sweeper.sweep());
      hooks.clear();
      await store.close();
      await content.close();

      const restarted = await TestStore.open({ engine: inner, content: await open() });
      await restarted.sweep();
      for (const name of kept) assert.deepEqual(await restarted.read('box', name), Buffer.alloc(20 * KIB, name));
      await assertSwept(restarted, { extents: kept.length });
      await restarted.close();
      await restarted.content.close();
      if (!isCut) break;
      cuts++;
    }
    assert.ok(cuts > 0, 'there is a place to cut');
  });
});

test('ids go on after the newest in the store, so that what is let go of keeps its order', async () => {
  const store = await openStore();
  const future = (Date.now() + 1_000_000).toString(16).padStart(12, '0');
  const key = Buffer.concat([Buffer.from('G'), Buffer.from(`${future}000000000000`, 'hex')]);
  const value = Buffer.concat([
    Buffer.from([1]),
    Buffer.from('{"kind":"staging","id":"000000000000000000000000","keeping":null}'),
  ]);
  await store.engine.commit({ checks: [], puts: [{ key, value }], deletes: [] });
  await store.reopen();
  assert.ok(store.storage.ids.next() > future);
  await store.close();
});
