/** FSCTL_PIPE_WAIT ([MS-FSCC] 2.3.49): the name of a pipe, behind how long to wait for it. */
import { decodeText } from './message.ts';

const FIXED_BYTES = 14;

/** Throws RangeError and Malformed. */
export function decodePipeWait(input: Buffer): string {
  const nameBytes = input.readUInt32LE(8);
  if (FIXED_BYTES + nameBytes > input.length) throw new RangeError('the name is cut off');
  return decodeText(input.subarray(FIXED_BYTES, FIXED_BYTES + nameBytes));
}
