/** SRV_SNAPSHOT_ARRAY ([MS-SMB2] 2.2.32.2). */
import { encodeText } from './message.ts';

const FIXED_BYTES = 12;
const END_BYTES = 2;

/** What clients ask with to learn how long it is. */
export const SNAPSHOTS_BYTES_MIN = 16;

/** All of the names, or where they do not fit none, and how many bytes they take. */
export function encodeSnapshots(tokens: readonly string[], outputBytesMax: number): Buffer {
  const names = Buffer.concat([...tokens.map((token) => encodeText(`${token}\0`)), Buffer.alloc(END_BYTES)]);
  const fits = FIXED_BYTES + names.length <= outputBytesMax;
  const output = Buffer.alloc(fits ? Math.max(FIXED_BYTES + names.length, SNAPSHOTS_BYTES_MIN) : SNAPSHOTS_BYTES_MIN);
  output.writeUInt32LE(tokens.length, 0);
  output.writeUInt32LE(fits ? tokens.length : 0, 4);
  output.writeUInt32LE(names.length, 8);
  if (fits) names.copy(output, FIXED_BYTES);
  return output;
}
