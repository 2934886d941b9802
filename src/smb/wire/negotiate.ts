/** NEGOTIATE ([MS-SMB2] 2.2.3, 2.2.4), also in the form of SMB1 that asks for SMB2 ([MS-SMB2] 3.3.5.3). */
import type { Cipher, SigningAlgorithm } from '../session/protocol.ts';
import { bodyOf, Malformed, type RequestMessage } from './message.ts';

export const CAPABILITY_LEASING = 0x2;
export const CAPABILITY_LARGE_MTU = 0x4;
export const CAPABILITY_ENCRYPTION = 0x40;

export const SIGNING_ENABLED = 0x1;
export const SIGNING_REQUIRED = 0x2;

export const DIALECT_3_1_1 = 0x0311;
/** Any of SMB2: to be negotiated once more. */
export const DIALECT_WILDCARD = 0x02ff;

export const HASH_SHA_512 = 1;

const Context = { PREAUTH: 1, ENCRYPTION: 2, SIGNING: 8 } as const;

const CIPHERS: readonly (readonly [number, Cipher])[] = [
  [1, 'aes-128-ccm'],
  [2, 'aes-128-gcm'],
  [3, 'aes-256-ccm'],
  [4, 'aes-256-gcm'],
];

const SIGNINGS: readonly (readonly [number, SigningAlgorithm])[] = [
  [0, 'hmac-sha256'],
  [1, 'aes-cmac'],
  [2, 'aes-gmac'],
];

export interface NegotiateRequest {
  readonly dialects: readonly number[];
  readonly securityMode: number;
  readonly capabilities: number;
  readonly clientGuid: Buffer;
  /** What a client of 3.1.1 says; null where it says nothing. */
  readonly hashes: readonly number[] | null;
  readonly ciphers: readonly Cipher[] | null;
  readonly signings: readonly SigningAlgorithm[] | null;
}

const FIXED_BYTES = 36;

export function decodeNegotiate(message: RequestMessage): NegotiateRequest {
  const body = bodyOf(message, FIXED_BYTES);
  const count = body.readUInt16LE(2);
  const dialects = Array.from({ length: count }, (_, at) => body.readUInt16LE(FIXED_BYTES + 2 * at));
  const contexts = dialects.includes(DIALECT_3_1_1) ? decodeContexts(message, body) : new Map<number, Buffer>();
  const ids = (type: number, at: number): number[] | null => {
    const data = contexts.get(type);
    if (data === undefined) return null;
    const idCount = data.readUInt16LE(0);
    if (idCount === 0) throw new Malformed('a context without a choice');
    return Array.from({ length: idCount }, (_, each) => data.readUInt16LE(at + 2 * each));
  };
  const ciphers = ids(Context.ENCRYPTION, 2);
  const signings = ids(Context.SIGNING, 2);
  return {
    dialects,
    securityMode: body.readUInt16LE(4),
    capabilities: body.readUInt32LE(8),
    clientGuid: Buffer.from(body.subarray(12, 28)),
    hashes: ids(Context.PREAUTH, 4),
    ciphers: ciphers === null ? null : named(CIPHERS, ciphers),
    signings: signings === null ? null : named(SIGNINGS, signings),
  };
}

const named = <T>(table: readonly (readonly [number, T])[], ids: readonly number[]): T[] =>
  ids.flatMap((id) => table.filter(([known]) => known === id).map(([, name]) => name));

function decodeContexts({ bytes }: RequestMessage, body: Buffer): Map<number, Buffer> {
  const contexts = new Map<number, Buffer>();
  let at = body.readUInt32LE(28);
  for (let left = body.readUInt16LE(32); left > 0; left--) {
    const type = bytes.readUInt16LE(at);
    const lengthBytes = bytes.readUInt16LE(at + 2);
    const from = at + 8;
    if (from + lengthBytes > bytes.length) throw new Malformed('a context lies outside the message');
    if (contexts.has(type)) throw new Malformed('a context stands twice');
    contexts.set(type, bytes.subarray(from, from + lengthBytes));
    at = from + lengthBytes + (-lengthBytes & 7);
  }
  return contexts;
}

export interface NegotiateResponse {
  readonly dialect: number;
  readonly securityMode: number;
  readonly capabilities: number;
  readonly serverGuid: Buffer;
  /** Of READ and WRITE, and of everything else. */
  readonly transferBytesMax: number;
  readonly transactBytesMax: number;
  /** FILETIME. */
  readonly now: bigint;
  readonly token: Buffer;
  /** Of 3.1.1. */
  readonly contexts: {
    readonly salt: Buffer;
    /** What was chosen; null: nothing was asked. `none`: nothing that both have. */
    readonly cipher: Cipher | 'none' | null;
    readonly signing: SigningAlgorithm | null;
  } | null;
}

