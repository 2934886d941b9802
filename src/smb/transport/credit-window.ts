/**
 * Credits ([MS-SMB2] 3.3.1.1): each is the right to send one request with a message id of its own. A client uses the ids it
 * was granted in any order, each once; how far the highest may be ahead of the lowest that is left is bounded.
 */

export class CreditWindow {
  readonly #countMax: number;
  /** All below were used. */
  #low = 0;
  /** The first that was not granted. */
  #high = 1;
  /** Above `low`. */
  readonly #used = new Set<number>();

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** The ids that a client may use. */
  get leftCount(): number {
    return this.#high - this.#low - this.#used.size;
  }

  /** False: an id was used before, or never granted. */
  use(messageId: bigint, charge: number): boolean {
    if (messageId + BigInt(charge) > BigInt(this.#high) || messageId < BigInt(this.#low)) return false;
    const first = Number(messageId);
    for (let id = first; id < first + charge; id++) if (this.#used.has(id)) return false;
    for (let id = first; id < first + charge; id++) this.#used.add(id);
    while (this.#used.delete(this.#low)) this.#low++;
    return true;
  }

  /** How many of those asked for are granted: one at least, as long as the client does not leave out ids. */
  grant(askedCount: number): number {
    const room = Math.min(this.#countMax - this.leftCount, this.#low + 2 * this.#countMax - this.#high);
    const granted = Math.max(0, Math.min(Math.max(askedCount, 1), room));
    this.#high += granted;
    return granted;
  }
}
