/**
 * The three messages of NTLM ([MS-NLMP] 2.2.1): NEGOTIATE of the client, CHALLENGE of the server, AUTHENTICATE of the
 * client.
 */
import { fileTimeAt } from '../../rules/file-time.ts';
import { decodeText, encodeText, Malformed } from '../wire/message.ts';

const SIGNATURE = Buffer.from('NTLMSSP\0', 'latin1');
const NEGOTIATE = 1;
const CHALLENGE = 2;
const AUTHENTICATE = 3;

export const NtlmFlag = {
  UNICODE: 0x1,
  REQUEST_TARGET: 0x4,
  SIGN: 0x10,
  SEAL: 0x20,
  NTLM: 0x200,
  ANONYMOUS: 0x800,
  ALWAYS_SIGN: 0x8000,
  TARGET_TYPE_SERVER: 0x2_0000,
  EXTENDED_SESSIONSECURITY: 0x8_0000,
  TARGET_INFO: 0x80_0000,
  VERSION: 0x200_0000,
  KEY_128: 0x2000_0000,
  KEY_EXCH: 0x4000_0000,
  KEY_56: 0x8000_0000,
} as const;

/** What the client may have if it asks for it. */
const GRANTED =
  NtlmFlag.REQUEST_TARGET |
  NtlmFlag.SIGN |
  NtlmFlag.SEAL |
  NtlmFlag.ALWAYS_SIGN |
  NtlmFlag.EXTENDED_SESSIONSECURITY |
  NtlmFlag.VERSION |
  NtlmFlag.KEY_128 |
  NtlmFlag.KEY_EXCH |
  NtlmFlag.KEY_56;

/** Whether it asks for it or not. */
const GIVEN = NtlmFlag.UNICODE | NtlmFlag.NTLM | NtlmFlag.TARGET_TYPE_SERVER | NtlmFlag.TARGET_INFO;

export const CHALLENGE_BYTES = 8;
const CHALLENGE_PAYLOAD_OFFSET = 56;
/** Windows 10, and revision 15 of NTLM. */
const VERSION = Buffer.from('0a0000000000000f', 'hex');

const AUTHENTICATE_BYTES_MIN = 64;
const MIC_OFFSET = 72;
const MIC_BYTES = 16;
const NO_MIC = Buffer.alloc(MIC_BYTES);

const PROOF_BYTES = 16;
/** Of what follows the proof: versions, time, the client's challenge; then pairs. */
const PAIRS_OFFSET = 28;
const AV_END = 0;
const AV_NB_COMPUTER = 1;
const AV_NB_DOMAIN = 2;
const AV_DNS_COMPUTER = 3;
const AV_DNS_DOMAIN = 4;
const AV_FLAGS = 6;
const AV_TIMESTAMP = 7;
const AV_FLAG_MIC = 2;
const NB_NAME_LENGTH_MAX = 15;

export const isNtlm = (blob: Buffer): boolean => blob.subarray(0, SIGNATURE.length).equals(SIGNATURE);

export const hasFlag = (flags: number, flag: number): boolean => (flags & flag) !== 0;

function refuseOther(message: Buffer, type: number): void {
  if (!isNtlm(message) || message.readUInt32LE(8) !== type) throw new Malformed('another message of NTLM');
}

/** What the client asks for. */
export function decodeNegotiate(message: Buffer): { flags: number } {
  refuseOther(message, NEGOTIATE);
  return { flags: message.readUInt32LE(12) };
}

/** What it gets. */
export const grantedFlags = (flags: number): number => ((flags & GRANTED) | GIVEN) >>> 0;

export function encodeChallenge({
  flags,
  challenge,
  serverName,
  nowMs,
}: {
  readonly flags: number;
  readonly challenge: Buffer;
  readonly serverName: string;
  readonly nowMs: number;
}): Buffer {
  const target = encodeText(netbiosName(serverName));
  const info = encodeTargetInfo(serverName, nowMs);
  const fixed = Buffer.alloc(CHALLENGE_PAYLOAD_OFFSET);
  SIGNATURE.copy(fixed);
  fixed.writeUInt32LE(CHALLENGE, 8);
  writePlace(fixed, 12, target.length, CHALLENGE_PAYLOAD_OFFSET);
  fixed.writeUInt32LE(flags, 20);
  challenge.copy(fixed, 24);
  writePlace(fixed, 40, info.length, CHALLENGE_PAYLOAD_OFFSET + target.length);
  if (hasFlag(flags, NtlmFlag.VERSION)) VERSION.copy(fixed, 48);
  return Buffer.concat([fixed, target, info]);
}

