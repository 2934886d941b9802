/** Entries of a directory, by information class ([MS-FSCC] 2.4). Nothing has a short name, and no extended attributes. */
import {
  allocationOf,
  attributesOf,
  endOfFile,
  indexNumberOf,
  type NodeFacts,
  writeLength,
  writeTimes,
} from './file-info.ts';

/** Where the parts of an entry lie that the classes have in different places. */
export interface EntryLayout {
  readonly nameLengthAt: number;
  readonly nameAt: number;
  /** Whether it has more than a name: times, sizes, attributes. */
  readonly hasDetails: boolean;
  readonly indexNumberAt?: number;
  /** The same number once more, of 128 bits. */
  readonly longIndexNumberAt?: number;
}

const detailed = (
  nameAt: number,
  numbers: Pick<EntryLayout, 'indexNumberAt' | 'longIndexNumberAt'> = {},
): EntryLayout => ({ nameLengthAt: 60, nameAt, hasDetails: true, ...numbers });

export const ENTRY_LAYOUTS: ReadonlyMap<number, EntryLayout> = new Map([
  // FileDirectoryInformation
  [1, detailed(64)],
  // FileFullDirectoryInformation
  [2, detailed(68)],
  // FileBothDirectoryInformation
  [3, detailed(94)],
  // FileNamesInformation
  [12, { nameLengthAt: 8, nameAt: 12, hasDetails: false }],
  // FileIdBothDirectoryInformation
  [37, detailed(104, { indexNumberAt: 96 })],
  // FileIdFullDirectoryInformation
  [38, detailed(80, { indexNumberAt: 72 })],
  // FileIdExtdDirectoryInformation
  [60, detailed(88, { longIndexNumberAt: 72 })],
  // FileId64ExtdDirectoryInformation
  [78, detailed(80, { indexNumberAt: 72 })],
  // FileId64ExtdBothDirectoryInformation
  [79, detailed(106, { indexNumberAt: 72 })],
  // FileIdAllExtdDirectoryInformation
  [80, detailed(96, { indexNumberAt: 72, longIndexNumberAt: 80 })],
  // FileIdAllExtdBothDirectoryInformation
  [81, detailed(122, { indexNumberAt: 72, longIndexNumberAt: 80 })],
]);

export interface ListedEntry {
  readonly name: string;
  readonly node: NodeFacts;
}

const ALIGNMENT_BYTES = 8;

const aligned = (lengthBytes: number): number => Math.ceil(lengthBytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;

/** Entries one after the other, as far as there is room for them. */
export class EntryList {
  readonly #layout: EntryLayout;
  readonly #bytesMax: number;
  readonly #countMax: number;
  readonly #entries: ListedEntry[] = [];
  #lengthBytes = 0;

  constructor(layout: EntryLayout, { bytesMax, countMax }: { bytesMax: number; countMax: number }) {
    this.#layout = layout;
    this.#bytesMax = bytesMax;
    this.#countMax = countMax;
  }

  get count(): number {
    return this.#entries.length;
  }

  /** For the shortest name at least. */
  get hasRoom(): boolean {
    return this.#fits('.');
  }

  /** How many more entries with names of that length, about; one at least. */
  roomFor(nameBytes: number): number {
    const byBytes = Math.ceil((this.#bytesMax - this.#lengthBytes) / (this.#layout.nameAt + nameBytes));
    return Math.max(1, Math.min(byBytes, this.#countMax - this.count));
  }

  /** False: there is no room for it. */
  add(entry: ListedEntry): boolean {
    if (!this.#fits(entry.name)) return false;
    this.#entries.push(entry);
    this.#lengthBytes = this.#endWith(entry.name);
    return true;
  }

  #fits(name: string): boolean {
    return this.count < this.#countMax && this.#endWith(name) <= this.#bytesMax;
  }

  #endWith(name: string): number {
    return aligned(this.#lengthBytes) + this.#layout.nameAt + 2 * name.length;
  }

  encode(): Buffer {
    const bytes = Buffer.alloc(this.#lengthBytes);
    let at = 0;
    for (const [index, entry] of this.#entries.entries()) {
      const end = at + this.#write(bytes, entry, at);
      const next = aligned(end);
      if (index + 1 < this.#entries.length) bytes.writeUInt32LE(next - at, at);
      at = next;
    }
    return bytes;
  }

  #write(bytes: Buffer, { name, node }: ListedEntry, at: number): number {
    const { nameLengthAt, nameAt, hasDetails, indexNumberAt, longIndexNumberAt } = this.#layout;
    if (hasDetails) {
      const length = endOfFile(node);
      writeTimes(bytes, node, at + 8);
      writeLength(bytes, length, at + 40);
      writeLength(bytes, allocationOf(length), at + 48);
      bytes.writeUInt32LE(attributesOf(node), at + 56);
    }
    for (const numberAt of [indexNumberAt, longIndexNumberAt]) {
      if (numberAt !== undefined) bytes.writeBigUInt64LE(indexNumberOf(node), at + numberAt);
    }
    bytes.writeUInt32LE(2 * name.length, at + nameLengthAt);
    return nameAt + bytes.write(name, at + nameAt, 'utf16le');
  }
}
