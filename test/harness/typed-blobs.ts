/** Short forms of operations on append and page blobs, snapshots, tags and retention, beside those of TestStore. */
import type { Moment } from '../../src/rules/moment.ts';
import type { Tags } from '../../src/rules/tags.ts';
import { appendBlock } from '../../src/service/blob/append-block.ts';
import { type DeleteBlobRequest, deleteBlob } from '../../src/service/blob/delete-blob.ts';
import { putEmptyBlob } from '../../src/service/blob/put-blob.ts';
import { putPage } from '../../src/service/blob/put-page.ts';
import { setBlobTags } from '../../src/service/blob/set-blob-tags.ts';
import { snapshotBlob } from '../../src/service/blob/snapshot-blob.ts';
import { setServiceProperties } from '../../src/service/service-properties.ts';
import { ACCOUNT, blobRequest, bodyOf, NEW_BLOB, type TestStore } from './store.ts';

const NO_SEQUENCE = { le: null, lt: null, eq: null };

/** The operations on one blob. */
export class TypedBlob {
  readonly #store: TestStore;
  readonly #container: string;
  readonly #name: string;

  constructor(store: TestStore, container: string, name: string) {
    this.#store = store;
    this.#container = container;
    this.#name = name;
  }

  get #request() {
    return blobRequest(this.#container, this.#name);
  }

  async createAppend(): Promise<void> {
    await this.#createEmpty('AppendBlob', 0);
  }

  async createPages(lengthBytes: number): Promise<void> {
    await this.#createEmpty('PageBlob', lengthBytes);
  }

  async append(bytes: Uint8Array): Promise<void> {
    const where = { positionBytes: null, sizeMaxBytes: null };
    await appendBlock(this.#store.storage, { ...this.#request, ...where, body: bodyOf(bytes) });
  }

  async putPages(offsetBytes: number, bytes: Uint8Array): Promise<void> {
    const range = { offsetBytes, lengthBytes: bytes.length };
    await putPage(this.#store.storage, { ...this.#request, range, body: bodyOf(bytes), sequence: NO_SEQUENCE });
  }

  async clearPages(offsetBytes: number, lengthBytes: number): Promise<void> {
    const range = { offsetBytes, lengthBytes };
    await putPage(this.#store.storage, { ...this.#request, range, body: null, sequence: NO_SEQUENCE });
  }

  async snapshot(): Promise<Moment> {
    return (await snapshotBlob(this.#store.storage, { ...this.#request, metadata: [] })).snapshot;
  }

  async setTags(tags: Tags): Promise<void> {
    await setBlobTags(this.#store.storage, { ...this.#request, tags });
  }

  async delete(options: Partial<DeleteBlobRequest> = {}): Promise<void> {
    await deleteBlob(this.#store.storage, { ...this.#request, deleteSnapshots: null, ...options });
  }

  async #createEmpty(type: 'AppendBlob' | 'PageBlob', lengthBytes: number): Promise<void> {
    const rest = { type, lengthBytes, sequenceNumber: '0', mayOverwrite: true };
    await putEmptyBlob(this.#store.storage, { ...this.#request, ...NEW_BLOB, ...rest });
  }
}

/** Soft delete of blobs; null: off. */
export const retainBlobs = (store: TestStore, days: number | null): Promise<void> =>
  setServiceProperties(store.storage, ACCOUNT, 'b', {
    deleteRetention: days === null ? { enabled: false } : { enabled: true, days },
  });
