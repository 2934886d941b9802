/**
 * Cuts: wide ranges that were cleared at once, without a look at their rows. Whoever sees a map at the cut's epoch or
 * later takes no notice of rows there that began before it; the sweeper removes them (sweep-pages.ts). Cuts are whole
 * chunks.
 */
import type { Transaction } from '../../engine/transact.ts';
import type { PageCut, PagesContent } from '../records/blob-record.ts';
import { cutKey } from '../records/page-keys.ts';

/** States of this chunk that began before this epoch are gone. */
export function goneBefore(cuts: readonly PageCut[], chunkStartBytes: number): number {
  let epoch = 0;
  for (const cut of cuts) if (cut.epoch > epoch && isIn(cut, chunkStartBytes)) epoch = cut.epoch;
  return epoch;
}

/** The cuts that reach into a range. */
export const cutsOver = (cuts: readonly PageCut[], fromBytes: number, toBytes: number): readonly PageCut[] =>
  cuts.filter((cut) => cut.fromBytes < toBytes && fromBytes < endOfCut(cut));

/** A newer cut makes up for every older one that it covers. */
export const withCut = (cuts: readonly PageCut[], added: PageCut): readonly PageCut[] => [
  ...cuts.filter((cut) => cut.fromBytes < added.fromBytes || endOfCut(cut) > endOfCut(added)),
  added,
];

/** Those that are not yet carried out: of the others no row is left. */
export async function standingCuts(tx: Transaction, { id, cuts }: PagesContent): Promise<readonly PageCut[]> {
  if (cuts.length === 0) return cuts;
  const rows = await tx.getMany(cuts.map(({ epoch }) => cutKey(id, epoch)));
  return cuts.filter((_, index) => rows[index] !== null);
}

const isIn = (cut: PageCut, bytes: number): boolean => cut.fromBytes <= bytes && bytes < endOfCut(cut);
const endOfCut = ({ toBytes }: PageCut): number => toBytes ?? Number.POSITIVE_INFINITY;
