/**
 * The user delegation key: what the holder of a bearer token signs SAS tokens with. It is stored nowhere, but derived from
 * a key of the account and from everything that limits it, so that any node finds it again from what a SAS tells.
 * https://learn.microsoft.com/rest/api/storageservices/get-user-delegation-key
 */
import { createHmac } from 'node:crypto';
import type { DelegationTerms, ServiceLetter } from './identity.ts';

export interface DelegationKey extends DelegationTerms {
  readonly account: string;
  readonly service: ServiceLetter;
  readonly objectId: string;
  readonly tenantId: string;
  /** The letters that its holder's roles stood for: no SAS that it signs is worth more. */
  readonly permissions: string;
}

export function deriveDelegationKey(accountKey: Buffer, key: DelegationKey): Buffer {
  // Begins as no string to sign does, so that no key handed out is a signature, and no signature a key.
  const purpose = ['user delegation key', key.account, key.service, key.version];
  const holder = [key.objectId, key.tenantId, key.delegatedTenantId, key.permissions];
  const period = [secondsOf(key.startMs), secondsOf(key.expiryMs)];
  return createHmac('sha256', accountKey)
    .update(JSON.stringify([...purpose, ...holder, ...period]))
    .digest();
}

const secondsOf = (timeMs: number): number => Math.floor(timeMs / 1000);

const DAY_MS = 86_400_000;
const LIFE_DAYS_MAX = 7;
/** Between the caller's clock and ours. */
const LEEWAY_MS = 5 * 60_000;

/** Which of the two times is wrong and why; null where a key may last so long. */
export function refuseKeyPeriod(
  { startMs, expiryMs }: Pick<DelegationTerms, 'startMs' | 'expiryMs'>,
  nowMs: number,
): { readonly node: 'Start' | 'Expiry'; readonly reason: string } | null {
  const farthestMs = LIFE_DAYS_MAX * DAY_MS + LEEWAY_MS;
  if (Math.abs(startMs - nowMs) > farthestMs) {
    return { node: 'Start', reason: `Not within ${LIFE_DAYS_MAX} days of the current time.` };
  }
  if (expiryMs <= nowMs) return { node: 'Expiry', reason: 'Not in the future.' };
  if (expiryMs <= startMs) return { node: 'Expiry', reason: 'Not after the start.' };
  if (expiryMs - nowMs > farthestMs) {
    return { node: 'Expiry', reason: `Not within ${LIFE_DAYS_MAX} days of the current time.` };
  }
  return null;
}
