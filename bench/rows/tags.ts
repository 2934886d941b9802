/** Finding blobs by a tag among many: every hundredth part of a group has the same value. */

import type { Contestant } from '../contestants.ts';
import { expectSuccess, failureOf, inLanes, rateInLanes } from '../load.ts';
import type { Row, Scale } from './row.ts';

const groupBlobCount = 100;
/** About what one answer has: the bare server gives as much. */
const answerBytes = 160 * groupBlobCount;

export function tagRows(scale: Scale): Row[] {
  const countFor = (contestant: Contestant): number =>
    contestant.name === 'azurite' ? scale.azuriteBlobCount : scale.blobCount;
  return [
    {
      name: 'find-tags',
      title: `Find Blobs by Tags, ${groupBlobCount} of ${scale.blobCount.toLocaleString('en')}`,
      unit: 'req/s',
      better: 'higher',
      stage: 'filled',
      rounds: scale.rounds,
      warmsUp: true,
      prepare: async (contestant) => {
        if (contestant.name !== 'bare') await putTagged(contestant, countFor(contestant));
      },
      round: (contestant) => {
        const load = { ports: contestant.ports, connections: scale.connections, seconds: scale.roundSeconds };
        const groupCount = Math.ceil(countFor(contestant) / groupBlobCount);
        return rateInLanes(load, async (lane) => {
          const where = encodeURIComponent(`"group"='${Math.floor(Math.random() * groupCount)}'`);
          const query = contestant.query(`comp=blobs&where=${where}`, { answerBytes });
          // The account's path is a blob's without container and name.
          const path = contestant.path('').split('/').slice(0, 2).join('/');
          return failureOf(await lane.send({ method: 'GET', path: `${path}/?${query}` }));
        });
      },
    },
  ];
}

async function putTagged(contestant: Contestant, count: number): Promise<void> {
  let next = 0;
  await inLanes({ ports: contestant.ports, connections: 64 }, async (lane) => {
    while (next < count) {
      const index = next++;
      const path = `${contestant.path(`tagged-${String(index).padStart(6, '0')}`)}?${contestant.query()}`;
      const tags = `x-ms-tags: group=${Math.floor(index / groupBlobCount)}&kind=bench`;
      const headers = ['x-ms-blob-type: BlockBlob', tags];
      expectSuccess(await lane.send({ method: 'PUT', path, headers, body: Buffer.alloc(100, 'x') }));
    }
  });
}
