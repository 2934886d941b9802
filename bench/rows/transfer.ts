/** Large bodies: one blob in blocks with several in flight, both ways, and one single Put Blob. */

import type { Contestant } from '../contestants.ts';
import { type Answer, expectSuccess, inLanes, type Lane, outcome } from '../load.ts';
import { mebibyte, type Row, type Scale } from './row.ts';

const blockBytes = 8 * mebibyte;
const inFlight = 4;
const bufferBytes = mebibyte;

export function transferRows(scale: Scale): Row[] {
  const shared = { unit: 'MB/s', better: 'higher', stage: 'fresh', rounds: scale.longRounds, warmsUp: false } as const;
  const blockCount = scale.transferBytes / blockBytes;

  const download = (contestant: Contestant): Promise<void> => {
    const path = `${contestant.path('transfer')}?${contestant.query('', { answerBytes: blockBytes })}`;
    return inTurn(contestant.ports, blockCount, async (lane, index) => {
      const firstByte = index * blockBytes;
      const range = `x-ms-range: bytes=${firstByte}-${firstByte + blockBytes - 1}`;
      const answer = await lane.send({ method: 'GET', path, headers: [range] });
      if (answer.bodyBytes !== blockBytes)
        throw new Error(`received ${answer.bodyBytes} bytes instead of ${blockBytes}`);
      return answer;
    });
  };

  const uploaded = new Set<Contestant>();
  const transfer = { blob: 'transfer', sizeBytes: scale.transferBytes };
  const size = sizeText(scale.transferBytes);
  return [
    {
      ...shared,
      name: 'upload',
      title: `Upload ${size}, 8 MiB blocks, ${inFlight} in flight`,
      round: async (contestant) => {
        const rate = await megabytesPerSecond(scale.transferBytes, () => upload(contestant, transfer));
        uploaded.add(contestant);
        return outcome(rate);
      },
    },
    {
      ...shared,
      name: 'download',
      title: `Download ${size}, 8 MiB ranges, ${inFlight} in flight`,
      prepare: async (contestant) => {
        if (!uploaded.has(contestant)) await upload(contestant, transfer);
      },
      round: async (contestant) => outcome(await megabytesPerSecond(scale.transferBytes, () => download(contestant))),
    },
    {
      ...shared,
      name: 'single-put',
      title: `Put Blob ${sizeText(scale.singlePutBytes)} in one request`,
      round: async (contestant) => {
        const body = Buffer.alloc(scale.singlePutBytes, 'larimar ');
        const path = `${contestant.path('single')}?${contestant.query()}`;
        const put = (): Promise<void> =>
          inTurn(contestant.ports, 1, (lane) =>
            lane.send({ method: 'PUT', path, headers: ['x-ms-blob-type: BlockBlob'], body }),
          );
        return outcome(await megabytesPerSecond(scale.singlePutBytes, put));
      },
    },
  ];
}

/** One blob, in blocks that are the same everywhere. */
export async function upload(
  contestant: Contestant,
  { blob, sizeBytes }: { blob: string; sizeBytes: number },
): Promise<void> {
  const blockCount = sizeBytes / blockBytes;
  const block = Buffer.alloc(blockBytes, 'larimar ');
  const path = contestant.path(blob);
  await inTurn(contestant.ports, blockCount, (lane, index) =>
    lane.send({
      method: 'PUT',
      path: `${path}?${contestant.query(`comp=block&blockid=${encodeURIComponent(blockId(index))}`)}`,
      body: block,
    }),
  );
  const ids = Array.from({ length: blockCount }, (_, index) => `<Latest>${blockId(index)}</Latest>`).join('');
  const body = Buffer.from(`<?xml version="1.0" encoding="utf-8"?><BlockList>${ids}</BlockList>`);
  await inTurn(contestant.ports, 1, (lane) =>
    lane.send({
      method: 'PUT',
      path: `${path}?${contestant.query('comp=blocklist')}`,
      headers: ['Content-Type: application/xml'],
      body,
    }),
  );
}

/** Sends requests 0 to `count` - 1, each on the next connection that is free. */
export async function inTurn(
  ports: readonly number[],
  count: number,
  send: (lane: Lane, index: number) => Promise<Answer>,
): Promise<void> {
  let next = 0;
  const connections = Math.min(inFlight, count);
  await inLanes({ ports, connections, bufferBytes }, async (lane) => {
    while (next < count) {
      const index = next;
      next += 1;
      expectSuccess(await send(lane, index));
    }
  });
}

export async function megabytesPerSecond(bytes: number, work: () => Promise<void>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return bytes / 1e6 / ((performance.now() - startedAtMs) / 1000);
}

function blockId(index: number): string {
  return Buffer.from(`block-${String(index).padStart(6, '0')}`).toString('base64');
}

export function sizeText(bytes: number): string {
  if (bytes % (1024 * 1024 * mebibyte) === 0) return `${bytes / (1024 * 1024 * mebibyte)} TiB`;
  return bytes % (1024 * mebibyte) === 0 ? `${bytes / (1024 * mebibyte)} GiB` : `${bytes / mebibyte} MiB`;
}
