/** Page and append blobs, snapshots and copies: what changes a blob in place, or gives it a second holder. */

import type { Contestant } from '../contestants.ts';
import { expectSuccess, failureOf, inLanes, type LaneRequest, type Outcome, rateInLanes } from '../load.ts';
import { mebibyte, type Row, type Scale } from './row.ts';
import { putBlobs } from './small-blobs.ts';
import { sizeText, upload } from './transfer.ts';

const pageBytes = 4096;
const appendBytes = 4096;
const tebibyte = 1024 * 1024 * mebibyte;
/** Of which each copy is another blob. */
const copyNameCount = 1000;

export function blobTypeRows(scale: Scale): Row[] {
  const shared = { unit: 'req/s', better: 'higher', stage: 'fresh', rounds: scale.rounds, warmsUp: true } as const;
  const load = (contestant: Contestant) => ({
    ports: contestant.ports,
    connections: scale.connections,
    seconds: scale.roundSeconds,
  });

  const putPage = (name: string, blobBytes: number): Row => ({
    ...shared,
    name,
    title: `Put Page 4 KiB, random, in ${sizeText(blobBytes)}`,
    prepare: (contestant) =>
      make(contestant, scale.connections, (index) => ({
        path: `${contestant.path(nameOf(name, index))}?${contestant.query()}`,
        headers: ['x-ms-blob-type: PageBlob', `x-ms-blob-content-length: ${blobBytes}`],
      })),
    round: (contestant) => {
      const body = Buffer.alloc(pageBytes, 'page');
      return rateInLanes(load(contestant), async (lane, index) => {
        const firstByte = Math.floor(Math.random() * (blobBytes / pageBytes)) * pageBytes;
        const answer = await lane.send({
          method: 'PUT',
          path: `${contestant.path(nameOf(name, index))}?${contestant.query('comp=page')}`,
          headers: ['x-ms-page-write: update', `x-ms-range: bytes=${firstByte}-${firstByte + pageBytes - 1}`],
          body,
        });
        return failureOf(answer);
      });
    },
  });

  /** Blobs are made anew each round: one takes 50,000 blocks. */
  const append = (name: string, title: string, blobCount: number): Row => ({
    ...shared,
    name,
    title,
    round: async (contestant, round) => {
      const blobOf = (index: number): string => nameOf(`${name}-${round}`, index % blobCount);
      await make(contestant, blobCount, (index) => ({
        path: `${contestant.path(blobOf(index))}?${contestant.query()}`,
        headers: ['x-ms-blob-type: AppendBlob'],
      }));
      const body = Buffer.alloc(appendBytes, 'block');
      return rateInLanes(load(contestant), async (lane, index) => {
        const path = `${contestant.path(blobOf(index))}?${contestant.query('comp=appendblock')}`;
        return failureOf(await lane.send({ method: 'PUT', path, body }));
      });
    },
  });

  return [
    putPage('put-page', 1024 * mebibyte),
    putPage('put-page-8t', 8 * tebibyte),
    append('append', 'Append Block 4 KiB', scale.connections),
    append('append-one', `Append Block 4 KiB, ${scale.connections} writers of one blob`, 1),
    {
      ...shared,
      name: 'snapshot',
      title: 'Snapshot Blob',
      prepare: (contestant) => putBlobs(contestant, { prefix: 'snapshot-', count: scale.connections, sizeBytes: 1024 }),
      round: (contestant) =>
        rateInLanes(load(contestant), async (lane, index) => {
          const path = `${contestant.path(nameOf('snapshot', index))}?${contestant.query('comp=snapshot')}`;
          return failureOf(await lane.send({ method: 'PUT', path }));
        }),
    },
    {
      ...shared,
      name: 'copy',
      title: `Copy Blob of ${sizeText(scale.transferBytes)} inside the server`,
      unit: 'copies/s',
      warmsUp: false,
      prepare: (contestant) => upload(contestant, { blob: 'copied', sizeBytes: scale.transferBytes }),
      round: (contestant) => copyOneByOne(contestant, scale),
    },
  ];
}

/** One client: the copy is to be quick, not many at a time. */
function copyOneByOne(contestant: Contestant, scale: Scale): Promise<Outcome> {
  const [port] = contestant.ports;
  const url = `http://127.0.0.1:${port}${contestant.path('copied')}`;
  // Azurite does not find a blob of the same account by a URL that is signed.
  const source = contestant.name === 'azurite' ? url : `${url}?${contestant.query()}`;
  let next = 0;
  const load = { ports: contestant.ports, connections: 1, seconds: scale.roundSeconds };
  return rateInLanes(load, async (lane) => {
    const blob = nameOf('copy', next++ % copyNameCount);
    const path = `${contestant.path(blob)}?${contestant.query()}`;
    return failureOf(await lane.send({ method: 'PUT', path, headers: [`x-ms-copy-source: ${source}`] }));
  });
}

/** What a row needs before it begins: every one of them, or the benchmark ends here. */
async function make(
  contestant: Contestant,
  count: number,
  request: (index: number) => Omit<LaneRequest, 'method'>,
): Promise<void> {
  let next = 0;
  await inLanes({ ports: contestant.ports, connections: Math.min(16, count) }, async (lane) => {
    while (next < count) expectSuccess(await lane.send({ method: 'PUT', ...request(next++) }));
  });
}

const nameOf = (prefix: string, index: number): string => `${prefix}-${String(index).padStart(6, '0')}`;
