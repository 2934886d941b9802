/** Compounds ([MS-SMB2] 3.3.5.2.7): several requests in one message, and what each of them must have cost. */
import { CommandCode, decodeHeader, HEADER_BYTES } from '../wire/header.ts';
import type { RequestMessage } from '../wire/message.ts';

const ALIGNMENT_BYTES = 8;

/** Null: what cannot be told apart into requests. */
export function splitCompound(message: Buffer): RequestMessage[] | null {
  const requests: RequestMessage[] = [];
  for (let rest = message; ; ) {
    const header = decodeHeader(rest);
    if (header === null) return null;
    const { nextCommand } = header;
    if (nextCommand === 0) {
      requests.push({ header, bytes: rest });
      return requests;
    }
    if (nextCommand % ALIGNMENT_BYTES !== 0 || nextCommand < HEADER_BYTES || nextCommand > rest.length - HEADER_BYTES) {
      return null;
    }
    requests.push({ header, bytes: rest.subarray(0, nextCommand) });
    rest = rest.subarray(nextCommand);
  }
}

export const paddingOf = (lengthBytes: number): number =>
  (ALIGNMENT_BYTES - (lengthBytes % ALIGNMENT_BYTES)) % ALIGNMENT_BYTES;

const CREDIT_BYTES = 65_536;

/** Where a request says how much it sends or asks for, counted from its structure. */
const SIZES_AT: Readonly<Record<number, readonly number[]>> = {
  [CommandCode.READ]: [4],
  [CommandCode.WRITE]: [4],
  [CommandCode.IOCTL]: [28, 44],
  [CommandCode.QUERY_DIRECTORY]: [28],
  [CommandCode.CHANGE_NOTIFY]: [4],
  [CommandCode.QUERY_INFO]: [4, 12],
  [CommandCode.SET_INFO]: [4],
};

/** Where a request that is answered at once says how long an answer it takes. */
const ANSWER_AT: Readonly<Record<number, number>> = {
  [CommandCode.READ]: 4,
  [CommandCode.IOCTL]: 44,
  [CommandCode.QUERY_DIRECTORY]: 28,
  [CommandCode.QUERY_INFO]: 4,
};

/** Whether a request has paid for what it sends and asks for: one credit for each 64 KiB. */
export function isPaid(request: RequestMessage): boolean {
  const sizes = (SIZES_AT[request.header.command] ?? []).map((offset) => sizeAt(request, offset));
  return Math.max(0, ...sizes) <= paidBytesOf(request);
}

/** What a request takes of memory until its answer is on its way, at most. */
export function heldBytesOf(request: RequestMessage): number {
  const offset = ANSWER_AT[request.header.command];
  const answerBytes = offset === undefined ? 0 : Math.min(sizeAt(request, offset), paidBytesOf(request));
  return request.bytes.length + answerBytes;
}

const paidBytesOf = ({ header }: RequestMessage): number => Math.max(1, header.creditCharge) * CREDIT_BYTES;

function sizeAt({ bytes }: RequestMessage, offset: number): number {
  const from = HEADER_BYTES + offset;
  return from + 4 <= bytes.length ? bytes.readUInt32LE(from) : 0;
}
