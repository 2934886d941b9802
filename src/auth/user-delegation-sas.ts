/**
 * The user delegation SAS: a token for one container, directory, blob, snapshot or version, or for one queue, table, share
 * or file. It is signed with a user delegation key in place of the account's, and is worth what it says, but never more
 * than the roles of the key's holder.
 * https://learn.microsoft.com/rest/api/storageservices/create-user-delegation-sas
 */
import { grantablePermissions } from '../rules/roles.ts';
import { type BearerContext, isBearer, verifyBearer } from './bearer.ts';
import type { Identity, ServiceLetter } from './identity.ts';
import { authenticationFailed, signatureMismatch } from './refusals.ts';
import {
  parseSasTime,
  refuseLineBreak,
  refuseMissing,
  refusePeriod,
  refuseProtocol,
  refuseSourceAddress,
  refuseUnsigned,
  refuseVersion,
  type SasFields,
  SINCE_ENCRYPTION_SCOPE,
} from './sas-token.ts';
import {
  overrideLines,
  refusePermissions,
  responseOverrides,
  type ServiceSasContext,
  snapshotOrVersion,
} from './service-sas.ts';
import { signatureMatches } from './signature.ts';
import type { SignedRequest } from './signed-request.ts';
import { serviceNames, signedResource } from './signed-resource.ts';
import { RANGE_FIELDS, tableScope } from './table-scope.ts';
import { type DelegationKey, deriveDelegationKey } from './user-delegation-key.ts';

const SINCE_USER_DELEGATION = '2018-11-09';
const SINCE_AGENTS = '2020-02-10';
const SINCE_BOUND_USER = '2025-07-05';
const SINCE_SIGNED_REQUEST_PARTS = '2026-04-06';

/** Fields that only these tokens have, with the version that began to sign them. */
const OWN_FIELDS: Readonly<Record<string, string>> = {
  skoid: SINCE_USER_DELEGATION,
  sktid: SINCE_USER_DELEGATION,
  skt: SINCE_USER_DELEGATION,
  ske: SINCE_USER_DELEGATION,
  sks: SINCE_USER_DELEGATION,
  skv: SINCE_USER_DELEGATION,
  saoid: SINCE_AGENTS,
  suoid: SINCE_AGENTS,
  scid: SINCE_AGENTS,
  skdutid: SINCE_BOUND_USER,
  sduoid: SINCE_BOUND_USER,
  srh: SINCE_SIGNED_REQUEST_PARTS,
  srq: SINCE_SIGNED_REQUEST_PARTS,
};

/** When the services began to accept such tokens. */
const SINCE: Readonly<Record<ServiceLetter, string>> = {
  b: SINCE_USER_DELEGATION,
  q: SINCE_BOUND_USER,
  t: SINCE_BOUND_USER,
  f: SINCE_BOUND_USER,
};

/** What tokens for queues, tables and files do not sign, and so cannot have. */
const OF_BLOBS_ONLY = ['saoid', 'suoid', 'scid', 'srh', 'srq'];

/** The field that says what the token is for. Queues have none: SDKs send `sr=q`, but it is not signed. */
const RESOURCE_FIELDS: Readonly<Record<ServiceLetter, readonly string[]>> = { b: ['sr'], q: [], t: ['tn'], f: ['sr'] };

export const isUserDelegationSas = (field: SasFields): boolean =>
  Object.keys(OWN_FIELDS).some((name) => field(name) !== '');

export type UserDelegationSasContext = Omit<ServiceSasContext, 'loadAcl'> & BearerContext;

export async function verifyUserDelegationSas(
  request: SignedRequest,
  field: SasFields,
  context: UserDelegationSasContext,
): Promise<Identity> {
  const { account, nowMs, resource } = context;
  refuseFields(request, field);
  const stringsToSign = userDelegationStringsToSign(request, field, signedResource(request, field, resource));
  const holderPermissions = findHolderPermissions(request, field, { account, stringsToSign });
  if (holderPermissions === undefined) throw signatureMismatch(stringsToSign[0]);

  refusePeriod({ start: field('skt'), expiry: field('ske'), what: 'key' }, nowMs);
  refusePeriod({ start: field('st'), expiry: field('se') }, nowMs);
  refuseSourceAddress(field, request);
  refuseProtocol(field, request);
  if (field('sduoid') !== '') await refuseOtherUser(request, field, context);
  const permissions = field('sp')
    .split('')
    .filter((letter) => holderPermissions.includes(letter));
  return {
    kind: 'serviceSas',
    account: account.name,
    permissions: permissions.join(''),
    overrides: responseOverrides(request.service, field),
    holderPermissions,
    ...(request.service === 't' ? { entities: tableScope(field) } : {}),
  };
}

const KEY_FIELDS = ['skoid', 'sktid', 'skt', 'ske', 'sks', 'skv'];

