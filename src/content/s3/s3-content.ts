/**
 * Content in a bucket of an S3 server: one extent, one object, below a prefix that is this store's alone. An object
 * appears whole or not at all, and never changes, so nothing else is kept about it. Many nodes may use one store; an
 * object is removed while no reader of this process has it, and the caller sees to those of others.
 */
import type { Id } from '../../base/ids.ts';
import {
  type ByteRange,
  type ContentStore,
  ContentUnavailable,
  ExtentMissing,
  type PlacedExtent,
  type Placement,
  type RecoverOptions,
  type RecoveryReport,
} from '../content.ts';
import { refuseExtent, refuseRange } from '../malformed.ts';
import { ensureBucket } from './bucket.ts';
import { exactly } from './exact-source.ts';
import { HeldObjects } from './held-objects.ts';
import { listObjects } from './object-listing.ts';
import { newPlacement, parsePlacement } from './placement.ts';
import { readObject } from './range-read.ts';
import { type Patience, S3Client } from './s3-client.ts';
import { parseS3Url, type S3Credentials } from './s3-url.ts';
import { straysAmong } from './strays.ts';

export interface S3ContentOptions {
  /** See s3-url.ts. */
  readonly url: string;
  /** Tells stores that share a bucket and prefix apart: letters, digits, hyphens and underscores. */
  readonly storeId: string;
  /** In place of those in the URL or the environment. */
  readonly credentials?: S3Credentials;
  /** In place of the usual limits. */
  readonly patience?: Partial<Patience>;
  /** Of a listing; the server's own, when absent. */
  readonly pageObjectCountMax?: number;
}

/** Shorter ones are collected before they are sent, so that they can be sent again. */
const REPEATABLE_BYTES_MAX = 256 * 1024;
const REMOVAL_COUNT_MAX = 16;
const STORE_ID = /^[A-Za-z0-9_-]{1,128}$/;
/** Servers tell their time, and some their objects' times, in whole seconds. */
const TIME_RESOLUTION_MS = 1_000;

