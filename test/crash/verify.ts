/**
 * After a restart: whether every name is in a state that the journal allows. What a request under way at the crash did
 * is then known, and the journal goes on from there.
 */
import { createHash } from 'node:crypto';
import { type RawResponse, send } from '../harness/http.ts';
import { textOf } from './client.ts';
import {
  type BlobEntry,
  type BlobState,
  type Block,
  type CommittedBlob,
  type ContainerEntry,
  type Counter,
  NO_BLOB,
  type PastState,
  type Pool,
} from './journal.ts';
import { type ListedName, type Listing, listContainer } from './listing.ts';
import type { SharedLog } from './shared-log.ts';

const NOT_LISTED: ListedName = { isThere: false, colour: null, tier: null, past: [] };

/** All that was read of one name. */
interface Read {
  readonly listed: ListedName;
  /** Of a block blob. */
  readonly blocks: RawResponse | null;
  readonly content: RawResponse;
  readonly past: ReadonlyMap<string, RawResponse>;
}

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
    const listing = await listContainer(this.#url, container);
    const exists = listing instanceof Map;
    if (exists !== container.exists && exists !== container.pendingExists) {
      const found = listing instanceof Map ? 'is there' : (listing as RawResponse).outcome;
      this.findings.push(
        `container ${container.name}: ${found}, expected it to ${container.exists ? '' : 'not '}exist`,
      );
    }
    if (exists !== container.exists) this.tookEffectCount += 1;
    container.exists = exists;
    container.pendingExists = null;
    if (!(listing instanceof Map)) {
      // All or nothing: a container goes with everything in it.
      for (const blob of container.blobs) Object.assign(blob, { acknowledged: NO_BLOB, pending: null });
      return;
    }
    for (const blob of container.blobs) await this.#blob(container, blob, listing);
    const strangers = [...listing.keys()].filter((name) => container.blobs.every((blob) => blob.name !== name));
    if (strangers.length > 0) this.findings.push(`listing of ${container.name}: ${strangers.join()} never was`);
  }

  async counter(counter: Counter): Promise<void> {
    const { headers } = await this.#get({ path: `/${counter.container}/${counter.name}`, method: 'HEAD' });
    const count = Number(headers['x-ms-meta-count']);
    const { acknowledgedCount, pendingCount } = counter;
    if (!(count >= acknowledgedCount && count <= acknowledgedCount + pendingCount)) {
      this.findings.push(`counter: ${count}, expected ${acknowledgedCount} and at most ${pendingCount} more`);
    }
    counter.acknowledgedCount = count;
    counter.pendingCount = 0;
  }

  async log(log: SharedLog): Promise<void> {
    const { status, outcome, body } = await this.#get({ path: log.path });
    if (status === 200) this.findings.push(...log.findings(body));
    else this.findings.push(`log: ${outcome}`);
  }

  async #blob(container: ContainerEntry, blob: BlobEntry, listing: Listing): Promise<void> {
    const path = `/${container.name}/${blob.name}`;
    const read = await this.#read(container, blob, listing.get(blob.name) ?? NOT_LISTED);
    const candidates = blob.pending === null ? [blob.acknowledged] : [blob.acknowledged, blob.pending];
    const differences: string[] = [];
    for (const candidate of candidates) {
      const difference = await this.#differenceOf(container, blob, candidate, read);
      if (difference === null) {
        if (candidate !== blob.acknowledged) this.tookEffectCount += 1;
        blob.acknowledged = withAnswers(candidate, read);
        blob.pending = null;
        return;
      }
      differences.push(difference);
    }
    this.findings.push(`${path}: ${differences.join('; and as the request under way would have left it: ')}`);
  }

  async #read({ name, account }: ContainerEntry, blob: BlobEntry, listed: ListedName): Promise<Read> {
    const path = `/${name}/${blob.name}`;
    const past = new Map<string, RawResponse>();
    const [blocks, content] = await Promise.all([
      blob.type === 'BlockBlob'
        ? this.#get({ path: `${path}?comp=blocklist&blocklisttype=all`, account })
        : Promise.resolve(null),
      this.#get({ path, account }),
      ...listed.past.map(async ({ kind, moment }) => {
        const query = `${kind === 'snapshot' ? 'snapshot' : 'versionid'}=${encodeURIComponent(moment)}`;
        past.set(moment, await this.#get({ path: `${path}?${query}`, account }));
      }),
    ]);
    return { listed, blocks, content, past };
  }

  /** Where what was read departs from a state; null where it does not. */
  async #differenceOf(
    container: ContainerEntry,
    blob: BlobEntry,
    state: BlobState,
    read: Read,
  ): Promise<string | null> {
    const { committed } = state;
    const different = blocksDifference(state, read) ?? this.#pastDifference(state, read);
    if (different !== null) return different;
    if (read.listed.isThere !== (committed !== null)) return `listed: ${read.listed.isThere}`;
    if (committed === null) return read.content.status === 404 ? null : `${read.content.outcome}, expected no blob`;
    if (read.listed.colour !== committed.colour) return `tag ${read.listed.colour}, expected ${committed.colour}`;
    if (committed.tier !== null && read.listed.tier !== committed.tier) {
      return `tier ${read.listed.tier}, expected ${committed.tier}`;
    }
    return this.#contentDifference(container, blob, committed, read.content);
  }

  async #contentDifference(
    { name, account }: ContainerEntry,
    blob: BlobEntry,
    wanted: CommittedBlob,
    read: RawResponse,
  ): Promise<string | null> {
    if (read.status !== 200) return `${read.outcome}, expected a blob`;
    const { etag } = read.headers;
    if (wanted.etag === null ? etag === wanted.etagBefore : etag !== wanted.etag) {
      return `ETag ${etag}, expected ${wanted.etag ?? `any but ${wanted.etagBefore}`}`;
    }
    const versionId = textOf(read.headers['x-ms-version-id']);
    if (wanted.versionId !== null && versionId !== wanted.versionId) {
      return `version ${versionId}, expected ${wanted.versionId}`;
    }
    const different = this.#bytesDifference(wanted, read);
    if (different !== null) return different;
    const leaseState = wanted.leaseId === null ? 'available' : 'leased';
    if (read.headers['x-ms-lease-state'] !== leaseState) {
      return `lease state ${String(read.headers['x-ms-lease-state'])}, expected ${leaseState}`;
    }
    if (wanted.leaseId === null) return null;
    const headers = { 'x-ms-lease-id': wanted.leaseId };
    const held = await this.#get({ method: 'HEAD', path: `/${name}/${blob.name}`, headers, account });
    return held.status === 200 ? null : `lease ${wanted.leaseId}: ${held.outcome}`;
  }

  #bytesDifference({ turn, content }: Pick<CommittedBlob, 'turn' | 'content'>, read: RawResponse): string | null {
    const found = read.headers['x-ms-meta-turn'];
    if (found !== turn) return `metadata turn=${String(found)}, expected ${turn}`;
    const digest = createHash('sha256').update(read.body).digest('hex');
    return digest === this.#pool.digest(content) ? null : `${read.body.byteLength} bytes with other content`;
  }

  #pastDifference({ past }: BlobState, read: Read): string | null {
    const matched = matchPast(past, read.listed);
    if (matched === null) return `${describePast(read.listed.past)} listed, expected ${describePast(past)}`;
    for (const [wanted, moment] of matched) {
      const found = read.past.get(moment) as RawResponse;
      const different = found.status === 200 ? this.#bytesDifference(wanted, found) : found.outcome;
      if (different !== null) return `${wanted.kind} ${moment}: ${different}`;
    }
    return null;
  }

  #get(request: Omit<Parameters<typeof send>[1], 'method'> & { method?: 'GET' | 'HEAD' }): Promise<RawResponse> {
    return send(this.#url, { method: 'GET', ...request });
  }
}

