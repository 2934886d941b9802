/** Small requests that need no earlier answer, sent by wrk: writing, reading and asking about blobs. */

import type { Contestant } from '../contestants.ts';
import { expectSuccess, inLanes, type Outcome, type WrkLoad, wrk } from '../load.ts';
import type { Row, Scale } from './row.ts';

/** Writers begin a set of new names each round and overwrite once they are through, which bounds the disk used. */
const writtenNameCount = 4096;
const readNameCount = 1000;
const blockBlob = 'x-ms-blob-type: BlockBlob';

export function smallBlobRows(scale: Scale): Row[] {
  const shared = {
    unit: 'req/s',
    better: 'higher',
    stage: 'fresh',
    rounds: scale.rounds,
    warmsUp: true,
  } as const;

  const load = (contestant: Contestant, rest: Partial<WrkLoad> & Pick<WrkLoad, 'method' | 'path'>): Promise<Outcome> =>
    wrk({
      ports: contestant.ports,
      seconds: scale.roundSeconds,
      connections: scale.connections,
      query: contestant.query(),
      ...rest,
    });

  const put = (name: string, bodyBytes: number): Row => ({
    ...shared,
    name,
    title: `Put Blob ${bodyBytes / 1024} KiB`,
    round: (contestant, round) =>
      load(contestant, {
        method: 'PUT',
        path: contestant.path(`${name}-${round}-`),
        headers: [blockBlob],
        bodyBytes,
        nameCount: writtenNameCount,
      }),
  });

  return [
    { ...put('put-1k', 1024), pgbench: 'insert' },
    put('put-64k', 65_536),
    {
      ...shared,
      name: 'get-1k',
      title: 'Get Blob 1 KiB',
      pgbench: 'select',
      prepare: (contestant) => putBlobs(contestant, { prefix: 'get-1k-', count: readNameCount, sizeBytes: 1024 }),
      round: (contestant) =>
        load(contestant, {
          method: 'GET',
          path: contestant.path('get-1k-'),
          query: contestant.query('', { answerBytes: 1024 }),
          nameCount: readNameCount,
        }),
    },
    {
      ...shared,
      name: 'properties',
      // Of empty blobs: wrk does not know that the answer to a HEAD has a length and no body.
      title: 'Get Blob Properties',
      prepare: (contestant) => putBlobs(contestant, { prefix: 'properties-', count: readNameCount, sizeBytes: 0 }),
      round: (contestant) =>
        load(contestant, { method: 'HEAD', path: contestant.path('properties-'), nameCount: readNameCount }),
    },
    {
      ...shared,
      name: 'one-blob',
      title: `Put Blob 1 KiB, ${scale.connections} writers of one blob`,
      round: (contestant) =>
        load(contestant, {
          method: 'PUT',
          path: contestant.path('one-blob'),
          headers: [blockBlob],
          bodyBytes: 1024,
        }),
    },
  ];
}

/** Writes `prefix000000`, `prefix000001`, …: every one of them, or the benchmark ends here. */
export async function putBlobs(
  contestant: Contestant,
  options: { prefix: string; count: number; sizeBytes: number },
): Promise<void> {
  const body = Buffer.alloc(options.sizeBytes, 'x');
  let next = 0;
  await inLanes({ ports: contestant.ports, connections: Math.min(64, options.count) }, async (lane) => {
    while (next < options.count) {
      const blob = `${options.prefix}${String(next).padStart(6, '0')}`;
      next += 1;
      const path = `${contestant.path(blob)}?${contestant.query()}`;
      expectSuccess(await lane.send({ method: 'PUT', path, headers: [blockBlob], body }));
    }
  });
}

/** Gives a contestant the blobs that the rows of the `filled` stage count on. */
export async function fill(
  contestant: Contestant,
  options: { scale: Scale; say: (line: string) => void },
): Promise<void> {
  if (contestant.name === 'bare') return;
  const { blobCount, azuriteBlobCount } = options.scale;
  const count = contestant.name === 'azurite' ? azuriteBlobCount : blobCount;
  const startedAtMs = performance.now();
  await putBlobs(contestant, { prefix: '', count, sizeBytes: 1024 });
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  options.say(`${contestant.name} was filled with ${count.toLocaleString('en')} blobs in ${seconds} s`);
}
