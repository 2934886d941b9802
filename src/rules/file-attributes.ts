/** Attributes of files and directories: bits, as Windows has them, and their names in headers and listings. */

export const READ_ONLY = 0x1;
export const HIDDEN = 0x2;
export const SYSTEM = 0x4;
export const DIRECTORY = 0x10;
export const ARCHIVE = 0x20;
export const TEMPORARY = 0x100;
export const OFFLINE = 0x1000;
export const NOT_CONTENT_INDEXED = 0x2000;
export const NO_SCRUB_DATA = 0x20000;

/** In the order in which they are written. */
const NAMES: readonly (readonly [name: string, bit: number])[] = [
  ['ReadOnly', READ_ONLY],
  ['Hidden', HIDDEN],
  ['System', SYSTEM],
  ['Directory', DIRECTORY],
  ['Archive', ARCHIVE],
  ['Temporary', TEMPORARY],
  ['Offline', OFFLINE],
  ['NotContentIndexed', NOT_CONTENT_INDEXED],
  ['NoScrubData', NO_SCRUB_DATA],
];

const BITS: ReadonlyMap<string, number> = new Map(NAMES.map(([name, bit]) => [name.toLowerCase(), bit]));
const NONE = 'None';

export type EntryKind = 'file' | 'directory';

export const formatAttributes = (attributes: number): string =>
  NAMES.filter(([, bit]) => (attributes & bit) !== 0)
    .map(([name]) => name)
    .join(' | ') || NONE;

/** Null: not a list of names, or not one for this kind. `None` stands alone; a directory is one, said or not. */
export function parseAttributes(text: string, kind: EntryKind): number | null {
  const words = text.split('|').map((word) => word.trim().toLowerCase());
  const own = kind === 'directory' ? DIRECTORY : 0;
  if (words.length === 1 && words[0] === NONE.toLowerCase()) return own;
  let attributes = own;
  for (const word of words) {
    const bit = BITS.get(word);
    if (bit === undefined || bit === (kind === 'directory' ? TEMPORARY : DIRECTORY)) return null;
    attributes |= bit;
  }
  return attributes;
}

export const isReadOnly = (attributes: number): boolean => (attributes & READ_ONLY) !== 0;
