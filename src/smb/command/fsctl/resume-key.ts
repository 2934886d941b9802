/** SRV_REQUEST_RESUME_KEY ([MS-SMB2] 3.3.5.15.5): a name for an open, by which its bytes can be copied to another one. */
import { randomBytes } from 'node:crypto';
import type { FileOpen } from '../../session/open.ts';
import type { Session } from '../../session/session.ts';
import { encodeResumeKey } from '../../wire/copy-chunk.ts';
import { answer, type Fsctl, refuseShortOutput } from './fsctl.ts';

const OUTPUT_BYTES = 32;
const VOLATILE_BYTES = 8;
const SECRET_BYTES = 16;

export const requestResumeKey: Fsctl = (context, request) => {
  const open = context.open(request.fileId);
  refuseShortOutput(request, OUTPUT_BYTES);
  open.resumeKey ??= newKey(open);
  return answer(encodeResumeKey(open.resumeKey));
};

/** Begins with the id under which its session knows the open. */
function newKey({ fileId }: FileOpen): string {
  const volatile = Buffer.alloc(VOLATILE_BYTES);
  volatile.writeBigUInt64LE(fileId.volatile);
  return Buffer.concat([volatile, randomBytes(SECRET_BYTES)]).toString('hex');
}

/** Null: no open of this session has such a key, or none any more. */
export function findByResumeKey({ opens }: Session, key: string): FileOpen | null {
  const open = opens.get(Buffer.from(key, 'hex').readBigUInt64LE(0));
  return open === undefined || open.kind === 'pipe' || open.isClosed || open.resumeKey !== key ? null : open;
}
