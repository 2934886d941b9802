/**
 * The account SAS: a token for services (`ss`) and resource types (`srt`) of a whole account.
 * https://learn.microsoft.com/rest/api/storageservices/create-account-sas
 */
import type { Account, Identity } from './identity.ts';
import { signatureMismatch } from './refusals.ts';
import {
  refuseLetters,
  refuseMissing,
  refusePeriod,
  refuseProtocol,
  refuseSourceAddress,
  refuseUnsigned,
  refuseVersion,
  type SasFields,
  SINCE_ENCRYPTION_SCOPE,
} from './sas-token.ts';
import { tokenSignatureMatches } from './signature.ts';
import type { SignedRequest } from './signed-request.ts';

const SINCE_ACCOUNT_SAS = '2015-04-05';

export function verifyAccountSas(
  request: SignedRequest,
  field: SasFields,
  { account, nowMs }: { account: Account; nowMs: number },
): Identity {
  refuseMissing(field, ['sv', 'ss', 'srt', 'sp', 'se', 'sig']);
  refuseVersion(field('sv'), SINCE_ACCOUNT_SAS);
  refuseLetters(field, 'ss', 'bqtf');
  refuseLetters(field, 'srt', 'sco');
  refuseLetters(field, 'sp', 'rwdxylacuptfi');
  refuseUnsigned(field, 'ses', SINCE_ENCRYPTION_SCOPE);
  const stringToSign = accountSasStringToSign(account.name, field);
  if (!tokenSignatureMatches(account, stringToSign, field('sig'))) throw signatureMismatch(stringToSign);
  refusePeriod({ start: field('st'), expiry: field('se') }, nowMs);
  refuseSourceAddress(field, request);
  refuseProtocol(field, request);
  return {
    kind: 'accountSas',
    account: account.name,
    services: field('ss'),
    resourceTypes: field('srt'),
    permissions: field('sp'),
  };
}

/** Every line ends with a line break, the last one too. */
function accountSasStringToSign(account: string, field: SasFields): string {
  const names = ['sp', 'ss', 'srt', 'st', 'se', 'sip', 'spr', 'sv'];
  if (field('sv') >= SINCE_ENCRYPTION_SCOPE) names.push('ses');
  return `${[account, ...names.map(field)].join('\n')}\n`;
}
