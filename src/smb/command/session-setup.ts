import { randomBytes } from 'node:crypto';
import { deriveKeys } from '../crypto/key-derivation.ts';
import { Authentication, type Step } from '../session/authentication.ts';
import type { Connection } from '../session/connection.ts';
import { Nonces } from '../session/encryption.ts';
import { bindingRefusal, type Negotiated } from '../session/protocol.ts';
import type { Session } from '../session/session.ts';
import { endSession } from '../session/sessions.ts';
import type { SignIn } from '../session/sign-in.ts';
import { SmbError, Status } from '../statuses.ts';
import { encodeError } from '../wire/error.ts';
import type { RequestMessage } from '../wire/message.ts';
import { DIALECT_3_1_1, SIGNING_REQUIRED } from '../wire/negotiate.ts';
import {
  decodeSessionSetup,
  encodeSessionSetup,
  SESSION_ENCRYPTS,
  type SessionSetupRequest,
} from '../wire/session-setup.ts';
import type { Command, Reply } from './command.ts';

const SERVER_NAME = 'LARIMAR';

interface Request extends SessionSetupRequest {
  readonly bytes: Buffer;
}

type Done = Extract<Step, { kind: 'done' }>;

/** SESSION_SETUP: a user signs in, in two or more requests; or once more, to a session that it has. */
export const sessionSetup: Command<Request> = {
  decode: (message: RequestMessage) => ({ ...decodeSessionSetup(message), bytes: message.bytes }),
  async handle({ connection, header: { sessionId } }, request) {
    const { negotiated } = connection;
    if (negotiated === null) throw new SmbError(Status.INVALID_PARAMETER);
    const foreign = connection.sessions.has(sessionId) ? undefined : connection.door.sessions.get(sessionId);
    if (foreign !== undefined) return refuseForeign(foreign, negotiated, request.isBinding);
    if (request.isBinding) throw new SmbError(Status.USER_SESSION_DELETED);
    const { id, signIn } = signInOf(connection, sessionId);
    signIn.preauth.add(request.bytes);
    const step = signIn.authentication.step(request.token);
    if (step.kind === 'more') {
      const onEncoded = (pieces: readonly Uint8Array[]): void => signIn.preauth.add(...pieces);
      const body = [encodeSessionSetup({ flags: 0, token: step.blob })];
      return { status: Status.MORE_PROCESSING_REQUIRED, body, sessionId: id, onEncoded };
    }
    connection.signIns.delete(id);
    const known = connection.sessions.get(id);
    if (step.kind !== 'done') {
      // Whoever cannot prove any more who they are has lost what they had.
      if (known !== undefined) await endSession(connection.door, known, { keepsDurable: false });
      connection.door.log.info(`SMB: sign-in from ${connection.remote} refused`);
      throw new SmbError(step.kind === 'malformed' ? Status.INVALID_PARAMETER : Status.LOGON_FAILURE);
    }
    if (known !== undefined) return again(known, step);
    return signedIn(connection, { id, negotiated, signIn, step, request });
  },
};

/** A session has one connection here: no second one is bound to it, nor can it sign in on another. */
function refuseForeign(session: Session, negotiated: Negotiated, isBinding: boolean): Reply {
  const own = session.connection.negotiated as Negotiated;
  const status = isBinding ? bindingRefusal(own, negotiated) : Status.USER_SESSION_DELETED;
  return { status, body: [encodeError(null, negotiated.dialect === DIALECT_3_1_1)], signer: session };
}

/** The one that is under way with this id, or a new one: for a new session, or for one that is there. */
function signInOf(connection: Connection, sessionId: bigint): { id: bigint; signIn: SignIn } {
  const underWay = connection.signIns.get(sessionId);
  if (underWay !== undefined) return { id: sessionId, signIn: underWay };
  if (sessionId !== 0n && !connection.sessions.has(sessionId)) throw new SmbError(Status.USER_SESSION_DELETED);
  const { door, isLoopback, preauth } = connection;
  if (connection.sessions.size + connection.signIns.size >= door.limits.sessionCountMax) {
    throw new SmbError(Status.INSUFFICIENT_RESOURCES);
  }
  const { accounts, storage } = door;
  const authentication = new Authentication({ accounts, isLoopback, serverName: SERVER_NAME, clock: storage.clock });
  const signIn: SignIn = { authentication, preauth: preauth.fork() };
  const id = sessionId === 0n ? newSessionId(connection) : sessionId;
  connection.signIns.set(id, signIn);
  return { id, signIn };
}

function newSessionId({ door: { sessions }, signIns }: Connection): bigint {
  for (;;) {
    // Some clients keep ids in signed numbers.
    const id = randomBytes(8).readBigUInt64LE() >> 1n;
    if (id !== 0n && !sessions.has(id) && !signIns.has(id)) return id;
  }
}

/** The keys stay what they are. */
function again(session: Session, { account, blob }: Done): Reply {
  if (account !== session.account) throw new SmbError(Status.ACCESS_DENIED);
  return succeedFor(session, blob);
}

async function signedIn(
  connection: Connection,
  {
    id,
    negotiated,
    signIn,
    step,
    request,
  }: { id: bigint; negotiated: Negotiated; signIn: SignIn; step: Done; request: Request },
): Promise<Reply> {
  const { door } = connection;
  const { dialect, cipher, securityMode } = negotiated;
  const preauthHash = dialect === DIALECT_3_1_1 ? signIn.preauth.value : null;
  const keys = deriveKeys({ dialect, cipher, sessionKey: step.sessionKey, preauthHash });
  const encrypts = door.requiresEncryption(connection);
  if (encrypts && keys.encryption === null) {
    door.log.info(`SMB: sign-in of ${step.account} from ${connection.remote} refused: the client cannot encrypt`);
    throw new SmbError(Status.ACCESS_DENIED);
  }
  const session: Session = {
    id,
    connection,
    account: step.account,
    clientName: step.clientName,
    keys,
    nonces: cipher === null ? null : new Nonces(cipher),
    signingRequired: ((securityMode | request.securityMode) & SIGNING_REQUIRED) !== 0,
    encrypts,
    trees: new Map(),
    opens: new Map(),
    isEnded: false,
  };
  await endPrevious(session, request.previousSessionId);
  connection.sessions.set(id, session);
  door.sessions.set(id, session);
  door.log.info(`SMB: ${step.account} signed in from ${connection.remote} with SMB ${dialectName(dialect)}`);
  return succeedFor(session, step.blob);
}

const dialectName = (dialect: number): string =>
  [dialect >> 8, (dialect >> 4) & 0xf, dialect & 0xf].join('.').replace(/\.0$/, '');

/** A client that has lost its connection says which session that was: what was open there is let go of, or waits for it. */
async function endPrevious({ connection, account, id }: Session, previousId: bigint): Promise<void> {
  const { door } = connection;
  const previous = previousId === id ? undefined : door.sessions.get(previousId);
  if (previous?.account === account) await endSession(door, previous, { keepsDurable: true });
}

const succeedFor = (session: Session, token: Buffer): Reply => ({
  status: Status.SUCCESS,
  body: [encodeSessionSetup({ flags: session.encrypts ? SESSION_ENCRYPTS : 0, token })],
  sessionId: session.id,
  signer: session,
});
