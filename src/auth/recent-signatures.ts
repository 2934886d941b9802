/**
 * The strings to sign whose signature was lately found right, with that signature. Bounded: two generations of equal
 * size, of which the older is dropped when the younger is full; what is asked for again moves to the younger.
 */
const GENERATION_ENTRIES_MAX = 2048;

export class RecentSignatures {
  readonly #generationMax: number;
  #young = new Map<string, string>();
  #old = new Map<string, string>();

  constructor(generationMax: number = GENERATION_ENTRIES_MAX) {
    this.#generationMax = generationMax;
  }

  get(stringToSign: string): string | null {
    const young = this.#young.get(stringToSign);
    if (young !== undefined) return young;
    const old = this.#old.get(stringToSign);
    if (old === undefined) return null;
    this.add(stringToSign, old);
    return old;
  }

  add(stringToSign: string, signature: string): void {
    if (this.#young.size >= this.#generationMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(stringToSign, signature);
  }
}
