/** What client and server agree on when they negotiate. */

export const DIALECTS = [0x0311, 0x0302, 0x0300, 0x0210] as const;
export type Dialect = (typeof DIALECTS)[number];

export type SigningAlgorithm = 'hmac-sha256' | 'aes-cmac' | 'aes-gmac';

/** As Node names them. */
export type Cipher = 'aes-128-ccm' | 'aes-128-gcm' | 'aes-256-ccm' | 'aes-256-gcm';

export const isVersion3 = (dialect: Dialect): boolean => dialect >= 0x0300;

/** The longest READ, WRITE and other transfer. */
export const TRANSFER_BYTES_MAX = 8 * 1024 * 1024;

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
