/** Lease File. A file's lease has no end: it is released or broken, and there is nothing to renew. */

import { fileNeeds } from '../../auth/needs.ts';
import { leaseFile as leaseOnFile } from '../../service/file/lease-file.ts';
import { parseLeaseAction, renderLease } from '../lease-action.ts';
import { nodeRequestOf, type Operation } from './operation.ts';

export const leaseFile: Operation = {
  name: 'Lease File',
  need: fileNeeds.leaseFile,
  async handle(storage, exchange, resource) {
    const action = parseLeaseAction(exchange);
    const { node, ...result } = await leaseOnFile(storage, { ...nodeRequestOf(exchange, resource), action });
    return renderLease(exchange, action, { target: node, ...result });
  },
};
