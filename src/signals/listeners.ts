/** What adapters of the signal port share: what may not be sent, and the listeners of one node. */
import { PAYLOAD_BYTES_MAX, type Topic } from './signals.ts';

const TOPIC_FORM = /^[a-z-]{1,50}$/;

/** What a caller may not send or listen to. */
export function refuseSignal(topic: Topic, payload = ''): void {
  if (!TOPIC_FORM.test(topic)) throw new RangeError(`not a topic: ${topic}`);
  const lengthBytes = Buffer.byteLength(payload);
  if (lengthBytes > PAYLOAD_BYTES_MAX) throw new RangeError(`a signal of ${lengthBytes} bytes`);
}

/** They are called after the caller is done, so that one may send in turn. */
export class Listeners {
  readonly #ears = new Map<Topic, Set<{ readonly heard: (payload: string) => void }>>();

  add(topic: Topic, heard: (payload: string) => void): () => void {
    const ears = this.#ears.get(topic) ?? new Set();
    const ear = { heard };
    this.#ears.set(topic, ears.add(ear));
    return () => {
      ears.delete(ear);
    };
  }

  tell(topic: Topic, payload: string): void {
    queueMicrotask(() => {
      const ears = this.#ears.get(topic) ?? new Set();
      const told = [...ears];
      for (const ear of told) if (ears.has(ear)) ear.heard(payload);
    });
  }

  /** Signals may have been missed. */
  tellAll(): void {
    for (const topic of this.#ears.keys()) this.tell(topic, '');
  }

  /** Nobody hears anything any more. */
  clear(): void {
    for (const ears of this.#ears.values()) ears.clear();
    this.#ears.clear();
  }
}
