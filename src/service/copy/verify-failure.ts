/**
 * How the failure of a copy's source is told to the caller: CannotVerifyCopySource with the source's own status and code
 * beside it, or SourceConditionNotMet.
 * https://learn.microsoft.com/rest/api/storageservices/copy-blob#response
 */
import { StorageError } from '../storage-error.ts';
import { SourceRefused, SourceUnreachable, type UnreachableReason } from './outside.ts';

export interface SourceAnswer {
  readonly status: number;
  readonly code: string | null;
  readonly sentence: string | null;
  /** What else the source's error says. */
  readonly elements?: Readonly<Record<string, string>>;
}

const NOT_VERIFIED = 'Could not verify the copy source.';

/** The source's answer is the caller's answer, under the code that says whose it is. */
export function cannotVerify({ status, code, sentence, elements = {} }: SourceAnswer): StorageError {
  return new StorageError('CannotVerifyCopySource', {
    status,
    message: sentence ?? NOT_VERIFIED,
    elements: {
      CopySourceStatusCode: String(status),
      ...(code === null ? {} : { CopySourceErrorCode: code }),
      ...(sentence === null ? {} : { CopySourceErrorMessage: sentence }),
      ...elements,
    },
    headers: {
      'x-ms-copy-source-status-code': String(status),
      ...(code === null ? {} : { 'x-ms-copy-source-error-code': code }),
    },
  });
}

/** A source of this server that is not there. */
export const sourceNotFound = (): StorageError =>
  cannotVerify({ status: 404, code: 'BlobNotFound', sentence: 'The specified blob does not exist.' });

/** A condition on the source that does not hold: 304 where a read would be told "not modified", 412 otherwise. */
export const sourceConditionNotMet = ({ notModified }: { readonly notModified: boolean }): StorageError =>
  notModified
    ? cannotVerify({ status: 304, code: 'ConditionNotMet', sentence: null })
    : new StorageError('SourceConditionNotMet');

/** Where trying again may help it is a fault of the moment (500); where it cannot, the client should not. */
const UNREACHABLE_STATUS: Readonly<Record<UnreachableReason, number>> = {
  malformed: 400,
  forbidden: 403,
  redirects: 409,
  connection: 409,
  answer: 409,
  timeout: 500,
  brokeOff: 500,
};

/** What an Outside throws, as a refusal of the request; anything else stays what it is. */
export function asVerifyFailure(error: unknown): unknown {
  if (error instanceof SourceRefused) {
    return error.status === 412 ? sourceConditionNotMet({ notModified: false }) : cannotVerify(error);
  }
  if (error instanceof SourceUnreachable) {
    return new StorageError('CannotVerifyCopySource', {
      status: UNREACHABLE_STATUS[error.reason],
      message: `${NOT_VERIFIED} ${error.message}`,
    });
  }
  return error;
}

/** A range of the source of which not all is there to be read. */
export const beyondSource = (): StorageError =>
  cannotVerify({ status: 416, code: 'InvalidRange', sentence: 'The range is beyond the end of the source.' });