const RESPONSE_FIXED_BYTES = 64;
/** Offsets count from the header. */
const TOKEN_AT = 128;

export function encodeNegotiate(response: NegotiateResponse): Buffer {
  const { token } = response;
  const contexts = response.contexts === null ? [] : encodeContexts(response.contexts);
  const fixed = Buffer.alloc(RESPONSE_FIXED_BYTES);
  const padding = contexts.length === 0 ? 0 : -token.length & 7;
  fixed.writeUInt16LE(RESPONSE_FIXED_BYTES + 1, 0);
  fixed.writeUInt16LE(response.securityMode, 2);
  fixed.writeUInt16LE(response.dialect, 4);
  fixed.writeUInt16LE(contexts.length, 6);
  response.serverGuid.copy(fixed, 8);
  fixed.writeUInt32LE(response.capabilities, 24);
  fixed.writeUInt32LE(response.transactBytesMax, 28);
  fixed.writeUInt32LE(response.transferBytesMax, 32);
  fixed.writeUInt32LE(response.transferBytesMax, 36);
  fixed.writeBigUInt64LE(response.now, 40);
  fixed.writeUInt16LE(TOKEN_AT, 56);
  fixed.writeUInt16LE(token.length, 58);
  if (contexts.length > 0) fixed.writeUInt32LE(TOKEN_AT + token.length + padding, 60);
  return Buffer.concat([fixed, token, Buffer.alloc(padding), ...contexts]);
}

function encodeContexts({ salt, cipher, signing }: NonNullable<NegotiateResponse['contexts']>): Buffer[] {
  const preauth = Buffer.alloc(6);
  preauth.writeUInt16LE(1, 0);
  preauth.writeUInt16LE(salt.length, 2);
  preauth.writeUInt16LE(HASH_SHA_512, 4);
  const contexts: (readonly [number, Buffer])[] = [[Context.PREAUTH, Buffer.concat([preauth, salt])]];
  if (cipher !== null) contexts.push([Context.ENCRYPTION, choice(idOf(CIPHERS, cipher))]);
  if (signing !== null) contexts.push([Context.SIGNING, choice(idOf(SIGNINGS, signing))]);
  return contexts.map(([type, data], index) => {
    const head = Buffer.alloc(8);
    head.writeUInt16LE(type, 0);
    head.writeUInt16LE(data.length, 2);
    const padding = index === contexts.length - 1 ? 0 : -data.length & 7;
    return Buffer.concat([head, data, Buffer.alloc(padding)]);
  });
}

const idOf = <T>(table: readonly (readonly [number, T])[], name: unknown): number =>
  table.find(([, known]) => known === name)?.[0] ?? 0;

function choice(id: number): Buffer {
  const data = Buffer.alloc(4);
  data.writeUInt16LE(1, 0);
  data.writeUInt16LE(id, 2);
  return data;
}

// ---- SMB1

const SMB1_HEADER_BYTES = 32;
const SMB1_NEGOTIATE = 0x72;
const SMB1_FLAG_REPLY = 0x80;

/** The names of dialects that a client of SMB1 offers; null: it says something else. */
export function decodeSmb1Negotiate(message: Buffer): string[] | null {
  if (message.length < SMB1_HEADER_BYTES + 3 || message[4] !== SMB1_NEGOTIATE || message[SMB1_HEADER_BYTES] !== 0) {
    return null;
  }
  const names = message.subarray(SMB1_HEADER_BYTES + 3).toString('latin1');
  return names.split('\0').flatMap((name) => (name.startsWith('\x02') ? [name.slice(1)] : []));
}

/** Says in SMB1 that none of its dialects will do. */
export function encodeSmb1Refusal(request: Buffer): Buffer {
  const response = Buffer.alloc(SMB1_HEADER_BYTES + 5);
  request.copy(response, 0, 0, SMB1_HEADER_BYTES);
  response.writeUInt8((response[9] as number) | SMB1_FLAG_REPLY, 9);
  response.writeUInt8(1, SMB1_HEADER_BYTES);
  response.writeUInt16LE(0xffff, SMB1_HEADER_BYTES + 1);
  return response;
}
