/** Create and Delete Share, Get and Set Share Properties, Get and Set Share Metadata. */

import { fileNeeds } from '../../auth/needs.ts';
import { formatHttpDate } from '../../base/http-date.ts';
import type { DeleteSnapshots } from '../../rules/share-precedence.ts';
import { createShare as create, QUOTA_GIB_USUAL } from '../../service/file/create-share.ts';
import { deleteShare as remove } from '../../service/file/delete-share.ts';
import {
  getShare,
  setShareMetadata as setMetadata,
  setShareProperties as setProperties,
} from '../../service/file/use-share.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { metadataHeaders, parseMetadata } from '../metadata.ts';
import { etagHeaders, leaseResponseHeaders } from '../reply-headers.ts';
import { type Operation, shareNameOf } from './operation.ts';
import {
  parseBaseShareRequest,
  parseQuota,
  parseShareRequest,
  parseShareTier,
  refuseNfs,
  refuseNotOffered,
} from './share-headers.ts';

export const createShare: Operation = {
  name: 'Create Share',
  need: fileNeeds.createShare,
  async handle(storage, exchange, resource) {
    refuseNfs(exchange);
    refuseNotOffered(exchange);
    const share = await create(storage, shareNameOf(exchange, resource), {
      metadata: parseMetadata(exchange),
      quotaGiB: parseQuota(exchange) ?? QUOTA_GIB_USUAL,
      tier: parseShareTier(exchange) ?? 'TransactionOptimized',
    });
    return { status: 201, headers: etagHeaders(exchange, share) };
  },
};

export const getShareProperties: Operation = {
  name: 'Get Share Properties',
  need: fileNeeds.getShareProperties,
  takesSnapshot: true,
  async handle(storage, exchange, resource) {
    const { share, nowMs } = await getShare(storage, parseShareRequest(exchange, resource));
    return {
      status: 200,
      headers: [
        ...etagHeaders(exchange, share),
        'x-ms-share-quota',
        String(share.quotaGiB),
        'x-ms-access-tier',
        share.tier,
        'x-ms-access-tier-change-time',
        formatHttpDate(share.tierChangedMs),
        ...leaseResponseHeaders(share.lease, nowMs),
        'x-ms-has-immutability-policy',
        'false',
        'x-ms-has-legal-hold',
        'false',
        ...metadataHeaders(share.metadata),
      ],
    };
  },
};

export const setShareProperties: Operation = {
  name: 'Set Share Properties',
  need: fileNeeds.setShareProperties,
  async handle(storage, exchange, resource) {
    refuseNotOffered(exchange);
    const share = await setProperties(storage, {
      ...parseBaseShareRequest(exchange, resource),
      quotaGiB: parseQuota(exchange),
      tier: parseShareTier(exchange),
    });
    return { status: 200, headers: etagHeaders(exchange, share) };
  },
};

export const getShareMetadata: Operation = {
  name: 'Get Share Metadata',
  need: fileNeeds.getShareMetadata,
  takesSnapshot: true,
  async handle(storage, exchange, resource) {
    const { share } = await getShare(storage, parseShareRequest(exchange, resource));
    return { status: 200, headers: [...etagHeaders(exchange, share), ...metadataHeaders(share.metadata)] };
  },
};

export const setShareMetadata: Operation = {
  name: 'Set Share Metadata',
  need: fileNeeds.setShareMetadata,
  async handle(storage, exchange, resource) {
    const request = { ...parseBaseShareRequest(exchange, resource), metadata: parseMetadata(exchange) };
    return { status: 200, headers: etagHeaders(exchange, await setMetadata(storage, request)) };
  },
};

export const deleteShare: Operation = {
  name: 'Delete Share',
  need: fileNeeds.deleteShare,
  takesSnapshot: true,
  async handle(storage, exchange, resource) {
    await remove(storage, {
      ...parseShareRequest(exchange, resource),
      deleteSnapshots: parseDeleteSnapshots(exchange),
    });
    return { status: 202, headers: [] };
  },
};

const DELETE_SNAPSHOTS = 'x-ms-delete-snapshots';

function parseDeleteSnapshots(exchange: Exchange): DeleteSnapshots | null {
  const text = exchange.header(DELETE_SNAPSHOTS);
  if (text === null) return null;
  const word = text.toLowerCase();
  if (word !== 'include' && word !== 'include-leased') throw invalidHeader(DELETE_SNAPSHOTS, text);
  return word;
}
