/**
 * The messages of DCE/RPC as they go through a pipe ([C706] chapter 12, [MS-RPCE] 2.2.2), without those of its own security:
 * who uses a pipe has signed in to SMB.
 */

export const PduType = {
  REQUEST: 0,
  RESPONSE: 2,
  FAULT: 3,
  BIND: 11,
  BIND_ACK: 12,
  BIND_NAK: 13,
  ALTER_CONTEXT: 14,
  ALTER_CONTEXT_RESP: 15,
  CO_CANCEL: 18,
  ORPHANED: 19,
} as const;

export const FLAG_FIRST = 0x1;
export const FLAG_LAST = 0x2;
const FLAG_DID_NOT_EXECUTE = 0x20;
const FLAG_OBJECT = 0x80;

export const PDU_HEADER_BYTES = 16;
/** Of one fragment, in either direction. */
export const FRAGMENT_BYTES_MAX = 4280;
/** What everybody takes. */
const FRAGMENT_BYTES_MIN = 1432;
const RESPONSE_HEADER_BYTES = 24;

/** Why a call failed: [C706] appendix E, and 0x6f7, which is Windows' own. */
export const Fault = {
  BAD_STUB_DATA: 0x0000_06f7,
  OP_RNG_ERROR: 0x1c01_0002,
  UNK_IF: 0x1c01_0003,
  PROTO_ERROR: 0x1c01_000b,
  NO_MEMORY: 0x1c00_001b,
} as const;

export type Fault = (typeof Fault)[keyof typeof Fault];

export interface Pdu {
  readonly type: number;
  readonly flags: number;
  /** Whether it carries a verifier of RPC's own. */
  readonly hasAuth: boolean;
  readonly callId: number;
  /** What follows the header. */
  readonly body: Buffer;
}

/** How long the message is that begins here; null: it is none that could be answered. */
export function pduBytesAt(bytes: Buffer): number | null {
  // Version 5, of which the minor number does not matter; the least significant byte first.
  if (bytes[0] !== 5 || ((bytes[4] as number) & 0xf0) !== 0x10) return null;
  const length = bytes.readUInt16LE(8);
  return length < PDU_HEADER_BYTES || length > FRAGMENT_BYTES_MAX ? null : length;
}

export const decodePdu = (bytes: Buffer): Pdu => ({
  type: bytes.readUInt8(2),
  flags: bytes.readUInt8(3),
  hasAuth: bytes.readUInt16LE(10) !== 0,
  callId: bytes.readUInt32LE(12),
  body: bytes.subarray(PDU_HEADER_BYTES),
});

export interface Syntax {
  readonly uuid: string;
  /** The major number in the lower half. */
  readonly version: number;
}

export const NDR: Syntax = { uuid: '8a885d04-1ceb-11c9-9fe8-08002b104860', version: 2 };
const NO_SYNTAX: Syntax = { uuid: '00000000-0000-0000-0000-000000000000', version: 0 };

export const isSame = (one: Syntax, other: Syntax): boolean => one.uuid === other.uuid && one.version === other.version;

export interface PresentationContext {
  readonly id: number;
  readonly abstract: Syntax;
  readonly transfers: readonly Syntax[];
}

export interface Bind {
  /** The longest fragment that the client takes. */
  readonly fragmentBytesMax: number;
  readonly group: number;
  readonly contexts: readonly PresentationContext[];
}

const SYNTAX_BYTES = 20;

/** Throws RangeError. */
export function decodeBind(body: Buffer): Bind {
  const contexts: PresentationContext[] = [];
  let at = 12;
  for (let left = body.readUInt8(8); left > 0; left--) {
    const [id, count] = [body.readUInt16LE(at), body.readUInt8(at + 2)];
    const abstract = decodeSyntax(body, at + 4);
    at += 4 + SYNTAX_BYTES;
    const transfers = Array.from({ length: count }, (_, index) => decodeSyntax(body, at + index * SYNTAX_BYTES));
    at += count * SYNTAX_BYTES;
    contexts.push({ id, abstract, transfers });
  }
  const fragmentBytesMax = Math.min(FRAGMENT_BYTES_MAX, Math.max(FRAGMENT_BYTES_MIN, body.readUInt16LE(2)));
  return { fragmentBytesMax, group: body.readUInt32LE(4), contexts };
}

function decodeSyntax(body: Buffer, at: number): Syntax {
  const version = body.readUInt32LE(at + 16);
  const hex = (offset: number, length: number): string => body.toString('hex', at + offset, at + offset + length);
  const number = (offset: number, length: number): string =>
    body
      .readUIntLE(at + offset, length)
      .toString(16)
      .padStart(length * 2, '0');
  return { uuid: `${number(0, 4)}-${number(4, 2)}-${number(6, 2)}-${hex(8, 2)}-${hex(10, 6)}`, version };
}

