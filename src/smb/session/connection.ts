/** What commands know of the connection that a request came on (transport/smb-connection.ts). */
import type { Door } from './door.ts';
import type { Negotiated } from './protocol.ts';
import type { Session } from './session.ts';

export interface Connection {
  readonly door: Door;
  /** Address and port. */
  readonly remote: string;
  readonly isLoopback: boolean;
  /** Null until NEGOTIATE. */
  negotiated: Negotiated | null;
  readonly sessions: Map<bigint, Session>;
  readonly isClosed: boolean;
  /** An OPLOCK_BREAK notification: `body` is what follows the header. Encrypted where the session encrypts. */
  notify(session: Session, body: Uint8Array): void;
  /** Ends it, with all that was open on it. */
  destroy(reason: string): void;
}
