import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Gate } from '../../../test/harness/store.ts';
import { type Id, IdSource } from '../../base/ids.ts';
import { openMemoryContent } from '../../content/memory/memory-content.ts';
import { type Engine, EngineUnavailable } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { openLocalSignals } from '../../signals/local/local-signals.ts';
import { Readers } from '../extents/readers.ts';
import { encodeJson } from '../records/codec.ts';
import { claimKey, extentKey, nodeKey } from '../records/keys.ts';
import { Census, type Pins } from './census.ts';
import { Nodes, SWEEP } from './nodes.ts';

const ids = new IdSource();
const errors: unknown[] = [];
let engine: Engine;
beforeEach(() => {
  engine = openMemoryEngine();
  errors.length = 0;
});

/** A node that says and hears nothing by itself. */
async function join({ settlingBeats = 0 } = {}) {
  const nodes = new Nodes({ engine, signals: openLocalSignals(), ids });
  const readers = new Readers({ engine, content: openMemoryContent() });
  const census = new Census({ nodes, readers, ids, settlingBeats, onError: (error) => errors.push(error) });
  await nodes.beat();
  return { nodes, readers, census };
}
type Node = Awaited<ReturnType<typeof join>>;

/** The leader and so many others. */
async function joinAll(otherCount: number): Promise<[Node, ...Node[]]> {
  const leader = await join();
  await leader.nodes.lead(SWEEP);
  const others: Node[] = [];
  while (others.length < otherCount) others.push(await join());
  return [leader, ...others];
}

/** Whether it is still unsettled when everything that could settle it has had its turn. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let pending = true;
  void promise.then(() => {
    pending = false;
  });
  for (let turns = 0; turns < 5; turns++) await nextTurn();
  return pending;
}

async function answer(leader: Node, ...nodes: Node[]): Promise<void> {
  for (const { census } of nodes) await census.answer();
  leader.census.lookAgain('word');
}

/** A census that has come so far as to wait for answers. */
async function begin(leader: Node): Promise<{ taking: Promise<Pins | null> }> {
  const taking = leader.census.take();
  assert.ok(await isPending(taking));
  return { taking };
}

async function putExtents(count: number): Promise<Id[]> {
  const extents = Array.from({ length: count }, () => ids.next());
  const value = encodeJson({ placement: 'x', lengthBytes: 1 });
  const puts = extents.map((id) => ({ key: extentKey({ id, inline: false }), value }));
  await engine.commit({ checks: [], puts, deletes: [] });
  return extents;
}

/** A reader that has looked up and pinned what it will read; `first`: what it does between. */
async function pin({ readers }: Node, extents: readonly Id[], first: () => Promise<void> = async () => {}) {
  await readers.inSnapshot(async (snapshot) => {
    await first();
    const range = { offsetBytes: 0, lengthBytes: 1 };
    for (const id of extents) await readers.open(snapshot, { kind: 'extent', id }, range);
  });
}

const forget = (...nodes: Node[]) =>
  engine.commit({ checks: [], puts: [], deletes: nodes.map(({ nodes }) => nodeKey(nodes.id)) });

test('a node that is alone asks nobody: only its own readers hold something', async () => {
  const [leader] = await joinAll(0);
  const [held, free] = (await putExtents(2)) as [Id, Id];
  await pin(leader, [held]);
  const pins = await leader.census.take();
  assert.ok(pins?.has(held));
  assert.ok(!pins?.has(free));
  assert.equal(pins?.nodesAsked, 0);
});

test('what any node holds is held, and no more', async () => {
  const [leader, b, c] = (await joinAll(2)) as [Node, Node, Node];
  const [one, two, three, free] = (await putExtents(4)) as [Id, Id, Id, Id];
  await pin(leader, [one]);
  await pin(b, [two]);
  await pin(c, [three, two]);
  const { taking } = await begin(leader);
  await answer(leader, b);
  assert.ok(await isPending(taking), 'one has not answered yet');
  await answer(leader, c);
  const pins = (await taking) as Pins;
  assert.deepEqual(
    [one, two, three, free].map((id) => pins.has(id)),
    [true, true, true, false],
  );
  assert.equal(pins.nodesAsked, 2);
});

test('each census is answered anew', async () => {
  const [leader, b] = (await joinAll(1)) as [Node, Node];
  const [one] = (await putExtents(1)) as [Id];
  for (const isHeld of [false, true]) {
    if (isHeld) await pin(b, [one]);
    const { taking } = await begin(leader);
    await answer(leader, b);
    assert.equal((await taking)?.has(one), isHeld);
  }
});

describe('a reader that is between its snapshot and its pins', () => {
  test('is waited for, on another node and on the leader', async () => {
    const [leader, b] = (await joinAll(1)) as [Node, Node];
    for (const node of [leader, b]) {
      const [one] = (await putExtents(1)) as [Id];
      const mayPin = new Gate();
      const pinning = pin(node, [one], () => mayPin.passed);
      const { taking } = await begin(leader);
      const answering = answer(leader, b);
      assert.ok(await isPending(taking));
      mayPin.open();
      await Promise.all([pinning, answering]);
      assert.ok((await taking)?.has(one));
    }
  });

  test('is not waited for if it began after its node saw the ask', async () => {
    const [leader, b] = (await joinAll(1)) as [Node, Node];
    const [first, second] = [new Gate(), new Gate()];
    const before = pin(b, [], () => first.passed);
    const { taking } = await begin(leader);
    const answering = answer(leader, b);
    assert.ok(await isPending(answering));
    const after = pin(b, [], () => second.passed);
    first.open();
    await answering;
    assert.ok(await taking);
    second.open();
    await Promise.all([before, after]);
  });
});

