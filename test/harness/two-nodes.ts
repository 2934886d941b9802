/**
 * A share on two nodes in memory: REST requests come to one of them, and SMB clients have files open on both. For tests of
 * what REST and SMB are to each other, without any door before them.
 */
import assert from 'node:assert/strict';
import type { Engine, KeyRange } from '../../src/engine/engine.ts';
import { NO_ACCESS } from '../../src/rules/share-mode.ts';
import { createShare } from '../../src/service/file/create-share.ts';
import { type FileReadWithBytes, getFile } from '../../src/service/file/get-file.ts';
import type { UsedPlace } from '../../src/service/file/opens/open-node.ts';
import type { OpenRecord } from '../../src/service/file/opens/use-record.ts';
import { putRange } from '../../src/service/file/put-range.ts';
import type { FileRequest } from '../../src/service/file/request.ts';
import { decodeJson } from '../../src/service/records/codec.ts';
import { parseUseKey, shareUsesRange } from '../../src/service/records/file-keys.ts';
import { NEW_SHARE, TestShare } from './file-store.ts';
import { type ClusterNode, MemoryCluster } from './memory-cluster.ts';
import { SmbClient } from './smb-client.ts';
import { bodyOf } from './store.ts';

/** More than any test takes. */
export const PATIENT_MS = 20_000;

export class TwoNodes {
  readonly cluster: MemoryCluster;
  readonly rest: ClusterNode;
  readonly elsewhere: ClusterNode;
  /** Through the node of REST, and without any patience. */
  readonly share: TestShare;
  /** On the node of REST. */
  readonly here: SmbClient;
  /** On the other. */
  readonly there: SmbClient;

  private constructor(cluster: MemoryCluster, rest: ClusterNode, elsewhere: ClusterNode) {
    this.cluster = cluster;
    this.rest = rest;
    this.elsewhere = elsewhere;
    this.share = new TestShare(rest.store, 'share');
    this.here = new SmbClient(rest.store.storage, this.share.name);
    this.there = new SmbClient(elsewhere.store.storage, this.share.name);
  }

  static async start(): Promise<TwoNodes> {
    const cluster = new MemoryCluster();
    const nodes = new TwoNodes(cluster, await cluster.join(), await cluster.join());
    await createShare(nodes.rest.store.storage, nodes.share.name, NEW_SHARE);
    return nodes;
  }

  async end(): Promise<void> {
    const stores = [this.rest.store, this.elsewhere.store];
    for (const store of stores) await store.close();
    assert.deepEqual(
      stores.flatMap(({ errors }) => errors),
      [],
    );
  }

  async beat(): Promise<void> {
    await this.rest.store.beat();
    await this.elsewhere.store.beat();
  }

  /** A request that waits. */
  patient(path: string): FileRequest {
    return { ...this.share.requestOf(path), waitMs: PATIENT_MS };
  }

  read(path: string): Promise<FileReadWithBytes> {
    return getFile(this.rest.store.storage, { ...this.patient(path), range: null });
  }

  async write(path: string): Promise<void> {
    await putRange(this.rest.store.storage, {
      ...this.patient(path),
      range: { offsetBytes: 0, lengthBytes: 1 },
      body: bodyOf(Buffer.from('x')),
      keepsWriteTime: false,
    });
  }

  /** How many records there are of what is in use. */
  async usesCount(): Promise<number> {
    return (await this.#uses()).length;
  }

  /** What an open caches. */
  async cachingOf(openId: string): Promise<string> {
    const uses = await this.#uses();
    const found = uses.find(({ key }) => parseUseKey(key).ids[0] === openId && parseUseKey(key).kind === 'open');
    assert.ok(found !== undefined, 'it is open');
    return decodeJson<OpenRecord>(found.value).caching;
  }

  /** The engine takes the node for dead, and forgets what it wrote. */
  async forgetUsesOf(owner: string): Promise<void> {
    const deletes = (await this.#uses())
      .filter(({ value }) => decodeJson<Partial<OpenRecord>>(value).owner === owner)
      .map(({ key }) => key);
    assert.ok(deletes.length > 0);
    await this.cluster.engine.commit({ checks: [], puts: [], deletes });
  }

  async shareId(): Promise<string> {
    const { id, place } = await this.here.open('', { access: NO_ACCESS });
    await this.here.opens.close(id);
    return (place as UsedPlace).shareId;
  }

  async #uses() {
    return entriesOf(this.cluster.engine, shareUsesRange(await this.shareId()));
  }
}

async function entriesOf(engine: Engine, range: KeyRange) {
  const snapshot = engine.snapshot();
  return snapshot.range(range, { limit: 1_000 }).finally(() => snapshot.close());
}
