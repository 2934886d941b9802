/**
 * Holds the store against the model: every record of every name, with its time and what it says of itself; listings; what
 * is found by tags; and bytes, all of those of one name and some of the others.
 */
import assert from 'node:assert/strict';
import { parseTagQuery, type TagQuery } from '../../src/rules/tag-expression.ts';
import { findBlobsByTags } from '../../src/service/blob/find-blobs-by-tags.ts';
import { getBlob } from '../../src/service/blob/get-blob.ts';
import { getBlockList } from '../../src/service/blob/get-block-list.ts';
import { listBlobs } from '../../src/service/blob/list-blobs.ts';
import type { BlobAt } from '../../src/service/blob/load.ts';
import type { BlobRecord, StagingRecord } from '../../src/service/records/blob-record.ts';
import { decodeJson } from '../../src/service/records/codec.ts';
import { parseBlobKey } from '../../src/service/records/keys.ts';
import { ACCOUNT, blobRequest, gather } from '../harness/store.ts';
import type { ModelName, ModelState, PastState } from './blob-model.ts';
import { CONTAINERS, outcomeOf, TAG_NAME, TAG_VALUES, type Target, type World } from './blob-world.ts';

/** Of the states that were not changed lately, so many are read. */
const SAMPLED_COUNT = 4;
const TABLE_OF_BLOBS = 'B'.charCodeAt(0);

export interface Readable {
  readonly target: Target;
  readonly at: BlobAt | null;
  readonly state: ModelState;
}

/** `changed`: the blob that is read whole, with all its past states. Null: all of them. */
export async function compareBlobs(world: World, changed: Target | null): Promise<void> {
  await compareRecords(world);
  for (const container of CONTAINERS) await compareListing(world, container);
  await compareTags(world);
  const all = [...readable(world)];
  const [touched, others] = [all.filter(isOf(changed)), all.filter((one) => !isOf(changed)(one))];
  for (const one of touched) await compareBytes(world, one);
  for (let count = 0; count < SAMPLED_COUNT && others.length > 0; count++) {
    await compareBytes(world, world.random.pick(others));
  }
  for (const [container, { names }] of world.containers) {
    for (const [blob, name] of names) await compareBlocks(world, { container, blob }, name);
  }
  assert.deepEqual(world.store.errors, []);
}

const isOf =
  (changed: Target | null) =>
  ({ target }: Readable): boolean =>
    changed === null || (target.container === changed.container && target.blob === changed.blob);

/** Whatever can be read at the moment. */
export function* readable({ containers, nowMs }: World): Generator<Readable> {
  for (const [container, { names }] of containers) {
    for (const [blob, name] of names) {
      const target = { container, blob };
      const base = name.live(nowMs);
      if (base !== null) yield { target, at: null, state: base };
      for (const kind of ['snapshot', 'version'] as const) {
        for (const [moment, { state }] of name.livePast(kind)) yield { target, at: { kind, moment }, state };
      }
    }
  }
}

// ---- records

async function compareRecords(world: World): Promise<void> {
  const all = [...world.containers.values(), ...world.deletedContainers.values()];
  const nameOf = new Map(all.map(({ id, name, deletedUntilMs }) => [id, `${name} ${deletedUntilMs}`]));
  const stored: string[] = [];
  for (const { key, value } of await world.store.entries()) {
    if (key[0] !== TABLE_OF_BLOBS) continue;
    const { containerId, name, kind, moment } = parseBlobKey(key);
    const container = nameOf.get(containerId);
    // What stood in a container that is gone awaits the sweeper.
    if (container === undefined) continue;
    const told = kind === 'staging' ? toldOfStaging(decodeJson(value)) : toldOfRecord(decodeJson(value));
    stored.push(`${container} ${name} ${kind} ${moment} ${told}`);
  }
  const expected = all.flatMap(({ id, names }) =>
    [...names].flatMap(([name, model]) => toldOfModel(model).map((told) => `${nameOf.get(id)} ${name} ${told}`)),
  );
  assert.deepEqual(stored.toSorted(), expected.toSorted());
}

const toldOfStaging = ({ lease }: StagingRecord): string => lease.state;

function toldOfRecord(record: BlobRecord): string {
  const { type, lengthBytes, metadata, tags = [], versionId, expiresMs, deleted, isSealed, hasOthers } = record;
  const turn = metadata.find(([name]) => name === 'turn')?.[1];
  const rest = { turn, tags, versionId, expiresMs, untilMs: deleted?.untilMs, isSealed, hasOthers };
  return `${type} ${lengthBytes} ${JSON.stringify(rest)}`;
}

