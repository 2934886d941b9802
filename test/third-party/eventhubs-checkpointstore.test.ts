/**
 * Event Hubs' checkpoint store: processors that share the partitions of an event hub, with nothing between them but
 * blobs. Each lists who owns what and claims what it should own with the ETag that it saw. The store is the unmodified
 * package; the loop around it follows the rules of the package's own load balancer, which cannot be had without an
 * event hub: renew what one has, take what nobody has, and take from whoever has too much.
 */
// tier: system
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { CheckpointStore, PartitionOwnership } from '@azure/event-hubs';
import { BlobCheckpointStore } from '@azure/eventhubs-checkpointstore-blob';
import type { ContainerClient } from '@azure/storage-blob';
import { blobService, freshContainer, type Reachable } from '../harness/clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import { tally, together } from '../harness/parallel.ts';
import { Random } from '../harness/random.ts';
import { startServerProcess } from '../harness/server-process.ts';

const PARTITIONS = Array.from({ length: 32 }, (_, index) => String(index));
const EXPIRY_SECONDS = 60;
const ROUNDS_MAX = 200;
const HUB = {
  fullyQualifiedNamespace: 'test.servicebus.windows.net',
  eventHubName: 'Hub',
  consumerGroup: '$Default',
} as const;

const server = await startInProcess();

interface Claim {
  readonly partitionId: string;
  readonly ownerId: string;
  /** What the claim was based on; undefined: the first that somebody saw. */
  readonly basedOn: string | undefined;
  readonly etag: string;
}

const list = (store: CheckpointStore): Promise<PartitionOwnership[]> =>
  store.listOwnership(HUB.fullyQualifiedNamespace, HUB.eventHubName, HUB.consumerGroup);

const checkpointsOf = async (store: CheckpointStore): Promise<string[]> =>
  (await store.listCheckpoints(HUB.fullyQualifiedNamespace, HUB.eventHubName, HUB.consumerGroup))
    .map(({ partitionId, offset, sequenceNumber }) => `${partitionId}: ${offset}, ${sequenceNumber}`)
    .sort();

class Processor {
  readonly id: string;
  readonly store: CheckpointStore;
  readonly #random: Random;
  readonly #claims: Claim[];

  constructor(id: string, setting: Setting) {
    this.id = id;
    // A client of its own: nothing is shared but the server.
    this.store = storeOf(server, setting.container.containerName);
    this.#random = setting.random;
    this.#claims = setting.claims;
  }

  /** Once around the loop. */
  async balance(): Promise<void> {
    const listed = await list(this.store);
    const byPartition = new Map(listed.map((ownership) => [ownership.partitionId, ownership]));
    const active = listed.filter((ownership) => isActive(ownership));
    const owners = groupByOwner(active, this.id);
    const mine = (owners.get(this.id) ?? []).map(({ partitionId }) => partitionId);
    const share = Math.ceil(PARTITIONS.length / owners.size);
    const free = PARTITIONS.filter((id) => !active.some(({ partitionId }) => partitionId === id));
    const wanted = mine.length < share ? this.#pickMore(free, owners, mine.length) : [];
    for (const partitionId of [...wanted, ...mine]) await this.claim(partitionId, byPartition.get(partitionId)?.etag);
  }

