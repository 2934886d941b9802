/**
 * The service SAS: a token for one container, directory, blob, snapshot or version, or for one queue, table, share or
 * file; alone or together with a stored access policy of the resource.
 * https://learn.microsoft.com/rest/api/storageservices/create-service-sas
 */
import type { AccessPolicy, Account, Identity, ResourceAcl, ResponseOverrides, ServiceLetter } from './identity.ts';
import { authenticationFailed, signatureMismatch } from './refusals.ts';
import {
  refuseLetters,
  refuseMissing,
  refusePeriod,
  refuseProtocol,
  refuseSourceAddress,
  refuseUnsigned,
  refuseVersion,
  type SasFields,
  SINCE_ADDRESS_AND_PROTOCOL,
  SINCE_ENCRYPTION_SCOPE,
  SINCE_SNAPSHOT_TOKENS,
} from './sas-token.ts';
import { tokenSignatureMatches } from './signature.ts';
import type { SignedRequest } from './signed-request.ts';
import { signedResource } from './signed-resource.ts';
import { RANGE_FIELDS, tableScope } from './table-scope.ts';

const SINCE_VERSIONED_TOKENS = '2012-02-12';
const SINCE_RESPONSE_OVERRIDES = '2013-08-15';

export interface ServiceSasContext {
  readonly account: Account;
  readonly nowMs: number;
  /** What the request addresses, decoded: the container or its like, and what is in it. */
  readonly resource: readonly string[];
  readonly loadAcl: (account: string, resource: readonly string[]) => Promise<ResourceAcl | null>;
}

export async function verifyServiceSas(
  request: SignedRequest,
  field: SasFields,
  { account, nowMs, resource, loadAcl }: ServiceSasContext,
): Promise<Identity> {
  const { service } = request;
  refuseFields(service, field);
  const stringsToSign = serviceSasStringsToSign(service, field, signedResource(request, field, resource));
  if (!stringsToSign.some((stringToSign) => tokenSignatureMatches(account, stringToSign, field('sig')))) {
    throw signatureMismatch(stringsToSign[0]);
  }

  // A batch names no table in its path, but the token does.
  const holder = service === 't' ? [field('tn')] : resource;
  const policy = field('si') === '' ? null : findPolicy(await loadAcl(account.name, holder), field('si'));
  const start = fromTokenOrPolicy(field, 'st', policy?.start);
  const expiry = fromTokenOrPolicy(field, 'se', policy?.expiry);
  const permissions = fromTokenOrPolicy(field, 'sp', policy?.permission);
  if (expiry === '') throw authenticationFailed('Neither the token (se) nor its stored access policy has an expiry.');
  if (permissions === '')
    throw authenticationFailed('Neither the token (sp) nor its stored access policy permits anything.');

  refusePeriod({ start, expiry }, nowMs);
  refuseSourceAddress(field, request);
  refuseProtocol(field, request);
  return {
    kind: 'serviceSas',
    account: account.name,
    permissions,
    overrides: responseOverrides(service, field),
    ...(service === 't' ? { entities: tableScope(field) } : {}),
  };
}

function refuseFields(service: ServiceLetter, field: SasFields): void {
  refuseMissing(field, mandatoryFields[service]);
  // The first blob tokens had no version.
  if (service !== 'b' || field('sv') !== '') refuseVersion(field('sv'), SINCE_VERSIONED_TOKENS);
  refusePermissions(service, field);
  refuseUnsigned(field, 'sip', SINCE_ADDRESS_AND_PROTOCOL);
  refuseUnsigned(field, 'spr', SINCE_ADDRESS_AND_PROTOCOL);
  if (service === 'b') refuseUnsigned(field, 'ses', SINCE_ENCRYPTION_SCOPE);
}

const mandatoryFields: Record<ServiceLetter, readonly string[]> = {
  b: ['sr', 'sig'],
  q: ['sv', 'sig'],
  t: ['sv', 'tn', 'sig'],
  f: ['sv', 'sr', 'sig'],
};

