import { randomBytes } from 'node:crypto';
import { fileTimeAt } from '../../rules/file-time.ts';
import { initialToken } from '../session/authentication.ts';
import type { Connection } from '../session/connection.ts';
import {
  type Cipher,
  DIALECTS,
  isVersion3,
  type Negotiated,
  type SigningAlgorithm,
  TRANSACT_BYTES_MAX,
  TRANSFER_BYTES_MAX,
} from '../session/protocol.ts';
import { SmbError, Status } from '../statuses.ts';
import type { RequestMessage } from '../wire/message.ts';
import {
  CAPABILITY_ENCRYPTION,
  CAPABILITY_LARGE_MTU,
  CAPABILITY_LEASING,
  DIALECT_3_1_1,
  DIALECT_WILDCARD,
  decodeNegotiate,
  encodeNegotiate,
  HASH_SHA_512,
  type NegotiateRequest,
  SIGNING_ENABLED,
  SIGNING_REQUIRED,
} from '../wire/negotiate.ts';
import { type Command, type Reply, succeed } from './command.ts';

/** In the order in which they are preferred. */
const CIPHERS: readonly Cipher[] = ['aes-128-gcm', 'aes-256-gcm', 'aes-128-ccm', 'aes-256-ccm'];
const SIGNINGS: readonly SigningAlgorithm[] = ['aes-gmac', 'aes-cmac', 'hmac-sha256'];
const SALT_BYTES = 32;

interface Request extends NegotiateRequest {
  readonly bytes: Buffer;
}

/** NEGOTIATE: the highest dialect that both have. It stands once on a connection. */
export const negotiate: Command<Request> = {
  decode: (message: RequestMessage) => ({ ...decodeNegotiate(message), bytes: message.bytes }),
  handle({ connection }, request) {
    if (connection.negotiated !== null) {
      connection.destroy('the client sent NEGOTIATE twice');
      throw new SmbError(Status.INVALID_PARAMETER);
    }
    if (request.dialects.length === 0) throw new SmbError(Status.INVALID_PARAMETER);
    const dialect = DIALECTS.find((each) => request.dialects.includes(each));
    if (dialect === undefined) throw new SmbError(Status.NOT_SUPPORTED);
    if (dialect === DIALECT_3_1_1) refuseHashes(request);
    const negotiated: Negotiated = {
      dialect,
      clientGuid: request.clientGuid.toString('hex'),
      clientCapabilities: request.capabilities,
      clientSecurityMode: request.securityMode,
      clientDialects: request.dialects,
      capabilities: capabilitiesOf(dialect, request),
      securityMode: securityModeOf(connection),
      signing: signingOf(dialect, request),
      cipher: cipherOf(dialect, request),
    };
    connection.negotiated = negotiated;
    const reply = answer(connection, negotiated, request);
    if (dialect !== DIALECT_3_1_1) return reply;
    connection.preauth.add(request.bytes);
    return { ...reply, onEncoded: (pieces) => connection.preauth.add(...pieces) };
  },
};

function refuseHashes({ hashes }: NegotiateRequest): void {
  if (hashes === null) throw new SmbError(Status.INVALID_PARAMETER);
  if (!hashes.includes(HASH_SHA_512)) throw new SmbError(Status.SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP);
}

function capabilitiesOf(dialect: Negotiated['dialect'], { capabilities }: NegotiateRequest): number {
  const encrypts = (dialect === 0x0300 || dialect === 0x0302) && (capabilities & CAPABILITY_ENCRYPTION) !== 0;
  return CAPABILITY_LEASING | CAPABILITY_LARGE_MTU | (encrypts ? CAPABILITY_ENCRYPTION : 0);
}

/** On this machine nobody listens in; from elsewhere unsigned messages are refused. */
const securityModeOf = ({ isLoopback }: Connection): number => SIGNING_ENABLED | (isLoopback ? 0 : SIGNING_REQUIRED);

function signingOf(dialect: Negotiated['dialect'], { signings }: NegotiateRequest): SigningAlgorithm {
  if (!isVersion3(dialect)) return 'hmac-sha256';
  if (dialect !== DIALECT_3_1_1 || signings === null) return 'aes-cmac';
  return SIGNINGS.find((each) => signings.includes(each)) ?? 'aes-cmac';
}

function cipherOf(dialect: Negotiated['dialect'], { ciphers, capabilities }: NegotiateRequest): Cipher | null {
  if (!isVersion3(dialect)) return null;
  if (dialect !== DIALECT_3_1_1) return (capabilities & CAPABILITY_ENCRYPTION) === 0 ? null : 'aes-128-ccm';
  return CIPHERS.find((each) => ciphers?.includes(each) === true) ?? null;
}

function answer({ door }: Connection, negotiated: Negotiated, { ciphers, signings }: NegotiateRequest): Reply {
  const { dialect, securityMode, capabilities, cipher, signing } = negotiated;
  const contexts = {
    salt: randomBytes(SALT_BYTES),
    cipher: ciphers === null ? null : (cipher ?? ('none' as const)),
    signing: signings === null ? null : signing,
  };
  return succeed(
    encodeNegotiate({
      dialect,
      securityMode,
      capabilities,
      serverGuid: door.serverGuid,
      transferBytesMax: TRANSFER_BYTES_MAX,
      transactBytesMax: TRANSACT_BYTES_MAX,
      now: BigInt(fileTimeAt(door.storage.clock.nowMs())),
      token: initialToken(),
      contexts: dialect === DIALECT_3_1_1 ? contexts : null,
    }),
  );
}

/** To a client that asks in SMB1 whether SMB2 is spoken here: yes, and it is to negotiate in that. */
export const answerSmb1 = ({ door, isLoopback }: Connection): Buffer =>
  encodeNegotiate({
    dialect: DIALECT_WILDCARD,
    securityMode: SIGNING_ENABLED | (isLoopback ? 0 : SIGNING_REQUIRED),
    capabilities: CAPABILITY_LEASING | CAPABILITY_LARGE_MTU,
    serverGuid: door.serverGuid,
    transferBytesMax: TRANSFER_BYTES_MAX,
    transactBytesMax: TRANSACT_BYTES_MAX,
    now: BigInt(fileTimeAt(door.storage.clock.nowMs())),
    token: initialToken(),
    contexts: null,
  });
