/** A user who has signed in, and the shares that it has connected to. */
import type { SessionKeys } from '../crypto/key-derivation.ts';
import type { Connection } from './connection.ts';
import type { Nonces } from './encryption.ts';
import type { Open } from './open.ts';

export interface Tree {
  readonly id: number;
  readonly session: Session;
  /** Null: IPC$. */
  readonly share: string | null;
  /** What everything in it may be done with, at most. */
  readonly maximalAccess: number;
}

export interface Session {
  readonly id: bigint;
  readonly connection: Connection;
  readonly account: string;
  /** As List Handles tells: the workstation that the client said it is. */
  readonly clientName: string;
  readonly keys: SessionKeys;
  /** For what the server encrypts; null: there is no cipher. */
  readonly nonces: Nonces | null;
  readonly signingRequired: boolean;
  /** Everything but NEGOTIATE and SESSION_SETUP must be encrypted. */
  readonly encrypts: boolean;
  readonly trees: Map<number, Tree>;
  /** By their volatile ids. */
  readonly opens: Map<bigint, Open>;
  isEnded: boolean;
}
