/** QUERY_DIRECTORY: what is in a directory ([MS-SMB2] 3.3.5.18). */
import { type NamePattern, parsePattern } from '../../rules/name-pattern.ts';
import { listOpen, nameAfter } from '../../service/file/opens/list-open.ts';
import { DirectoryCursor } from '../session/directory-cursor.ts';
import type { FileOpen } from '../session/open.ts';
import { TRANSACT_BYTES_MAX } from '../session/protocol.ts';
import { SmbError, Status } from '../statuses.ts';
import { READ_DATA } from '../wire/access.ts';
import { ENTRY_LAYOUTS, EntryList } from '../wire/directory-info.ts';
import {
  decodeQueryDirectory,
  encodeOutputHead,
  type QueryDirectoryRequest,
  REOPEN,
  RESTART_SCANS,
  RETURN_SINGLE_ENTRY,
} from '../wire/query-directory.ts';
import { type Command, type Context, succeed, waiterOf } from './command.ts';
import { refuseWithoutAny } from './granted.ts';

/** However much room a client has: a listing goes on with the next request. */
const OUTPUT_BYTES_MAX = 1024 * 1024;
/** What names take, more or less: a page is read that about fills the room. */
const USUAL_NAME_BYTES = 32;
const PAGE_ENTRIES_MAX = 1_000;

export const queryDirectory: Command<QueryDirectoryRequest> = {
  decode: decodeQueryDirectory,
  async handle(context, request) {
    const open = context.open(request.fileId);
    if (open.kind !== 'directory' || request.outputBytesMax > TRANSACT_BYTES_MAX) {
      throw new SmbError(Status.INVALID_PARAMETER);
    }
    const layout = ENTRY_LAYOUTS.get(request.infoClass);
    if (layout === undefined) throw new SmbError(Status.INVALID_INFO_CLASS);
    refuseWithoutAny(open, READ_DATA);
    if (request.outputBytesMax < layout.nameAt) throw new SmbError(Status.INFO_LENGTH_MISMATCH);
    const asked = parsePattern(request.pattern);
    if (asked === null) throw new SmbError(Status.OBJECT_NAME_INVALID);
    open.cursor ??= new DirectoryCursor(asked);
    const { cursor } = open;
    return cursor.inTurn(async () => {
      if ((request.flags & (REOPEN | RESTART_SCANS)) !== 0) {
        cursor.restart(patternOnRestart(request, asked, cursor.pattern));
      }
      const isSingle = (request.flags & RETURN_SINGLE_ENTRY) !== 0;
      const list = new EntryList(layout, {
        bytesMax: Math.min(request.outputBytesMax, OUTPUT_BYTES_MAX),
        countMax: isSingle ? 1 : Number.POSITIVE_INFINITY,
      });
      await fill(context, open, { cursor, list });
      if (list.count > 0) {
        cursor.hasTold = true;
        const bytes = list.encode();
        return succeed(encodeOutputHead(bytes.length), bytes);
      }
      if (!cursor.isOver) throw new SmbError(Status.INFO_LENGTH_MISMATCH);
      throw new SmbError(cursor.hasTold ? Status.NO_MORE_FILES : Status.NO_SUCH_FILE);
    });
  },
};

/** One that is not said stays as it was, unless all begins anew. */
const patternOnRestart = (
  { pattern, flags }: QueryDirectoryRequest,
  asked: NamePattern,
  before: NamePattern,
): NamePattern => (pattern === '' && (flags & REOPEN) === 0 ? before : asked);

/** Until the list is full, or nothing is left. */
async function fill(
  context: Context,
  open: FileOpen,
  { cursor, list }: { cursor: DirectoryCursor; list: EntryList },
): Promise<void> {
  while (!cursor.isOver && (list.count === 0 || list.hasRoom)) {
    if (context.cancelled.aborted) throw new SmbError(Status.CANCELLED);
    const { pattern, from } = cursor;
    const limit = Math.min(list.roomFor(USUAL_NAME_BYTES), PAGE_ENTRIES_MAX);
    const page = await listOpen(context.door.storage, open, { pattern, from, limit }, waiterOf(context));
    for (const dots of cursor.dots) {
      if (!list.add({ name: dots, node: dots === '.' ? page.directory : page.parent })) return;
      cursor.passDots();
    }
    for (const { name, node } of page.entries) {
      if (!list.add({ name: node.name, node })) return;
      cursor.from = nameAfter(name);
    }
    cursor.from = page.next;
    cursor.isOver = page.next === null;
  }
}
