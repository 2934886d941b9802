/** Random writes to one blob of a client's own, by its type: what a name may hold after a crash is then known. */
import { randomUUID } from 'node:crypto';
import type { Random } from '../harness/random.ts';
import { type Client, type Target, textOf } from './client.ts';
import {
  type BlobState,
  type Block,
  type CommittedBlob,
  EMPTY_PAGE,
  PAGE_BYTES,
  type PastState,
  type Piece,
  type Pool,
} from './journal.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const APPEND_BLOB_BYTES_MAX = MIB;
/** More than one chunk of a map of pages. */
const PAGE_COUNT = 600;
const PAGES_AT_ONCE_MAX = 128;
const PAST_COUNT_MAX = 3;
const COLOURS = ['blue', 'red', 'white'];
const TIERS = ['Hot', 'Cool', 'Cold'];

type Action = (target: Target) => Promise<void>;

export class BlobLoad {
  readonly #client: Client;
  readonly #random: Random;
  readonly #pool: Pool;
  #serial = 0;

  constructor({ client, random, pool }: { client: Client; random: Random; pool: Pool }) {
    this.#client = client;
    this.#random = random;
    this.#pool = pool;
  }

  async change(target: Target): Promise<void> {
    const { committed, staged, past } = target.blob.acknowledged;
    if (committed === null && target.blob.type !== 'BlockBlob') return this.create(target);
    const dice = this.#random.next();
    if (staged.length > 0 && dice < 0.3) return this.#putBlockList(target);
    if (committed === null) return dice < 0.7 ? this.create(target) : this.#putBlock(target);
    if (past.length > PAST_COUNT_MAX) return this.#deletePast(target);
    const content = { BlockBlob: this.#blockWrite, AppendBlob: this.#appendWrite, PageBlob: this.#pageWrite };
    if (dice < 0.55) return content[target.blob.type](target);
    const rest: readonly Action[] = [
      this.#setMetadata,
      this.#setMetadata,
      this.#setTags,
      this.#snapshot,
      this.#snapshot,
      this.#delete,
      this.#lease,
      this.#beRefused,
      ...(target.blob.type === 'BlockBlob' ? [this.#setTier] : []),
      ...(past.length > 0 ? [this.#deletePast] : []),
    ];
    return this.#random.pick(rest)(target);
  }

  /** Put Blob: the whole content of a block blob, or an empty append or page blob. */
  async create(target: Target): Promise<void> {
    const { type } = target.blob;
    const piece = this.#newPiece(type === 'BlockBlob' ? this.#blobLength() : 0);
    const content = type === 'PageBlob' ? Array.from({ length: PAGE_COUNT }, () => EMPTY_PAGE) : [piece];
    const next = this.#overwritten(target, { content: type === 'AppendBlob' ? [] : content, blocks: [] });
    await this.#client.change(target, next, {
      headers: {
        'x-ms-blob-type': type,
        'x-ms-meta-turn': next.committed.turn,
        ...(type === 'PageBlob' ? { 'x-ms-blob-content-length': String(PAGE_COUNT * PAGE_BYTES) } : {}),
      },
      body: this.#pool.cut(piece),
      status: 201,
    });
  }

  // --- The content --------------------------------------------------------------------------------------------------

  readonly #blockWrite: Action = (target) => (this.#random.chance(0.65) ? this.create(target) : this.#putBlock(target));

  async #putBlock(target: Target): Promise<void> {
    this.#serial += 1;
    const id = Buffer.from(`block ${String(this.#serial).padStart(6, '0')}`).toString('base64');
    const block: Block = { id, piece: this.#newPiece(1 + this.#blobLength()) };
    const { acknowledged } = target.blob;
    const staged = [...acknowledged.staged.filter((one) => one.id !== id), block];
    await this.#client.write(
      target,
      { ...acknowledged, staged },
      {
        query: `comp=block&blockid=${encodeURIComponent(id)}`,
        body: this.#pool.cut(block.piece),
        status: 201,
      },
    );
  }

  /** Some of the committed blocks, then all the staged ones. */
  async #putBlockList(target: Target): Promise<void> {
    const { committed, staged } = target.blob.acknowledged;
    const stagedIds = new Set(staged.map(({ id }) => id));
    const kept = (committed?.blocks ?? []).filter(({ id }) => !stagedIds.has(id) && this.#random.chance(0.5));
    const blocks = [...kept, ...staged];
    const next = this.#overwritten(target, { content: blocks.map(({ piece }) => piece), blocks });
    const lines = [
      ...kept.map(({ id }) => `<Committed>${id}</Committed>`),
      ...staged.map(({ id }) => `<Uncommitted>${id}</Uncommitted>`),
    ];
    await this.#client.change(target, next, {
      query: 'comp=blocklist',
      headers: { 'x-ms-meta-turn': next.committed.turn },
      body: `<?xml version="1.0" encoding="utf-8"?><BlockList>${lines.join('')}</BlockList>`,
      status: 201,
    });
  }

