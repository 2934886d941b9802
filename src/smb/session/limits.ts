/** What one client may ask of the server at a time. */
export interface SmbLimits {
  readonly connectionCountMax: number;
  readonly sessionCountMax: number;
  readonly treeCountMax: number;
  /** Of one session. */
  readonly openCountMax: number;
  /** Of one connection: requests that wait for something. */
  readonly pendingCountMax: number;
  /** Of one connection; with each credit a client may send or ask for 64 KiB. */
  readonly creditCountMax: number;
  /** Of one connection: of requests that are being answered. Beyond it nothing more is read. */
  readonly underWayBytesMax: number;
  /** To sign in. */
  readonly signInTimeoutMs: number;
  /** In which a client must send something, unless it has something open or waits for an answer. */
  readonly idleTimeoutMs: number;
  /** In which a client must take something of what is sent to it. */
  readonly sendTimeoutMs: number;
  /** For requests under way when the server closes. */
  readonly closeTimeoutMs: number;
}

export const SMB_LIMITS: SmbLimits = {
  connectionCountMax: 10_000,
  sessionCountMax: 64,
  treeCountMax: 256,
  openCountMax: 65_536,
  pendingCountMax: 512,
  creditCountMax: 8_192,
  underWayBytesMax: 64 * 1024 * 1024,
  signInTimeoutMs: 45_000,
  idleTimeoutMs: 15 * 60_000,
  sendTimeoutMs: 120_000,
  closeTimeoutMs: 10_000,
};
