import { blobNeeds } from '../../auth/needs.ts';
import { parseRehydratePriority, type RehydratePriority } from '../../rules/tier.ts';
import { setBlobTier as set } from '../../service/blob/set-blob-tier.ts';
import { invalidHeader, missingHeader } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest, parseTierHeader } from './request-headers.ts';

export const setBlobTier: Operation = {
  name: 'Set Blob Tier',
  need: blobNeeds.setBlobTier,
  takesPast: true,
  async handle(storage, exchange, resource) {
    const tier = parseTierHeader(exchange);
    if (tier === null) throw missingHeader('x-ms-access-tier');
    const priority = parsePriority(exchange);
    const takesTime = await set(storage, { ...parseBlobRequest(exchange, resource), tier, priority });
    return { status: takesTime ? 202 : 200, headers: [] };
  },
};

export function parsePriority(exchange: Exchange): RehydratePriority | null {
  const text = exchange.header('x-ms-rehydrate-priority');
  if (text === null) return null;
  const priority = parseRehydratePriority(text);
  if (priority === null) throw invalidHeader('x-ms-rehydrate-priority', text);
  return priority;
}
