/** FileBasicInformation as it is set ([MS-FSCC] 2.4.7). */
import type { FileTime } from '../../rules/file-time.ts';
import { SmbError, Status } from '../statuses.ts';

const BASIC_BYTES = 40;
const FREEZES = -1n;
const THAWS = -2n;

/** For as long as something is open, a time may be kept as it is, whatever is done through the open. */
export type TimeSetting = 'keep' | 'freeze' | 'thaw' | { readonly at: FileTime };

export interface BasicInfo {
  readonly createdAt: TimeSetting;
  readonly accessedAt: TimeSetting;
  readonly writtenAt: TimeSetting;
  readonly changedAt: TimeSetting;
  /** 0: they stay. */
  readonly attributes: number;
}

export function decodeBasicInfo(buffer: Buffer): BasicInfo {
  if (buffer.length < BASIC_BYTES) throw new SmbError(Status.INFO_LENGTH_MISMATCH);
  return {
    createdAt: timeAt(buffer, 0),
    accessedAt: timeAt(buffer, 8),
    writtenAt: timeAt(buffer, 16),
    changedAt: timeAt(buffer, 24),
    attributes: buffer.readUInt32LE(32),
  };
}

function timeAt(buffer: Buffer, offset: number): TimeSetting {
  const ticks = buffer.readBigInt64LE(offset);
  if (ticks > 0n) return { at: String(ticks) };
  if (ticks === 0n) return 'keep';
  if (ticks === FREEZES) return 'freeze';
  if (ticks === THAWS) return 'thaw';
  throw new SmbError(Status.INVALID_PARAMETER);
}
