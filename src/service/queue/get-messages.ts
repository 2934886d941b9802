/**
 * Get Messages, for any number of consumers of one queue: those that ask at the same time are served in one round
 * (hand-out.ts). The next begins as soon as one has claimed its messages, not when it is durable.
 */
import type { Storage } from '../storage.ts';
import { type GetRequest, type GotMessage, handOut } from './hand-out.ts';
import type { QueueName } from './load.ts';

export const getMessages = (storage: Storage, name: QueueName, request: GetRequest): Promise<readonly GotMessage[]> =>
  storage.dispenser.get(name, request);

/** Who waits for messages of a queue. */
interface Asker extends GetRequest {
  resolve(messages: readonly GotMessage[]): void;
  reject(error: unknown): void;
}

/** So many messages in one round, and what the last asker wants beyond. */
const ROUND_COUNT = 512;

export class Dispenser {
  readonly #storage: () => Storage;
  /** By queue. A line is there while a round is to come. */
  readonly #lines = new Map<string, Asker[]>();

  constructor(storage: () => Storage) {
    this.#storage = storage;
  }

  get(name: QueueName, request: GetRequest): Promise<readonly GotMessage[]> {
    return new Promise((resolve, reject) => {
      this.#join(name, { ...request, resolve, reject });
    });
  }

  #join(name: QueueName, asker: Asker): void {
    const line = this.#lines.get(keyOf(name));
    if (line !== undefined) {
      line.push(asker);
      return;
    }
    this.#lines.set(keyOf(name), [asker]);
    // At the end of the event loop's turn, so that all who ask in this turn share a round.
    setImmediate(() => this.#serve(name));
  }

  #serve(name: QueueName): void {
    const line = this.#lines.get(keyOf(name)) ?? [];
    if (line.length === 0) {
      this.#lines.delete(keyOf(name));
      return;
    }
    let isNextDue = true;
    const next = (): void => {
      if (!isNextDue) return;
      isNextDue = false;
      this.#serve(name);
    };
    void this.#round(name, { askers: takeRound(line), onClaimed: next }).finally(next);
  }

  async #round(
    name: QueueName,
    { askers, onClaimed }: { readonly askers: readonly Asker[]; readonly onClaimed: () => void },
  ): Promise<void> {
    try {
      const got = await handOut(this.#storage(), name, { requests: askers, onClaimed });
      for (const [index, asker] of askers.entries()) {
        const share = got[index] ?? null;
        if (share === null) this.#join(name, asker);
        else asker.resolve(share);
      }
    } catch (error) {
      for (const asker of askers) asker.reject(error);
    }
  }
}

const keyOf = ({ account, queue }: QueueName): string => `${account}/${queue}`;

function takeRound(line: Asker[]): Asker[] {
  let wantedCount = 0;
  const last = line.findIndex((asker) => {
    wantedCount += asker.count;
    return wantedCount >= ROUND_COUNT;
  });
  return line.splice(0, last === -1 ? line.length : last + 1);
}