  /** One that is free, or else one of the owner that has most, if that is at least two more than are here. */
  #pickMore(free: string[], owners: Map<string, PartitionOwnership[]>, mineCount: number): string[] {
    if (free.length > 0) return [this.#random.pick(free)];
    const richest = [...owners.values()].sort((a, b) => b.length - a.length)[0] ?? [];
    return richest.length >= mineCount + 2 ? [this.#random.pick(richest).partitionId] : [];
  }

  async claim(partitionId: string, etag: string | undefined, ownerId = this.id): Promise<boolean> {
    const request = { ...HUB, partitionId, ownerId, ...(etag === undefined ? {} : { etag }) };
    const [claimed] = await this.store.claimOwnership([request]);
    if (claimed === undefined) return false;
    this.#claims.push({ partitionId, ownerId, basedOn: etag && bare(etag), etag: bare(claimed.etag as string) });
    return true;
  }

  async abandonAll(): Promise<void> {
    for (const { partitionId, ownerId, etag } of await list(this.store)) {
      if (ownerId === this.id) await this.claim(partitionId, etag, '');
    }
  }
}

const storeOf = (at: Reachable, containerName: string): CheckpointStore =>
  new BlobCheckpointStore(blobService(at).getContainerClient(containerName));

/** Listings have ETags without quotes, answers with them. */
const bare = (etag: string): string => etag.replaceAll('"', '');

const isActive = ({ ownerId, lastModifiedTimeInMs = 0 }: PartitionOwnership): boolean =>
  ownerId !== '' && server.clock.nowMs() - lastModifiedTimeInMs < EXPIRY_SECONDS * 1000;

function groupByOwner(active: readonly PartitionOwnership[], me: string): Map<string, PartitionOwnership[]> {
  const owners = new Map<string, PartitionOwnership[]>([[me, []]]);
  for (const ownership of active) owners.set(ownership.ownerId, [...(owners.get(ownership.ownerId) ?? []), ownership]);
  return owners;
}

interface Setting {
  readonly container: ContainerClient;
  readonly random: Random;
  /** Every claim that was granted, by whomever. */
  readonly claims: Claim[];
}

async function makeSetting(t: TestContext): Promise<Setting> {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  return { container: await freshContainer(blobService(server)), random, claims: [] };
}

/** All loops at once, round after round, until everybody has a fair share; how many partitions each then has. */
async function balanceAll(processors: readonly Processor[]): Promise<Record<string, number>> {
  const least = Math.floor(PARTITIONS.length / processors.length);
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const results = await together(processors.length, (index) => (processors[index] as Processor).balance());
    assert.deepEqual(tally(results.map(({ status }) => status)), { fulfilled: processors.length });
    const counts = tally((await list((processors[0] as Processor).store)).filter(isActive).map((one) => one.ownerId));
    const isFair = processors.every(({ id }) => (counts[id] ?? 0) >= least && (counts[id] ?? 0) <= least + 1);
    if (isFair && Object.keys(counts).length === processors.length) return counts;
  }
  assert.fail(`no balance after ${ROUNDS_MAX} rounds`);
}

/** Under one ETag a partition belongs to one processor, and passes to the next one once. */
function assertHandedOnOnce(claims: readonly Claim[]): void {
  const givenTwice = duplicates(claims.map(({ partitionId, etag }) => `${partitionId} ${etag}`));
  assert.deepEqual(givenTwice, [], 'an ETag is given with one claim only');
  const based = claims.filter(({ basedOn }) => basedOn !== undefined);
  const takenTwice = duplicates(based.map(({ partitionId, basedOn }) => `${partitionId} ${basedOn}`));
  assert.deepEqual(takenTwice, [], 'of all claims with one ETag, one is granted');
  const given = new Set(claims.map(({ partitionId, etag }) => `${partitionId} ${etag}`));
  for (const { partitionId, basedOn } of based) {
    assert.ok(given.has(`${partitionId} ${basedOn}`), `partition ${partitionId}: ${basedOn} came with some claim`);
  }
}

const duplicates = (texts: readonly string[]): string[] =>
  Object.entries(tally(texts))
    .filter(([, count]) => count > 1)
    .map(([text]) => text);

/** What is listed is what the last claim of each partition said. */
async function assertListed({ claims }: Setting, store: CheckpointStore): Promise<void> {
  const ownerByEtag = new Map(claims.map(({ partitionId, etag, ownerId }) => [`${partitionId} ${etag}`, ownerId]));
  const listed = await list(store);
  assert.deepEqual(listed.map(({ partitionId }) => partitionId).sort(), [...PARTITIONS].sort());
  for (const { partitionId, etag, ownerId } of listed) {
    assert.equal(ownerByEtag.get(`${partitionId} ${bare(etag as string)}`), ownerId, `partition ${partitionId}`);
  }
}

