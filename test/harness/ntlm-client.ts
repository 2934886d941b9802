/**
 * The client's side of signing in to SMB: NTLMv2 and the SPNEGO around it, written after [MS-NLMP] and RFC 4178 without
 * any of the server's own code, so that the two agree only if both are right.
 */
import { createHash, createHmac } from 'node:crypto';

const UNICODE = 0x1;
const ANONYMOUS = 0x800;
const EXTENDED_SESSIONSECURITY = 0x8_0000;
const KEY_128 = 0x2000_0000;
const KEY_EXCH = 0x4000_0000;
/** REQUEST_TARGET, SIGN, NTLM, ALWAYS_SIGN, TARGET_INFO */
const ORDINARY = 0x80_8214;

const hmacMd5 = (key: Buffer, ...pieces: Buffer[]): Buffer =>
  createHmac('md5', key).update(Buffer.concat(pieces)).digest();
const md5 = (...pieces: Buffer[]): Buffer => createHash('md5').update(Buffer.concat(pieces)).digest();
const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');

function rc4(key: Buffer, bytes: Buffer): Buffer {
  const box = [...Array(256).keys()];
  const swap = (i: number, j: number): void => {
    [box[i], box[j]] = [box[j] as number, box[i] as number];
  };
  for (let i = 0, j = 0; i < 256; i++) {
    j = (j + (box[i] as number) + (key[i % key.length] as number)) % 256;
    swap(i, j);
  }
  let j = 0;
  return Buffer.from(
    bytes.map((byte, index) => {
      const i = (index + 1) % 256;
      j = (j + (box[i] as number)) % 256;
      swap(i, j);
      return byte ^ (box[((box[i] as number) + (box[j] as number)) % 256] as number);
    }),
  );
}

export interface NtlmClientOptions {
  readonly user: string;
  readonly domain?: string;
  /** MD4 of the password in UTF-16. */
  readonly ntHash: Buffer;
  readonly workstation?: string;
  readonly exchangesKey?: boolean;
  readonly sendsMic?: boolean;
  readonly isAnonymous?: boolean;
  /** In place of NTLMv2: what stands where its response would. */
  readonly response?: Buffer;
  readonly withoutExtendedSecurity?: boolean;
  readonly withoutUnicode?: boolean;
}

export class NtlmClient {
  readonly #options: NtlmClientOptions;
  readonly #negotiate: Buffer;
  #flags: number;
  #sessionKey: Buffer | null = null;

  constructor(options: NtlmClientOptions) {
    this.#options = options;
    this.#flags = ORDINARY | KEY_128;
    if (!options.withoutUnicode) this.#flags |= UNICODE;
    if (!options.withoutExtendedSecurity) this.#flags |= EXTENDED_SESSIONSECURITY;
    if (options.exchangesKey) this.#flags |= KEY_EXCH;
    this.#negotiate = Buffer.alloc(32);
    this.#negotiate.write('NTLMSSP\0', 'latin1');
    this.#negotiate.writeUInt32LE(1, 8);
    this.#negotiate.writeUInt32LE(this.#flags >>> 0, 12);
  }

