/** Attributes as SMB clients set them ([MS-FSA] 2.1.5.15.2): which of them are kept, and which no file or directory can have. */
import {
  ARCHIVE,
  DIRECTORY,
  type EntryKind,
  HIDDEN,
  NO_SCRUB_DATA,
  NOT_CONTENT_INDEXED,
  OFFLINE,
  READ_ONLY,
  SYSTEM,
  TEMPORARY,
} from './file-attributes.ts';

const KEPT = READ_ONLY | HIDDEN | SYSTEM | ARCHIVE | TEMPORARY | OFFLINE | NOT_CONTENT_INDEXED | NO_SCRUB_DATA;

/** Nothing but NORMAL, which says that there are none, and what the server decides on is left out. Null: of another kind. */
export function attributesSet(asked: number, kind: EntryKind): number | null {
  if ((asked & (kind === 'directory' ? TEMPORARY : DIRECTORY)) !== 0) return null;
  return (asked & KEPT) | (kind === 'directory' ? DIRECTORY : 0);
}
