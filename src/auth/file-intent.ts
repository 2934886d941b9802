/**
 * What the File service asks of a caller with a bearer token besides roles. Those pass over what files' own permissions
 * say, so whoever reads or writes files by them says that this is meant: `x-ms-file-request-intent: backup`.
 * https://learn.microsoft.com/azure/storage/files/authorize-oauth-rest
 */
import { invalidHeader, missingHeader, StorageError } from '../service/storage-error.ts';
import type { Identity, Need } from './identity.ts';
import type { SignedRequest } from './signed-request.ts';

const SINCE_MANAGEMENT_BY_TOKEN = '2024-11-04';
const HEADER = 'x-ms-file-request-intent';

/** The refusal, or null. It comes before that of a role, which does not make up for it. */
export function refuseIntent(
  request: Pick<SignedRequest, 'service' | 'version' | 'header'> & { readonly identity: Identity },
  { privilege }: Need,
): StorageError | null {
  if (request.service !== 'f' || request.identity.kind !== 'bearer' || privilege === 'delegation') return null;
  // Shares as such are no files: the SDKs do not always send the header with them.
  if (privilege === 'control') {
    const isTooOld = request.version < SINCE_MANAGEMENT_BY_TOKEN;
    return isTooOld ? new StorageError('FileOAuthManagementApiRestrictedToSrp') : null;
  }
  const intent = request.header(HEADER) ?? '';
  if (intent === '') return missingHeader(HEADER);
  return intent.toLowerCase() === 'backup' ? null : invalidHeader(HEADER, intent);
}