/** Each past state with the moment it is listed under; one whose answer never came has any. Null: they differ. */
function matchPast(past: readonly PastState[], { past: listed }: ListedName): [PastState, string][] | null {
  const left = new Set(listed.map(({ kind, moment }) => `${kind} ${moment}`));
  if (left.size !== past.length) return null;
  const matched: [PastState, string][] = [];
  for (const state of past.toSorted((a, b) => Number(a.moment === null) - Number(b.moment === null))) {
    const name = [...left].find((one) => one === `${state.kind} ${state.moment ?? one.split(' ')[1]}`);
    if (name === undefined) return null;
    left.delete(name);
    matched.push([state, name.split(' ')[1] as string]);
  }
  return matched;
}

const describePast = (past: readonly { kind: string; moment: string | null }[]): string =>
  `[${past.map(({ kind, moment }) => `${kind} ${moment ?? 'at any moment'}`).join(', ')}]`;

/** The state with what the answer would have told that never came. */
function withAnswers({ committed, staged, past }: BlobState, { content, listed }: Read): BlobState {
  const matched = matchPast(past, listed) ?? [];
  return {
    staged,
    past: matched.map(([state, moment]) => ({ ...state, moment })),
    committed:
      committed === null
        ? null
        : {
            ...committed,
            etag: content.headers.etag ?? null,
            versionId: textOf(content.headers['x-ms-version-id']),
          },
  };
}

function blocksDifference({ committed, staged }: BlobState, { blocks: read }: Read): string | null {
  if (read === null) return null;
  const exists = committed !== null || staged.length > 0;
  if (!exists) return read.status === 404 ? null : `block list: ${read.outcome}, expected none`;
  if (read.status !== 200) return `block list: ${read.outcome}, expected one`;
  const listed = blocksIn(read.body.toString());
  const wanted = { committed: describe(committed?.blocks ?? []), uncommitted: describe(inNameOrder(staged)) };
  for (const kind of ['committed', 'uncommitted'] as const) {
    if (listed[kind] !== wanted[kind]) return `${kind} blocks [${listed[kind]}], expected [${wanted[kind]}]`;
  }
  return null;
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
