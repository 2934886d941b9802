/**
 * Several nodes in one process, over one store in memory, each with its own way to the engine, the content and the
 * signals, where a test can hold it back. Leaving in order is `close`; a death is the loss of what lives no longer than
 * its process, since the engine, which would see to that, is one process.
 */
import { ManualClock } from '../../src/base/clock.ts';
import type { ContentStore } from '../../src/content/content.ts';
import { openMemoryContent } from '../../src/content/memory/memory-content.ts';
import { type Engine, EngineUnavailable } from '../../src/engine/engine.ts';
import { openMemoryEngine } from '../../src/engine/memory/memory-engine.ts';
import { SETTLING_BEATS } from '../../src/service/nodes/census.ts';
import type { ClaimRecord } from '../../src/service/nodes/node-record.ts';
import { SWEEP } from '../../src/service/nodes/nodes.ts';
import { decodeJson } from '../../src/service/records/codec.ts';
import { claimKey, nodeKey } from '../../src/service/records/keys.ts';
import { openLocalSignals } from '../../src/signals/local/local-signals.ts';
import { type Hook, Hooks, hookContent, hookEngine } from './hooked-store.ts';
import { Line, TestStore } from './store.ts';

export interface ClusterNode {
  readonly store: TestStore;
  readonly line: Line;
  readonly hooks: Hooks;
  /** Nothing that its process still has under way reaches the engine any more. */
  isDead: boolean;
}

export class MemoryCluster {
  readonly engine: Engine = openMemoryEngine();
  readonly content: ContentStore = openMemoryContent();
  readonly clock = new ManualClock();
  readonly signals = openLocalSignals();
  #nextSlot = 0;

  async join(before: Hook = () => {}): Promise<ClusterNode> {
    const hooks = new Hooks();
    hooks.before = before;
    const line = new Line(this.signals);
    const slot = this.#nextSlot++;
    const life = { isDead: false };
    const store = await TestStore.open({
      engine: hookEngine(mortal(this.engine, life), hooks),
      content: hookContent(this.content, hooks),
      clock: this.clock,
      signals: line,
      slot: () => slot,
      isShared: true,
    });
    return Object.assign(life, { store, line, hooks });
  }

  /** The engine has given the node up, though it lives. */
  async forget({ store: { nodes } }: ClusterNode): Promise<void> {
    const isLeader = (await this.leader()) === nodes.id;
    const deletes = [nodeKey(nodes.id), ...(isLeader ? [claimKey(SWEEP)] : [])];
    await this.engine.commit({ checks: [], puts: [], deletes });
  }

  async kill(node: ClusterNode): Promise<void> {
    node.isDead = true;
    node.line.isCut = true;
    await node.store.sweeper.close();
    await this.forget(node);
  }

  /** The id of the node that has the claim. */
  async leader(): Promise<string | null> {
    const snapshot = this.engine.snapshot();
    const [claim] = await snapshot.get([claimKey(SWEEP)]).finally(() => snapshot.close());
    return claim ? decodeJson<ClaimRecord>(claim.value).holder : null;
  }
}

const mortal = (engine: Engine, life: { isDead: boolean }): Engine => ({
  snapshot: () => engine.snapshot(),
  tip: () => engine.tip(),
  async commit(batch) {
    if (life.isDead) throw new EngineUnavailable('this node is dead');
    return engine.commit(batch);
  },
  claim: (range, limit) => engine.claim(range, limit),
  close: () => engine.close(),
});

/** As many beats as it takes until one of them leads, and then as a new leader waits before it sweeps. */
export async function settle(nodes: readonly ClusterNode[]): Promise<void> {
  for (let beats = 0; beats <= SETTLING_BEATS; beats++) for (const { store } of nodes) await store.beat();
}
