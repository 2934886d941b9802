/** Signals within one process: for a node that is alone with its data. */
import { Listeners, refuseSignal } from '../listeners.ts';
import type { Signals, Topic } from '../signals.ts';

export function openLocalSignals(): Signals {
  return new LocalSignals();
}

class LocalSignals implements Signals {
  readonly #listeners = new Listeners();
  #closed = false;

  send(topic: Topic, payload: string): Promise<void> {
    refuseSignal(topic, payload);
    this.#listeners.tell(topic, payload);
    return Promise.resolve();
  }

  async listen(topic: Topic, heard: (payload: string) => void): Promise<() => void> {
    refuseSignal(topic);
    return this.#closed ? () => {} : this.#listeners.add(topic, heard);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
  }
}
