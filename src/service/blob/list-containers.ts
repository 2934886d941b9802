/**
 * List Containers: one page, in name order, from one snapshot. Deleted containers stand behind the live one of their name,
 * oldest first.
 */

import type { Id } from '../../base/ids.ts';
import type { Entry, KeyRange, Snapshot } from '../../engine/engine.ts';
import { isGone } from '../../rules/retention.ts';
import { decodeJson } from '../records/codec.ts';
import type { ContainerRecord } from '../records/container-record.ts';
import { containerRange, deletedContainersRange, ownNameOf, parseDeletedContainerKey } from '../records/keys.ts';
import { scanSteps } from '../records/scan.ts';
import type { Storage } from '../storage.ts';

const STEP_RECORDS = 500;

export interface ListedContainer {
  readonly name: string;
  /** With `deleted`, where it is. */
  readonly container: ContainerRecord;
}

export interface ContainerPage {
  readonly containers: readonly ListedContainer[];
  /** Where the next page starts; null at the end. */
  readonly next: string | null;
  readonly nowMs: number;
}

export interface ListContainersRequest {
  readonly account: string;
  readonly prefix: string;
  /** The first name that the page may show, or where the page before ended. */
  readonly from: string;
  readonly limit: number;
  readonly includeDeleted?: boolean;
}

export async function listContainers(storage: Storage, request: ListContainersRequest): Promise<ContainerPage> {
  return storage.readers.inSnapshot(async (snapshot) => {
    const containers: ListedContainer[] = [];
    const nowMs = storage.clock.nowMs();
    for await (const listed of inOrder(
      liveContainers(snapshot, request),
      deletedContainers(snapshot, request, nowMs),
    )) {
      if (containers.length === request.limit) return { containers, next: placeOf(listed), nowMs };
      containers.push(listed);
    }
    return { containers, next: null, nowMs };
  });
}

/** The name; of a deleted container its id behind a NUL, which no name has. */
const placeOf = ({ name, container }: ListedContainer): string =>
  container.deleted === undefined ? name : `${name}\0${container.id}`;

async function* liveContainers(snapshot: Snapshot, request: ListContainersRequest): AsyncGenerator<ListedContainer> {
  const { account, prefix, from } = request;
  // A place behind the live container is behind its name too.
  for await (const { key, value } of scan(snapshot, containerRange(account, prefix, from), request.limit)) {
    yield { name: ownNameOf(key), container: decodeJson<ContainerRecord>(value) };
  }
}

async function* deletedContainers(
  snapshot: Snapshot,
  { account, prefix, from, limit, includeDeleted = false }: ListContainersRequest,
  nowMs: number,
): AsyncGenerator<ListedContainer> {
  if (!includeDeleted) return;
  const [name = '', id = ''] = from.split('\0') as [string?, Id?];
  for await (const { key, value } of scan(snapshot, deletedContainersRange(account, prefix, { name, id }), limit)) {
    const container = decodeJson<ContainerRecord>(value);
    if (container.deleted !== undefined && !isGone(container.deleted, nowMs)) {
      yield { name: parseDeletedContainerKey(key).name, container };
    }
  }
}

/** One more than the page is read first: it tells whether there is a next one. */
async function* scan(snapshot: Snapshot, range: KeyRange, limit: number): AsyncGenerator<Entry> {
  for await (const entries of scanSteps(snapshot, range, Math.min(limit + 1, STEP_RECORDS))) yield* entries;
}

/** Two sequences in name order as one; of the same name, the first one's come first. */
async function* inOrder(
  first: AsyncGenerator<ListedContainer>,
  second: AsyncGenerator<ListedContainer>,
): AsyncGenerator<ListedContainer> {
  let [a, b] = [await first.next(), await second.next()];
  while (a.done !== true || b.done !== true) {
    if (b.done === true || (a.done !== true && a.value.name <= b.value.name)) {
      yield a.value as ListedContainer;
      a = await first.next();
    } else {
      yield b.value;
      b = await second.next();
    }
  }
}
