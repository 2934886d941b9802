/**
 * The checksums of a body that arrives in pieces. Small bodies are hashed where they are; large ones in another thread,
 * because MD5 in the main thread would be the limit of an upload.
 */
import { type BodyDigests, type DigestChoice, Digests } from './digests.ts';
import { beginRemoteBody, CHUNK_BYTES, type HashListener, type RemoteBody, takeChunk } from './hash-workers.ts';

/** Up to here the way to the other thread and back costs the main thread about as much as hashing. */
const INLINE_BYTES_MAX = 128 * 1024;
/** More of one body is not sent before some has come back. */
const CHUNKS_UNDER_WAY_MAX = 4;

export interface BodyHashOptions extends DigestChoice {
  /** What the body's length is said to be. Only decides where it is hashed. */
  readonly lengthBytes: number;
}

export class BodyHash {
  readonly #hash: InlineHash | RemoteHash;

  constructor({ md5, crc64, lengthBytes }: BodyHashOptions) {
    const inline = lengthBytes <= INLINE_BYTES_MAX || !(md5 || crc64);
    this.#hash = inline ? new InlineHash({ md5, crc64 }) : new RemoteHash({ md5, crc64 });
  }

  /** A promise when enough is under way: the caller waits for it before it brings more. */
  update(bytes: Uint8Array): void | Promise<void> {
    return this.#hash.update(bytes);
  }

  /** Once, at the end. */
  digest(): Promise<BodyDigests> {
    return this.#hash.digest();
  }

  /** For a body that will not be finished; does nothing for one that is. */
  dispose(): void {
    this.#hash.dispose();
  }
}

class InlineHash {
  readonly #digests: Digests;

  constructor(choice: DigestChoice) {
    this.#digests = new Digests(choice);
  }

  update(bytes: Uint8Array): void {
    this.#digests.update(bytes);
  }

  async digest(): Promise<BodyDigests> {
    return this.#digests.digest();
  }

  dispose(): void {}
}

class RemoteHash implements HashListener {
  readonly #body: RemoteBody;
  #chunk = takeChunk();
  #filledBytes = 0;
  #underWayCount = 0;
  #over = false;
  #error: Error | null = null;
  #digests: BodyDigests | null = null;
  #wake: (() => void) | null = null;

  constructor(choice: DigestChoice) {
    this.#body = beginRemoteBody(choice, this);
  }

  update(bytes: Uint8Array): void | Promise<void> {
    for (let at = 0; at < bytes.length && !this.#over; ) {
      const part = bytes.subarray(at, at + CHUNK_BYTES - this.#filledBytes);
      this.#chunk.set(part, this.#filledBytes);
      this.#filledBytes += part.length;
      at += part.length;
      if (this.#filledBytes === CHUNK_BYTES) this.#send();
    }
    return this.#waitUntil(() => this.#underWayCount < CHUNKS_UNDER_WAY_MAX);
  }

  async digest(): Promise<BodyDigests> {
    this.#send();
    this.#body.end();
    await this.#waitUntil(() => this.#digests !== null);
    this.#over = true;
    if (this.#digests === null) throw new Error('the body was given up');
    return this.#digests;
  }

  dispose(): void {
    if (this.#over) return;
    this.#over = true;
    this.#body.drop();
    this.#wake?.();
  }

  onChunkBack(): void {
    this.#underWayCount--;
    this.#wake?.();
  }

  onDigests(digests: BodyDigests): void {
    this.#digests = digests;
    this.#wake?.();
  }

  onError(error: Error): void {
    this.#error = error;
    this.#wake?.();
  }

  #send(): void {
    this.#body.add(this.#chunk, this.#filledBytes);
    this.#underWayCount++;
    this.#chunk = takeChunk();
    this.#filledBytes = 0;
  }

  #waitUntil(reached: () => boolean): void | Promise<void> {
    if (this.#error === null && (this.#over || reached())) return;
    return this.#waitLong(reached);
  }

  async #waitLong(reached: () => boolean): Promise<void> {
    this.#body.beginWait();
    try {
      while (this.#error === null && !this.#over && !reached()) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.#body.endWait();
    }
    if (this.#error !== null) throw this.#error;
  }
}
