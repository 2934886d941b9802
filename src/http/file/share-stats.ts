/** Get Share Stats: how much is in a share. */

import { fileNeeds } from '../../auth/needs.ts';
import { getShareStats as getStats } from '../../service/file/get-share-stats.ts';
import { etagHeaders } from '../reply-headers.ts';
import { XmlWriter } from '../xml.ts';
import type { Operation } from './operation.ts';
import { parseBaseShareRequest } from './share-headers.ts';

const SINCE_BYTES = '2018-11-09';
const GIB = 1024 ** 3;

export const getShareStats: Operation = {
  name: 'Get Share Stats',
  need: fileNeeds.getShareStats,
  async handle(storage, exchange, resource) {
    const { share, usedBytes } = await getStats(storage, parseBaseShareRequest(exchange, resource));
    const xml = new XmlWriter().open('ShareStats');
    if (exchange.version >= SINCE_BYTES) xml.leaf('ShareUsageBytes', usedBytes);
    else xml.leaf('ShareUsage', Math.ceil(usedBytes / GIB));
    return {
      status: 200,
      headers: ['Content-Type', 'application/xml', ...etagHeaders(exchange, share)],
      body: xml.toString(),
    };
  },
};
