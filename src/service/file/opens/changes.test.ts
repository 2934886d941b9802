import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type ClusterNode, MemoryCluster } from '../../../../test/harness/memory-cluster.ts';
import { turns } from '../../../../test/harness/parallel.ts';
import type { FileChange } from '../../../rules/file-change.ts';
import type { FileChanges, FileNews } from './changes.ts';

let cluster: MemoryCluster;
let nodes: ClusterNode[];
let here: FileChanges;
let there: FileChanges;
let heardHere: FileNews[];
let heardThere: FileNews[];

beforeEach(async () => {
  cluster = new MemoryCluster();
  nodes = [await cluster.join(), await cluster.join()];
  [here, there] = nodes.map(({ store }) => store.storage.fileChanges) as [FileChanges, FileChanges];
  heardHere = [];
  heardThere = [];
  here.listen((news) => heardHere.push(news));
  there.listen((news) => heardThere.push(news));
});

afterEach(async () => {
  for (const { store } of nodes) await store.close();
});

const newsOf = (name: string, shareId = 'share'): FileNews => {
  const change: FileChange = { kind: 'added', filter: 1, parentIds: ['d'], path: [name] };
  return { what: 'changes', shareId, changes: [change] };
};

async function say(changes: FileChanges, ...news: readonly FileNews[]): Promise<void> {
  for (const each of news) changes.say(each.shareId ?? '', async () => each);
  await changes.told();
  await turns(5);
}

describe('word of changes', () => {
  test('reaches whoever watches the share on another node, and nobody else', async () => {
    const end = there.watch('share');
    await turns(5);
    assert.deepEqual([here.isWatched('share'), here.isWatched('other')], [true, false]);
    await say(here, newsOf('a'), newsOf('b', 'other'));
    assert.deepEqual(heardThere, [newsOf('a')]);
    assert.deepEqual(heardHere, [newsOf('a'), newsOf('b', 'other')]);
    end();
    end();
    await turns(5);
    assert.equal(here.isWatched('share'), false);
    await say(here, newsOf('c'));
    assert.deepEqual(heardThere, [newsOf('a')]);
  });

  test('is heard in the order in which it was noted, however long the looking up takes', async () => {
    const ends: (() => void)[] = [];
    for (const name of ['a', 'b', 'c']) {
      here.say('share', () => new Promise((resolve) => ends.push(() => resolve(newsOf(name)))));
    }
    for (const end of ends.toReversed()) {
      end();
      await turns(5);
    }
    await here.told();
    assert.deepEqual(heardHere, [newsOf('a'), newsOf('b'), newsOf('c')]);
  });

  test('a share is watched for as long as one of its watches lasts', async () => {
    const ends = [there.watch('share'), there.watch('share')];
    await turns(5);
    ends[0]?.();
    await turns(5);
    assert.equal(here.isWatched('share'), true);
    ends[1]?.();
    await turns(5);
    assert.equal(here.isWatched('share'), false);
  });

  test('that cannot be looked up says that something has changed', async () => {
    here.say('share', () => Promise.reject(new Error('the engine is away')));
    here.say('share', async () => null);
    await here.told();
    assert.deepEqual(heardHere, [{ what: 'unknown', shareId: 'share' }]);
  });

  test('that is too long for a signal says that something has changed', async () => {
    there.watch('share');
    await turns(5);
    await say(here, newsOf('x'.repeat(5_000)));
    assert.deepEqual(heardHere, [newsOf('x'.repeat(5_000))]);
    assert.deepEqual(heardThere, [{ what: 'unknown', shareId: 'share' }]);
  });

  test('goes everywhere once a node watches more shares than it can tell', async () => {
    for (let number = 0; number < 400; number++) there.watch(`share-of-a-long-name-${number}`);
    await turns(5);
    assert.equal(here.isWatched('any other'), true);
  });

  test('of a node that was cut off for a while says that anything may have changed', async () => {
    await cluster.signals.send('file-changes', '');
    await turns(5);
    assert.deepEqual(heardThere, [{ what: 'unknown', shareId: null }]);
  });

  test('does not go to a node that has been silent for long, until it is heard of again', async () => {
    there.watch('share');
    await turns(5);
    const [, other] = nodes;
    if (other !== undefined) other.line.isCut = true;
    for (let beat = 0; beat < 11; beat++) here.look();
    assert.equal(here.isWatched('share'), false);
    if (other !== undefined) other.line.isCut = false;
    there.look();
    await turns(5);
    assert.equal(here.isWatched('share'), true);
  });
});
