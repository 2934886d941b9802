import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { turns } from '../../../test/harness/parallel.ts';
import { TestStore } from '../../../test/harness/store.ts';
import type { ChangeKind } from '../../rules/file-change.ts';
import { statusName, statusOf } from '../statuses.ts';
import { toldBytesOf } from '../wire/change-notify.ts';
import { type Notice, type Watch, Watches } from './watches.ts';

const FILE_NAME = 1;
const PLENTY_BYTES = 10_000;
const AT = { shareId: 'share', nodeId: 'd' };

let store: TestStore;
let watches: Watches;
let watch: Watch;

beforeEach(async () => {
  store = await TestStore.open();
  watches = new Watches(store.storage.fileChanges);
  watch = begin();
});

afterEach(() => store.close());

const begin = (outputBytesMax = PLENTY_BYTES): Watch =>
  watches.begin(AT, { isTree: false, filter: FILE_NAME, outputBytesMax });

async function happen(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const [kind, of] = name.split(': ') as [ChangeKind, string];
    const change = { kind, filter: FILE_NAME, parentIds: ['d'], path: [of] };
    store.storage.fileChanges.say('share', async () => ({ what: 'changes', shareId: 'share', changes: [change] }));
  }
  await store.storage.fileChanges.told();
}

const shown = ({ status, changes }: Notice): string =>
  [statusName(status), ...changes.map(({ kind, path }) => `${kind}: ${path.join('\\')}`)].join(', ');

const take = (outputBytesMax = PLENTY_BYTES): string | null => {
  const notice = watch.take(outputBytesMax);
  return notice && shown(notice);
};

const next = async (options: { outputBytesMax?: number; signal?: AbortSignal } = {}): Promise<string> => {
  const { outputBytesMax = PLENTY_BYTES, signal = new AbortController().signal } = options;
  try {
    return shown(await watch.next(outputBytesMax, signal));
  } catch (error) {
    return statusName(statusOf(error) ?? 0);
  }
};

describe('a watch', () => {
  test('keeps what happens until somebody asks', async () => {
    assert.equal(take(), null);
    await happen('added: a', 'removed: a', 'added: a');
    assert.equal(take(), 'SUCCESS, added: a, removed: a, added: a');
    assert.equal(take(), null);
  });

  test('answers those who wait one after the other', async () => {
    const [first, second] = [next(), next()];
    await happen('added: a');
    assert.equal(await first, 'SUCCESS, added: a');
    await happen('added: b');
    assert.equal(await second, 'SUCCESS, added: b');
  });

  test('tells once what happens to one name again and again', async () => {
    await happen('modified: a', 'modified: a', 'modified: b', 'modified: a');
    assert.equal(take(), 'SUCCESS, modified: a, modified: b, modified: a');
  });

  test('that was told more than its first request has room for says that the client must look', async () => {
    watch = begin(toldBytesOf({ kind: 'added', path: ['1234'] }) * 2);
    await happen('added: 1234', 'added: 5678');
    assert.equal(take(), 'SUCCESS, added: 1234, added: 5678');
    await happen('added: 1234', 'added: 5678', 'added: 9');
    assert.equal(take(), 'NOTIFY_ENUM_DIR');
    await happen('added: 1234');
    assert.equal(take(), 'SUCCESS, added: 1234');
  });

  test('whose first request had no room never tells anything', async () => {
    watch = begin(1);
    const first = next({ outputBytesMax: 1 });
    await happen('added: a');
    assert.equal(await first, 'NOTIFY_ENUM_DIR');
    await happen('added: a');
    assert.equal(take(), 'NOTIFY_ENUM_DIR');
  });

  test('has forgotten what a request had no room for', async () => {
    await happen('added: a');
    assert.equal(take(0), 'NOTIFY_ENUM_DIR');
    assert.equal(take(), null);
  });

  test('keeps no more than so much, however much room there is', async () => {
    watch = begin(8 * 1024 * 1024);
    await happen(...Array.from({ length: 3_000 }, (_, number) => `added: file-${number}`));
    assert.equal(take(), 'NOTIFY_ENUM_DIR');
  });

  test('of which somebody has lost count says that the client must look', async () => {
    const waiting = next();
    store.storage.fileChanges.say('share', async () => ({ what: 'unknown', shareId: 'share' }));
    assert.equal(await waiting, 'NOTIFY_ENUM_DIR');
    store.storage.fileChanges.say('other', async () => ({ what: 'unknown', shareId: 'other' }));
    await store.storage.fileChanges.told();
    assert.equal(take(), null);
  });

  test('goes on when a request is cancelled', async () => {
    const cancelling = new AbortController();
    const [cancelled, other] = [next({ signal: cancelling.signal }), next()];
    cancelling.abort();
    assert.equal(await cancelled, 'CANCELLED');
    assert.equal(await next({ signal: AbortSignal.abort() }), 'CANCELLED');
    await happen('added: a');
    assert.equal(await other, 'SUCCESS, added: a');
  });

  test('that ends sends everybody away, and costs nothing more', async () => {
    const waiting = [next(), next()];
    watch.end();
    assert.deepEqual(await Promise.all(waiting), ['NOTIFY_CLEANUP', 'NOTIFY_CLEANUP']);
    assert.equal(store.storage.fileChanges.isWatched('share'), false);
    assert.equal(take(), 'NOTIFY_CLEANUP');
  });

  test('of a directory that is being deleted says so, then and later', async () => {
    const waiting = next();
    const other = watches.begin({ ...AT, nodeId: 'e' }, { isTree: true, filter: 1, outputBytesMax: 100 });
    store.storage.fileChanges.say('share', async () => ({ what: 'deleting', shareId: 'share', directoryId: 'd' }));
    assert.equal(await waiting, 'DELETE_PENDING');
    assert.throws(() => watch.take(PLENTY_BYTES), { message: 'DELETE_PENDING' });
    assert.equal(other.take(100), null);
  });

  test('in a snapshot waits until it ends', async () => {
    watch = watches.begin(null, { isTree: true, filter: FILE_NAME, outputBytesMax: 100 });
    const waiting = next();
    await happen('added: a');
    await turns(3);
    watch.end();
    assert.equal(await waiting, 'NOTIFY_CLEANUP');
  });
});
