/**
 * The registry of extents (records/extent-record.ts) held against the records that name extents: each of these has its
 * row, of the right kind and length, with its bytes in the content store, and there is no row that nothing names.
 */
import { Readable } from 'node:stream';
import type { Id } from '../../base/ids.ts';
import type { ContentStore, PlacedExtent } from '../../content/content.ts';
import type { ExtentRef } from '../records/extent-record.ts';

interface Named {
  readonly inline: boolean;
  readonly lengthBytes: number;
  /** It is named by parts of it, so that nobody knows how long it is. */
  readonly mayBeLonger: boolean;
}

export class NamedExtents {
  readonly #findings: string[];
  readonly #named = new Map<Id, Named>();
  /** Let go of: it may still be there. */
  readonly #discarded = new Set<Id>();
  readonly #placed: PlacedExtent[] = [];
  count = 0;
  bytes = 0;

  constructor(findings: string[]) {
    this.#findings = findings;
  }

  /** A record that lives needs it. */
  name(
    { id, inline }: ExtentRef,
    { lengthBytes, mayBeLonger = false }: { lengthBytes: number; mayBeLonger?: boolean },
  ): void {
    const before = this.#named.get(id);
    if (before !== undefined && (before.lengthBytes !== lengthBytes || before.inline !== inline)) {
      this.#findings.push(`two records disagree about the length or the kind of extent ${id}`);
    }
    this.#named.set(id, { inline, lengthBytes, mayBeLonger });
  }

  discard(id: Id): void {
    this.#discarded.add(id);
  }

  /** What records need is not to be given back. */
  refuseAwaited(extents: ReadonlySet<Id>): void {
    for (const id of extents) {
      this.#discarded.add(id);
      if (this.#named.has(id)) this.#findings.push(`a record refers to extent ${id}, which is to be swept`);
    }
  }

  inlineRow(id: Id, lengthBytes: number): void {
    this.#row({ id, inline: true }, lengthBytes);
  }

  async placedRow(extent: PlacedExtent, content: ContentStore): Promise<void> {
    const { id, lengthBytes } = extent;
    this.#placed.push(extent);
    const isNamed = this.#row({ id, inline: false }, lengthBytes);
    const found = await content.verify(extent);
    if (isNamed && found !== 'ok') this.#findings.push(`extent ${id} is ${found} in the content store`);
  }

  /** All rows have come. */
  end(): void {
    for (const id of this.#named.keys())
      this.#findings.push(`a record refers to extent ${id}, which has no record itself`);
  }

  /** What the content store has beyond that. */
  strays(content: ContentStore): ReturnType<ContentStore['strays']> {
    return content.strays(Readable.from(this.#placed));
  }

  /** Whether a record that lives needs it. */
  #row({ id, inline }: ExtentRef, lengthBytes: number): boolean {
    this.count++;
    this.bytes += lengthBytes;
    const named = this.#named.get(id);
    if (named === undefined || named.inline !== inline) {
      if (!this.#discarded.has(id)) this.#findings.push(`no record refers to extent ${id}`);
      return false;
    }
    this.#named.delete(id);
    if (lengthBytes < named.lengthBytes || (lengthBytes > named.lengthBytes && !named.mayBeLonger)) {
      this.#findings.push(`extent ${id} has ${lengthBytes} bytes, but should have ${named.lengthBytes}`);
    }
    return true;
  }
}
