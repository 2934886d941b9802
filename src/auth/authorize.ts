/** Whether an identity may do what an operation needs. Rows in order of precedence are in the test beside. */
import { SINCE_BEARER_CHALLENGE } from '../rules/versions.ts';
import { StorageError } from '../service/storage-error.ts';
import type { Identity, Need, PublicAccess, ServiceLetter } from './identity.ts';
import { authenticationFailed, challengeHeader } from './refusals.ts';

export interface AskedService {
  readonly service: ServiceLetter;
  readonly version: string;
  /** What an anonymous caller is told; absent: what Azure tells. */
  readonly challenge?: string | undefined;
}

/** The refusal, or null where the identity may. */
export function refuseNeed(identity: Identity, need: Need, asked: AskedService): StorageError | null {
  const { service } = asked;
  if (need.privilege === 'delegation') return refuseDelegation(identity, asked);
  switch (identity.kind) {
    case 'owner':
      return null;
    case 'accountSas':
      if (!identity.services.includes(service)) return new StorageError('AuthorizationServiceMismatch');
      if (need.anyOf === '') return new StorageError('AuthorizationFailure');
      if (!identity.resourceTypes.includes(need.resourceType)) {
        return new StorageError('AuthorizationResourceTypeMismatch');
      }
      return refuseLetters(identity.permissions, need);
    case 'serviceSas':
      if (!need.serviceSas || need.anyOf === '') return new StorageError('AuthorizationFailure');
      return refuseLetters(identity.permissions, need) ?? refuseRole(identity.holderPermissions, need);
    case 'bearer':
      if (need.privilege !== 'control') return refuseRole(identity.permissions, need);
      return identity.controls ? null : new StorageError('AuthorizationPermissionMismatch');
    case 'anonymous':
      return opens(identity.publicAccess, need.anonymous) ? null : refuseAnonymous(asked);
  }
}

function refuseDelegation(identity: Identity, asked: AskedService): StorageError | null {
  if (identity.kind === 'anonymous') return refuseAnonymous(asked);
  if (identity.kind !== 'bearer') return authenticationFailed('Only authentication scheme Bearer is supported');
  return identity.delegationKey === null ? new StorageError('AuthorizationPermissionMismatch') : null;
}

/**
 * Whether an identity has a permission letter that only some requests of an operation need: `w` to overwrite a blob
 * with Put Blob, `t` to send tags or a condition on tags.
 */
export function hasPermission(identity: Identity, letter: string): boolean {
  if (identity.kind === 'owner') return true;
  return identity.kind !== 'anonymous' && identity.permissions.includes(letter);
}

/** A token with `c` and without `w` may make a blob or a file, not replace one. */
export const mayOverwrite = ({ identity }: { readonly identity: Identity }): boolean => hasPermission(identity, 'w');

/** `permissions`: what roles stand for; undefined where none are asked. */
function refuseRole(permissions: string | undefined, need: Need): StorageError | null {
  if (permissions === undefined) return null;
  return refuseLetters(permissions, { ...need, anyOf: need.anyOfRole ?? need.anyOf });
}

function refuseLetters(permissions: string, { anyOf, needsAll }: Need): StorageError | null {
  const letters = anyOf.split('');
  const has = (letter: string): boolean => permissions.includes(letter);
  const isEnough = needsAll === true ? letters.every(has) : letters.some(has);
  return isEnough ? null : new StorageError('AuthorizationPermissionMismatch');
}

const opens = (publicAccess: PublicAccess | null, needed: PublicAccess | null): boolean =>
  publicAccess !== null && needed !== null && (publicAccess === 'container' || needed === 'blob');

const refuseAnonymous = ({ version, challenge }: AskedService): StorageError =>
  version >= SINCE_BEARER_CHALLENGE
    ? new StorageError('NoAuthenticationInformation', challengeHeader(challenge))
    : new StorageError('ResourceNotFound');
