/**
 * Files: small ones created and written, read, listed, and one large one up and down in ranges. There is no peer to compare
 * with; the limit is a bare server over a folder (bare-files.ts).
 */

import type { Contestant } from '../contestants.ts';
import { type Answer, expectSuccess, failureOf, inLanes, type Lane, outcome, rateInLanes, wrk } from '../load.ts';
import { countOf, nextMarkerOf } from './list.ts';
import { mebibyte, type Row, type Scale } from './row.ts';
import { inTurn, megabytesPerSecond, sizeText } from './transfer.ts';

const smallBytes = 4096;
const readNameCount = 1000;
const pageEntryCount = 5000;
const rangeBytes = 4 * mebibyte;
const share = 'bench';

export function fileRows(scale: Scale): Row[] {
  const shared = {
    better: 'higher',
    stage: 'fresh',
    without: ['azurite'],
    remarks: () => ['In the file rows, bare serves a folder, and lets the system decide when bytes reach the disk.'],
  } as const;
  const { connections, roundSeconds: seconds, transferBytes } = scale;
  const small = { ...shared, rounds: scale.rounds, warmsUp: true };
  const large = { ...shared, unit: 'MB/s', rounds: scale.longRounds, warmsUp: false };
  let createdCount = 0;
  const uploaded = new Set<Contestant>();
  const markers = new Map<Contestant, string>();

  return [
    {
      ...small,
      name: 'file-create',
      title: `Create File and Put Range ${smallBytes / 1024} KiB, 2 requests a cycle`,
      unit: 'cycles/s',
      prepare: createShare,
      round: (contestant) =>
        rateInLanes({ ports: contestant.filePorts, connections, seconds }, async (lane) => {
          createdCount += 1;
          return putSmall(contestant, lane, `created-${createdCount}`);
        }),
    },
    {
      ...small,
      name: 'file-get',
      title: `Get File ${smallBytes / 1024} KiB`,
      unit: 'req/s',
      prepare: (contestant) => putMany(contestant, { prefix: 'get-', count: readNameCount }),
      round: (contestant) =>
        wrk({
          ports: contestant.filePorts,
          seconds,
          connections,
          method: 'GET',
          path: filePath('get-'),
          query: contestant.query(),
          nameCount: readNameCount,
        }),
    },
    {
      ...small,
      name: 'file-list',
      title: `List Directories and Files, ${counted(pageEntryCount)} a page of ${counted(scale.listedFileCount)}`,
      unit: 'entries/s',
      prepare: async (contestant) => {
        await putDirectory(contestant, 'many');
        await putMany(contestant, { prefix: 'many/', count: scale.listedFileCount, isEmpty: true });
      },
      round: async (contestant) => {
        let entryCount = 0;
        let pageCount = 0;
        const rate = await rateInLanes({ ports: contestant.filePorts, connections: 1, seconds }, async (lane) => {
          const marker = markers.get(contestant) ?? '';
          const words = `restype=directory&comp=list&maxresults=${pageEntryCount}&marker=${encodeURIComponent(marker)}`;
          const answer = await lane.send({
            method: 'GET',
            path: `${filePath('many')}?${contestant.query(words)}`,
            keepsBody: true,
          });
          const body = Buffer.from(answer.body ?? '', 'latin1');
          pageCount += 1;
          entryCount += countOf(body, '<File>');
          markers.set(contestant, nextMarkerOf(body));
          return failureOf(answer);
        });
        return { ...rate, value: (rate.value * entryCount) / Math.max(1, pageCount) };
      },
    },
    {
      ...large,
      name: 'file-upload',
      title: `Upload a file of ${sizeText(transferBytes)}, ${sizeText(rangeBytes)} ranges, 4 in flight`,
      prepare: createShare,
      round: async (contestant) => {
        const rate = await megabytesPerSecond(transferBytes, () => upload(contestant, transferBytes));
        uploaded.add(contestant);
        return outcome(rate);
      },
    },
    {
      ...large,
      name: 'file-download',
      title: `Download a file of ${sizeText(transferBytes)}, ${sizeText(rangeBytes)} ranges, 4 in flight`,
      prepare: async (contestant) => {
        await createShare(contestant);
        if (!uploaded.has(contestant)) await upload(contestant, transferBytes);
      },
      round: async (contestant) =>
        outcome(await megabytesPerSecond(transferBytes, () => download(contestant, transferBytes))),
    },
  ];
}

