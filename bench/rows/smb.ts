/**
 * Files over SMB, beside Samba's server on the same disk: one large one up and down as smbclient moves it, signed and
 * encrypted, and small requests at random places of one file, and new files, many under way on one connection.
 */

import { DIRECTORY_FILE, type WireClient } from '../../test/harness/smb-wire.ts';
import type { Contestant } from '../contestants.ts';
import { outcome } from '../load.ts';
import { localFile, megabytesPerSecondIn, type Protection, rateUnderWay, smbclient, withWire } from '../smb-load.ts';
import { mebibyte, type Row, type Scale } from './row.ts';
import { sizeText } from './transfer.ts';

const smallBytes = 4096;
const underWayCount = 16;
const fillUnderWayCount = 4;
/** CreateDisposition: a name that is there already is refused. */
const createNew = 2;

export function smbRows(scale: Scale): Row[] {
  const { transferBytes, roundSeconds: seconds } = scale;
  const shared = { protocol: 'smb', better: 'higher', stage: 'fresh' } as const;
  const large = {
    ...shared,
    unit: 'MB/s',
    rounds: scale.longRounds,
    warmsUp: false,
    remarks: () => [largeRemark],
  } as const;
  const small = { ...shared, rounds: scale.rounds, warmsUp: true } as const;
  const underWay = { count: underWayCount, seconds };
  const randomFile = { name: 'random', lengthBytes: transferBytes / 4 };
  const place = (): number => Math.floor((Math.random() * randomFile.lengthBytes) / smallBytes) * smallBytes;
  const hasTransfer = new Set<Contestant>();
  const hasRandom = new Set<Contestant>();
  let local: string | null = null;
  let createRound = 0;

  const put = async (contestant: Contestant, protection: Protection): Promise<number> => {
    local ??= localFile(transferBytes);
    const printed = await smbclient(contestant.smb, { commands: `put ${local} ${transferName}`, protection });
    hasTransfer.add(contestant);
    return megabytesPerSecondIn(printed);
  };
  const write = (name: string, protection: Protection): Row => ({
    ...large,
    name,
    title: `SMB: put a file of ${sizeText(transferBytes)}, ${words[protection]}`,
    prepare: (contestant) => contestant.createSmbShare(),
    round: async (contestant) => {
      const isThere = hasTransfer.delete(contestant);
      if (isThere) await smbclient(contestant.smb, { commands: `del ${transferName}`, protection });
      return outcome(await put(contestant, protection));
    },
  });
  const read = (name: string, protection: Protection): Row => ({
    ...large,
    name,
    title: `SMB: get a file of ${sizeText(transferBytes)}, ${words[protection]}`,
    prepare: async (contestant) => {
      await contestant.createSmbShare();
      if (!hasTransfer.has(contestant)) await put(contestant, protection);
    },
    round: async (contestant) => {
      const printed = await smbclient(contestant.smb, { commands: `get ${transferName} /dev/null`, protection });
      if (!printed.includes(`of size ${transferBytes} `))
        throw new Error(`smbclient did not get the whole file: ${printed.trim()}`);
      return outcome(megabytesPerSecondIn(printed));
    },
  });
  const atRandom = { ...small, unit: 'req/s', remarks: () => [smallRemark], prepare: fillRandomFile };

  async function fillRandomFile(contestant: Contestant): Promise<void> {
    await contestant.createSmbShare();
    if (hasRandom.has(contestant)) return;
    await withWire(contestant.smb, (client) => fill(client, randomFile));
    hasRandom.add(contestant);
  }

  return [
    write('smb-write', 'sign'),
    read('smb-read', 'sign'),
    write('smb-write-encrypted', 'encrypt'),
    read('smb-read-encrypted', 'encrypt'),
    {
      ...atRandom,
      name: 'smb-random-read',
      title: `SMB: READ ${smallBytes / 1024} KiB at random in ${sizeText(randomFile.lengthBytes)}, ${underWayCount} in flight`,
      round: (contestant) =>
        withWire(contestant.smb, async (client) => {
          const file = await client.create(randomFile.name);
          return rateUnderWay(underWay, async () => {
            const { length } = await client.read(file, place(), smallBytes);
            if (length !== smallBytes) throw new Error(`received ${length} bytes instead of ${smallBytes}`);
          });
        }),
    },
    {
      ...atRandom,
      name: 'smb-random-write',
      title: `SMB: WRITE ${smallBytes / 1024} KiB at random in ${sizeText(randomFile.lengthBytes)}, ${underWayCount} in flight`,
      round: (contestant) =>
        withWire(contestant.smb, async (client) => {
          const file = await client.create(randomFile.name);
          return rateUnderWay(underWay, () => client.write(file, place(), smallBody));
        }),
    },
    {
      ...small,
      name: 'smb-create',
      title: `SMB: CREATE and CLOSE a new file, 2 requests a cycle, ${underWayCount} in flight`,
      unit: 'cycles/s',
      remarks: () => [smallRemark, createRemark],
      prepare: (contestant) => contestant.createSmbShare(),
      round: (contestant) =>
        withWire(contestant.smb, async (client) => {
          createRound += 1;
          const folders = Array.from({ length: underWayCount }, (_, index) => `created-${createRound}-${index}`);
          for (const folder of folders) await client.close(await client.create(folder, { options: DIRECTORY_FILE }));
          let count = 0;
          return rateUnderWay(underWay, async (index) => {
            count += 1;
            await client.close(await client.create(`${folders[index]}\\${count}`, { disposition: createNew }));
          });
        }),
    },
  ];
}

const transferName = 'transfer';
const words: Readonly<Record<Protection, string>> = { sign: 'signed', encrypt: 'encrypted' };
const smallBody = Buffer.alloc(smallBytes, 'larimar ');
const largeRemark =
  'smbclient puts a new file from memory and gets it into /dev/null, with the dialect and the cipher that it negotiates with the server.';
const smallRemark = 'SMB requests in flight share one connection, which uses SMB 2.1 and is not signed.';
const createRemark = `Each of the ${underWayCount} creates files in a directory of its own; with smbd and smbd (sync), they are not on the disk yet.`;

async function fill(client: WireClient, { name, lengthBytes }: { name: string; lengthBytes: number }): Promise<void> {
  const file = await client.create(name);
  const piece = Buffer.alloc(mebibyte, 'larimar ');
  let nextBytes = 0;
  await Promise.all(
    Array.from({ length: fillUnderWayCount }, async () => {
      while (nextBytes < lengthBytes) {
        const atBytes = nextBytes;
        nextBytes += piece.length;
        await client.write(file, atBytes, piece);
      }
    }),
  );
  await client.close(file);
}
