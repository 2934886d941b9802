/**
 * Races of clients over SMB with each other, and with the official client over REST: each says what must hold whoever comes first.
 * They run over one server, and over the nodes of a cluster, where the clients are spread over the nodes.
 */
import assert from 'node:assert/strict';
import type { ShareClient } from '@azure/storage-file-share';
import { fileAt, MISSING, namesIn, putFile, textOf } from '../file/racing.ts';
import { outcome, type Reachable, refusal } from '../harness/clients.ts';
import { freshShare, shareClient } from '../harness/file-clients.ts';
import { meanwhile, successes, tally, together, turns } from '../harness/parallel.ts';
import { smbOutcome } from '../harness/smb-refusal.ts';
import { CREATE, OPEN, SHARES_NOTHING, type SmbReachable, WireShare } from '../harness/wire-share.ts';

const CLIENTS = 16;
const ROUNDS = 6;
const MARK_TURNS = 8;
const APPEND_DATA = 0x4;
const MIB = 1024 * 1024;

const COLLISION = 'OBJECT_NAME_COLLISION';
const NOT_THERE = 'OBJECT_NAME_NOT_FOUND';
const SHARING = 'SHARING_VIOLATION';
const VIOLATION = '409 SharingViolation';

type Server = Reachable & SmbReachable;

/** Where a race takes place: a share of its own, by way of every server. */
export class Ground {
  readonly #servers: () => readonly Server[];
  readonly share: ShareClient;
  readonly #connected: WireShare[] = [];

  private constructor(servers: () => readonly Server[], share: ShareClient) {
    this.#servers = servers;
    this.share = share;
  }

  static async open(servers: () => readonly Server[]): Promise<Ground> {
    return new Ground(servers, await freshShare(servers()[0] as Server));
  }

