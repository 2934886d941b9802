/** What commands know of the connection that a request came on (transport/smb-connection.ts). */
import type { Door } from './door.ts';
import type { PreauthHash } from './preauth-hash.ts';
import type { Negotiated } from './protocol.ts';
import type { Session, Tree } from './session.ts';
import type { SignIn } from './sign-in.ts';

export interface Connection {
  readonly door: Door;
  /** Address and port. */
  readonly remote: string;
  readonly isLoopback: boolean;
  /** Null until NEGOTIATE. */
  negotiated: Negotiated | null;
  /** Of everything that was said while negotiating, where the dialect has that. */
  readonly preauth: PreauthHash;
  /** Users who are about to sign in, by the id that their session will have. */
  readonly signIns: Map<bigint, SignIn>;
  readonly sessions: Map<bigint, Session>;
  readonly isClosed: boolean;
  /** An OPLOCK_BREAK notification: `body` is what follows the header. Encrypted where the session encrypts. */
  notify(session: Session, body: Uint8Array): void;
  /** Requests of a session or tree that is ended, and still wait for something, wait no longer. */
  cancel(of: Session | Tree): void;
  /** Ends it, with all that was open on it. */
  destroy(reason: string): void;
}