function refuseFields({ service }: SignedRequest, field: SasFields): void {
  refuseMissing(field, ['sv', ...RESOURCE_FIELDS[service], 'sp', 'se', ...KEY_FIELDS, 'sig']);
  refuseVersion(field('sv'), SINCE[service]);
  const foreign = service === 'b' ? undefined : OF_BLOBS_ONLY.find((name) => field(name) !== '');
  if (foreign !== undefined)
    throw authenticationFailed(`${foreign} is not allowed in tokens for ${serviceNames[service]}s.`);
  for (const [name, sinceVersion] of Object.entries(OWN_FIELDS)) refuseUnsigned(field, name, sinceVersion);
  refuseUnsigned(field, 'ses', SINCE_ENCRYPTION_SCOPE);
  refusePermissions(service, field);
  if (field('si') !== '')
    throw authenticationFailed('A user delegation token cannot name a stored access policy (si).');
  if (field('sks') !== service) throw authenticationFailed(`The key is for another service (sks=${field('sks')}).`);
}

/** What the roles of the key's holder stood for when it was made; undefined where no such key made this signature. */
function findHolderPermissions(
  { service }: SignedRequest,
  field: SasFields,
  { account, stringsToSign }: Pick<UserDelegationSasContext, 'account'> & { readonly stringsToSign: readonly string[] },
): string | undefined {
  const key: Omit<DelegationKey, 'permissions'> = {
    account: account.name,
    service,
    objectId: field('skoid'),
    tenantId: field('sktid'),
    delegatedTenantId: field('skdutid'),
    startMs: parseSasTime('start', field('skt')),
    expiryMs: parseSasTime('expiry', field('ske')),
    version: field('skv'),
  };
  // The token does not tell the roles, but there are few: a key is derived for each that there can be.
  return grantablePermissions(service).find((permissions) => {
    const keys = account.keys.map((accountKey) => deriveDelegationKey(accountKey, { ...key, permissions }));
    return stringsToSign.some((stringToSign) => signatureMatches({ keys }, stringToSign, field('sig')));
  });
}

/** Every string that counts as signed, the service's own first. */
function userDelegationStringsToSign(
  request: SignedRequest,
  field: SasFields,
  resource: string,
): readonly [string, ...string[]] {
  const head = [field('sp'), field('st'), field('se'), resource, ...KEY_FIELDS.map(field)];
  const signed = (lines: readonly string[]): string => [...head, ...lines].join('\n');
  switch (request.service) {
    case 'q':
      // The SDK for Go signs the agents here as well, which no queue has.
      return [signed(queueLines(field)), signed(['', '', '', ...queueLines(field)])];
    case 't':
      return [signed(tableLines(field))];
    case 'f':
      return [signed(fileLines(field))];
    default:
      return [signed(blobLines(request, field))];
  }
}

const queueLines = (field: SasFields): string[] => ['skdutid', 'sduoid', 'sip', 'spr', 'sv'].map(field);

const fileLines = (field: SasFields): string[] => [...queueLines(field), ...overrideLines(field)];

const tableLines = (field: SasFields): string[] => [...queueLines(field), ...RANGE_FIELDS.map(field)];

function blobLines(request: SignedRequest, field: SasFields): string[] {
  const version = field('sv');
  const lines: string[] = [];
  if (version >= SINCE_AGENTS) lines.push(...['saoid', 'suoid', 'scid'].map(field));
  if (version >= SINCE_BOUND_USER) lines.push(field('skdutid'), field('sduoid'));
  lines.push(field('sip'), field('spr'), version, field('sr'), snapshotOrVersion(field));
  if (version >= SINCE_ENCRYPTION_SCOPE) lines.push(field('ses'));
  if (version >= SINCE_SIGNED_REQUEST_PARTS) lines.push(signedHeaders(request, field), signedQuery(request, field));
  lines.push(...overrideLines(field));
  return lines;
}

const namesIn = (text: string): string[] => (text === '' ? [] : text.split(','));

const signedHeaders = (request: SignedRequest, field: SasFields): string =>
  namesIn(field('srh'))
    .map((name) => `${name}:${signedValue('srh', name, request.header(name.toLowerCase()))}\n`)
    .join('');

const signedQuery = ({ target }: SignedRequest, field: SasFields): string =>
  namesIn(field('srq'))
    .map((name) => `\n${name}:${signedValue('srq', name, target.query.get(name))}`)
    .join('');

/** A string to sign that does not match is shown: these are not. */
const SECRETS = /^(?:sig|authorization|x-ms-copy-source-authorization|x-ms-(?:source-)?encryption-key)$/i;

function signedValue(list: 'srh' | 'srq', name: string, value: string | null): string {
  if (SECRETS.test(name)) throw authenticationFailed(`${name} cannot be signed (${list}).`);
  if (value === null)
    throw authenticationFailed(`The token is for requests with ${name} (${list}), which this request does not have.`);
  refuseLineBreak(name, value);
  return value;
}

/** A token bound to one user counts together with that user's own bearer token. */
async function refuseOtherUser(
  request: SignedRequest,
  field: SasFields,
  context: UserDelegationSasContext,
): Promise<void> {
  if (!isBearer(request.header('authorization') ?? '')) {
    throw authenticationFailed(
      "The token is bound to one user (sduoid): the request must also have that user's bearer token.",
    );
  }
  const { objectId, tenantId } = await verifyBearer(request, context.account, context);
  if (objectId !== field('sduoid') || tenantId !== (field('skdutid') || field('sktid'))) {
    throw authenticationFailed('The token is bound to one user (sduoid), but the bearer token is for another.');
  }
}
