/**
 * Which extents nobody names any more. Within one chunk the states that name an extent follow each other without a gap,
 * as nothing that was overwritten ever comes back: so a look at the neighbours of a state that goes tells which extents
 * go with it. An extent that several chunks or several maps name has one reference for each chunk of each map
 * (extents/references.ts), however many states of that chunk name it.
 */
import type { Id } from '../../base/ids.ts';
import type { Entry } from '../../engine/engine.ts';
import type { Transaction } from '../../engine/transact.ts';
import type { PagePiece } from '../../rules/page-ranges.ts';
import type { Extents } from '../extents/extents.ts';
import { release } from '../extents/references.ts';
import type { ExtentRef } from '../records/extent-record.ts';
import { extentKey } from '../records/keys.ts';
import { decodeChunk } from '../records/page-chunk.ts';
import { olderRange } from '../records/page-keys.ts';

export interface ReplacedChunk {
  readonly chunk: number;
  readonly before: readonly PagePiece[];
  readonly after: readonly PagePiece[];
}

/** The newest states of these chunks were replaced, and nobody sees them any more. */
export async function letGoOfReplaced(
  tx: Transaction,
  extents: Pick<Extents, 'dropExtent'>,
  { mapId, isCopied, replaced }: { mapId: Id; isCopied: boolean; replaced: readonly ReplacedChunk[] },
): Promise<void> {
  const inDoubt: { chunk: number; lost: ExtentRef[] }[] = [];
  for (const { chunk, before, after } of replaced) {
    const named = new Set(after.map(({ extent }) => extent.id));
    const lost = new Map(before.filter(({ extent }) => !named.has(extent.id)).map((piece) => [piece.extent.id, piece]));
    const [alone, shared] = partition([...lost.values()], (piece) => !piece.isShared && !isCopied);
    for (const { extent } of alone) dropExtent(tx, extents, extent);
    if (shared.length > 0) inDoubt.push({ chunk, lost: shared.map(({ extent }) => extent) });
  }
  if (inDoubt.length === 0) return;
  const olderStates = await Promise.all(
    inDoubt.map(({ chunk }) => tx.range(olderRange(mapId, chunk), { limit: 1, reverse: true })),
  );
  const released = inDoubt.flatMap(({ lost }, index) => {
    const named = extentsIn(olderStates[index] as Entry[]);
    return lost.filter(({ id }) => !named.has(id));
  });
  await releaseExtents(tx, extents, released);
}

/** States of one chunk that go, and those next to them that stay. */
export interface EndedStates {
  readonly gone: readonly Uint8Array[];
  readonly kept: readonly Uint8Array[];
}

export async function letGoOfEnded(
  tx: Transaction,
  extents: Pick<Extents, 'dropExtent'>,
  chunks: readonly EndedStates[],
): Promise<void> {
  const released = chunks.flatMap(({ gone, kept }) => {
    const named = extentsIn(kept.map((value) => ({ value })));
    const lost = extentsIn(gone.map((value) => ({ value })));
    return [...lost.values()].filter(({ id }) => !named.has(id));
  });
  await releaseExtents(tx, extents, released);
}

/** One reference each. */
async function releaseExtents(
  tx: Transaction,
  extents: Pick<Extents, 'dropExtent'>,
  refs: readonly ExtentRef[],
): Promise<void> {
  const byId = new Map(refs.map((extent) => [extent.id, extent]));
  const gone = await release(
    tx,
    refs.map(({ id }) => id),
  );
  for (const id of gone) dropExtent(tx, extents, byId.get(id) as ExtentRef);
}

function dropExtent(tx: Transaction, extents: Pick<Extents, 'dropExtent'>, extent: ExtentRef): void {
  // Nobody can be reading it later than in the snapshot that still has it.
  if (extent.inline) tx.delete(extentKey(extent));
  else extents.dropExtent(tx, extent);
}

export const extentsIn = (states: readonly Pick<Entry, 'value'>[]): Map<Id, ExtentRef> =>
  new Map(states.flatMap(({ value }) => decodeChunk(value).pieces.map(({ extent }) => [extent.id, extent])));

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}
