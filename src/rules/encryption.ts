/**
 * Keys that customers provide, and encryption scopes: what was written with a key can be used only with that key, and a
 * container may prescribe a scope.
 */
import type { ErrorCode } from './error-code.ts';

/** How a blob is encrypted by its user's wish: with a key of theirs, of which only the digest is kept, or in a scope. */
export type BlobEncryption = { readonly keySha256: string } | { readonly scope: string };

/** What a container prescribes to blobs that name no scope, and whether they may name another. */
export type ContainerScope = { readonly name: string; readonly deniesOthers: boolean };

/** For an operation that reads or adds to what is there. `presented`: the digest of the key sent with it, if any. */
export function refuseKey(stored: BlobEncryption | undefined, presented: string | null): ErrorCode | null {
  const keySha256 = stored !== undefined && 'keySha256' in stored ? stored.keySha256 : null;
  if (keySha256 === presented) return null;
  if (keySha256 === null) return 'BlobDoesNotUseCustomerSpecifiedEncryption';
  return presented === null ? 'BlobUsesCustomerSpecifiedEncryption' : 'BlobCustomerSpecifiedEncryptionMismatch';
}

/** The encryption of a new state of a blob. */
export function resolveEncryption(
  asked: { readonly keySha256: string | null; readonly scope: string | null },
  container: ContainerScope | undefined,
): { readonly encryption: BlobEncryption | null } | { readonly refusal: ErrorCode } {
  const { keySha256, scope } = asked;
  const isForeign = keySha256 !== null || (scope !== null && scope !== container?.name);
  if (container?.deniesOthers === true && isForeign) return { refusal: 'RequestForbiddenByContainerEncryptionPolicy' };
  if (keySha256 !== null) return { encryption: { keySha256 } };
  const name = scope ?? container?.name ?? null;
  return { encryption: name === null ? null : { scope: name } };
}