  /** SMB clients, each with a connection of its own. */
  async smb(count: number): Promise<WireShare[]> {
    const clients: WireShare[] = [];
    for (let index = 0; index < count; index++) {
      clients.push(await WireShare.connect(this.#server(index), this.share.name));
    }
    this.#connected.push(...clients);
    return clients;
  }

  /** The official client, by way of one of the servers. */
  rest(index: number): ShareClient {
    return shareClient(this.#server(index), this.share.name);
  }

  close(): void {
    for (const client of this.#connected) client.leave();
  }

  #server(index: number): Server {
    const servers = this.#servers();
    return servers[index % servers.length] as Server;
  }
}

/** All of them from one starting line. It fails as soon as one does: the others may wait for what never comes. */
function race<C, T>(clients: readonly C[], act: (client: C, index: number) => Promise<T>): Promise<T[]> {
  const start = turns(1);
  const runs = Promise.all(clients.map((client, index) => start.then(() => act(client, index))));
  // Met by whoever waits for it; until then it must not count as unhandled.
  runs.catch(() => {});
  return runs;
}

export type Race = readonly [sentence: string, run: (ground: Ground) => Promise<void>];

export const RACES: readonly Race[] = [
  [
    'of many who create a file of one name one succeeds, in whatever case they write it',
    async (ground) => {
      const clients = await ground.smb(CLIENTS);
      for (let round = 0; round < ROUNDS; round++) {
        const answers = await race(clients, (client, index) =>
          smbOutcome(client.create(index % 2 === 0 ? `name-${round}` : `NAME-${round}`, { disposition: CREATE })),
        );
        assert.deepEqual(tally(answers), { ok: 1, [COLLISION]: CLIENTS - 1 });
      }
      assert.equal((await namesIn(ground.share)).length, ROUNDS);
    },
  ],
  [
    'a file that is open and not shared one client has at a time',
    async (ground) => {
      const file = await putFile(ground.share, 'file', 'nobody--');
      let [holders, refusals] = [0, 0];
      await race(await ground.smb(CLIENTS), async (client, index) => {
        for (;;) {
          const open = await client.create('file', { disposition: OPEN, share: SHARES_NOTHING }).catch(onlySharing);
          if (open === null) {
            refusals += 1;
            await client.echo();
            continue;
          }
          holders += 1;
          assert.equal(holders, 1);
          const own = `owner ${String(index).padStart(2)}`;
          await open.write(0, own);
          assert.equal((await open.read(0, 8)).toString(), own);
          assert.equal(holders, 1);
          holders -= 1;
          return open.close();
        }
      });
      assert.ok(refusals > 0, 'they raced');
      assert.match(await textOf(file), /^owner [ \d]{2}$/);
    },
  ],
  [
    'a count that is kept under a lock of its bytes is exact',
    async (ground) => {
      const file = await putFile(ground.share, 'count', '00000000');
      const [clients, each] = [await ground.smb(8), 4];
      const counts = await race(clients, async (client) => {
        const seen: number[] = [];
        const open = await client.create('count', { disposition: OPEN });
        while (seen.length < each) {
          await open.lock(0, 8);
          const count = Number((await open.read(0, 8)).toString());
          await open.write(0, String(count + 1).padStart(8, '0'));
          await open.unlock(0, 8);
          seen.push(count);
        }
        await open.close();
        return seen;
      });
      assert.equal(Number(await textOf(file)), clients.length * each);
      assert.equal(new Set(counts.flat()).size, clients.length * each, 'nobody saw what another saw');
    },
  ],
  [
    'writers whose ranges overlap leave what one order of them leaves, with small writes and large ones',
    async (ground) => {
      const clients = await ground.smb(2);
      for (const lengthBytes of [700, 90_000]) {
        await putFile(ground.share, 'file', '');
        const opens = await race(clients, (client) => client.create('file', { disposition: OPEN }));
        for (let round = 0; round < ROUNDS; round++) {
          const writes = overlapping(lengthBytes, round);
          await race(opens, async (open, index) => {
            await turns(round % 3);
            await open.write(...(writes[index] as Written));
          });
          assertInSomeOrder(await fileAt(ground.share, 'file').downloadToBuffer(), writes);
        }
        for (const open of opens) await open.close();
      }
    },
  ],
  [
    'a writer over SMB and one over REST leave what one order of them leaves',
    async (ground) => {
      const [client] = (await ground.smb(1)) as [WireShare];
      const [first, second] = [ground.rest(1), ground.rest(2)];
      for (const lengthBytes of [700, 90_000]) {
        await fileAt(first, 'file').create(2 * lengthBytes);
        const open = await client.create('file', { disposition: OPEN });
        for (let round = 0; round < ROUNDS; round++) {
          const [smb, rest] = overlapping(lengthBytes, round) as [Written, Written];
          await race([0, 1], async (index) => {
            await turns(round % 3);
            if (index === 0) await open.write(...smb);
            else await fileAt(second, 'file').uploadRange(rest[1], rest[0], rest[1].length);
          });
          assertInSomeOrder(await fileAt(first, 'file').downloadToBuffer(), [smb, rest]);
        }
        await open.close();
      }
    },
  ],
  [
    'a file that one client renames and REST deletes goes one way',
    async (ground) => {
      const [client] = (await ground.smb(1)) as [WireShare];
      for (let round = 0; round < 2 * ROUNDS; round++) {
        await putFile(ground.share, 'from', 'text');
        const [renamed, deleted] = await race([0, 1], async (index) => {
          await turns(index === 0 ? round % 4 : 0);
          if (index === 1) return outcome(fileAt(ground.rest(1), 'from').delete());
          const open = await client.create('from', { disposition: OPEN }).catch(onlyMissing);
          if (open === null) return NOT_THERE;
          const answer = await smbOutcome(open.rename(`to-${round}`));
          await open.close();
          return answer;
        });
        const isThere = (await namesIn(ground.share)).includes(`to-${round}`);
        if (deleted === 'ok') assert.deepEqual([renamed, isThere], [NOT_THERE, false]);
        else {
          assert.deepEqual([renamed, isThere], ['ok', true]);
          assert.ok(deleted === VIOLATION || deleted === MISSING, deleted);
        }
        assert.equal(await refusal(fileAt(ground.share, 'from').getProperties()), MISSING);
      }
    },
  ],
  [
    'a file that is renamed over SMB and over REST and written to has one name, and what was written',
    async (ground) => {
      const [client] = (await ground.smb(1)) as [WireShare];
      for (let round = 0; round < ROUNDS; round++) {
        const names = [`smb-${round}`, `rest-${round}`];
        await putFile(ground.share, 'from', 'text');
        const open = await client.create('from', { disposition: OPEN });
        const [bySmb, byRest, written] = await race([0, 1, 2], async (index) => {
          await turns((round * index) % 4);
          if (index === 0) return smbOutcome(open.rename(names[0] as string));
          const file = fileAt(ground.rest(index), 'from');
          return outcome(index === 1 ? file.rename(names[1] as string) : file.uploadRange('TEXT', 0, 4));
        });
        await open.close();
        assert.equal(bySmb, 'ok', 'whatever name it has by then');
        assert.ok(byRest === 'ok' || byRest === MISSING, byRest);
        assert.ok(written === 'ok' || written === MISSING, written);
        const left = (await namesIn(ground.share)).filter((name) => names.includes(name) || name === 'from');
        assert.equal(left.length, 1);
        const text = await textOf(fileAt(ground.share, left[0] as string));
        assert.equal(text, written === 'ok' ? 'TEXT' : 'text');
      }
    },
  ],
  [
    'nobody opens a file while it is marked for deletion, and nothing is lost when the mark is taken back',
    async (ground) => {
      await putFile(ground.share, 'file', 'text');
      const [marker, ...others] = (await ground.smb(5)) as [WireShare, ...WireShare[]];
      const open = await marker.create('file', { disposition: OPEN });
      // Odd: the mark is set, and nobody has asked to take it back.
      const mark = { turn: 0 };
      const seen = { opened: 0, refused: 0 };
      const opening = race(others, async (client) => {
        while (mark.turn < MARK_TURNS) {
          const before = mark.turn;
          const answer = await smbOutcome(client.with('file', { disposition: OPEN }, async () => {}));
          assert.ok(answer === 'ok' || answer === 'DELETE_PENDING', answer);
          if (before === mark.turn && before % 2 === 1) assert.equal(answer, 'DELETE_PENDING');
          seen[answer === 'ok' ? 'opened' : 'refused'] += 1;
        }
      });
      while (mark.turn < MARK_TURNS) {
        await open.markForDeletion(true);
        mark.turn += 1;
        assert.equal((await open.read(0, 4)).toString(), 'text');
        mark.turn += 1;
        await open.markForDeletion(false);
        await fileAt(ground.share, 'file').getProperties();
      }
      await opening;
      assert.ok(seen.opened > 0 && seen.refused > 0, JSON.stringify(seen));
      assert.equal(await textOf(fileAt(ground.share, 'file')), 'text');
      await open.markForDeletion(true);
      await open.close();
      assert.equal(await refusal(fileAt(ground.share, 'file').getProperties()), MISSING);
    },
  ],
  [
    'a file is never leased by REST and open to be written over SMB at once',
    async (ground) => {
      await putFile(ground.share, 'file', 'text');
      const [bySmb, byRest] = [await ground.smb(3), 3];
      const holds = { smb: 0, rest: 0 };
      const seen = new Set<string>();
      const visit = async (who: keyof typeof holds, enter: () => Promise<() => Promise<unknown>>): Promise<void> => {
        const leave = await enter();
        holds[who] += 1;
        assert.ok(holds.smb <= 1 && holds.rest <= 1 && holds.smb + holds.rest === 1, JSON.stringify(holds));
        await turns(3);
        holds[who] -= 1;
        await leave();
      };
      const opening = race(bySmb, async (client) => {
        for (let visits = 0; visits < ROUNDS; ) {
          const answer = await smbOutcome(
            visit('smb', async () => {
              const open = await client.create('file', { disposition: OPEN, share: SHARES_NOTHING });
              return () => open.close();
            }),
          );
          seen.add(answer);
          if (answer === 'ok') visits += 1;
          await turns(2);
        }
      });
      const leasing = race([...Array(byRest).keys()], async (index) => {
        const lease = fileAt(ground.rest(index), 'file').getShareLeaseClient();
        for (let visits = 0; visits < ROUNDS; ) {
          const answer = await outcome(
            visit('rest', async () => {
              await lease.acquireLease();
              return () => lease.releaseLease();
            }),
          );
          seen.add(answer);
          if (answer === 'ok') visits += 1;
          await turns(2);
        }
      });
      await Promise.all([opening, leasing]);
      for (const answer of seen) {
        assert.ok(['ok', SHARING, VIOLATION, '409 LeaseAlreadyPresent'].includes(answer), answer);
      }
    },
  ],
  [
    'what many append, each at offsets of its own, is there whoever made the file longer',
    async (ground) => {
      const [clients, each, lengthBytes] = [await ground.smb(8), 12, 333];
      await putFile(ground.share, 'file', '');
      await race(clients, async (client, index) => {
        const open = await client.create('file', { disposition: OPEN });
        await together(each, (record) => {
          // The last ones first: whoever comes after must not make it shorter.
          const at = (each - 1 - record) * clients.length + index;
          return open.write(at * lengthBytes, recordOf(at, lengthBytes));
        });
        await open.close();
      });
      const expected = Array.from({ length: each * clients.length }, (_, at) => recordOf(at, lengthBytes));
      assert.equal(await textOf(fileAt(ground.share, 'file')), expected.join(''));
    },
  ],
  [
    'what many append through opens that can do nothing else is all there, each of it whole and once',
    async (ground) => {
      const [clients, each] = [await ground.smb(8), 8];
      await putFile(ground.share, 'log', '');
      await race(clients, async (client, index) => {
        const open = await client.create('log', { disposition: OPEN, access: APPEND_DATA });
        const answers = await together(each, (record) => {
          // Some are written to the content store, and have to be moved where the end has moved.
          const lengthBytes = record === each - 1 ? 20_000 + index : 100 + index;
          return open.append(recordOf(record * clients.length + index, lengthBytes));
        });
        successes(answers);
        await open.close();
      });
      const records = (await textOf(fileAt(ground.share, 'log'))).split('\n').slice(0, -1);
      const numbers = records.map((record) => {
        assert.match(record, /^\d{6}\.*$/);
        return Number(record.slice(0, 6));
      });
      const all = Array.from({ length: each * clients.length }, (_, number) => number);
      assert.deepEqual(
        numbers.toSorted((a, b) => a - b),
        all,
      );
    },
  ],
  [
    'a directory that is renamed takes along what is created in it, or is not found by whoever creates',
    async (ground) => {
      const [mover, ...makers] = (await ground.smb(4)) as [WireShare, ...WireShare[]];
      const names = ['here', 'there'] as const;
      await ground.share.createDirectory('here');
      const moved = { place: 0, times: 0 };
      const making = race(makers, async (client, index) => {
        const made: string[] = [];
        for (let number = 0; made.length < 8 || moved.times < 2; number++) {
          const name = `${index}-${number}`;
          const creating = client.with(`${names[number % 2]}/${name}`, { disposition: CREATE }, async () => {});
          const answer = await smbOutcome(creating);
          assert.ok(answer === 'ok' || answer === 'OBJECT_PATH_NOT_FOUND', answer);
          if (answer === 'ok') made.push(name);
          // Leaves room for a rename, which must find nothing open in it.
          await client.echo();
        }
        return made;
      });
      await meanwhile(making, async () => {
        const answer = await smbOutcome(
          mover.with(names[moved.place] as string, { disposition: OPEN }, (open) =>
            open.rename(names[1 - moved.place] as string),
          ),
        );
        // Somebody has a file open in it.
        if (answer === 'ACCESS_DENIED') return;
        assert.equal(answer, 'ok');
        moved.place = 1 - moved.place;
        moved.times += 1;
      });
      const made = (await making).flat();
      assert.deepEqual(await namesIn(ground.share), [names[moved.place]]);
      assert.deepEqual((await namesIn(ground.share, names[moved.place])).toSorted(), made.toSorted());
    },
  ],
  [
    'clients that make files longer never get past the quota together',
    async (ground) => {
      await ground.share.setQuota(1);
      const third = 300 * MIB;
      const answers = await race(await ground.smb(8), (client, index) =>
        smbOutcome(client.with(`big-${index}`, { disposition: CREATE }, (open) => open.setEndOfFile(third))),
      );
      assert.deepEqual(tally(answers), { ok: 3, DISK_FULL: 5 });
      assert.equal((await ground.share.getStatistics()).shareUsageBytes, 3 * third);
    },
  ],
  [
    'a file has a new ETag with each close of an open that wrote, whoever closes it, and keeps it when one that did not is closed',
    async (ground) => {
      const clients = await ground.smb(6);
      const file = await putFile(ground.share, 'file', 'text');
      const etag = async (): Promise<string> => (await file.getProperties()).etag as string;
      const first = await etag();
      const opens = await race(clients, async (client, index) => {
        const open = await client.create('file', { disposition: OPEN });
        if (index % 3 < 2) await open.write(index, 'x');
        return open;
      });
      const seen = [first];
      for (const [index, open] of opens.entries()) {
        assert.equal(await etag(), seen.at(-1), 'not before the close');
        await open.close();
        if (index % 3 < 2) seen.push(await etag());
      }
      const [client] = clients as [WireShare];
      for (const writes of [true, false]) {
        const open = await client.create('file', { disposition: OPEN });
        if (writes) await open.write(0, 'x');
        assert.equal((await file.forceCloseAllHandles()).closedHandlesCount, 1);
        if (writes) seen.push(await etag());
      }
      assert.equal(new Set(seen).size, 6);
      assert.equal(await etag(), seen.at(-1));
    },
  ],
];

const recordOf = (number: number, lengthBytes: number): string =>
  `${String(number).padStart(6, '0')}${'.'.repeat(lengthBytes - 7)}\n`;

type Written = readonly [offsetBytes: number, bytes: Buffer];

/** Both have bytes of their own; the second begins within the first. */
function overlapping(lengthBytes: number, round: number): readonly Written[] {
  const letter = (index: number): Buffer => Buffer.alloc(lengthBytes, 65 + 2 * round + index);
  return [
    [0, letter(0)],
    [Math.floor(lengthBytes / 3), letter(1)],
  ];
}

function assertInSomeOrder(found: Buffer, writes: readonly Written[]): void {
  const laid = (ordered: readonly Written[]): Buffer => {
    const bytes = Buffer.from(found);
    for (const [at, written] of ordered) bytes.set(written, at);
    return bytes;
  };
  const isOne = laid(writes).equals(found) || laid(writes.toReversed()).equals(found);
  assert.ok(isOne, `torn: ${[...new Set(found)].map((byte) => String.fromCharCode(byte)).join('')}`);
}

async function onlyWith(status: string, error: unknown): Promise<null> {
  assert.equal(await smbOutcome(Promise.reject(error as Error)), status);
  return null;
}

const onlySharing = (error: unknown): Promise<null> => onlyWith(SHARING, error);
const onlyMissing = (error: unknown): Promise<null> => onlyWith(NOT_THERE, error);
