/**
 * Committed block lists: each belongs to a blob or awaits the sweeper, and holds its extents. The sweeper counts and lets
 * go of the extents of lists that share some with others step by step, and notes how far it is (extents/sweeper.ts): so
 * at any moment it is known what is counted.
 */
import type { Id } from '../../base/ids.ts';
import type { ExtentRef } from '../records/extent-record.ts';
import { decodeLayout } from '../records/layout.ts';
import type { Awaited, AwaitedLayout, AwaitedShare } from './awaited.ts';
import type { Holders } from './holders.ts';
import type { NamedExtents } from './named-extents.ts';

interface BlockList {
  readonly lengthBytes: number;
  /** Each once, in the order of the list. */
  readonly extents: ReadonlyMap<Id, { readonly extent: ExtentRef; readonly lengthBytes: number }>;
  isHeld: boolean;
  /** By somebody who knows nothing of other lists with the same extents. */
  isUnmarked: boolean;
}

export class BlockLists {
  readonly #holders: Holders;
  readonly #extents: NamedExtents;
  readonly #findings: string[];
  readonly #lists = new Map<Id, BlockList>();

  constructor(parts: { holders: Holders; extents: NamedExtents; findings: string[] }) {
    this.#holders = parts.holders;
    this.#extents = parts.extents;
    this.#findings = parts.findings;
  }

  add(id: Id, value: Uint8Array): void {
    const blocks = decodeLayout(value);
    const lengthBytes = blocks.reduce((sum, block) => sum + block.lengthBytes, 0);
    const extents = new Map(blocks.map(({ extent, lengthBytes }) => [extent.id, { extent, lengthBytes }]));
    this.#lists.set(id, { lengthBytes, extents, isHeld: false, isUnmarked: false });
  }

  /** A blob's record names it. */
  hold(id: Id, blob: { name: string; lengthBytes: number; isShared: boolean }): void {
    const { name, lengthBytes, isShared } = blob;
    this.#holders.add(id, { isShared });
    const list = this.#lists.get(id);
    if (list === undefined) {
      this.#findings.push(`blob ${name} refers to block list ${id}, which is missing`);
      return;
    }
    list.isHeld = true;
    list.isUnmarked ||= !isShared;
    if (list.lengthBytes !== lengthBytes) {
      this.#findings.push(`blob ${name} has ${lengthBytes} bytes, but its blocks have ${list.lengthBytes}`);
    }
  }

  /** Whether a list that took over blocks has this one; null names none. */
  has(listId: Id | null, extentId: Id): boolean {
    return listId !== null && this.#lists.get(listId)?.extents.has(extentId) === true;
  }

  /** All blobs have come. */
  end({ layouts, shares, stagings }: Awaited): void {
    const awaitedIds = new Set(layouts.map(({ id }) => id));
    if (awaitedIds.size < layouts.length) this.#findings.push('a block list is queued for sweeping twice');
    for (const [id, list] of this.#lists) {
      if (list.isHeld) this.#held(id, list, awaitedIds);
      else if (!awaitedIds.has(id)) this.#findings.push(`block list ${id} belongs to no blob`);
    }
    for (const layout of layouts) this.#awaited(layout);
    for (const share of shares) this.#shared(share);
    for (const keeping of stagings.values()) if (keeping !== null) this.#needed(keeping);
  }

  #held(id: Id, { extents, isUnmarked }: BlockList, awaitedIds: ReadonlySet<Id>): void {
    if (awaitedIds.has(id)) this.#findings.push(`block list ${id} belongs to a blob, but is to be swept`);
    for (const { extent, lengthBytes } of extents.values()) {
      this.#holders.add(extent.id, { isShared: !isUnmarked });
      this.#extents.name(extent, { lengthBytes });
    }
  }

  /** It still holds the extents that no other list took over, and that are not dealt with yet. */
  #awaited({ id, keeping, mayShare, done = 0 }: AwaitedLayout): void {
    if (keeping !== null) this.#needed(keeping);
    const going = [...this.#needed(id)].filter((extentId) => !this.has(keeping, extentId));
    for (const extentId of going.slice(done)) {
      this.#holders.add(extentId, { isShared: mayShare === true });
      this.#extents.discard(extentId);
    }
  }

  #shared({ id, with: other, done }: AwaitedShare): void {
    this.#needed(other);
    const common = [...this.#needed(id)].filter((extentId) => this.has(other, extentId));
    for (const extentId of common.slice(done)) this.#holders.addUncounted(extentId);
  }

  #needed(id: Id): Iterable<Id> {
    const list = this.#lists.get(id);
    if (list === undefined) this.#findings.push(`block list ${id} is needed for sweeping, but is missing`);
    return list?.extents.keys() ?? [];
  }
}