describe('a node', () => {
  test('that dies is not waited for', async () => {
    const [leader, b, c] = (await joinAll(2)) as [Node, Node, Node];
    const { taking } = await begin(leader);
    await answer(leader, b);
    await forget(c);
    assert.ok(await isPending(taking));
    leader.census.lookAgain('beat');
    assert.equal((await taking)?.nodesAsked, 1);
  });

  test('that joins after the ask is not waited for', async () => {
    const [leader, b] = (await joinAll(1)) as [Node, Node];
    const { taking } = await begin(leader);
    await join();
    await answer(leader, b);
    assert.equal((await taking)?.nodesAsked, 1);
  });

  test('that was forgotten and is back in time is waited for', async () => {
    const [leader, b] = (await joinAll(1)) as [Node, Node];
    const [one] = (await putExtents(1)) as [Id];
    await pin(b, [one]);
    const { taking } = await begin(leader);
    await forget(b);
    await b.nodes.beat();
    leader.census.lookAgain('beat');
    assert.ok(await isPending(taking));
    await answer(leader, b);
    assert.ok((await taking)?.has(one));
  });

  test('that stays silent ends the census after a while, and is named', async () => {
    const [leader, b, c] = (await joinAll(2)) as [Node, Node, Node];
    const { taking } = await begin(leader);
    await answer(leader, b);
    let beats = 0;
    while (await isPending(taking)) {
      assert.ok(++beats < 100, 'it ends');
      leader.census.lookAgain('beat');
    }
    assert.equal(await taking, null);
    assert.ok(beats > 5, `${beats} beats`);
    assert.equal(errors.length, 1);
    assert.ok(String(errors[0]).includes(c.nodes.id));
    assert.ok(!String(errors[0]).includes(b.nodes.id));
  });

  test('that holds very much holds everything', async () => {
    const [leader, b] = (await joinAll(1)) as [Node, Node];
    const extents = await putExtents(10_001);
    for (const [held, isAllHeld] of [
      [extents.slice(0, 10_000), false],
      [extents.slice(10_000), true],
    ] as const) {
      await pin(b, held);
      const { taking } = await begin(leader);
      await answer(leader, b);
      assert.equal((await taking)?.has(ids.next()), isAllHeld);
    }
  });

  test('that is asked again while it answers answers that too', async () => {
    const [leader, b] = (await joinAll(1)) as [Node, Node];
    const mayPin = new Gate();
    const pinning = pin(b, [], () => mayPin.passed);
    assert.ok(await leader.nodes.ask(SWEEP, 'first'));
    const answering = [b.census.answer()];
    assert.ok(await isPending(answering[0] as Promise<void>));
    assert.ok(await leader.nodes.ask(SWEEP, 'second'));
    answering.push(b.census.answer());
    mayPin.open();
    await Promise.all([...answering, pinning]);
    assert.equal((await leader.nodes.others())[0]?.answer?.ask, 'second');
  });

  test('that could not answer does so the next time', async () => {
    const [leader, b] = (await joinAll(1)) as [Node, Node];
    const { taking } = await begin(leader);
    const commit = engine.commit.bind(engine);
    engine.commit = async () => {
      throw new EngineUnavailable('away');
    };
    await assert.rejects(b.census.answer(), EngineUnavailable);
    engine.commit = commit;
    await answer(leader, b);
    assert.ok(await taking);
  });
});

describe('a leader', () => {
  test('that has lost its claim takes no census', async () => {
    const [leader, b] = (await joinAll(1)) as [Node, Node];
    await engine.commit({ checks: [], puts: [], deletes: [claimKey(SWEEP)] });
    assert.equal(await leader.census.take(), null);
    await b.nodes.lead(SWEEP);
    assert.equal(await leader.census.take(), null);
    assert.equal(await leader.nodes.askedBy(SWEEP), null, 'nothing was asked in the name of the new leader');
  });

  test('that loses its claim while it waits gives up', async () => {
    const [leader, b] = (await joinAll(1)) as [Node, Node];
    const { taking } = await begin(leader);
    await engine.commit({ checks: [], puts: [], deletes: [claimKey(SWEEP)] });
    await b.nodes.lead(SWEEP);
    leader.census.lookAgain('beat');
    assert.equal(await taking, null);
  });

  for (const [what, takeAgain] of [
    ['', async () => {}],
    [', also when it has the claim again at once', async (leader: Node) => leader.nodes.lead(SWEEP)],
  ] as const) {
    test(`does not take nodes for dead that a database forgot together with its claim${what}`, async () => {
      const [leader, b, c] = (await joinAll(2)) as [Node, Node, Node];
      const { taking } = await begin(leader);
      await forget(leader, b, c);
      await engine.commit({ checks: [], puts: [], deletes: [claimKey(SWEEP)] });
      await takeAgain(leader);
      leader.census.lookAgain('beat');
      assert.equal(await taking, null);
    });
  }

  test('that is new gives the others time to show themselves', async () => {
    const leader = await join({ settlingBeats: 2 });
    for (const isReady of [false, false, true]) {
      await leader.nodes.lead(SWEEP);
      assert.equal((await leader.census.take()) !== null, isReady);
      await leader.nodes.beat();
    }
  });

  test('that closes waits no longer, and takes no other census', async () => {
    const [leader] = await joinAll(1);
    const { taking } = await begin(leader);
    leader.census.close();
    assert.equal(await taking, null);
    assert.equal(await leader.census.take(), null);
  });
});
