/**
 * Get User Delegation Key, over HTTP: the XML that asks for it and the XML that answers, alike at every service that has it.
 * Only the holder of a bearer token comes this far.
 * https://learn.microsoft.com/rest/api/storageservices/get-user-delegation-key
 */
import type { DelegationTerms } from '../auth/identity.ts';
import { refuseKeyPeriod } from '../auth/user-delegation-key.ts';
import { formatIso7, parseIso8601 } from '../base/http-date.ts';
import type { Storage } from '../service/storage.ts';
import { invalidQuery, invalidXml, invalidXmlNode, StorageError } from '../service/storage-error.ts';
import { readWhole } from './body.ts';
import type { AuthorizedExchange, Reply } from './exchange.ts';
import { childNamed, parseXml, type XmlNode, XmlWriter } from './xml.ts';

const BODY_BYTES_MAX = 4096;
const TENANT_LENGTH_MAX = 256;

/** `sinceVersion`: when the service began to give keys. */
export async function answerGetUserDelegationKey(
  storage: Storage,
  exchange: AuthorizedExchange,
  sinceVersion: string,
): Promise<Reply> {
  const { identity, version, service } = exchange;
  if (identity.kind !== 'bearer' || identity.delegationKey === null) {
    throw new TypeError('the route is for holders of a bearer token who may delegate');
  }
  if (version < sinceVersion) throw invalidQuery('comp', 'userdelegationkey', 'The version is too old.');
  const body = await readWhole(exchange, { maxBytes: BODY_BYTES_MAX });
  const terms = { ...parseKeyInfo(body, storage.clock.nowMs()), version };
  const xml = new XmlWriter()
    .open('UserDelegationKey')
    .leaf('SignedOid', identity.objectId)
    .leaf('SignedTid', identity.tenantId)
    .leaf('SignedStart', formatSeconds(terms.startMs))
    .leaf('SignedExpiry', formatSeconds(terms.expiryMs))
    .leaf('SignedService', service)
    .leaf('SignedVersion', version)
    .leafIf('SignedDelegatedUserTid', terms.delegatedTenantId || null)
    .leaf('Value', identity.delegationKey(terms));
  return { status: 200, headers: ['Content-Type', 'application/xml'], body: xml.toString() };
}

/** Without a start the key is good from now on. */
function parseKeyInfo(body: Uint8Array, nowMs: number): Omit<DelegationTerms, 'version'> {
  const info = parseXml(body);
  if (info.name !== 'KeyInfo') throw invalidXml('KeyInfo is expected.');
  const expiryMs = parseTime(info, 'Expiry');
  if (expiryMs === null) throw new StorageError('MissingRequiredXmlNode', { elements: { XmlNodeName: 'Expiry' } });
  const period = { startMs: parseTime(info, 'Start') ?? nowMs, expiryMs };
  const refusal = refuseKeyPeriod(period, nowMs);
  if (refusal !== null) throw invalidXmlNode(refusal.node, textOf(info, refusal.node), refusal.reason);
  const delegatedTenantId = textOf(info, 'DelegatedUserTid');
  if (delegatedTenantId.length > TENANT_LENGTH_MAX) {
    throw invalidXmlNode('DelegatedUserTid', delegatedTenantId, 'Too long for a tenant id.');
  }
  return { ...period, delegatedTenantId };
}

const textOf = (info: XmlNode, name: string): string => childNamed(info, name)?.text.trim() ?? '';

function parseTime(info: XmlNode, name: string): number | null {
  const text = textOf(info, name);
  if (text === '') return null;
  const timeMs = parseIso8601(text);
  if (timeMs === null) throw invalidXmlNode(name, text, 'Not a date and time in ISO 8601.');
  return timeMs;
}

/** `2024-01-01T00:00:00Z`: what a key's holder writes into tokens. */
const formatSeconds = (timeMs: number): string => `${formatIso7(timeMs).slice(0, 19)}Z`;