  negotiate(): Buffer {
    return Buffer.from(this.#negotiate);
  }

  get sessionKey(): Buffer {
    if (this.#sessionKey === null) throw new Error('not challenged yet');
    return this.#sessionKey;
  }

  authenticate(challenge: Buffer): Buffer {
    const {
      user,
      domain = '',
      ntHash,
      workstation = 'DESKTOP',
      exchangesKey = false,
      sendsMic = false,
    } = this.#options;
    const responseKey = hmacMd5(ntHash, utf16(user.toUpperCase() + domain));
    const blob = this.#blob(challenge, sendsMic);
    const proof = hmacMd5(responseKey, challenge.subarray(24, 32), blob);
    const baseKey = hmacMd5(responseKey, proof);
    this.#sessionKey = exchangesKey ? Buffer.from('chosen by client') : baseKey;
    if (this.#options.isAnonymous) this.#flags |= ANONYMOUS;
    const message = this.#message(sendsMic ? 88 : 72, [
      Buffer.alloc(24),
      this.#options.response ?? Buffer.concat([proof, blob]),
      utf16(domain),
      utf16(user),
      utf16(workstation),
      exchangesKey ? rc4(baseKey, this.#sessionKey) : Buffer.alloc(0),
    ]);
    if (sendsMic) hmacMd5(this.#sessionKey, this.#negotiate, challenge, message).copy(message, 72);
    return message;
  }

  /** The server's target information goes back as it came, after the flag that announces a MIC. */
  #blob(challenge: Buffer, sendsMic: boolean): Buffer {
    const info = challenge.subarray(
      challenge.readUInt32LE(44),
      challenge.readUInt32LE(44) + challenge.readUInt16LE(40),
    );
    const head = Buffer.concat([Buffer.from([1, 1, 0, 0, 0, 0, 0, 0]), Buffer.alloc(8, 0x11), Buffer.alloc(8, 0xaa)]);
    const announcement = Buffer.from([6, 0, 4, 0, 2, 0, 0, 0]);
    return Buffer.concat([head, Buffer.alloc(4), ...(sendsMic ? [announcement] : []), info, Buffer.alloc(4)]);
  }

  #message(payloadOffset: number, parts: readonly Buffer[]): Buffer {
    const fixed = Buffer.alloc(payloadOffset);
    fixed.write('NTLMSSP\0', 'latin1');
    fixed.writeUInt32LE(3, 8);
    let offset = payloadOffset;
    for (const [index, part] of parts.entries()) {
      fixed.writeUInt16LE(part.length, 12 + index * 8);
      fixed.writeUInt16LE(part.length, 14 + index * 8);
      fixed.writeUInt32LE(offset, 16 + index * 8);
      offset += part.length;
    }
    fixed.writeUInt32LE(this.#flags >>> 0, 60);
    return Buffer.concat([fixed, ...parts]);
  }

  /** The signature of a list of mechanisms, as this side and the other make it. */
  mechListMic(mechTypes: Buffer, direction: 'client-to-server' | 'server-to-client'): Buffer {
    const magic = (what: string): Buffer => Buffer.from(`session key to ${direction} ${what} key magic constant\0`);
    const checksum = hmacMd5(md5(this.sessionKey, magic('signing')), Buffer.alloc(4), mechTypes).subarray(0, 8);
    const sealed = this.#options.exchangesKey ? rc4(md5(this.sessionKey, magic('sealing')), checksum) : checksum;
    return Buffer.concat([Buffer.from([1, 0, 0, 0]), sealed, Buffer.alloc(4)]);
  }
}

export const MECH_NTLM = Buffer.from('060a2b06010401823702020a', 'hex');
export const MECH_KERBEROS = Buffer.from('06092a864886f712010202', 'hex');

/** An element of DER. */
export function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const long = content.length < 256 ? [0x81, content.length] : [0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...(content.length < 128 ? [content.length] : long)]), content]);
}

export const mechTypesOf = (mechanisms: readonly Buffer[]): Buffer => der(0x30, ...mechanisms);

export function negTokenInit(mechTypes: Buffer, mechToken: Buffer | null): Buffer {
  const fields = [der(0xa0, mechTypes), ...(mechToken === null ? [] : [der(0xa2, der(0x04, mechToken))])];
  return der(0x60, Buffer.from('06062b0601050502', 'hex'), der(0xa0, der(0x30, ...fields)));
}

export function negTokenResp(responseToken: Buffer, mechListMic: Buffer | null = null): Buffer {
  const fields = [der(0xa2, der(0x04, responseToken))];
  if (mechListMic !== null) fields.push(der(0xa3, der(0x04, mechListMic)));
  return der(0xa1, der(0x30, ...fields));
}

/** What a server's NegTokenResp holds, by the numbers of its fields. */
export function fieldsOfResp(blob: Buffer): ReadonlyMap<number, Buffer> {
  const fields = new Map<number, Buffer>();
  let rest = contentOf(contentOf(blob, 0xa1), 0x30);
  while (rest.length > 0) {
    const { content, whole } = firstOf(rest);
    fields.set((whole[0] as number) & 0x1f, firstOf(content).content);
    rest = rest.subarray(whole.length);
  }
  return fields;
}

function contentOf(bytes: Buffer, tag: number): Buffer {
  const { content, whole } = firstOf(bytes);
  if (bytes[0] !== tag || whole.length !== bytes.length) throw new Error(`not one element with the tag ${tag}`);
  return content;
}

function firstOf(bytes: Buffer): { content: Buffer; whole: Buffer } {
  const short = bytes.readUInt8(1);
  const start = short < 0x80 ? 2 : 2 + (short & 0x7f);
  const end = start + (short < 0x80 ? short : bytes.readUIntBE(2, short & 0x7f));
  return { content: bytes.subarray(start, end), whole: bytes.subarray(0, end) };
}
