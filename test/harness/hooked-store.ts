/**
 * An engine and a content store with a hook before each call that reaches them, so that a test can fail a call, hold it
 * back, or act between two of them. Some are also announced once they are done.
 */
import type { ContentStore, RecoverOptions } from '../../src/content/content.ts';
import type { Engine, Key, Snapshot } from '../../src/engine/engine.ts';

export type Call =
  | { readonly what: 'get' | 'range' | 'ranged'; readonly from: Key }
  | { readonly what: 'commit' | 'committed' | 'write' | 'written' | 'read' | 'free' | 'freed' | 'worthMoving' }
  | { readonly what: 'recover'; readonly options: RecoverOptions | undefined };

export type Hook = (call: Call) => void | Promise<void>;

/** The hook as it is at the moment; a test changes it as it goes on. */
export class Hooks {
  before: Hook = () => {};

  call(call: Call): void | Promise<void> {
    return this.before(call);
  }

  clear(): void {
    this.before = () => {};
  }
}

const hookSnapshot = <S extends Snapshot>(inner: S, hooks: Hooks): S => ({
  ...inner,
  async get(keys: readonly Key[]) {
    await hooks.call({ what: 'get', from: keys[0] ?? Buffer.alloc(0) });
    return inner.get(keys);
  },
  async range(...args: Parameters<Snapshot['range']>) {
    await hooks.call({ what: 'range', from: args[0].from });
    const entries = await inner.range(...args);
    await hooks.call({ what: 'ranged', from: args[0].from });
    return entries;
  },
  async scan(...args: Parameters<Snapshot['scan']>) {
    await hooks.call({ what: 'range', from: args[0].from });
    const next = await inner.scan(...args);
    await hooks.call({ what: 'ranged', from: args[0].from });
    return next;
  },
  close: () => inner.close(),
  ...('settled' in inner ? { settled: () => (inner as unknown as { settled(): Promise<boolean> }).settled() } : {}),
});

export const hookEngine = (inner: Engine, hooks: Hooks): Engine => ({
  snapshot: () => hookSnapshot(inner.snapshot(), hooks),
  tip: () => hookSnapshot(inner.tip(), hooks),
  async commit(batch) {
    await hooks.call({ what: 'commit' });
    const outcome = await inner.commit(batch);
    await hooks.call({ what: 'committed' });
    return outcome;
  },
  claim: (range, limit) => inner.claim(range, limit),
  close: () => inner.close(),
});

export const hookContent = (inner: ContentStore, hooks: Hooks): ContentStore => ({
  async write(...args) {
    await hooks.call({ what: 'write' });
    const placement = await inner.write(...args);
    await hooks.call({ what: 'written' });
    return placement;
  },
  async *read(...args) {
    await hooks.call({ what: 'read' });
    yield* inner.read(...args);
  },
  async free(...args) {
    await hooks.call({ what: 'free' });
    await inner.free(...args);
    await hooks.call({ what: 'freed' });
  },
  async worthMoving() {
    await hooks.call({ what: 'worthMoving' });
    return inner.worthMoving();
  },
  verify: (extent) => inner.verify(extent),
  async recover(live, options) {
    await hooks.call({ what: 'recover', options });
    return inner.recover(live, options);
  },
  strays: (live) => inner.strays(live),
  close: () => inner.close(),
});
