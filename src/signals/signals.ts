/**
 * The signal port: a word from one node to all of them, itself included, that something has changed and is worth a look.
 * A signal carries no state and may be lost (a connection breaks, a database has no such thing): whoever waits for one
 * also looks by itself now and then, and every signal may come with nothing to be seen.
 */
export interface Signals {
  /**
   * Resolves once the signal is on its way; listeners anywhere hear it soon, the signals of one sender in their order.
   * Never rejects; throws RangeError for a payload beyond PAYLOAD_BYTES_MAX. After close it does nothing.
   */
  send(topic: Topic, payload: string): Promise<void>;

  /**
   * Calls `heard` with every payload sent to the topic from now on; the result ends that. Resolves once it hears. An
   * empty payload may also mean that signals were missed (the node was cut off for a while, and every listener is told
   * once): then anything may have changed.
   */
  listen(topic: Topic, heard: (payload: string) => void): Promise<() => void>;

  close(): Promise<void>;
}

/** Short, lower-case letters and hyphens. */
export type Topic = string;

/** The longest payload that every adapter carries. */
export const PAYLOAD_BYTES_MAX = 4_000;
