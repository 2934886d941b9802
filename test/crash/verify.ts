/**
 * After a restart: whether every name is in a state that the journal allows. What a request under way at the crash did
 * is then known, and the journal goes on from there.
 */
import { createHash } from 'node:crypto';
import { type RawResponse, send } from '../harness/http.ts';
import {
  type BlobEntry,
  type BlobState,
  type Block,
  type CommittedBlob,
  type ContainerEntry,
  type Counter,
  NO_BLOB,
  type Pool,
} from './journal.ts';

export class Verification {
  readonly #url: string;
  readonly #pool: Pool;
  readonly findings: string[] = [];
  /** How many names were found as a request under way at the crash had left them. */
  tookEffectCount = 0;

  constructor(url: string, pool: Pool) {
    this.#url = url;
    this.#pool = pool;
  }

  async container(container: ContainerEntry): Promise<void> {
    const { status } = await this.#get('HEAD', `/${container.name}?restype=container`);
    const exists = status === 200;
    if (exists !== container.exists && exists !== container.pendingExists) {
      this.findings.push(
        `container ${container.name}: ${status}, expected it to ${container.exists ? '' : 'not '}exist`,
      );
    }
    if (exists !== container.exists) this.tookEffectCount += 1;
    container.exists = exists;
    container.pendingExists = null;
    if (!exists) {
      // All or nothing: a container goes with everything in it.
      for (const blob of container.blobs) Object.assign(blob, { acknowledged: NO_BLOB, pending: null });
      return;
    }
    for (const blob of container.blobs) await this.#blob(container, blob);
    await this.#listing(container);
  }

  async counter(counter: Counter): Promise<void> {
    const { headers } = await this.#get('HEAD', `/${counter.container}/${counter.name}`);
    const count = Number(headers['x-ms-meta-count']);
    const { acknowledgedCount, pendingCount } = counter;
    if (!(count >= acknowledgedCount && count <= acknowledgedCount + pendingCount)) {
      this.findings.push(`counter: ${count}, expected ${acknowledgedCount} and at most ${pendingCount} more`);
    }
    counter.acknowledgedCount = count;
    counter.pendingCount = 0;
  }

  async #blob(container: ContainerEntry, blob: BlobEntry): Promise<void> {
    const path = `/${container.name}/${blob.name}`;
    const [blocks, content] = await Promise.all([
      this.#get('GET', `${path}?comp=blocklist&blocklisttype=all`),
      this.#get('GET', path),
    ]);
    const candidates = blob.pending === null ? [blob.acknowledged] : [blob.acknowledged, blob.pending];
    const differences: string[] = [];
    for (const candidate of candidates) {
      const difference = await this.#differenceOf(path, candidate, { blocks, content });
      if (difference === null) {
        if (candidate !== blob.acknowledged) this.tookEffectCount += 1;
        blob.acknowledged = withEtag(candidate, content.headers.etag ?? null);
        blob.pending = null;
        return;
      }
      differences.push(difference);
    }
    this.findings.push(`${path}: ${differences.join('; and as the request under way would have left it: ')}`);
  }

  /** Where what was read departs from a state; null where it does not. */
  async #differenceOf(
    path: string,
    { committed, staged }: BlobState,
    read: { readonly blocks: RawResponse; readonly content: RawResponse },
  ): Promise<string | null> {
    const exists = committed !== null || staged.length > 0;
    if (!exists && read.blocks.status !== 404) return `block list: ${read.blocks.outcome}, expected none`;
    if (exists && read.blocks.status !== 200) return `block list: ${read.blocks.outcome}, expected one`;
    const listed = exists ? blocksIn(read.blocks.body.toString()) : { committed: '', uncommitted: '' };
    const wanted = { committed: describe(committed?.blocks ?? []), uncommitted: describe(inNameOrder(staged)) };
    for (const kind of ['committed', 'uncommitted'] as const) {
      if (listed[kind] !== wanted[kind]) return `${kind} blocks [${listed[kind]}], expected [${wanted[kind]}]`;
    }
    if (committed === null) return read.content.status === 404 ? null : `${read.content.outcome}, expected no blob`;
    return this.#contentDifference(path, committed, read.content);
  }

  async #contentDifference(path: string, wanted: CommittedBlob, read: RawResponse): Promise<string | null> {
    if (read.status !== 200) return `${read.outcome}, expected a blob`;
    const { etag } = read.headers;
    if (wanted.etag === null ? etag === wanted.etagBefore : etag !== wanted.etag) {
      return `ETag ${etag}, expected ${wanted.etag ?? `any but ${wanted.etagBefore}`}`;
    }
    const turn = read.headers['x-ms-meta-turn'];
    if (turn !== wanted.turn) return `metadata turn=${String(turn)}, expected ${wanted.turn}`;
    const digest = createHash('sha256').update(read.body).digest('hex');
    const wantedDigest = this.#pool.digest(wanted.content);
    if (digest !== wantedDigest) return `${read.body.byteLength} bytes with other content`;
    const leaseState = wanted.leaseId === null ? 'available' : 'leased';
    if (read.headers['x-ms-lease-state'] !== leaseState) {
      return `lease state ${String(read.headers['x-ms-lease-state'])}, expected ${leaseState}`;
    }
    if (wanted.leaseId === null) return null;
    const held = await this.#get('HEAD', path, { 'x-ms-lease-id': wanted.leaseId });
    return held.status === 200 ? null : `lease ${wanted.leaseId}: ${held.outcome}`;
  }

  async #listing(container: ContainerEntry): Promise<void> {
    const { body } = await this.#get('GET', `/${container.name}?restype=container&comp=list`);
    const listed = [...body.toString().matchAll(/<Name>([^<]*)<\/Name>/g)].map((match) => match[1]);
    const wanted = container.blobs.filter((blob) => blob.acknowledged.committed !== null).map(({ name }) => name);
    if (listed.join() !== wanted.sort().join()) {
      this.findings.push(`listing of ${container.name}: ${listed.join()}, expected ${wanted.join()}`);
    }
  }

  #get(method: 'GET' | 'HEAD', path: string, headers: Record<string, string> = {}): Promise<RawResponse> {
    return send(this.#url, { method, path, headers });
  }
}

function withEtag(state: BlobState, etag: string | null): BlobState {
  return state.committed === null ? state : { ...state, committed: { ...state.committed, etag } };
}

const inNameOrder = (blocks: readonly Block[]): Block[] => [...blocks].sort((a, b) => (a.id < b.id ? -1 : 1));

const describe = (blocks: readonly Block[]): string =>
  blocks.map(({ id, piece }) => `${id}:${piece.lengthBytes}`).join(' ');

function blocksIn(xml: string): { committed: string; uncommitted: string } {
  const listOf = (element: string): string[] => {
    const inside = new RegExp(`<${element}>(.*)</${element}>`, 's').exec(xml)?.[1] ?? '';
    return [...inside.matchAll(/<Name>([^<]*)<\/Name>\s*<Size>(\d+)<\/Size>/g)].map(
      (match) => `${match[1]}:${match[2]}`,
    );
  };
  const uncommitted = listOf('UncommittedBlocks').sort();
  return { committed: listOf('CommittedBlocks').join(' '), uncommitted: uncommitted.join(' ') };
}