function toldOfModel({ base, staged, past }: ModelName): string[] {
  const told: string[] = staged.size === 0 ? [] : ['staging  available'];
  if (base !== null) told.push(`blob  ${toldOfState(base, null)}`);
  for (const kind of ['snapshot', 'version', 'deleted'] as const) {
    for (const [moment, { state, deletedUntilMs }] of past[kind]) {
      told.push(`${kind} ${moment} ${toldOfState({ ...state, hasOthers: false }, deletedUntilMs)}`);
    }
  }
  return told;
}

function toldOfState(state: ModelState, untilMs: PastState['deletedUntilMs']): string {
  const { type, bytes, turn, tags, versionId, expiresMs, isSealed, hasOthers } = state;
  const rest = {
    turn,
    tags,
    versionId: versionId ?? undefined,
    expiresMs: expiresMs ?? undefined,
    untilMs: untilMs ?? undefined,
    isSealed: isSealed || undefined,
    hasOthers: hasOthers || undefined,
  };
  return `${type} ${bytes.length} ${JSON.stringify(rest)}`;
}

// ---- what is shown of them

async function compareListing(world: World, container: string): Promise<void> {
  const model = world.containers.get(container);
  const page = await outcomeOf(
    listBlobs(world.store.storage, {
      name: { account: ACCOUNT, container },
      prefix: '',
      delimiter: '',
      from: '',
      limit: 1_000,
      includeUncommitted: true,
      includeSnapshots: true,
    }),
  );
  if (model === undefined) {
    assert.equal(page.code, 'ContainerNotFound');
    return;
  }
  assert.ok('result' in page, page.code);
  const listed = page.result.items.map((item) => `${item.kind} ${item.name} ${'moment' in item ? item.moment : ''}`);
  const names = [...model.names].toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const expected = names.flatMap(([name, known]) => [
    ...known
      .livePast('snapshot')
      .map(([moment]) => `snapshot ${name} ${moment}`)
      .toSorted(),
    ...(known.live(world.nowMs) !== null ? [`blob ${name} `] : known.staged.size > 0 ? [`uncommitted ${name} `] : []),
  ]);
  assert.deepEqual(listed, expected);
}

async function compareTags(world: World): Promise<void> {
  for (const value of TAG_VALUES) {
    for (const container of [null, ...world.containers.keys()]) {
      const query = parseTagQuery(`${TAG_NAME} = '${value}'`) as TagQuery;
      const page = await findBlobsByTags(world.store.storage, {
        account: ACCOUNT,
        container,
        query,
        from: null,
        limit: 1_000,
      });
      const found = page.blobs.map((one) => `${one.container}/${one.blob}`);
      const expected = [...readable(world)]
        .filter(({ at, target }) => at === null && (container === null || target.container === container))
        .filter(({ state }) => state.tags.some(([, other]) => other === value))
        .map(({ target }) => `${target.container}/${target.blob}`);
      assert.deepEqual(found.toSorted(), expected.toSorted(), `found by ${value} in ${container ?? 'the account'}`);
    }
  }
}

async function compareBlocks(world: World, target: Target, name: ModelName): Promise<void> {
  const base = name.live(world.nowMs);
  const staged = name.liveStaged(world.nowMs);
  const list = await outcomeOf(
    getBlockList(world.store.storage, { ...blobRequest(target.container, target.blob), type: 'all' }),
  );
  const expected = base === null && staged.size === 0 ? 'BlobNotFound' : 'ok';
  if (base !== null && base.type !== 'BlockBlob') {
    assert.equal(list.code, 'InvalidBlobType');
    return;
  }
  assert.equal(list.code, expected);
  if (!('result' in list)) return;
  assert.deepEqual(
    list.result.committed.map(({ blockId, lengthBytes }) => `${blockId} ${lengthBytes}`),
    (base?.blocks ?? []).map(({ id, bytes }) => `${id} ${bytes.length}`),
  );
  assert.deepEqual(
    list.result.uncommitted.map(({ blockId, lengthBytes }) => `${blockId} ${lengthBytes}`),
    [...staged].map(([id, { bytes }]) => `${id} ${bytes.length}`).toSorted(),
  );
}

async function compareBytes(world: World, { target, at, state }: Readable): Promise<void> {
  const what = `${target.container}/${target.blob} ${at === null ? '' : `${at.kind} ${at.moment}`}`;
  const { bytes } = await getBlob(world.store.storage, { ...world.request(target), at, range: null });
  assert.ok((await gather(bytes)).equals(state.bytes), `the bytes of ${what}`);
  if (state.bytes.length < 2) return;
  const firstOffsetBytes = world.random.below(state.bytes.length);
  const lastOffsetBytes = firstOffsetBytes + world.random.below(state.bytes.length - firstOffsetBytes);
  const range = { firstOffsetBytes, lastOffsetBytes };
  const part = await getBlob(world.store.storage, { ...world.request(target), at, range });
  const expected = state.bytes.subarray(firstOffsetBytes, lastOffsetBytes + 1);
  assert.ok((await gather(part.bytes)).equals(expected), `a part of the bytes of ${what}`);
}
