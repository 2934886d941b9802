/** Shared access signatures: tells the kinds of token apart and has each judged by its own rules. */
import { verifyAccountSas } from './account-sas.ts';
import type { Identity } from './identity.ts';
import { authenticationFailed } from './refusals.ts';
import { readSasFields } from './sas-token.ts';
import { type ServiceSasContext, verifyServiceSas } from './service-sas.ts';
import type { SignedRequest } from './signed-request.ts';

const USER_DELEGATION_FIELDS = 'skoid sktid skt ske sks skv saoid suoid scid sduoid skdutid srh srq'.split(' ');

export async function verifySas(request: SignedRequest, context: ServiceSasContext): Promise<Identity> {
  const field = readSasFields(request.target.query);
  const delegation = USER_DELEGATION_FIELDS.find((name) => field(name) !== '');
  if (delegation !== undefined) {
    throw authenticationFailed(
      `User delegation tokens (${delegation}) are not supported: sign with a key of the account.`,
    );
  }
  const isAccountSas = field('ss') !== '' || field('srt') !== '';
  if (isAccountSas && field('sr') !== '') {
    throw authenticationFailed('The token has fields of an account SAS (ss, srt) and of a service SAS (sr).');
  }
  return isAccountSas ? verifyAccountSas(request, field, context) : verifyServiceSas(request, field, context);
}
