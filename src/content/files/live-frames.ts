/** Which frames of one segment are live: a bit for the slot each starts at (2 KiB for 64 MiB), and two counts. */
export class LiveFrames {
  #bits = new Uint8Array(0);
  #frameCount = 0;
  #slotCount = 0;

  get frameCount(): number {
    return this.#frameCount;
  }

  /** The slots that live frames take up. */
  get slotCount(): number {
    return this.#slotCount;
  }

  has(slot: number): boolean {
    return ((this.#bits[slot >> 3] ?? 0) & (1 << (slot & 7))) !== 0;
  }

  add(frame: { slot: number; slotCount: number }): void {
    if (this.has(frame.slot)) return;
    const index = frame.slot >> 3;
    if (index >= this.#bits.length) {
      const wider = new Uint8Array(Math.max(64, 2 * this.#bits.length, index + 1));
      wider.set(this.#bits);
      this.#bits = wider;
    }
    this.#bits[index] = (this.#bits[index] as number) | (1 << (frame.slot & 7));
    this.#frameCount++;
    this.#slotCount += frame.slotCount;
  }

  /** Nothing happens when it is not live: a frame can be freed twice. */
  delete(frame: { slot: number; slotCount: number }): void {
    if (!this.has(frame.slot)) return;
    const index = frame.slot >> 3;
    this.#bits[index] = (this.#bits[index] as number) & ~(1 << (frame.slot & 7));
    this.#frameCount--;
    this.#slotCount -= frame.slotCount;
  }

  *slots(): Generator<number> {
    for (let index = 0; index < this.#bits.length; index++) {
      if (this.#bits[index] === 0) continue;
      for (let slot = index * 8; slot < index * 8 + 8; slot++) if (this.has(slot)) yield slot;
    }
  }
}
