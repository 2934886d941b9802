/** Request headers of operations on shares, parsed once: typed and complete, or refused. */

import { QUOTA_GIB_MAX } from '../../service/file/create-share.ts';
import type { BaseShareRequest, ShareRequest } from '../../service/file/use-share.ts';
import type { ShareTier } from '../../service/records/share-record.ts';
import { invalidHeader, StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { parseLeaseIdHeader } from '../header-values.ts';
import { type FileResource, shareNameOf, snapshotOf } from './operation.ts';

export const parseBaseShareRequest = (exchange: Exchange, resource: FileResource): BaseShareRequest => ({
  name: shareNameOf(exchange, resource),
  leaseId: parseLeaseIdHeader(exchange, 'x-ms-lease-id'),
});

export const parseShareRequest = (exchange: Exchange, resource: FileResource): ShareRequest => ({
  ...parseBaseShareRequest(exchange, resource),
  snapshot: snapshotOf(exchange),
});

const QUOTA = 'x-ms-share-quota';

/** In GiB. */
export function parseQuota(exchange: Pick<Exchange, 'header'>): number | null {
  const text = exchange.header(QUOTA);
  if (text === null) return null;
  const quotaGiB = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (quotaGiB < 1 || quotaGiB > QUOTA_GIB_MAX) throw invalidHeader(QUOTA, text);
  return quotaGiB;
}

const TIER = 'x-ms-access-tier';
const TIERS: readonly ShareTier[] = ['TransactionOptimized', 'Hot', 'Cool', 'Premium'];

export function parseShareTier(exchange: Pick<Exchange, 'header'>): ShareTier | null {
  const text = exchange.header(TIER);
  if (text === null) return null;
  const tier = TIERS.find((each) => each.toLowerCase() === text.toLowerCase());
  if (tier === undefined) throw invalidHeader(TIER, text);
  return tier;
}

const PROTOCOLS = 'x-ms-enabled-protocols';

/** Shares are for REST and SMB. */
export function refuseNfs(exchange: Pick<Exchange, 'header'>): void {
  const text = exchange.header(PROTOCOLS);
  if (text === null || text.trim().toUpperCase() === 'SMB') return;
  throw new StorageError('InvalidHeaderValue', {
    message: 'This server offers shares over REST and SMB; it does not offer NFS shares.',
    elements: { HeaderName: PROTOCOLS, HeaderValue: text },
  });
}

/** What only NFS shares have, and what accounts pay for by the performance that they get. No client sends them unasked. */
const NOT_OFFERED = [
  'x-ms-root-squash',
  'x-ms-enable-snapshot-virtual-directory-access',
  'x-ms-share-paid-bursting-enabled',
  'x-ms-share-paid-bursting-max-iops',
  'x-ms-share-paid-bursting-max-bandwidth-mibps',
  'x-ms-share-provisioned-iops',
  'x-ms-share-provisioned-bandwidth-mibps',
];

export function refuseNotOffered(exchange: Pick<Exchange, 'header'>): void {
  for (const name of NOT_OFFERED) {
    const text = exchange.header(name);
    if (text !== null && text.toLowerCase() !== 'false') {
      throw new StorageError('UnsupportedHeader', { elements: { HeaderName: name, HeaderValue: text } });
    }
  }
}
