/** Word between nodes that something about the use of a file or directory has changed, or is asked for. */
import type { Signals, Topic } from '../../../signals/signals.ts';
import type { UsedNode } from './node-uses.ts';

const OPENS_TOPIC: Topic = 'opens';

const NOBODY_WAITS = (): void => {};

export interface Listening {
  /** Resolves with the next word that came since the last call, once so much time has passed, or when told so. */
  heard(limitMs: number, signal?: AbortSignal): Promise<void>;
  end(): void;
}

export class Words {
  readonly #signals: Signals;
  readonly #listeners = new Map<string, Set<() => void>>();
  #unlisten: () => void = () => {};

  constructor(signals: Signals) {
    this.#signals = signals;
  }

  /** `attend`: is told every word, null where some were missed. */
  async start(attend: (at: UsedNode | null) => void): Promise<void> {
    this.#unlisten = await this.#signals.listen(OPENS_TOPIC, (payload) => {
      const [shareId, nodeId] = payload.split(' ');
      const at = shareId && nodeId ? { shareId, nodeId } : null;
      this.#wake(at);
      attend(at);
    });
  }

  say(at: UsedNode): void {
    void this.#signals.send(OPENS_TOPIC, nameOf(at));
  }

  listen(at: UsedNode): Listening {
    const name = nameOf(at);
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    let hasHeard = false;
    let wake = NOBODY_WAITS;
    const listener = (): void => {
      hasHeard = true;
      wake();
    };
    listeners.add(listener);
    return {
      heard: (limitMs, signal) =>
        new Promise<void>((resolve) => {
          const timer = setTimeout(() => wake(), limitMs);
          const cancel = (): void => wake();
          signal?.addEventListener('abort', cancel);
          wake = () => {
            clearTimeout(timer);
            signal?.removeEventListener('abort', cancel);
            wake = NOBODY_WAITS;
            hasHeard = false;
            resolve();
          };
          if (hasHeard || signal?.aborted === true) wake();
        }),
      end: () => {
        listeners.delete(listener);
        if (listeners.size === 0 && this.#listeners.get(name) === listeners) this.#listeners.delete(name);
      },
    };
  }

  /** Whoever waits here looks once more; other nodes need not. */
  nudge(at: UsedNode): void {
    this.#wake(at);
  }

  /** Whoever waits looks once more. */
  stop(): void {
    this.#unlisten();
    this.#wake(null);
  }

  #wake(at: UsedNode | null): void {
    const sets = at === null ? this.#listeners.values() : [this.#listeners.get(nameOf(at)) ?? []];
    for (const listeners of sets) for (const listener of listeners) listener();
  }
}

export const nameOf = ({ shareId, nodeId }: UsedNode): string => `${shareId} ${nodeId}`;
