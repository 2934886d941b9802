/**
 * The keys of a session, out of the one that signing in gave ([MS-SMB2] 3.1.4.2): SP 800-108 in counter mode with
 * HMAC-SHA256, of which one block is always enough. 2.1 signs with the session's key itself.
 */
import { createHmac } from 'node:crypto';
import { type Cipher, type Dialect, isVersion3 } from '../session/protocol.ts';

export interface SessionKeys {
  readonly signing: Buffer;
  /** What the server sends. */
  readonly encryption: Buffer | null;
  /** What the client sends. */
  readonly decryption: Buffer | null;
  readonly application: Buffer | null;
}

interface Purpose {
  readonly label: string;
  readonly context: string | Buffer;
}

interface Purposes {
  readonly signing: Purpose;
  readonly encryption: Purpose;
  readonly decryption: Purpose;
  readonly application: Purpose;
}

/** Labels and contexts end with a NUL of their own. */
const PURPOSES_300: Purposes = {
  signing: { label: 'SMB2AESCMAC\0', context: 'SmbSign\0' },
  encryption: { label: 'SMB2AESCCM\0', context: 'ServerOut\0' },
  decryption: { label: 'SMB2AESCCM\0', context: 'ServerIn \0' },
  application: { label: 'SMB2APP\0', context: 'SmbRpc\0' },
};

const purposes311 = (preauthHash: Buffer): Purposes => ({
  signing: { label: 'SMBSigningKey\0', context: preauthHash },
  encryption: { label: 'SMBS2CCipherKey\0', context: preauthHash },
  decryption: { label: 'SMBC2SCipherKey\0', context: preauthHash },
  application: { label: 'SMBAppKey\0', context: preauthHash },
});

export function deriveKeys({
  dialect,
  cipher,
  sessionKey,
  preauthHash,
}: {
  readonly dialect: Dialect;
  readonly cipher: Cipher | null;
  readonly sessionKey: Buffer;
  /** Of 3.1.1 only. */
  readonly preauthHash: Buffer | null;
}): SessionKeys {
  if (!isVersion3(dialect)) return { signing: sessionKey, encryption: null, decryption: null, application: null };
  const purposes = purposesOf(dialect, preauthHash);
  const cipherBytes = cipher === null ? 0 : keyBytesOf(cipher);
  return {
    signing: derive(sessionKey, purposes.signing, 16),
    encryption: cipher === null ? null : derive(sessionKey, purposes.encryption, cipherBytes),
    decryption: cipher === null ? null : derive(sessionKey, purposes.decryption, cipherBytes),
    application: derive(sessionKey, purposes.application, 16),
  };
}

function purposesOf(dialect: Dialect, preauthHash: Buffer | null): Purposes {
  if (dialect !== 0x0311) return PURPOSES_300;
  if (preauthHash === null) throw new TypeError('3.1.1 derives its keys from the preauthentication hash');
  return purposes311(preauthHash);
}

const keyBytesOf = (cipher: Cipher): number => (cipher === 'aes-256-ccm' || cipher === 'aes-256-gcm' ? 32 : 16);

function derive(key: Buffer, { label, context }: Purpose, lengthBytes: number): Buffer {
  const counter = Buffer.from([0, 0, 0, 1]);
  const lengthBits = Buffer.alloc(4);
  lengthBits.writeUInt32BE(lengthBytes * 8);
  return createHmac('sha256', key)
    .update(counter)
    .update(label)
    .update(Buffer.alloc(1))
    .update(context)
    .update(lengthBits)
    .digest()
    .subarray(0, lengthBytes);
}