describe('processors that share 32 partitions', () => {
  test('five that begin at once end with a fair share each, and no ETag has two owners', async (t) => {
    const setting = await makeSetting(t);
    const processors = ['a', 'b', 'c', 'd', 'e'].map((id) => new Processor(id, setting));
    const counts = await balanceAll(processors);
    assert.equal(
      Object.values(counts).reduce((sum, count) => sum + count),
      PARTITIONS.length,
    );
    assertHandedOnOnce(setting.claims);
    await assertListed(setting, (processors[0] as Processor).store);
  });

  test('of twelve that claim one partition with one ETag exactly one gets it, time after time', async (t) => {
    const setting = await makeSetting(t);
    const processors = Array.from({ length: 12 }, (_, index) => new Processor(`p${index}`, setting));
    await (processors[0] as Processor).claim('7', undefined);
    for (let round = 0; round < 20; round++) {
      const [seen] = await list((processors[0] as Processor).store);
      const results = await together(12, (index) => (processors[index] as Processor).claim('7', seen?.etag));
      const granted = results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason));
      assert.deepEqual(tally(granted.map(String)), { true: 1, false: 11 });
      const [after] = await list((processors[1] as Processor).store);
      assert.equal(after?.ownerId, `p${granted.indexOf(true)}`);
    }
    assertHandedOnOnce(setting.claims);
  });

  test('one that joins later takes its share from the others, and their old ETags count no more', async (t) => {
    const setting = await makeSetting(t);
    const first = [new Processor('a', setting), new Processor('b', setting)];
    await balanceAll(first);
    const before = await list((first[0] as Processor).store);
    const joining = new Processor('c', setting);
    await balanceAll([...first, joining]);
    const stolen = (await list(joining.store)).filter(({ ownerId }) => ownerId === 'c');
    assert.ok(stolen.length >= 10, `${stolen.length} partitions`);
    for (const { partitionId } of stolen) {
      const { ownerId, etag } = before.find((one) => one.partitionId === partitionId) as PartitionOwnership;
      const robbed = first.find(({ id }) => id === ownerId) as Processor;
      assert.equal(await robbed.claim(partitionId, etag), false, `partition ${partitionId} is no longer ${ownerId}'s`);
    }
    assertHandedOnOnce(setting.claims);
    await assertListed(setting, joining.store);
  });

  test('what one abandons, and what one that died leaves to expire, goes to the others', async (t) => {
    const setting = await makeSetting(t);
    const [a, b, c] = ['a', 'b', 'c'].map((id) => new Processor(id, setting)) as [Processor, Processor, Processor];
    await balanceAll([a, b, c]);
    await c.abandonAll();
    const abandoned = (await list(a.store)).filter(({ ownerId }) => ownerId === '');
    assert.ok(abandoned.length >= 10, `${abandoned.length} partitions have nobody's name`);
    await balanceAll([a, b]);
    server.clock.advance({ seconds: EXPIRY_SECONDS });
    assert.deepEqual(await balanceAll([a]), { a: PARTITIONS.length });
    assertHandedOnOnce(setting.claims);
    await assertListed(setting, b.store);
  });
});

describe('checkpoints', () => {
  test('the last one of each partition is read by whoever takes the partition over', async (t) => {
    const setting = await makeSetting(t);
    const [a, b] = [new Processor('a', setting), new Processor('b', setting)];
    await balanceAll([a, b]);
    await Promise.all(
      PARTITIONS.map(async (partitionId) => {
        for (let sequenceNumber = 1; sequenceNumber <= 5; sequenceNumber++) {
          const offset = String(sequenceNumber * 1000);
          await a.store.updateCheckpoint({ ...HUB, partitionId, offset, sequenceNumber });
        }
      }),
    );
    server.clock.advance({ seconds: EXPIRY_SECONDS });
    await balanceAll([b]);
    assert.deepEqual(await checkpointsOf(b.store), PARTITIONS.map((id) => `${id}: 5000, 5`).sort());
  });

  test('they and the ownerships outlive a server that is killed', async (t) => {
    const killed = await startServerProcess();
    t.after(() => killed.stop());
    const { containerName } = await freshContainer(blobService(killed));
    const store = storeOf(killed, containerName);
    await store.claimOwnership(PARTITIONS.map((partitionId) => ({ ...HUB, partitionId, ownerId: 'a' })));
    await Promise.all(
      PARTITIONS.map((partitionId) =>
        store.updateCheckpoint({ ...HUB, partitionId, offset: '77', sequenceNumber: Number(partitionId) }),
      ),
    );
    const before = await list(store);
    await killed.kill9();
    await killed.restart();
    const again = storeOf(killed, containerName);
    assert.deepEqual(await list(again), before);
    assert.deepEqual(await checkpointsOf(again), PARTITIONS.map((id) => `${id}: 77, ${id}`).sort());
  });
});
