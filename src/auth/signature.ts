/**
 * Base64(HMAC-SHA256(key, text)), and its comparison in constant time. Signatures are compared as text: Base64 has
 * several spellings of the same bytes, and only the canonical one is accepted.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Account } from './identity.ts';
import { RecentSignatures } from './recent-signatures.ts';

export const sign = (key: Buffer, stringToSign: string): string =>
  createHmac('sha256', key).update(stringToSign, 'utf8').digest('base64');

/** Whether any of the account's keys made this signature. */
export const signatureMatches = ({ keys }: Pick<Account, 'keys'>, stringToSign: string, presented: string): boolean =>
  keys.some((key) => sameText(sign(key, stringToSign), presented));

// Held by the account object itself, so that an account with other keys starts with nothing remembered.
const recentOf = new WeakMap<Account, RecentSignatures>();

/** The same for a token that is likely to come again, unlike a signed request, which holds its own date. */
export function tokenSignatureMatches(account: Account, stringToSign: string, presented: string): boolean {
  let recent = recentOf.get(account);
  if (recent === undefined) {
    recent = new RecentSignatures();
    recentOf.set(account, recent);
  }
  const known = recent.get(stringToSign);
  if (known !== null && sameText(known, presented)) return true;
  if (!signatureMatches(account, stringToSign, presented)) return false;
  recent.add(stringToSign, presented);
  return true;
}

function sameText(a: string, b: string): boolean {
  const [bytesA, bytesB] = [Buffer.from(a), Buffer.from(b)];
  return bytesA.length === bytesB.length && timingSafeEqual(bytesA, bytesB);
}
