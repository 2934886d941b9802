/** Requests that carry what an earlier answer gave: an ETag, a lease id. Every connection has a blob of its own. */

import type { Contestant } from '../contestants.ts';
import { failureOf, headerOf, rateInLanes } from '../load.ts';
import type { Row, Scale } from './row.ts';
import { putBlobs } from './small-blobs.ts';

const leaseSeconds = 15;

export function conditionRows(scale: Scale): Row[] {
  const shared = { better: 'higher', stage: 'fresh', rounds: scale.rounds, warmsUp: true } as const;
  const load = (contestant: Contestant) => ({
    ports: contestant.ports,
    connections: scale.connections,
    seconds: scale.roundSeconds,
  });

  return [
    {
      ...shared,
      name: 'set-metadata',
      title: 'Set Blob Metadata, If-Match',
      unit: 'req/s',
      pgbench: 'update',
      prepare: (contestant) => putBlobs(contestant, { prefix: 'metadata-', count: scale.connections, sizeBytes: 1024 }),
      round: (contestant) => {
        const etags = Array.from({ length: scale.connections }, () => '*');
        return rateInLanes(load(contestant), async (lane, index) => {
          const answer = await lane.send({
            method: 'PUT',
            path: `${blobOf(contestant, 'metadata-', index)}?${contestant.query('comp=metadata')}`,
            headers: ['x-ms-meta-owner: bench', `If-Match: ${etags[index]}`],
          });
          etags[index] = headerOf(answer, 'etag') ?? '*';
          return failureOf(answer);
        });
      },
    },
    {
      ...shared,
      name: 'lease',
      title: 'Lease Blob, acquire and release',
      unit: 'pairs/s',
      prepare: (contestant) => putBlobs(contestant, { prefix: 'lease-', count: scale.connections, sizeBytes: 1024 }),
      round: (contestant) =>
        rateInLanes(load(contestant), async (lane, index) => {
          const path = `${blobOf(contestant, 'lease-', index)}?${contestant.query('comp=lease')}`;
          const acquired = await lane.send({
            method: 'PUT',
            path,
            headers: ['x-ms-lease-action: acquire', `x-ms-lease-duration: ${leaseSeconds}`],
          });
          const leaseId = headerOf(acquired, 'x-ms-lease-id');
          if (leaseId === null) return failureOf(acquired) ?? 'no lease id in the answer';
          const released = await lane.send({
            method: 'PUT',
            path,
            headers: ['x-ms-lease-action: release', `x-ms-lease-id: ${leaseId}`],
          });
          return failureOf(released);
        }),
    },
  ];
}

function blobOf(contestant: Contestant, prefix: string, index: number): string {
  return contestant.path(`${prefix}${String(index).padStart(6, '0')}`);
}
