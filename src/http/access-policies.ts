/** Stored access policies as XML: the body of Get and Set ACL on containers, and later on queues, tables and shares. */
import { formatIso7, parseIso8601 } from '../base/http-date.ts';
import type { AccessPolicy } from '../rules/acl.ts';
import { invalidXml, invalidXmlNode } from '../service/storage-error.ts';
import { childNamed, parseXml, type XmlNode, XmlWriter } from './xml.ts';

export const POLICIES_BYTES_MAX = 64 * 1024;
const POLICY_COUNT_MAX = 5;
const POLICY_ID_LENGTH_MAX = 64;

/** An empty body clears the list. `letters`: the permissions that the service knows. */
export function parsePolicies(body: Uint8Array, { letters }: { letters: string }): AccessPolicy[] {
  if (body.length === 0) return [];
  const root = parseXml(body);
  if (root.name !== 'SignedIdentifiers') throw invalidXml('SignedIdentifiers is expected.');
  const policies = root.children.map((node) => parsePolicy(node, letters));
  if (policies.length > POLICY_COUNT_MAX) throw invalidXml(`At most ${POLICY_COUNT_MAX} policies are allowed.`);
  if (new Set(policies.map((policy) => policy.id)).size < policies.length) throw invalidXml('A policy id is repeated.');
  return policies;
}

function parsePolicy(node: XmlNode, letters: string): AccessPolicy {
  if (node.name !== 'SignedIdentifier') throw invalidXml(`The element ${node.name} is not allowed here.`);
  const id = childNamed(node, 'Id')?.text.trim() ?? '';
  if (id === '' || id.length > POLICY_ID_LENGTH_MAX) throw invalidXml('A policy id must have 1 to 64 characters.');
  const policy = childNamed(node, 'AccessPolicy');
  const start = timeIn(policy, 'Start');
  const expiry = timeIn(policy, 'Expiry');
  const permission = textIn(policy, 'Permission');
  if (permission !== undefined && !permission.split('').every((letter) => letters.includes(letter))) {
    throw invalidXmlNode('Permission', permission, `Only the letters ${letters} are allowed.`);
  }
  return {
    id,
    ...(start === undefined ? {} : { start }),
    ...(expiry === undefined ? {} : { expiry }),
    ...(permission === undefined ? {} : { permission }),
  };
}

function textIn(policy: XmlNode | null, name: string): string | undefined {
  const text = policy === null ? '' : (childNamed(policy, name)?.text.trim() ?? '');
  return text === '' ? undefined : text;
}

function timeIn(policy: XmlNode | null, name: string): string | undefined {
  const text = textIn(policy, name);
  if (text !== undefined && parseIso8601(text) === null) {
    throw invalidXmlNode(name, text, 'Not a date and time in ISO 8601.');
  }
  return text;
}

export function renderPolicies(policies: readonly AccessPolicy[]): string {
  const xml = new XmlWriter().open('SignedIdentifiers');
  for (const policy of policies) {
    xml
      .open('SignedIdentifier')
      .leaf('Id', policy.id)
      .open('AccessPolicy')
      .leafIf('Start', renderTime(policy.start))
      .leafIf('Expiry', renderTime(policy.expiry))
      .leafIf('Permission', policy.permission)
      .close()
      .close();
  }
  return xml.toString();
}

const renderTime = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : formatIso7(parseIso8601(text) as number);