function writePlace(bytes: Buffer, at: number, lengthBytes: number, offset: number): void {
  bytes.writeUInt16LE(lengthBytes, at);
  bytes.writeUInt16LE(lengthBytes, at + 2);
  bytes.writeUInt32LE(offset, at + 4);
}

/** A server by itself is its own domain. The time makes clients send a MIC. */
function encodeTargetInfo(serverName: string, nowMs: number): Buffer {
  const time = Buffer.alloc(8);
  time.writeBigUInt64LE(BigInt(fileTimeAt(nowMs)));
  return Buffer.concat([
    encodePair(AV_NB_DOMAIN, encodeText(netbiosName(serverName))),
    encodePair(AV_NB_COMPUTER, encodeText(netbiosName(serverName))),
    encodePair(AV_DNS_DOMAIN, encodeText(serverName)),
    encodePair(AV_DNS_COMPUTER, encodeText(serverName)),
    encodePair(AV_TIMESTAMP, time),
    encodePair(AV_END, Buffer.alloc(0)),
  ]);
}

const netbiosName = (serverName: string): string => serverName.slice(0, NB_NAME_LENGTH_MAX).toUpperCase();

function encodePair(id: number, value: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16LE(id);
  head.writeUInt16LE(value.length, 2);
  return Buffer.concat([head, value]);
}

export interface Authenticate {
  readonly flags: number;
  readonly domain: string;
  readonly user: string;
  readonly workstation: string;
  readonly encryptedSessionKey: Buffer;
  /** Of NTLMv2. */
  readonly proof: Buffer;
  /** What the proof is over, after the server's challenge. */
  readonly blob: Buffer;
  readonly mic: Mic | null;
}

/** A checksum of the whole exchange, which the client says in its proven blob that it sends. */
export interface Mic {
  readonly value: Buffer;
  /** The message with zeros in the checksum's place. */
  readonly over: readonly Buffer[];
}

/** Null: not what this server takes, which is NTLMv2 in Unicode. LM, NTLMv1 and nobody are such. */
export function decodeAuthenticate(message: Buffer): Authenticate | null {
  refuseOther(message, AUTHENTICATE);
  if (message.length < AUTHENTICATE_BYTES_MIN) throw new Malformed('too short');
  const flags = message.readUInt32LE(60);
  if (!hasFlag(flags, NtlmFlag.UNICODE)) return null;
  const response = partAt(message, 20);
  const blob = response.subarray(PROOF_BYTES);
  if (blob.length < PAIRS_OFFSET || blob[0] !== 1 || blob[1] !== 1) return null;
  return {
    flags,
    domain: decodeText(partAt(message, 28)),
    user: decodeText(partAt(message, 36)),
    workstation: decodeText(partAt(message, 44)),
    encryptedSessionKey: partAt(message, 52),
    proof: response.subarray(0, PROOF_BYTES),
    blob,
    mic: announcesMic(blob) ? micOf(message) : null,
  };
}

function partAt(message: Buffer, at: number): Buffer {
  const lengthBytes = message.readUInt16LE(at);
  const offset = message.readUInt32LE(at + 4);
  if (lengthBytes === 0) return message.subarray(0, 0);
  if (offset + lengthBytes > message.length) throw new Malformed('a part lies outside the message');
  return message.subarray(offset, offset + lengthBytes);
}

function announcesMic(blob: Buffer): boolean {
  let at = PAIRS_OFFSET;
  // Some end the list by ending.
  while (at + 4 <= blob.length) {
    const id = blob.readUInt16LE(at);
    const lengthBytes = blob.readUInt16LE(at + 2);
    if (id === AV_END) return false;
    if (at + 4 + lengthBytes > blob.length) throw new Malformed('a pair that goes beyond the end');
    if (id === AV_FLAGS && lengthBytes === 4) return hasFlag(blob.readUInt32LE(at + 4), AV_FLAG_MIC);
    at += 4 + lengthBytes;
  }
  return false;
}

function micOf(message: Buffer): Mic {
  const afterOffset = MIC_OFFSET + MIC_BYTES;
  if (message.length < afterOffset) throw new Malformed('too short for its MIC');
  return {
    value: message.subarray(MIC_OFFSET, afterOffset),
    over: [message.subarray(0, MIC_OFFSET), NO_MIC, message.subarray(afterOffset)],
  };
}