function encodeSyntax({ uuid, version }: Syntax): Buffer {
  const bytes = Buffer.alloc(SYNTAX_BYTES);
  const digits = Buffer.from(uuid.replaceAll('-', ''), 'hex');
  digits.copy(bytes);
  bytes.writeUInt32LE(digits.readUInt32BE(0), 0);
  bytes.writeUInt16LE(digits.readUInt16BE(4), 4);
  bytes.writeUInt16LE(digits.readUInt16BE(6), 6);
  bytes.writeUInt32LE(version, 16);
  return bytes;
}

export interface CallFragment {
  readonly contextId: number;
  readonly operation: number;
  readonly stub: Buffer;
}

/** Throws RangeError. */
export function decodeCallFragment({ body, flags }: Pdu): CallFragment {
  const stubAt = (flags & FLAG_OBJECT) === 0 ? 8 : 24;
  if (body.length < stubAt) throw new RangeError('a request without its head');
  return { contextId: body.readUInt16LE(4), operation: body.readUInt16LE(6), stub: body.subarray(stubAt) };
}

/** What became of a context that was asked for. */
export type BindResult = 'accepted' | 'unknown interface' | 'unknown transfer syntax';

const RESULTS: Readonly<Record<BindResult, readonly [result: number, reason: number]>> = {
  accepted: [0, 0],
  'unknown interface': [2, 1],
  'unknown transfer syntax': [2, 2],
};

export interface BindAck {
  readonly type: typeof PduType.BIND_ACK | typeof PduType.ALTER_CONTEXT_RESP;
  readonly callId: number;
  readonly group: number;
  /** The pipe, as RPC calls it; empty when a context is altered. */
  readonly address: string;
  readonly results: readonly BindResult[];
}

export function encodeBindAck({ type, callId, group, address, results }: BindAck): Buffer {
  const name = address === '' ? Buffer.alloc(0) : Buffer.from(`${address}\0`, 'latin1');
  const resultsAt = Math.ceil((10 + name.length) / 4) * 4;
  const head = Buffer.alloc(resultsAt + 4);
  head.writeUInt16LE(FRAGMENT_BYTES_MAX, 0);
  head.writeUInt16LE(FRAGMENT_BYTES_MAX, 2);
  head.writeUInt32LE(group, 4);
  head.writeUInt16LE(name.length, 8);
  name.copy(head, 10);
  head.writeUInt8(results.length, resultsAt);
  const each = results.map((told) => {
    const code = Buffer.alloc(4);
    const [result, reason] = RESULTS[told];
    code.writeUInt16LE(result, 0);
    code.writeUInt16LE(reason, 2);
    return Buffer.concat([code, encodeSyntax(told === 'accepted' ? NDR : NO_SYNTAX)]);
  });
  return encodePdu({ type, callId }, Buffer.concat([head, ...each]));
}

/** What RPC's own security is answered with: there is none here. */
export function encodeUnknownAuthentication(callId: number): Buffer {
  const body = Buffer.alloc(8);
  body.writeUInt16LE(8, 0);
  // One version of the protocol, 5.0.
  body.set([1, 5, 0], 2);
  return encodePdu({ type: PduType.BIND_NAK, callId }, body);
}

export function encodeFault(callId: number, contextId: number, fault: Fault): Buffer {
  const body = Buffer.alloc(16);
  body.writeUInt16LE(contextId, 4);
  body.writeUInt32LE(fault, 8);
  return encodePdu({ type: PduType.FAULT, callId, flags: FLAG_FIRST | FLAG_LAST | FLAG_DID_NOT_EXECUTE }, body);
}

/** In as many fragments as it takes; all but the last are cut at a multiple of 8. */
export function encodeResponse(
  { callId, contextId, fragmentBytesMax }: { callId: number; contextId: number; fragmentBytesMax: number },
  stub: Buffer,
): Buffer[] {
  const step = (fragmentBytesMax - RESPONSE_HEADER_BYTES) & ~7;
  const fragments: Buffer[] = [];
  for (let at = 0; at < stub.length || at === 0; at += step) {
    const piece = stub.subarray(at, at + step);
    const head = Buffer.alloc(8);
    head.writeUInt32LE(stub.length - at, 0);
    head.writeUInt16LE(contextId, 4);
    const flags = (at === 0 ? FLAG_FIRST : 0) | (at + step >= stub.length ? FLAG_LAST : 0);
    fragments.push(encodePdu({ type: PduType.RESPONSE, callId, flags }, Buffer.concat([head, piece])));
  }
  return fragments;
}

function encodePdu(
  { type, callId, flags = FLAG_FIRST | FLAG_LAST }: { type: number; callId: number; flags?: number },
  body: Buffer,
): Buffer {
  const head = Buffer.alloc(PDU_HEADER_BYTES);
  head.set([5, 0, type, flags, 0x10]);
  head.writeUInt16LE(PDU_HEADER_BYTES + body.length, 8);
  head.writeUInt32LE(callId, 12);
  return Buffer.concat([head, body]);
}
