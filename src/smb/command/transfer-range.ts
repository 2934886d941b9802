/** What READ and WRITE refuse of what they are asked for, wherever the file ends. */
import type { FileOpen } from '../session/open.ts';
import { TRANSFER_BYTES_MAX } from '../session/protocol.ts';
import { SmbError, Status } from '../statuses.ts';

/** Offsets are signed on their way through Windows: there is no byte behind this one. */
const OFFSET_MAX = 2n ** 63n - 1n;

export function refuseTransfer(
  open: FileOpen,
  { channel, offset, length }: { channel: number; offset: bigint; length: number },
): void {
  if (channel !== 0 || length > TRANSFER_BYTES_MAX) throw new SmbError(Status.INVALID_PARAMETER);
  if (open.kind === 'directory') throw new SmbError(Status.INVALID_DEVICE_REQUEST);
  if (offset + BigInt(length) > OFFSET_MAX) throw new SmbError(Status.INVALID_PARAMETER);
}
