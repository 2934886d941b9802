/**
 * Signing in, up to the account that a client speaks for: NTLMv2 within SPNEGO, or by itself as some clients send it;
 * they are answered in kind. Whatever is wrong with who they are is refused alike, so that nothing can be learnt from it.
 */
import { timingSafeEqual } from 'node:crypto';
import { firstSignature, SIGNATURE_BYTES } from '../crypto/ntlmv2.ts';
import { Malformed } from '../wire/message.ts';
import { isNtlm } from './ntlm.ts';
import { type AuthenticationOptions, NtlmExchange, type SignedIn } from './ntlm-exchange.ts';
import {
  decodeNegTokenInit,
  decodeNegTokenResp,
  encodeInitialToken,
  encodeNegTokenResp,
  NegState,
  type NegTokenResp,
} from './spnego.ts';

export type { AuthenticationOptions } from './ntlm-exchange.ts';

export type Step =
  | { readonly kind: 'more'; readonly blob: Buffer }
  | {
      readonly kind: 'done';
      readonly account: string;
      /** The workstation that the client says it is; may be empty. */
      readonly clientName: string;
      /** 16 bytes. */
      readonly sessionKey: Buffer;
      readonly blob: Buffer;
    }
  | { readonly kind: 'refused' }
  /** No answer to a challenge: refused before it is known whose it is. */
  | { readonly kind: 'malformed' };

const REFUSED: Step = { kind: 'refused' };
const MALFORMED: Step = { kind: 'malformed' };
const NOTHING = Buffer.alloc(0);

/** What the answer to NEGOTIATE offers. */
export const initialToken = (): Buffer => encodeInitialToken();

/** Where the exchange is; it only ever goes forward, in three steps at most. */
type Stage =
  | { readonly name: 'start' }
  | { readonly name: 'chosen'; readonly mechTypes: Buffer }
  | { readonly name: 'challenged'; readonly exchange: NtlmExchange; readonly mechTypes: Buffer | null }
  | { readonly name: 'ended' };

export class Authentication {
  readonly #options: AuthenticationOptions;
  #stage: Stage = { name: 'start' };

  constructor(options: AuthenticationOptions) {
    this.#options = options;
  }

  /** Takes what the client sent. After anything but `more` everything is refused. */
  step(blob: Buffer): Step {
    const stage = this.#stage;
    this.#stage = { name: 'ended' };
    try {
      return this.#take(stage, blob);
    } catch (error) {
      if (!(error instanceof Malformed || error instanceof RangeError)) throw error;
      return stage.name === 'challenged' ? MALFORMED : REFUSED;
    }
  }

  #take(stage: Stage, blob: Buffer): Step {
    switch (stage.name) {
      case 'start':
        return isNtlm(blob) ? this.#challengeRaw(blob) : this.#choose(blob);
      case 'chosen': {
        const { responseToken } = decodeNegTokenResp(blob);
        return this.#challenge(responseToken ?? NOTHING, { mechTypes: stage.mechTypes, namesMechanism: false });
      }
      case 'challenged': {
        const { exchange, mechTypes } = stage;
        return mechTypes === null
          ? finishRaw(exchange.verify(blob))
          : finish(exchange, mechTypes, decodeNegTokenResp(blob));
      }
      case 'ended':
        return REFUSED;
    }
  }

  #challengeRaw(negotiate: Buffer): Step {
    const exchange = new NtlmExchange(this.#options, negotiate);
    this.#stage = { name: 'challenged', exchange, mechTypes: null };
    return { kind: 'more', blob: exchange.message };
  }

  /** The token that comes along is of the client's first mechanism, and of no use if that is another. */
  #choose(blob: Buffer): Step {
    const init = decodeNegTokenInit(blob);
    if (init.ntlmIndex === -1) return REFUSED;
    const mechTypes = Buffer.from(init.mechTypes);
    if (init.ntlmIndex === 0 && init.mechToken !== null) {
      return this.#challenge(init.mechToken, { mechTypes, namesMechanism: true });
    }
    this.#stage = { name: 'chosen', mechTypes };
    const state = init.ntlmIndex === 0 ? NegState.ACCEPT_INCOMPLETE : NegState.REQUEST_MIC;
    return { kind: 'more', blob: encodeNegTokenResp({ state, namesMechanism: true }) };
  }

  #challenge(negotiate: Buffer, { mechTypes, namesMechanism }: { mechTypes: Buffer; namesMechanism: boolean }): Step {
    const exchange = new NtlmExchange(this.#options, negotiate);
    this.#stage = { name: 'challenged', exchange, mechTypes };
    const state = NegState.ACCEPT_INCOMPLETE;
    return { kind: 'more', blob: encodeNegTokenResp({ state, namesMechanism, responseToken: exchange.message }) };
  }
}

const done = ({ account, clientName, sessionKey }: SignedIn, blob: Buffer): Step => ({
  kind: 'done',
  account,
  clientName,
  sessionKey,
  blob,
});

const finishRaw = (signedIn: SignedIn | null): Step => (signedIn === null ? REFUSED : done(signedIn, NOTHING));

function finish(exchange: NtlmExchange, mechTypes: Buffer, { responseToken, mechListMic }: NegTokenResp): Step {
  const signedIn = exchange.verify(responseToken ?? NOTHING);
  if (signedIn === null) return REFUSED;
  if (mechListMic === null) return done(signedIn, encodeNegTokenResp({ state: NegState.ACCEPT_COMPLETED }));
  const answer = answeredMic(signedIn, mechTypes, mechListMic);
  if (answer === null) return REFUSED;
  return done(signedIn, encodeNegTokenResp({ state: NegState.ACCEPT_COMPLETED, mechListMic: answer }));
}

/** The server's signature of the client's list of mechanisms; null: the client's is wrong. */
function answeredMic({ signs }: SignedIn, mechTypes: Buffer, mechListMic: Buffer): Buffer | null {
  if (signs === null || mechListMic.length !== SIGNATURE_BYTES) return null;
  const expected = firstSignature({ ...signs, direction: 'client-to-server' }, mechTypes);
  if (!timingSafeEqual(expected, mechListMic)) return null;
  return firstSignature({ ...signs, direction: 'server-to-client' }, mechTypes);
}
