import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { turns } from '../../../../test/harness/parallel.ts';
import { type Outcome, WriteGroup } from './write-group.ts';

/** Runs that the test ends, one after the other. */
let runs: { readonly items: readonly string[]; readonly end: (outcomes: readonly Outcome[] | Error) => void }[];
let idleCount: number;
let group: WriteGroup<string>;

beforeEach(() => {
  runs = [];
  idleCount = 0;
  group = new WriteGroup<string>(
    (items) =>
      new Promise((resolve, reject) => {
        runs.push({ items, end: (outcomes) => (outcomes instanceof Error ? reject(outcomes) : resolve(outcomes)) });
      }),
    () => idleCount++,
  );
});

const add = (item: string): Promise<string> => outcomeOf(group.add(Promise.resolve(item)));

const outcomeOf = (added: Promise<void>): Promise<string> =>
  added.then(
    () => 'done',
    (error: Error) => error.message,
  );

async function endRun(outcomes: readonly Outcome[] | Error = []): Promise<readonly string[]> {
  await turns(3);
  const run = runs.shift();
  assert.ok(run !== undefined, 'a run is under way');
  run.end(outcomes);
  await turns(3);
  return run.items;
}

test('whatever comes while a run is under way goes with the next, all together', async () => {
  const first = add('a');
  await turns(3);
  const others = ['b', 'c', 'd'].map(add);
  assert.deepEqual(await endRun(), ['a']);
  assert.deepEqual(await endRun(), ['b', 'c', 'd']);
  assert.deepEqual(await Promise.all([first, ...others]), ['done', 'done', 'done', 'done']);
});

test('each has its own outcome', async () => {
  const added = ['a', 'b', 'c'].map(add);
  assert.deepEqual(await endRun([null, { error: new Error('refused') }, null]), ['a', 'b', 'c']);
  assert.deepEqual(await Promise.all(added), ['done', 'refused', 'done']);
});

test('a run that fails is the outcome of those in it, and of no other', async () => {
  const added = ['a', 'b'].map(add);
  await turns(3);
  const later = add('c');
  await endRun(new Error('broken'));
  assert.deepEqual(await Promise.all(added), ['broken', 'broken']);
  await endRun();
  assert.equal(await later, 'done');
});

test('one that is still being prepared is not overtaken, and holds up nobody before it', async () => {
  const first = add('a');
  const prepares: ((item: string) => void)[] = [];
  const slow = outcomeOf(group.add(new Promise((resolve) => prepares.push(resolve))));
  const last = add('c');
  assert.deepEqual(await endRun(), ['a']);
  assert.deepEqual(runs, []);
  prepares[0]?.('b');
  assert.deepEqual(await endRun(), ['b', 'c']);
  assert.deepEqual(await Promise.all([first, slow, last]), ['done', 'done', 'done']);
});

test('one that cannot be prepared is told so, and the others go on', async () => {
  const first = add('a');
  const failed = outcomeOf(group.add(Promise.reject(new Error('no room'))));
  const last = add('c');
  assert.equal(await failed, 'no room');
  assert.deepEqual(await endRun(), ['a', 'c']);
  assert.deepEqual(await Promise.all([first, last]), ['done', 'done']);
  const alone = outcomeOf(group.add(Promise.reject(new Error('no room'))));
  assert.equal(await alone, 'no room');
  await turns(3);
  assert.deepEqual(runs, []);
});

test('it says when nothing is left, and begins anew with the next', async () => {
  void add('a');
  await endRun();
  assert.equal(idleCount, 1);
  void add('b');
  assert.deepEqual(await endRun(), ['b']);
  assert.equal(idleCount, 2);
});

test('a run has no more than so many, and the rest follow', async () => {
  const names = Array.from({ length: 300 }, (_, index) => String(index));
  const added = names.map(add);
  const ran: string[] = [];
  let longest = 0;
  while (ran.length < names.length) {
    const items = await endRun();
    longest = Math.max(longest, items.length);
    ran.push(...items);
  }
  assert.deepEqual(ran, names);
  assert.ok(longest < 300 && longest > 50, String(longest));
  await Promise.all(added);
});
