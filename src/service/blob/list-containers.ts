/** List Containers: one page, in name order, from one snapshot. */
import { decodeJson } from '../records/codec.ts';
import type { ContainerRecord } from '../records/container-record.ts';
import { containerNameOf, containerRange } from '../records/keys.ts';
import type { Storage } from '../storage.ts';

export interface ListedContainer {
  readonly name: string;
  readonly container: ContainerRecord;
}

export interface ContainerPage {
  readonly containers: readonly ListedContainer[];
  /** The name the next page starts with; null at the end. */
  readonly next: string | null;
  readonly nowMs: number;
}

export async function listContainers(
  storage: Storage,
  request: { account: string; prefix: string; from: string; limit: number },
): Promise<ContainerPage> {
  const range = containerRange(request.account, request.prefix, request.from);
  return storage.readers.inSnapshot(async (snapshot) => {
    const entries = await snapshot.range(range, { limit: request.limit + 1 });
    const listed = entries.map(({ key, value }) => ({
      name: containerNameOf(key),
      container: decodeJson<ContainerRecord>(value),
    }));
    return {
      containers: listed.slice(0, request.limit),
      next: listed[request.limit]?.name ?? null,
      nowMs: storage.clock.nowMs(),
    };
  });
}
