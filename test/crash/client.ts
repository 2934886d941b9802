/**
 * How a client of the crash test sends: every write is journalled before it is sent and again when it is acknowledged,
 * until the server is killed under it.
 */
import assert from 'node:assert/strict';
import { type RawRequest, type RawResponse, send } from '../harness/http.ts';
import type { BlobEntry, BlobState, CommittedBlob, ContainerEntry } from './journal.ts';

/** The server was killed while a request was under way. */
export class Cut extends Error {}

/** When the server is to be killed, and whether it has been: what all clients of a round share. */
export class Kill {
  readonly due: Promise<void>;
  done = false;
  acknowledgedCount = 0;
  readonly #dueAtCount: number;
  #makeDue: (() => void) | null = null;

  constructor(dueAtCount: number) {
    this.#dueAtCount = dueAtCount;
    this.due = new Promise((resolve) => {
      this.#makeDue = resolve;
    });
  }

  countAcknowledged(): void {
    this.acknowledgedCount += 1;
    if (this.acknowledgedCount === this.#dueAtCount) this.#makeDue?.();
  }
}

/** A blob of the client's own, which nobody else writes. */
export interface Target {
  readonly container: ContainerEntry;
  readonly blob: BlobEntry;
}

export interface Write {
  readonly method?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly status: number;
  /** A lease is the blob's own: nothing of its past has one. */
  readonly isOfPast?: boolean;
}

export class Client {
  readonly #url: string;
  readonly kill: Kill;

  constructor(url: string, kill: Kill) {
    this.#url = url;
    this.kill = kill;
  }

  async send(request: RawRequest): Promise<RawResponse> {
    try {
      return await send(this.#url, request);
    } catch (error) {
      if (this.kill.done) throw new Cut();
      throw error;
    }
  }

  /** The same for a request of the official client. */
  async answerTo<T>(request: Promise<T>): Promise<T> {
    try {
      return await request;
    } catch (error) {
      if (this.kill.done && (error as { statusCode?: number }).statusCode === undefined) throw new Cut();
      throw error;
    }
  }

  /** A write that leads to this state. */
  async write({ container, blob }: Target, next: BlobState, write: Write): Promise<RawResponse> {
    const { method = 'PUT', query, headers = {}, body, status, isOfPast = false } = write;
    blob.pending = next;
    const leaseId = isOfPast ? null : (blob.acknowledged.committed?.leaseId ?? null);
    const response = await this.send({
      account: container.account,
      method,
      path: `/${container.name}/${blob.name}${query === undefined ? '' : `?${query}`}`,
      headers: { ...(leaseId === null ? {} : { 'x-ms-lease-id': leaseId }), ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const what = `${method} ${container.name}/${blob.name} ${query ?? ''}: ${response.outcome} ${response.body.toString()}`;
    assert.equal(response.status, status, what);
    blob.acknowledged = next;
    blob.pending = null;
    this.kill.countAcknowledged();
    return response;
  }

  /** A write that gives the blob a new ETag, and maybe a version id, which its answer tells. */
  async change(
    { container, blob }: Target,
    next: BlobState & { readonly committed: CommittedBlob },
    write: Write,
  ): Promise<void> {
    const { headers } = await this.write({ container, blob }, next, write);
    const etag = headers.etag ?? null;
    const { committed } = next;
    assert.ok(etag !== null && etag !== committed.etagBefore, `a write must bring a new ETag, not ${etag}`);
    const versionId = committed.versionId ?? textOf(headers['x-ms-version-id']);
    blob.acknowledged = { ...next, committed: { ...committed, etag, versionId } };
  }
}

export const textOf = (header: string | string[] | undefined): string | null =>
  typeof header === 'string' ? header : null;
