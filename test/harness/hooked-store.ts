/**
 * An engine and a content store with a hook before each call that reaches them, so that a test can fail a call, hold it
 * back, or act between two of them. Some are also announced once they are done.
 */
import type { ContentStore } from '../../src/content/content.ts';
import type { Engine, Key, Snapshot } from '../../src/engine/engine.ts';

export type Call =
  | { readonly what: 'get' | 'range' | 'ranged'; readonly from: Key }
  | { readonly what: 'commit' | 'committed' | 'write' | 'written' | 'read' | 'free' | 'freed' | 'worthMoving' };

export type Hook = (call: Call) => void | Promise<void>;

const hookSnapshot = <S extends Snapshot>(inner: S, hook: () => Hook): S => ({
  ...inner,
  async get(keys: readonly Key[]) {
    await hook()({ what: 'get', from: keys[0] ?? Buffer.alloc(0) });
    return inner.get(keys);
  },
  async range(...args: Parameters<Snapshot['range']>) {
    await hook()({ what: 'range', from: args[0].from });
    const entries = await inner.range(...args);
    await hook()({ what: 'ranged', from: args[0].from });
    return entries;
  },
  close: () => inner.close(),
  ...('settled' in inner ? { settled: () => (inner as unknown as { settled(): Promise<void> }).settled() } : {}),
});

/** `hook()` is asked for at each call, so that a test can change its mind. */
export const hookEngine = (inner: Engine, hook: () => Hook): Engine => ({
  snapshot: () => hookSnapshot(inner.snapshot(), hook),
  tip: () => hookSnapshot(inner.tip(), hook),
  async commit(batch) {
    await hook()({ what: 'commit' });
    const outcome = await inner.commit(batch);
    await hook()({ what: 'committed' });
    return outcome;
  },
  claim: (range, limit) => inner.claim(range, limit),
  close: () => inner.close(),
});

export const hookContent = (inner: ContentStore, hook: () => Hook): ContentStore => ({
  async write(...args) {
    await hook()({ what: 'write' });
    const placement = await inner.write(...args);
    await hook()({ what: 'written' });
    return placement;
  },
  async *read(...args) {
    await hook()({ what: 'read' });
    yield* inner.read(...args);
  },
  async free(...args) {
    await hook()({ what: 'free' });
    await inner.free(...args);
    await hook()({ what: 'freed' });
  },
  async worthMoving() {
    await hook()({ what: 'worthMoving' });
    return inner.worthMoving();
  },
  verify: (extent) => inner.verify(extent),
  recover: (live) => inner.recover(live),
  strays: (live) => inner.strays(live),
  close: () => inner.close(),
});
