/** QUERY_INFO: about a file or directory, its volume, or its security descriptor ([MS-SMB2] 3.3.5.20). */
import { fileTimeAt } from '../../rules/file-time.ts';
import { encodeDescriptor } from '../../rules/security-descriptor.ts';
import {
  lookAtDescriptor,
  lookAtNode,
  lookAtOpen,
  lookAtShare,
  type OpenLook,
} from '../../service/file/opens/look-open.ts';
import { quotaBytesOf } from '../../service/file/usage.ts';
import type { FileOpen } from '../session/open.ts';
import { TRANSACT_BYTES_MAX } from '../session/protocol.ts';
import { SmbError, Status } from '../statuses.ts';
import { ACCESS_SYSTEM_SECURITY, READ_ATTRIBUTES, READ_CONTROL, READ_EA } from '../wire/access.ts';
import { encodePipeStandard, FILE_LAYOUTS, FileClass, type Layout } from '../wire/file-info.ts';
import { FS_LAYOUTS, volumeIdOf } from '../wire/fs-info.ts';
import { encodeOutputHead } from '../wire/query-directory.ts';
import {
  DACL_SECURITY,
  decodeQueryInfo,
  GROUP_SECURITY,
  InfoType,
  OWNER_SECURITY,
  type QueryInfoRequest,
  SACL_SECURITY,
} from '../wire/query-info.ts';
import { type Command, type Context, type Reply, succeed, waiterOf } from './command.ts';
import { refuseWithoutAll } from './granted.ts';

export const queryInfo: Command<QueryInfoRequest> = {
  decode: decodeQueryInfo,
  async handle(context, request) {
    const open = context.anyOpen(request.fileId);
    if (request.outputBytesMax > TRANSACT_BYTES_MAX) throw new SmbError(Status.INVALID_PARAMETER);
    if (open.kind === 'pipe') return queryPipe(request);
    switch (request.infoType) {
      case InfoType.FILE:
        return queryFile(context, open, request);
      case InfoType.FILE_SYSTEM:
        return queryFileSystem(context, open, request);
      case InfoType.SECURITY:
        return querySecurity(context, open, request);
      case InfoType.QUOTA:
        throw new SmbError(Status.NOT_SUPPORTED);
      default:
        throw new SmbError(Status.INVALID_PARAMETER);
    }
  },
};

/** What must have been granted for it. */
const NEEDED_ACCESS: ReadonlyMap<number, number> = new Map([
  [FileClass.BASIC, READ_ATTRIBUTES],
  [FileClass.ALL, READ_ATTRIBUTES],
  [FileClass.NETWORK_OPEN, READ_ATTRIBUTES],
  [FileClass.ATTRIBUTE_TAG, READ_ATTRIBUTES],
  [FileClass.FULL_EA, READ_EA],
]);

/** There are such classes, and files here have none of that. */
const REFUSALS: ReadonlyMap<number, Status> = new Map([
  [FileClass.NAME, Status.NOT_SUPPORTED],
  [FileClass.FULL_EA, Status.NO_EAS_ON_FILE],
  [FileClass.PIPE, Status.INVALID_PARAMETER],
  [FileClass.PIPE_LOCAL, Status.INVALID_PARAMETER],
  [FileClass.PIPE_REMOTE, Status.INVALID_PARAMETER],
  [FileClass.OBJECT_ID, Status.NOT_SUPPORTED],
  [FileClass.REPARSE_POINT, Status.NOT_SUPPORTED],
  [FileClass.HARD_LINK, Status.NOT_SUPPORTED],
]);

/** In whose layouts is a path. */
const WITH_PATH: ReadonlySet<number> = new Set([FileClass.ALL, FileClass.NORMALIZED_NAME]);

