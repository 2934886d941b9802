/** Lease Blob and Lease Container. */

import { blobNeeds, breakBlobLease, breakContainerLease } from '../../auth/needs.ts';
import { leaseBlob as leaseOnBlob } from '../../service/blob/lease-blob.ts';
import { leaseContainer as leaseOnContainer } from '../../service/blob/lease-container.ts';
import type { Exchange } from '../exchange.ts';
import { parseLeaseAction, renderLease } from '../lease-action.ts';
import { blobNameOf, containerNameOf, type Operation } from './operation.ts';
import { parseBlobConditions, parseConditions } from './request-headers.ts';

export const leaseBlob: Operation = {
  name: 'Lease Blob',
  need: (exchange) => (isBreak(exchange) ? breakBlobLease(exchange.version) : blobNeeds.leaseBlob),
  async handle(storage, exchange, resource) {
    const action = parseLeaseAction(exchange);
    const result = await leaseOnBlob(storage, {
      name: blobNameOf(exchange, resource),
      conditions: parseBlobConditions(exchange),
      version: exchange.version,
      action,
    });
    return renderLease(exchange, action, result);
  },
};

export const leaseContainer: Operation = {
  name: 'Lease Container',
  need: (exchange) => (isBreak(exchange) ? breakContainerLease(exchange.version) : blobNeeds.leaseContainer),
  async handle(storage, exchange, resource) {
    const action = parseLeaseAction(exchange);
    const result = await leaseOnContainer(storage, {
      name: containerNameOf(exchange, resource),
      conditions: parseConditions(exchange),
      action,
    });
    return renderLease(exchange, action, result);
  },
};

const isBreak = (exchange: Exchange): boolean => exchange.header('x-ms-lease-action')?.toLowerCase() === 'break';
