/** How answers are put together: headers, padding between the responses of a compound, signatures, encryption. */
import type { Reply } from '../command/command.ts';
import { encryptMessage } from '../session/encryption.ts';
import type { Negotiated } from '../session/protocol.ts';
import type { Session } from '../session/session.ts';
import { signatureOf } from '../session/signing.ts';
import {
  encodeHeader,
  FLAG_ASYNC,
  FLAG_RELATED,
  FLAG_RESPONSE,
  FLAG_SIGNED,
  FLAGS_PRIORITY,
  HEADER_BYTES,
  type Header,
} from '../wire/header.ts';
import { paddingOf } from './compound.ts';

const SIGNATURE_AT = 48;

export interface Response {
  /** Of the request. */
  readonly header: Header;
  readonly reply: Reply;
  readonly credits: number;
  /** Of a request that waits, or has waited. */
  readonly asyncId: bigint | null;
  /** Null: it is not signed. */
  readonly signer: Session | null;
}

/** One message of one or more responses. */
export function encodeResponses(responses: readonly Response[]): Uint8Array[] {
  return responses.flatMap((response, index) => {
    const isLast = index === responses.length - 1;
    return encodeResponse(response, { isFirst: index === 0, isLast });
  });
}

function encodeResponse(
  { header, reply, credits, asyncId, signer }: Response,
  { isFirst, isLast }: { isFirst: boolean; isLast: boolean },
): Uint8Array[] {
  const lengthBytes = HEADER_BYTES + lengthOf(reply.body);
  const padding = isLast ? 0 : paddingOf(lengthBytes);
  const isRelated = !isFirst && (header.flags & FLAG_RELATED) !== 0;
  const head = encodeHeader({
    ...header,
    status: reply.status,
    credits,
    flags:
      FLAG_RESPONSE |
      (header.flags & FLAGS_PRIORITY) |
      (asyncId === null ? 0 : FLAG_ASYNC) |
      (isRelated ? FLAG_RELATED : 0) |
      (signer === null ? 0 : FLAG_SIGNED),
    nextCommand: isLast ? 0 : lengthBytes + padding,
    asyncId: asyncId ?? 0n,
    treeId: reply.treeId ?? header.treeId,
    sessionId: reply.sessionId ?? header.sessionId,
  });
  const pieces = [head, ...reply.body, ...(padding === 0 ? [] : [new Uint8Array(padding)])];
  // A session of another connection is refused in what was agreed on there.
  const agreed = signer?.connection.negotiated;
  if (agreed) {
    const at = { messageId: header.messageId, fromServer: true, isCancel: false };
    signatureOf(agreed.signing, signer.keys.signing, pieces, at).copy(head, SIGNATURE_AT);
  }
  reply.onEncoded?.(pieces);
  return pieces;
}

/** For a session that has a key for it. */
export function encryptFor(session: Session, negotiated: Negotiated, pieces: readonly Uint8Array[]): Uint8Array[] {
  const { cipher } = negotiated;
  const {
    id: sessionId,
    nonces,
    keys: { encryption: key },
  } = session;
  if (cipher === null || key === null || nonces === null)
    throw new Error('a session without a cipher cannot be encrypted for');
  return encryptMessage({ cipher, key, sessionId, nonce: nonces.next() }, pieces);
}

export const responseBytesOf = ({ reply }: Response): number => {
  const lengthBytes = HEADER_BYTES + lengthOf(reply.body);
  return lengthBytes + paddingOf(lengthBytes);
};

export const lengthOf = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, { length }) => sum + length, 0);
