/** Shared access signatures: tells the kinds of token apart and has each judged by its own rules. */
import { verifyAccountSas } from './account-sas.ts';
import type { BearerContext } from './bearer.ts';
import type { Identity } from './identity.ts';
import { authenticationFailed } from './refusals.ts';
import { readSasFields } from './sas-token.ts';
import { type ServiceSasContext, verifyServiceSas } from './service-sas.ts';
import type { SignedRequest } from './signed-request.ts';
import { isUserDelegationSas, verifyUserDelegationSas } from './user-delegation-sas.ts';

export async function verifySas(request: SignedRequest, context: ServiceSasContext & BearerContext): Promise<Identity> {
  const field = readSasFields(request.target.query);
  const isAccountSas = field('ss') !== '' || field('srt') !== '';
  if (isAccountSas && field('sr') !== '') {
    throw authenticationFailed('The token has fields of an account SAS (ss, srt) and of a service SAS (sr).');
  }
  if (isUserDelegationSas(field)) return verifyUserDelegationSas(request, field, context);
  return isAccountSas ? verifyAccountSas(request, field, context) : verifyServiceSas(request, field, context);
}
