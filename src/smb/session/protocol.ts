/** What client and server agree on when they negotiate. */
import { Status } from '../statuses.ts';

export const DIALECTS = [0x0311, 0x0302, 0x0300, 0x0210] as const;
export type Dialect = (typeof DIALECTS)[number];

export type SigningAlgorithm = 'hmac-sha256' | 'aes-cmac' | 'aes-gmac';

/** As Node names them. */
export type Cipher = 'aes-128-ccm' | 'aes-128-gcm' | 'aes-256-ccm' | 'aes-256-gcm';

export const isVersion3 = (dialect: Dialect): boolean => dialect >= 0x0300;

/** The longest READ and WRITE. Measured: longer ones share fewer syncs, and are slower both ways. */
export const TRANSFER_BYTES_MAX = 1024 * 1024;

/** The most that any other request may send or ask for; clients take this for granted. */
export const TRANSACT_BYTES_MAX = 8 * 1024 * 1024;

export interface Negotiated {
  readonly dialect: Dialect;
  /** 16 bytes, in hex. */
  readonly clientGuid: string;
  readonly clientCapabilities: number;
  readonly clientSecurityMode: number;
  readonly clientDialects: readonly number[];
  /** What the server said of itself, for VALIDATE_NEGOTIATE_INFO. */
  readonly capabilities: number;
  readonly securityMode: number;
  readonly signing: SigningAlgorithm;
  /** Null: nothing can be encrypted. */
  readonly cipher: Cipher | null;
}

/** Why a connection cannot be bound to a session of another ([MS-SMB2] 3.3.5.5), as far as that lies in what they agreed on. */
export function bindingRefusal(session: Negotiated, connection: Negotiated): Status {
  const wasGmac = session.signing === 'aes-gmac';
  const isGmac = connection.signing === 'aes-gmac';
  if (wasGmac !== isGmac) return isGmac ? Status.NOT_SUPPORTED : Status.REQUEST_OUT_OF_SEQUENCE;
  if (!isVersion3(connection.dialect)) return Status.REQUEST_NOT_ACCEPTED;
  const isAlike = session.dialect === connection.dialect && session.cipher === connection.cipher;
  return isAlike ? Status.REQUEST_NOT_ACCEPTED : Status.INVALID_PARAMETER;
}