export async function openS3Content(options: S3ContentOptions): Promise<ContentStore> {
  if (!STORE_ID.test(options.storeId)) throw new Error(`not a store's id: ${options.storeId}`);
  const place = parseS3Url(options.url, process.env);
  const credentials = options.credentials ?? place.credentials;
  if (credentials === null) {
    throw new Error(
      'The S3 store needs an access key: write s3://KEY:SECRET@bucket, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    );
  }
  const client = new S3Client({ place, credentials, patience: options.patience });
  try {
    await ensureBucket(client);
  } catch (error) {
    client.close();
    throw error;
  }
  const { storeId, pageObjectCountMax } = options;
  return new S3Content({ client, folder: `${place.prefix}${storeId}/`, pageObjectCountMax });
}

interface Parts {
  readonly client: S3Client;
  /** Ends in a slash. */
  readonly folder: string;
  readonly pageObjectCountMax: number | undefined;
}

class S3Content implements ContentStore {
  readonly #client: S3Client;
  readonly #folder: string;
  readonly #pageObjectCountMax: number | undefined;
  readonly #held = new HeldObjects((placement) => this.#remove(placement));
  readonly #writing = new Set<Promise<void>>();
  #isClosed = false;

  constructor({ client, folder, pageObjectCountMax }: Parts) {
    this.#client = client;
    this.#folder = folder;
    this.#pageObjectCountMax = pageObjectCountMax;
  }

  async write(id: Id, source: AsyncIterable<Uint8Array>, lengthBytes: number): Promise<Placement> {
    refuseExtent(id, lengthBytes);
    this.#refuseWhenClosed();
    const placement = newPlacement({ id, lengthBytes });
    const writing = this.#put(placement, exactly(source, lengthBytes), lengthBytes);
    this.#writing.add(writing);
    try {
      await writing;
    } finally {
      this.#writing.delete(writing);
    }
    return placement;
  }

  async *read(placement: Placement, range: ByteRange): AsyncIterable<Uint8Array> {
    this.#refuseWhenClosed();
    const place = parsePlacement(placement);
    if (place === null) throw new ExtentMissing(`not a placement of this store: ${placement}`);
    refuseRange(range, place.lengthBytes);
    const release = this.#held.hold(placement);
    try {
      if (range.lengthBytes > 0) yield* readObject(this.#client, this.#keyOf(placement), range);
      // Nothing to get, but whether it is there is still to be told.
      else if ((await this.#lengthOf(placement)) === null) throw new ExtentMissing(placement);
    } finally {
      release();
    }
  }

  async free(placement: Placement): Promise<void> {
    this.#refuseWhenClosed();
    if (parsePlacement(placement) !== null) await this.#held.free(placement);
  }

  async verify({ id, placement, lengthBytes }: PlacedExtent): Promise<'ok' | 'missing' | 'damaged'> {
    this.#refuseWhenClosed();
    const place = parsePlacement(placement);
    if (place === null || this.#held.isFreed(placement)) return 'missing';
    const storedBytes = await this.#lengthOf(placement);
    if (storedBytes === null) return 'missing';
    return place.id === id && place.lengthBytes === lengthBytes && storedBytes === lengthBytes ? 'ok' : 'damaged';
  }

  async recover(live: AsyncIterable<PlacedExtent>, options: RecoverOptions = {}): Promise<RecoveryReport> {
    const objects = this.#listed(options.spareYoungerThanMs ?? 0);
    return this.#tally(straysAmong(objects, refusingForeign(live)), ({ placement }) => this.#held.free(placement));
  }

  /** An object is an extent: none waits for others to be given back. */
  async worthMoving(): Promise<readonly PlacedExtent[]> {
    return [];
  }

  async strays(live: AsyncIterable<PlacedExtent>): Promise<RecoveryReport> {
    return this.#tally(straysAmong(this.#listed(0), live), async () => {});
  }

  /** Waits for writes and removals, not for readers, who may finish. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#writing);
    await this.#held.settled();
    this.#client.close();
  }

  async #put(placement: Placement, pieces: AsyncIterable<Uint8Array>, lengthBytes: number): Promise<void> {
    const request = { method: 'PUT', key: this.#keyOf(placement) } as const;
    const answer =
      lengthBytes <= REPEATABLE_BYTES_MAX
        ? await this.#client.ask({ ...request, body: await collect(pieces) })
        : await this.#client.upload(request.key, pieces, lengthBytes);
    if (answer.status !== 200) throw this.#client.refusal(request, answer);
  }

  /** Null when there is no such object. */
  async #lengthOf(placement: Placement): Promise<number | null> {
    const request = { method: 'HEAD', key: this.#keyOf(placement) } as const;
    const answer = await this.#client.ask(request);
    if (answer.status === 404) return null;
    if (answer.status !== 200) throw this.#client.refusal(request, answer);
    return Number(answer.headers['content-length']);
  }

  async #remove(placement: Placement): Promise<void> {
    const request = { method: 'DELETE', key: this.#keyOf(placement) } as const;
    const answer = await this.#client.ask(request);
    if (answer.status >= 300 && answer.status !== 404) throw this.#client.refusal(request, answer);
  }

  /**
   * What the store holds, but for what is too young. Age is told as of the first page, before any record was read:
   * whatever was old enough to be named by then, the records name, however far ahead of the objects they are read.
   * A server may date an object from the beginning of its upload: to be spared long enough, it takes that on top.
   */
  async *#listed(spareYoungerThanMs: number): AsyncGenerator<PlacedExtent> {
    let newestMs: number | null = spareYoungerThanMs > 0 ? null : Number.POSITIVE_INFINITY;
    const listing = { prefix: this.#folder, pageObjectCountMax: this.#pageObjectCountMax };
    for await (const { serverTimeMs, objects } of listObjects(this.#client, listing)) {
      if (newestMs === null) {
        if (serverTimeMs === null) throw new ContentUnavailable('the S3 server does not send a Date header');
        newestMs = serverTimeMs - spareYoungerThanMs - TIME_RESOLUTION_MS;
      }
      for (const { name, lastModifiedMs } of objects) {
        const place = parsePlacement(name);
        if (place !== null && lastModifiedMs <= newestMs) yield { ...place, placement: name };
      }
    }
  }

  async #tally(
    strays: AsyncIterable<PlacedExtent>,
    act: (stray: PlacedExtent) => Promise<void>,
  ): Promise<RecoveryReport> {
    this.#refuseWhenClosed();
    let extentCount = 0;
    let bytes = 0;
    let batch: PlacedExtent[] = [];
    const actOnBatch = async () => {
      const outcomes = await Promise.allSettled(batch.map(act));
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
      batch = [];
    };
    for await (const stray of strays) {
      extentCount++;
      bytes += stray.lengthBytes;
      batch.push(stray);
      if (batch.length === REMOVAL_COUNT_MAX) await actOnBatch();
    }
    await actOnBatch();
    return { extentCount, bytes };
  }

  #keyOf(placement: Placement): string {
    return `${this.#folder}${placement}`;
  }

  #refuseWhenClosed(): void {
    if (this.#isClosed) throw new Error('the content store is closed');
  }
}

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const collected: Uint8Array[] = [];
  for await (const piece of pieces) collected.push(piece);
  return collected;
}

/** Records of another store: everything here would look like a stray. */
async function* refusingForeign(live: AsyncIterable<PlacedExtent>): AsyncGenerator<PlacedExtent> {
  for await (const extent of live) {
    if (parsePlacement(extent.placement) === null) {
      throw new Error(`a record refers to content that this store never wrote: ${extent.placement}`);
    }
    yield extent;
  }
}
