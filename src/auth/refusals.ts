/** The refusals of authentication. Each says to the developer what was wrong; none of them holds a secret. */
import { StorageError } from '../service/storage-error.ts';

export const authenticationFailed = (detail: string): StorageError =>
  new StorageError('AuthenticationFailed', { elements: { AuthenticationErrorDetail: detail } });

/** The string to sign holds only what the caller sent, and comparing it with one's own finds most mistakes. */
export const signatureMismatch = (stringToSign: string): StorageError =>
  authenticationFailed(`Signature did not match. String to sign used was ${stringToSign}`);

export const invalidAuthenticationInfo = (detail: string): StorageError =>
  new StorageError('InvalidAuthenticationInfo', { elements: { AuthenticationErrorDetail: detail } });

/** A token that is not good asks for a better one (401); a header that cannot be read is a bad request. */
export const bearerRefused = (detail: string): StorageError =>
  new StorageError('InvalidAuthenticationInfo', { status: 401, elements: { AuthenticationErrorDetail: detail } });
