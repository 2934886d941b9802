/** The refusals of authentication. Each says to the developer what was wrong; none of them holds a secret. */
import { StorageError } from '../service/storage-error.ts';

export const authenticationFailed = (detail: string): StorageError =>
  new StorageError('AuthenticationFailed', { elements: { AuthenticationErrorDetail: detail } });

/** The string to sign holds only what the caller sent, and comparing it with one's own finds most mistakes. */
export const signatureMismatch = (stringToSign: string): StorageError =>
  authenticationFailed(`Signature did not match. String to sign used was ${stringToSign}`);

export const invalidAuthenticationInfo = (detail: string): StorageError =>
  new StorageError('InvalidAuthenticationInfo', { elements: { AuthenticationErrorDetail: detail } });

const REFER_TO_CHALLENGE =
  'Server failed to authenticate the request. Please refer to the information in the www-authenticate header.';

/** A bearer token that is not good asks for a better one (401); a header that cannot be read is a bad request. */
export const bearerRefused = (detail: string, challenge?: string): StorageError =>
  new StorageError('InvalidAuthenticationInfo', {
    status: 401,
    message: REFER_TO_CHALLENGE,
    elements: { AuthenticationErrorDetail: detail },
    ...challengeHeader(challenge),
  });

/** Without one the answer has the challenge of Azure. */
export const challengeHeader = (
  challenge: string | undefined,
): { readonly headers?: Readonly<Record<'WWW-Authenticate', string>> } =>
  challenge === undefined ? {} : { headers: { 'WWW-Authenticate': challenge } };