  readonly #appendWrite: Action = async (target) => {
    const { content } = target.blob.acknowledged.committed as CommittedBlob;
    const lengthBytes = content.reduce((sum, piece) => sum + piece.lengthBytes, 0);
    if (lengthBytes > APPEND_BLOB_BYTES_MAX) return this.create(target);
    const piece = this.#newPiece(1 + this.#random.below(this.#random.chance(0.8) ? 16 * KIB : 128 * KIB));
    await this.#client.change(target, this.#altered(target, { content: [...content, piece] }), {
      query: 'comp=appendblock',
      headers: { 'x-ms-blob-condition-appendpos': String(lengthBytes) },
      body: this.#pool.cut(piece),
      status: 201,
    });
  };

  readonly #pageWrite: Action = async (target) => {
    const { content } = target.blob.acknowledged.committed as CommittedBlob;
    const count = 1 + this.#random.below(this.#random.chance(0.5) ? 8 : PAGES_AT_ONCE_MAX);
    const first = this.#random.below(PAGE_COUNT - count);
    const isClear = this.#random.chance(0.2);
    const whole = this.#newPiece(count * PAGE_BYTES);
    const pages = Array.from({ length: count }, (_, page): Piece => {
      if (isClear) return EMPTY_PAGE;
      return { offsetBytes: whole.offsetBytes + page * PAGE_BYTES, lengthBytes: PAGE_BYTES };
    });
    await this.#client.change(target, this.#altered(target, { content: content.toSpliced(first, count, ...pages) }), {
      query: 'comp=page',
      headers: {
        'x-ms-page-write': isClear ? 'clear' : 'update',
        'x-ms-range': `bytes=${first * PAGE_BYTES}-${(first + count) * PAGE_BYTES - 1}`,
      },
      ...(isClear ? {} : { body: this.#pool.cut(whole) }),
      status: 201,
    });
  };

  // --- What is said about it ----------------------------------------------------------------------------------------

  readonly #setMetadata: Action = async (target) => {
    const { acknowledged } = target.blob;
    const committed = acknowledged.committed as CommittedBlob;
    const turn = this.#newTurn();
    const next = this.#altered(target, { turn });
    const { keepsVersions } = target.container;
    const changed = keepsVersions
      ? { ...next, committed: { ...next.committed, versionId: null }, past: this.#withVersion(acknowledged) }
      : next;
    await this.#client.change(target, changed, {
      query: 'comp=metadata',
      headers: { 'x-ms-meta-turn': turn, 'if-match': committed.etag ?? '' },
      status: 200,
    });
  };

  readonly #setTags: Action = async (target) => {
    const colour = this.#random.chance(0.8) ? this.#random.pick(COLOURS) : null;
    const tag = colour === null ? '' : `<Tag><Key>colour</Key><Value>${colour}</Value></Tag>`;
    await this.#client.write(target, this.#noted(target, { colour }), {
      query: 'comp=tags',
      body: `<?xml version="1.0" encoding="utf-8"?><Tags><TagSet>${tag}</TagSet></Tags>`,
      status: 204,
    });
  };

  readonly #setTier: Action = async (target) => {
    const tier = this.#random.pick(TIERS);
    const headers = { 'x-ms-access-tier': tier };
    await this.#client.write(target, this.#noted(target, { tier }), { query: 'comp=tier', headers, status: 200 });
  };

  readonly #lease: Action = async (target) => {
    const { leaseId: held } = target.blob.acknowledged.committed as CommittedBlob;
    const leaseId = held === null ? randomUUID() : null;
    const acquire = {
      'x-ms-lease-action': 'acquire',
      'x-ms-lease-duration': '-1',
      'x-ms-proposed-lease-id': leaseId ?? '',
    };
    await this.#client.write(target, this.#noted(target, { leaseId }), {
      query: 'comp=lease',
      headers: leaseId === null ? { 'x-ms-lease-action': 'release' } : acquire,
      status: leaseId === null ? 200 : 201,
    });
  };

  /** A write with an ETag or a lease id that never was: whatever the moment of the crash, it changes nothing. */
  readonly #beRefused: Action = async (target) => {
    const stale = { 'if-match': '"0x8D0000000000000"' };
    const foreign = { 'x-ms-lease-id': randomUUID() };
    const { leaseId } = target.blob.acknowledged.committed as CommittedBlob;
    await this.#client.write(target, target.blob.acknowledged, {
      query: 'comp=metadata',
      headers: { 'x-ms-meta-turn': 'refused', ...(leaseId === null ? stale : foreign) },
      status: 412,
    });
  };

  // --- Its past -----------------------------------------------------------------------------------------------------

  readonly #snapshot: Action = async (target) => {
    const { acknowledged } = target.blob;
    const { content, turn } = acknowledged.committed as CommittedBlob;
    const taken = (moment: string | null): BlobState => ({
      ...acknowledged,
      past: [...acknowledged.past, { kind: 'snapshot', moment, content, turn }],
    });
    const { headers } = await this.#client.write(target, taken(null), { query: 'comp=snapshot', status: 201 });
    target.blob.acknowledged = taken(textOf(headers['x-ms-snapshot']));
  };

  readonly #deletePast: Action = async (target) => {
    const { acknowledged } = target.blob;
    const gone = this.#random.pick(acknowledged.past);
    const query = `${gone.kind === 'snapshot' ? 'snapshot' : 'versionid'}=${encodeURIComponent(gone.moment ?? '')}`;
    const next = { ...acknowledged, past: acknowledged.past.filter((one) => one !== gone) };
    await this.#client.write(target, next, { method: 'DELETE', query, status: 202, isOfPast: true });
  };

  readonly #delete: Action = async (target) => {
    const { acknowledged } = target.blob;
    const { etag } = acknowledged.committed as CommittedBlob;
    const kept = target.container.keepsVersions ? this.#withVersion(acknowledged) : [];
    await this.#client.write(
      target,
      { committed: null, staged: [], past: kept.filter(({ kind }) => kind === 'version') },
      {
        method: 'DELETE',
        headers: {
          ...(this.#random.chance(0.5) ? { 'if-match': etag ?? '' } : {}),
          ...(acknowledged.past.some(({ kind }) => kind === 'snapshot') ? { 'x-ms-delete-snapshots': 'include' } : {}),
        },
        status: 202,
      },
    );
  };

  // --- States -------------------------------------------------------------------------------------------------------

  /** Another blob in its place; the lease and the tier outlive it, tags and staged blocks do not. */
  #overwritten(
    { container, blob: { acknowledged } }: Target,
    { content, blocks }: { content: readonly Piece[]; blocks: readonly Block[] },
  ): BlobState & { committed: CommittedBlob } {
    const { committed, past } = acknowledged;
    return {
      committed: {
        etag: null,
        etagBefore: committed?.etag ?? null,
        versionId: null,
        content,
        blocks,
        turn: this.#newTurn(),
        colour: null,
        tier: committed?.tier ?? null,
        leaseId: committed?.leaseId ?? null,
      },
      staged: [],
      past: container.keepsVersions ? this.#withVersion(acknowledged) : past,
    };
  }

  /** What stands beside the blob once it makes room for another, where versions are kept. */
  #withVersion({ committed, past }: BlobState): readonly PastState[] {
    if (committed === null) return past;
    const { versionId: moment, content, turn } = committed;
    return [...past, { kind: 'version', moment, content, turn }];
  }

  /** Changed in place, with a new ETag. */
  #altered(target: Target, change: Partial<CommittedBlob>): BlobState & { committed: CommittedBlob } {
    const committed = target.blob.acknowledged.committed as CommittedBlob;
    return {
      ...target.blob.acknowledged,
      committed: { ...committed, ...change, etag: null, etagBefore: committed.etag },
    };
  }

  /** Changed without a new ETag. */
  #noted(target: Target, change: Partial<CommittedBlob>): BlobState {
    const { acknowledged } = target.blob;
    return { ...acknowledged, committed: { ...(acknowledged.committed as CommittedBlob), ...change } };
  }

  #newTurn(): string {
    return String(this.#random.below(1_000_000_000));
  }

  #newPiece(lengthBytes: number): Piece {
    return this.#pool.place(lengthBytes, this.#random.next());
  }

  /** Sizes on both sides of every point where content is likely to be kept in another way. */
  #blobLength(): number {
    const dice = this.#random.next();
    if (dice < 0.06) return 0;
    if (dice < 0.45) return this.#random.below(4 * KIB);
    if (dice < 0.6) return 64 * KIB - 1 + this.#random.below(3);
    if (dice < 0.82) return this.#random.below(MIB);
    if (dice < 0.9) return MIB - 1 + this.#random.below(3);
    return MIB + this.#random.below(2 * MIB);
  }
}
