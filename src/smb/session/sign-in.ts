/** A user who is about to sign in: several requests go back and forth. */
import type { Authentication } from './authentication.ts';
import type { PreauthHash } from './preauth-hash.ts';

export interface SignIn {
  readonly authentication: Authentication;
  readonly preauth: PreauthHash;
}
