/**
 * What tests of credentials know of a service, so that one test serves all of them: its operations, each with whom the
 * protocol's tables let do it; a resource (a queue, a table, a share) to do them on; and clients with nothing but the
 * credential in question.
 */
import assert from 'node:assert/strict';
import type { TestAccount } from '../harness/accounts.ts';

export const NOT_PERMITTED = '403 AuthorizationPermissionMismatch';
export const NOT_AUTHENTIC = '403 AuthenticationFailed';
/** No SAS token is ever enough. */
export const NEVER = '403 AuthorizationFailure';

export interface Operation {
  readonly operation: string;
  /** Of an account SAS. */
  readonly type: 's' | 'c' | 'o';
  /** Sets of letters of an account SAS of which one set is enough; none: no such token ever is. */
  readonly byAccountSas: readonly string[];
  /** The same of a SAS for the resource. */
  readonly bySas: readonly string[];
  /** The path names another resource or none, so that a SAS for the resource is not authentic there. */
  readonly isElsewhere?: true;
  /** Whether it is about the file that the owner made: a SAS for that file opens it by the same letters. */
  readonly ofFile?: true;
  readonly byRoles: readonly string[];
  /** What a caller who may do it is answered; absent: `ok`. */
  readonly answer?: string;
}

/** Whether these letters of a SAS are enough. */
export const opens = (letters: string, sets: readonly string[]): boolean =>
  sets.some((set) => set.split('').every((letter) => letters.includes(letter)));

/** Every set of these letters but the empty one. */
export const setsOf = (letters: string): string[] =>
  Array.from({ length: 2 ** letters.length - 1 }, (_, index) =>
    letters
      .split('')
      .filter((_letter, place) => ((index + 1) & (1 << place)) !== 0)
      .join(''),
  );

/** What a SAS for the resource gets, where `isOpen` tells what it is worth. */
export const bySas =
  (isOpen: (operation: Operation) => boolean) =>
  (operation: Operation): string => {
    if (operation.isElsewhere === true) return NOT_AUTHENTIC;
    if (operation.bySas.length === 0) return NEVER;
    return isOpen(operation) ? 'ok' : NOT_PERMITTED;
  };

/** Where a client connects, and with what. */
export interface Access {
  /** With the account: `http://127.0.0.1:10001/devstoreaccount1`. */
  readonly endpoint: string;
  /** The account to sign as. */
  readonly key?: TestAccount;
  readonly bearer?: string;
  readonly sas?: string;
  /** For TLS. */
  readonly ca?: Buffer;
}

export interface SasValues {
  readonly startsOn?: Date;
  readonly expiresOn?: Date;
  readonly protocol?: 'https' | 'https,http';
  readonly ipRange?: { readonly start: string; readonly end?: string };
  /** The id of a stored policy. */
  readonly identifier?: string;
  /** A SAS for this file of a share. */
  readonly filePath?: string;
}

export interface AccountSasValues extends Omit<SasValues, 'identifier' | 'filePath'> {
  /** Of `bqtf`. */
  readonly services: string;
  /** Of `sco`. */
  readonly resourceTypes: string;
}

export interface StoredPolicy {
  readonly id: string;
  readonly permissions: string;
  readonly expiresOn?: Date;
}

/** A queue, table or share that the account's owner made and filled. */
export interface Resource {
  readonly name: string;
  /** Asks for every operation as the guest and compares the answers: `ok` stands for what a caller is answered who may. */
  readonly assertOutcomes: (guest: Access, wanted: (operation: Operation) => string) => Promise<void>;
  /** What the owner put there is as it was put, and nobody else put anything beside it. */
  readonly assertUntouched: () => Promise<void>;
  /** The guest reads what the owner put there. */
  readonly assertShown: (guest: Access) => Promise<void>;
  readonly setPolicies: (policies: readonly StoredPolicy[]) => Promise<unknown>;
}

export interface CredentialService {
  readonly door: 'queue' | 'table' | 'file';
  readonly resource: 'queue' | 'table' | 'share';
  readonly fresh: (owner: Access, name?: string) => Promise<Resource>;
  /** `ok`, or the refusal, as this service's client tells it. */
  readonly outcome: (request: Promise<unknown>) => Promise<string>;
  readonly notFound: string;
  /** All letters of a SAS for a resource. */
  readonly sasLetters: string;
  readonly makeSas: (signer: TestAccount, name: string, letters: string, values: SasValues) => string;
  /** What a SAS may be for that opens `read` and `writes`, the resource itself first. */
  readonly sasParts: readonly Pick<SasValues, 'filePath'>[];
  /** `b`, `q`, `t` or `f` in an account SAS. */
  readonly serviceLetter: string;
  /** Sets of letters to try in an account SAS; the last has all that this service knows. */
  readonly accountSasLetters: readonly string[];
  readonly makeAccountSas: (signer: TestAccount, letters: string, values: AccountSasValues) => string;
  /** Reads from the resource: needs `r`. */
  readonly read: (guest: Access, name: string) => Promise<unknown>;
  /** Letters that all of `writes` need, and `read` does not. */
  readonly writeLetters: string;
  readonly writes: readonly ((guest: Access, name: string) => Promise<unknown>)[];
  /** Other operations that the secondary refuses. */
  readonly changes: readonly ((guest: Access, name: string) => Promise<unknown>)[];
}

/** What a service gives to a delegator: a key to make SAS tokens with. */
export interface UserDelegation {
  readonly key: {
    readonly signedObjectId: string;
    readonly signedTenantId: string;
    readonly signedService: string;
    readonly signedExpiresOn: Date;
    readonly value: string;
  };
  readonly makeSas: (name: string, letters: string, values: DelegatedSasValues) => string;
}

export interface DelegatedSasValues extends SasValues {
  /** Who has to show a bearer token beside the SAS. */
  readonly delegatedUserObjectId?: string;
}

/** For how long the key is good. */
export interface DelegationPeriod {
  readonly startsOn: Date;
  readonly expiresOn: Date;
}

/** Performs the operations one after another and compares what comes with `wanted`. */
export async function compareOutcomes<One extends Operation>(
  operations: readonly One[],
  perform: (operation: One, index: number) => Promise<string>,
  wanted: (operation: One) => string,
): Promise<void> {
  const got: Record<string, string> = {};
  const want: Record<string, string> = {};
  for (const [index, operation] of operations.entries()) {
    const name = operation.operation;
    got[name] = await perform(operation, index);
    want[name] = wanted(operation);
    if (want[name] === 'ok') want[name] = operation.answer ?? 'ok';
  }
  assert.deepEqual(got, want);
}