const filePath = (name: string): string => `/devstoreaccount1/${share}/${name}`;
const counted = (count: number): string => count.toLocaleString('en');
const ready = new Set<Contestant>();

async function createShare(contestant: Contestant): Promise<void> {
  await contestant.startFiles();
  if (ready.has(contestant)) return;
  ready.add(contestant);
  await inLanes({ ports: contestant.filePorts, connections: 1 }, async (lane) => {
    const path = `/devstoreaccount1/${share}?${contestant.query('restype=share')}`;
    expectSuccess(await lane.send({ method: 'PUT', path }));
  });
}

async function putDirectory(contestant: Contestant, name: string): Promise<void> {
  await createShare(contestant);
  await inLanes({ ports: contestant.filePorts, connections: 1 }, async (lane) => {
    const path = `${filePath(name)}?${contestant.query('restype=directory')}`;
    expectSuccess(await lane.send({ method: 'PUT', path }));
  });
}

async function putMany(
  contestant: Contestant,
  { prefix, count, isEmpty = false }: { prefix: string; count: number; isEmpty?: boolean },
): Promise<void> {
  await createShare(contestant);
  let next = 0;
  await inLanes({ ports: contestant.filePorts, connections: 32 }, async (lane) => {
    while (next < count) {
      const name = `${prefix}${String(next++).padStart(6, '0')}`;
      const failure = isEmpty
        ? failureOf(await create(contestant, lane, name, 0))
        : await putSmall(contestant, lane, name);
      if (failure !== null) throw new Error(failure);
    }
  });
}

const smallBody = Buffer.alloc(smallBytes, 'larimar ');

async function putSmall(contestant: Contestant, lane: Lane, name: string): Promise<string | null> {
  const failure = failureOf(await create(contestant, lane, name, smallBytes));
  return failure ?? failureOf(await putRange(contestant, lane, { name, firstByte: 0, body: smallBody }));
}

function create(contestant: Contestant, lane: Lane, name: string, lengthBytes: number): Promise<Answer> {
  return lane.send({
    method: 'PUT',
    path: `${filePath(name)}?${contestant.query()}`,
    headers: ['x-ms-type: file', `x-ms-content-length: ${lengthBytes}`],
  });
}

function putRange(
  contestant: Contestant,
  lane: Lane,
  { name, firstByte, body }: { name: string; firstByte: number; body: Buffer },
): Promise<Answer> {
  return lane.send({
    method: 'PUT',
    path: `${filePath(name)}?${contestant.query('comp=range')}`,
    headers: ['x-ms-write: update', `x-ms-range: bytes=${firstByte}-${firstByte + body.length - 1}`],
    body,
  });
}

async function upload(contestant: Contestant, lengthBytes: number): Promise<void> {
  const body = Buffer.alloc(rangeBytes, 'larimar ');
  await inLanes({ ports: contestant.filePorts, connections: 1 }, async (lane) => {
    expectSuccess(await create(contestant, lane, 'transfer', lengthBytes));
  });
  await inTurn(contestant.filePorts, lengthBytes / rangeBytes, (lane, index) =>
    putRange(contestant, lane, { name: 'transfer', firstByte: index * rangeBytes, body }),
  );
}

async function download(contestant: Contestant, lengthBytes: number): Promise<void> {
  const path = `${filePath('transfer')}?${contestant.query()}`;
  await inTurn(contestant.filePorts, lengthBytes / rangeBytes, async (lane, index) => {
    const firstByte = index * rangeBytes;
    const range = `x-ms-range: bytes=${firstByte}-${firstByte + rangeBytes - 1}`;
    const answer = await lane.send({ method: 'GET', path, headers: [range] });
    if (answer.bodyBytes !== rangeBytes) throw new Error(`received ${answer.bodyBytes} bytes instead of ${rangeBytes}`);
    return answer;
  });
}
