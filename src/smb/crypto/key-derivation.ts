export interface SessionKeys {
  readonly signing: Buffer;
  /** What the server sends. */
  readonly encryption: Buffer | null;
  /** What the client sends. */
  readonly decryption: Buffer | null;
  readonly application: Buffer | null;
}
