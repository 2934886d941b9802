import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GroupSync } from './group-sync.ts';

/** A sync that ends when the test says so. */
function heldSync() {
  const running: { succeed(): void; fail(error: Error): void }[] = [];
  const sync = () =>
    new Promise<void>((resolve, reject) => {
      running.push({ succeed: resolve, fail: reject });
    });
  return { group: new GroupSync(sync), running };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('whoever asks before a sync begins is served by it', async () => {
  const { group, running } = heldSync();
  const waits = [group.wait(), group.wait(), group.wait()];
  await turn();
  assert.equal(running.length, 1);
  running[0]?.succeed();
  await Promise.all(waits);
});

test('whoever asks while a sync runs shares the next one and is not served by this one', async () => {
  const { group, running } = heldSync();
  const first = group.wait();
  await turn();
  const served: string[] = [];
  const late = ['a', 'b'].map((name) => group.wait().then(() => served.push(name)));
  running[0]?.succeed();
  await first;
  await turn();
  assert.deepEqual(served, []);
  assert.equal(running.length, 2);
  running[1]?.succeed();
  await Promise.all(late);
  assert.deepEqual(served, ['a', 'b']);
});

test('a failed sync rejects those it served, those who wait for the next, and all who come later, and is not retried', async () => {
  const { group, running } = heldSync();
  const first = group.wait();
  await turn();
  const second = group.wait();
  const failure = new Error('EIO');
  running[0]?.fail(failure);
  await assert.rejects(first, failure);
  await assert.rejects(second, failure);
  await assert.rejects(group.wait(), failure);
  await assert.rejects(group.wait(), failure);
  assert.equal(running.length, 1);
});