async function queryFile(context: Context, open: FileOpen, request: QueryInfoRequest): Promise<Reply> {
  const { infoClass } = request;
  refuseWithoutAll(open, NEEDED_ACCESS.get(infoClass) ?? 0);
  const refusal = REFUSALS.get(infoClass);
  if (refusal !== undefined) throw new SmbError(refusal);
  if (infoClass === FileClass.NORMALIZED_NAME && context.connection.negotiated?.dialect !== 0x0311) {
    throw new SmbError(Status.NOT_SUPPORTED);
  }
  const layout = layoutOf(FILE_LAYOUTS, request);
  const { storage } = context.door;
  const look: OpenLook = WITH_PATH.has(infoClass)
    ? await lookAtOpen(storage, open, waiterOf(context))
    : { ...(await lookAtNode(storage, open, waiterOf(context))), path: [] };
  const { access, mode, positionBytes, reservedBytes } = open;
  const volumeId = volumeIdOf(look.share.id);
  return fitted(layout.encode({ ...look, access, mode, positionBytes, reservedBytes, volumeId }), request);
}

async function queryFileSystem(context: Context, open: FileOpen, request: QueryInfoRequest): Promise<Reply> {
  const layout = layoutOf(FS_LAYOUTS, request);
  const { share, usedBytes } = await lookAtShare(context.door.storage, open, waiterOf(context));
  const facts = {
    shareId: share.id,
    label: open.name.share,
    createdAt: fileTimeAt(share.createdMs),
    quotaBytes: quotaBytesOf(share),
    usedBytes,
  };
  return fitted(layout.encode(facts), request);
}

/** Who asks for no part is told of none, whoever it is. */
async function querySecurity(context: Context, open: FileOpen, request: QueryInfoRequest): Promise<Reply> {
  const { additional, outputBytesMax } = request;
  const has = (part: number): boolean => (additional & part) !== 0;
  const needed =
    (has(OWNER_SECURITY | GROUP_SECURITY | DACL_SECURITY) ? READ_CONTROL : 0) |
    (has(SACL_SECURITY) ? ACCESS_SYSTEM_SECURITY : 0);
  refuseWithoutAll(open, needed);
  const { owner, group, dacl, sacl } = await lookAtDescriptor(context.door.storage, open, waiterOf(context));
  const bytes = encodeDescriptor({
    owner: has(OWNER_SECURITY) ? owner : null,
    group: has(GROUP_SECURITY) ? group : null,
    dacl: has(DACL_SECURITY) ? dacl : null,
    sacl: has(SACL_SECURITY) ? sacl : null,
  });
  if (bytes.length > outputBytesMax) throw new SmbError(Status.BUFFER_TOO_SMALL, encodeNeeded(bytes.length));
  return succeed(encodeOutputHead(bytes.length), bytes);
}

function encodeNeeded(lengthBytes: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(lengthBytes, 0);
  return bytes;
}

function queryPipe(request: QueryInfoRequest): Reply {
  const { infoType, infoClass, outputBytesMax } = request;
  if (infoType !== InfoType.FILE) throw new SmbError(Status.NOT_SUPPORTED);
  if (infoClass !== FileClass.STANDARD) throw new SmbError(Status.INVALID_PARAMETER);
  const bytes = encodePipeStandard();
  if (outputBytesMax < bytes.length) throw new SmbError(Status.INFO_LENGTH_MISMATCH);
  return fitted(bytes, request);
}

function layoutOf<Facts>(
  layouts: ReadonlyMap<number, Layout<Facts>>,
  { infoClass, outputBytesMax }: QueryInfoRequest,
): Layout<Facts> {
  const layout = layouts.get(infoClass);
  if (layout === undefined) throw new SmbError(Status.INVALID_INFO_CLASS);
  if (outputBytesMax < layout.fixedBytes) throw new SmbError(Status.INFO_LENGTH_MISMATCH);
  return layout;
}

/** Names may be cut, and are said to have been longer. */
function fitted(bytes: Buffer, { outputBytesMax }: QueryInfoRequest): Reply {
  if (bytes.length <= outputBytesMax) return succeed(encodeOutputHead(bytes.length), bytes);
  const cut = bytes.subarray(0, outputBytesMax);
  return { status: Status.BUFFER_OVERFLOW, body: [encodeOutputHead(cut.length), cut] };
}
