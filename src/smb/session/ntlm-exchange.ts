/**
 * One exchange of NTLMv2 as the server has it: its challenge to a client, and whether the answer proves that the client
 * has one of the account's keys. The password is a key's Base64 text. Wrong names cost as much time as wrong passwords.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Account } from '../../auth/identity.ts';
import type { Clock } from '../../base/clock.ts';
import { hmacMd5, KEY_BYTES, proofOf, responseKey, type SignatureTerms, sessionBaseKey } from '../crypto/ntlmv2.ts';
import { rc4 } from '../crypto/rc4.ts';
import {
  type Authenticate,
  CHALLENGE_BYTES,
  decodeAuthenticate,
  decodeNegotiate,
  encodeChallenge,
  grantedFlags,
  hasFlag,
  NtlmFlag,
} from './ntlm.ts';

export interface AuthenticationOptions {
  readonly accounts: ReadonlyMap<string, Account>;
  readonly isLoopback: boolean;
  readonly serverName: string;
  readonly clock: Clock;
}

export interface SignedIn {
  readonly account: string;
  /** The workstation that the client says it is; may be empty. */
  readonly clientName: string;
  readonly sessionKey: Buffer;
  /** Null: without extended session security nothing is signed. */
  readonly signs: Omit<SignatureTerms, 'direction'> | null;
}

/** As many keys are tried as an account can have, of every account and of none. */
const KEY_COUNT = 2;
const NOBODYS_KEY = randomBytes(64);
const CLIENT_NAME_LENGTH_MAX = 255;

export class NtlmExchange {
  readonly #options: AuthenticationOptions;
  readonly #negotiate: Buffer;
  readonly #flags: number;
  readonly #challenge = randomBytes(CHALLENGE_BYTES);
  /** For the client. */
  readonly message: Buffer;

  /** Malformed where the client's NEGOTIATE is. Names will be in Unicode, also for clients that do not ask for it. */
  constructor(options: AuthenticationOptions, negotiate: Buffer) {
    const { flags } = decodeNegotiate(negotiate);
    this.#options = options;
    this.#negotiate = Buffer.from(negotiate);
    this.#flags = grantedFlags(flags);
    this.message = encodeChallenge({
      flags: this.#flags,
      challenge: this.#challenge,
      serverName: options.serverName,
      nowMs: options.clock.nowMs(),
    });
  }

  /** Null: refused. Malformed where the client's AUTHENTICATE is, whoever it is of. */
  verify(message: Buffer): SignedIn | null {
    const answer = decodeAuthenticate(message);
    if (answer === null) return null;
    const account = this.#options.accounts.get(accountNameOf(answer.user));
    const baseKey = this.#provenKey(account?.keys ?? [], answer);
    if (account === undefined || baseKey === null) return null;
    if (account.loopbackOnly && !this.#options.isLoopback) return null;
    if (hasFlag(answer.flags, NtlmFlag.ANONYMOUS)) return null;
    const flags = answer.flags & this.#flags;
    const exchangesKey = hasFlag(flags, NtlmFlag.KEY_EXCH);
    const sessionKey = exchangesKey ? unwrapped(baseKey, answer) : baseKey;
    if (sessionKey === null || !this.#isMicRight(sessionKey, answer)) return null;
    return {
      account: account.name,
      clientName: clientNameOf(answer.workstation),
      sessionKey,
      signs: hasFlag(flags, NtlmFlag.EXTENDED_SESSIONSECURITY)
        ? { sessionKey, exchangesKey, sealBytes: sealBytesOf(flags) }
        : null,
    };
  }

  /** The session's key by the account's key that the proof was made with. */
  #provenKey(keys: readonly Buffer[], { user, domain, proof, blob }: Authenticate): Buffer | null {
    let proven: Buffer | null = null;
    for (let index = 0; index < KEY_COUNT; index++) {
      const password = (keys[index] ?? NOBODYS_KEY).toString('base64');
      const key = responseKey(password, { user, domain });
      const expected = proofOf(key, { challenge: this.#challenge, blob });
      const baseKey = sessionBaseKey(key, expected);
      if (timingSafeEqual(expected, proof)) proven = baseKey;
    }
    return proven;
  }

  #isMicRight(sessionKey: Buffer, { mic }: Authenticate): boolean {
    if (mic === null) return true;
    return timingSafeEqual(hmacMd5(sessionKey, this.#negotiate, this.message, ...mic.over), mic.value);
  }
}

/** Clients write DOMAIN\user and user@domain where they leave the domain's own field empty. */
function accountNameOf(user: string): string {
  const name = user.slice(user.lastIndexOf('\\') + 1);
  const at = name.indexOf('@');
  return (at === -1 ? name : name.slice(0, at)).toLowerCase();
}

const unwrapped = (baseKey: Buffer, { encryptedSessionKey }: Authenticate): Buffer | null =>
  encryptedSessionKey.length === KEY_BYTES ? rc4(baseKey, encryptedSessionKey) : null;

function sealBytesOf(flags: number): number {
  if (hasFlag(flags, NtlmFlag.KEY_128)) return KEY_BYTES;
  return hasFlag(flags, NtlmFlag.KEY_56) ? 7 : 5;
}

/** Fit for listings, whatever was sent. */
const clientNameOf = (workstation: string): string =>
  workstation.slice(0, CLIENT_NAME_LENGTH_MAX).replaceAll(/\p{C}/gu, '?');