const permissionOrder: Record<ServiceLetter, string> = { b: 'racwdxltmeop', q: 'raup', t: 'raud', f: 'rcwdl' };
/** There is nothing to list in a file. */
const PERMISSIONS_OF_FILE = 'rcwd';
/** Later letters, which documentation and SDKs put in different places. */
const unorderedPermissions: Record<ServiceLetter, string> = { b: 'yfi', q: '', t: '', f: '' };

export function refusePermissions(service: ServiceLetter, field: SasFields): void {
  const order = service === 'f' && field('sr') === 'f' ? PERMISSIONS_OF_FILE : permissionOrder[service];
  refuseLetters(field, 'sp', order + unorderedPermissions[service]);
  const places = field('sp')
    .split('')
    .map((letter) => order.indexOf(letter))
    .filter((place) => place >= 0);
  if (places.some((place, index) => place < (places[index - 1] ?? 0))) {
    throw authenticationFailed(`The letters of sp=${field('sp')} must be in the order ${order}.`);
  }
}

/** Every string that counts as signed, the service's own first. */
function serviceSasStringsToSign(
  service: ServiceLetter,
  field: SasFields,
  resource: string,
): readonly [string, ...string[]] {
  const version = field('sv');
  const head = [field('sp'), field('st'), field('se'), resource, field('si')];
  if (version >= SINCE_ADDRESS_AND_PROTOCOL) head.push(field('sip'), field('spr'));
  if (version >= SINCE_VERSIONED_TOKENS) head.push(version);
  const tail = signsOverrides(service, field) ? overrideLines(field) : [];
  const signed = (...lines: readonly string[]): string => [...head, ...lines, ...tail].join('\n');
  switch (service) {
    case 'b':
      return [signed(...blobLines(field))];
    case 't':
      return [signed(...RANGE_FIELDS.map(field))];
    case 'f':
      // The SDK for Go signs these as it does of a blob.
      return version >= SINCE_SNAPSHOT_TOKENS ? [signed(), signed(field('sr'), '')] : [signed()];
    case 'q':
      return [signed()];
  }
}

function blobLines(field: SasFields): string[] {
  const lines: string[] = [];
  if (field('sv') >= SINCE_SNAPSHOT_TOKENS) lines.push(field('sr'), snapshotOrVersion(field));
  if (field('sv') >= SINCE_ENCRYPTION_SCOPE) lines.push(field('ses'));
  return lines;
}

export function snapshotOrVersion(field: SasFields): string {
  if (field('sr') === 'bs') return field('snapshot');
  return field('sr') === 'bv' ? field('versionid') : '';
}

const signsOverrides = (service: ServiceLetter, field: SasFields): boolean =>
  (service === 'b' || service === 'f') && field('sv') >= SINCE_RESPONSE_OVERRIDES;

const overriddenHeaders = [
  ['rscc', 'Cache-Control'],
  ['rscd', 'Content-Disposition'],
  ['rsce', 'Content-Encoding'],
  ['rscl', 'Content-Language'],
  ['rsct', 'Content-Type'],
] as const;

export const overrideLines = (field: SasFields): string[] => overriddenHeaders.map(([name]) => field(name));

/** An override that the version does not sign could be anybody's: it is not applied. */
export function responseOverrides(service: ServiceLetter, field: SasFields): ResponseOverrides {
  if (!signsOverrides(service, field)) return {};
  const given = overriddenHeaders.filter(([name]) => field(name) !== '');
  return Object.fromEntries(given.map(([name, header]) => [header, field(name)]));
}

function findPolicy(acl: ResourceAcl | null, id: string): AccessPolicy {
  const policy = acl?.policies.find((policy) => policy.id === id);
  if (policy === undefined) throw authenticationFailed(`The resource has no stored access policy ${id} (si).`);
  return policy;
}

function fromTokenOrPolicy(field: SasFields, name: string, inPolicy = ''): string {
  if (field(name) !== '' && inPolicy !== '') {
    throw authenticationFailed(`${name} is given both in the token and in its stored access policy.`);
  }
  return field(name) || inPolicy;
}
