/**
 * The tokens in which client and server agree on a mechanism to sign in with (RFC 4178, [MS-SPNG]), and which then
 * carry the mechanism's own. NTLM is the only mechanism here.
 */
import { Malformed } from '../wire/message.ts';
import { contextTag, decodeElements, decodeOnly, encodeElement, Tag } from './der.ts';

/** 1.3.6.1.5.5.2 */
const SPNEGO = Buffer.from('2b0601050502', 'hex');
/** 1.3.6.1.4.1.311.2.2.10 */
const NTLM = Buffer.from('2b06010401823702020a', 'hex');
/** What servers put where RFC 4178 has nothing to say. */
const HINT = 'not_defined_in_RFC4178@please_ignore';

const NEG_TOKEN_INIT = contextTag(0);
const NEG_TOKEN_RESP = contextTag(1);

export interface NegTokenInit {
  /** As it was sent: what mechListMIC is over. */
  readonly mechTypes: Buffer;
  /** The place that NTLM has in the client's list; -1: none. */
  readonly ntlmIndex: number;
  /** Of the first mechanism in the list. */
  readonly mechToken: Buffer | null;
}

export interface NegTokenResp {
  readonly responseToken: Buffer | null;
  readonly mechListMic: Buffer | null;
}

export const NegState = { ACCEPT_COMPLETED: 0, ACCEPT_INCOMPLETE: 1, REJECT: 2, REQUEST_MIC: 3 } as const;
export type NegState = (typeof NegState)[keyof typeof NegState];

/** Malformed where it is the token of another mechanism. */
export function decodeNegTokenInit(blob: Buffer): NegTokenInit {
  const [mechanism, token, ...others] = decodeElements(decodeOnly(blob, Tag.APPLICATION));
  if (mechanism?.tag !== Tag.OBJECT_ID || !mechanism.content.equals(SPNEGO)) throw new Malformed('another mechanism');
  if (token?.tag !== NEG_TOKEN_INIT || others.length > 0) throw new Malformed('no NegTokenInit');
  const fields = decodeFields(token.content);
  const mechTypes = fields.get(contextTag(0));
  if (mechTypes === undefined) throw new Malformed('no mechTypes');
  const mechToken = fields.get(contextTag(2));
  return {
    mechTypes,
    ntlmIndex: decodeElements(decodeOnly(mechTypes, Tag.SEQUENCE)).findIndex(
      ({ tag, content }) => tag === Tag.OBJECT_ID && content.equals(NTLM),
    ),
    mechToken: mechToken === undefined ? null : decodeOnly(mechToken, Tag.OCTET_STRING),
  };
}

export function decodeNegTokenResp(blob: Buffer): NegTokenResp {
  const fields = decodeFields(decodeOnly(blob, NEG_TOKEN_RESP));
  const responseToken = fields.get(contextTag(2));
  const mechListMic = fields.get(contextTag(3));
  return {
    responseToken: responseToken === undefined ? null : decodeOnly(responseToken, Tag.OCTET_STRING),
    mechListMic: mechListMic === undefined ? null : decodeOnly(mechListMic, Tag.OCTET_STRING),
  };
}

/** The contents of a SEQUENCE whose elements are told apart by their tags. */
function decodeFields(sequence: Buffer): Map<number, Buffer> {
  const fields = new Map<number, Buffer>();
  for (const { tag, content } of decodeElements(decodeOnly(sequence, Tag.SEQUENCE))) {
    if (fields.has(tag)) throw new Malformed('the same field twice');
    fields.set(tag, content);
  }
  return fields;
}

/** The server's, which the answer to NEGOTIATE carries: NegTokenInit2. */
export function encodeInitialToken(): Buffer {
  const mechTypes = encodeElement(contextTag(0), encodeElement(Tag.SEQUENCE, encodeElement(Tag.OBJECT_ID, NTLM)));
  const hintName = encodeElement(contextTag(0), encodeElement(Tag.GENERAL_STRING, Buffer.from(HINT, 'latin1')));
  const hints = encodeElement(contextTag(3), encodeElement(Tag.SEQUENCE, hintName));
  const token = encodeElement(NEG_TOKEN_INIT, encodeElement(Tag.SEQUENCE, mechTypes, hints));
  return encodeElement(Tag.APPLICATION, encodeElement(Tag.OBJECT_ID, SPNEGO), token);
}

export function encodeNegTokenResp({
  state,
  namesMechanism = false,
  responseToken = null,
  mechListMic = null,
}: {
  readonly state: NegState;
  /** In the server's first answer only. */
  readonly namesMechanism?: boolean;
  readonly responseToken?: Buffer | null;
  readonly mechListMic?: Buffer | null;
}): Buffer {
  const fields = [encodeElement(contextTag(0), encodeElement(Tag.ENUMERATED, Buffer.from([state])))];
  if (namesMechanism) fields.push(encodeElement(contextTag(1), encodeElement(Tag.OBJECT_ID, NTLM)));
  if (responseToken !== null) fields.push(encodeElement(contextTag(2), encodeElement(Tag.OCTET_STRING, responseToken)));
  if (mechListMic !== null) fields.push(encodeElement(contextTag(3), encodeElement(Tag.OCTET_STRING, mechListMic)));
  return encodeElement(NEG_TOKEN_RESP, encodeElement(Tag.SEQUENCE, ...fields));
}
