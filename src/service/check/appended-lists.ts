/**
 * Lists of appended blocks: the rows of one follow each other without a gap, from where its holders see it begin to
 * where they see it end. Whoever appends to it sees all of it; once that one is gone, others may see less.
 */
import type { Id } from '../../base/ids.ts';
import type { AppendedBlock, AppendedContent } from '../records/blob-record.ts';
import type { Awaited } from './awaited.ts';
import type { Holders } from './holders.ts';
import type { NamedExtents } from './named-extents.ts';

interface List {
  readonly startBytes: number;
  /** Where holders see it end: so many of its rows stand before, once those have come. */
  readonly rowsUpTo: Map<number, number>;
  /** Where whoever appends sees its end. */
  appenderEndBytes: number | null;
  /** Where the next row begins, or would. */
  nextBytes: number;
  rowCount: number;
}

interface Holder {
  readonly name: string;
  readonly content: AppendedContent;
}

/** Of an end that no row has. */
const NO_ROW = -1;

export class AppendedLists {
  readonly #holders: Holders;
  readonly #extents: NamedExtents;
  readonly #findings: string[];
  readonly #lists = new Map<Id, List>();
  readonly #blobs: Holder[] = [];

  constructor(parts: { holders: Holders; extents: NamedExtents; findings: string[] }) {
    this.#holders = parts.holders;
    this.#extents = parts.extents;
    this.#findings = parts.findings;
  }

  hold(content: AppendedContent, blob: { name: string; lengthBytes: number; isShared: boolean }): void {
    const { name, lengthBytes, isShared } = blob;
    let startBytes = 0;
    for (const { id, endBytes } of content.lists) {
      this.#holders.add(id, { isShared });
      this.#of(id, startBytes).rowsUpTo.set(endBytes, NO_ROW);
      startBytes = endBytes;
    }
    if (startBytes !== lengthBytes) {
      this.#findings.push(`blob ${name} has ${lengthBytes} bytes, but its blocks have ${startBytes}`);
    }
    this.#blobs.push({ name, content });
    const last = content.lists.at(-1);
    if (last !== undefined && content.isBorrowed !== true) this.#appends(last);
  }

  /** What there is already of a copy under way. */
  holdParts(id: Id): void {
    this.#holders.add(id, { isShared: false });
    this.#of(id, 0);
  }

  row(listId: Id, startBytes: number, { extent, lengthBytes }: AppendedBlock, awaited: Awaited): void {
    const list = this.#lists.get(listId);
    this.#holders.add(extent.id, { isShared: false });
    if (list === undefined) {
      this.#extents.discard(extent.id);
      if (!awaited.lists.has(listId)) this.#findings.push(`a block of append list ${listId} belongs to no blob`);
      return;
    }
    this.#extents.name(extent, { lengthBytes });
    if (startBytes !== list.nextBytes) {
      this.#findings.push(
        `append list ${listId} has its next block at byte ${startBytes}, but should have it at byte ${list.nextBytes}`,
      );
    }
    list.rowCount++;
    list.nextBytes = startBytes + lengthBytes;
    if (list.rowsUpTo.has(list.nextBytes)) list.rowsUpTo.set(list.nextBytes, list.rowCount);
  }

  /** All rows have come. */
  end(awaited: Awaited): void {
    for (const [id, { rowsUpTo, nextBytes, appenderEndBytes }] of this.#lists) {
      if (awaited.lists.has(id)) this.#findings.push(`append list ${id} belongs to a blob, but is to be swept`);
      for (const [endBytes, rowCount] of rowsUpTo) {
        if (rowCount === NO_ROW) this.#findings.push(`append list ${id} has no block that ends at byte ${endBytes}`);
      }
      if (appenderEndBytes !== null && nextBytes > appenderEndBytes) {
        this.#findings.push(
          `append list ${id} has blocks up to byte ${nextBytes}, but its blob ends at byte ${appenderEndBytes}`,
        );
      }
    }
    for (const blob of this.#blobs) this.#compareCount(blob);
  }

  #compareCount({ name, content: { lists, blockCount } }: Holder): void {
    const counts = lists.map(({ id, endBytes }) => this.#lists.get(id)?.rowsUpTo.get(endBytes) ?? NO_ROW);
    if (counts.includes(NO_ROW)) return;
    const rowCount = counts.reduce((sum, count) => sum + count, 0);
    if (rowCount !== blockCount) {
      this.#findings.push(`blob ${name} should have ${blockCount} blocks, but has ${rowCount}`);
    }
  }

  #appends({ id, endBytes }: AppendedContent['lists'][number]): void {
    const list = this.#lists.get(id) as List;
    if (list.appenderEndBytes !== null) this.#findings.push(`two blobs append to list ${id}`);
    list.appenderEndBytes = endBytes;
  }

  #of(id: Id, startBytes: number): List {
    const known = this.#lists.get(id);
    if (known !== undefined) {
      if (known.startBytes !== startBytes)
        this.#findings.push(`two blobs disagree about where append list ${id} begins`);
      return known;
    }
    const list: List = {
      startBytes,
      rowsUpTo: new Map(),
      appenderEndBytes: null,
      nextBytes: startBytes,
      rowCount: 0,
    };
    this.#lists.set(id, list);
    return list;
  }
}
