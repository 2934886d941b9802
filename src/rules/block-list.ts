/** Block ids (Put Block) and block lists (Put Block List): which blocks a list names, and which ids may be staged. */
import type { ErrorCode } from './error-code.ts';

export const COMMITTED_BLOCK_COUNT_MAX = 50_000;
export const BLOCK_ID_BYTES_MAX = 64;

/** Where to look for a block: `latest` is the staged one, else the committed one. */
export type BlockListEntry = { readonly kind: 'committed' | 'uncommitted' | 'latest'; readonly id: string };

/** A Map will do. */
export type BlockLookup<Block> = { get(id: string): Block | undefined };

/** The blocks that the entries name, one for each and in their order. */
export function resolveBlockList<Block>(
  entries: readonly BlockListEntry[],
  { committed, staged }: { committed: BlockLookup<Block>; staged: BlockLookup<Block> },
): { readonly blocks: readonly Block[] } | { readonly refusal: ErrorCode } {
  if (entries.length > COMMITTED_BLOCK_COUNT_MAX) return { refusal: 'BlockListTooLong' };
  if (hasIdOfTwoKinds(entries)) return { refusal: 'InvalidBlockList' };
  const blocks: Block[] = [];
  for (const { kind, id } of entries) {
    const block = lookUp(kind, id);
    if (block === undefined) return { refusal: 'InvalidBlockList' };
    blocks.push(block);
  }
  return { blocks };

  function lookUp(kind: BlockListEntry['kind'], id: string): Block | undefined {
    switch (kind) {
      case 'committed':
        return committed.get(id);
      case 'uncommitted':
        return staged.get(id);
      case 'latest':
        return staged.get(id) ?? committed.get(id);
    }
  }
}

/** An id may stand in a list again, but always in the same kind of element. */
function hasIdOfTwoKinds(entries: readonly BlockListEntry[]): boolean {
  // Nearly every list is of one kind, and then there is nothing to remember.
  if (entries.every(({ kind }) => kind === entries[0]?.kind)) return false;
  const kindOfId = new Map<string, BlockListEntry['kind']>();
  for (const { kind, id } of entries) {
    if ((kindOfId.get(id) ?? kind) !== kind) return true;
    kindOfId.set(id, kind);
  }
  return false;
}

/** `existingIdLengthBytes`: the decoded length of the blob's ids so far; null where it has none. */
export function refuseBlockId(idBase64: string, existingIdLengthBytes: number | null): ErrorCode | null {
  const lengthBytes = blockIdLengthBytes(idBase64);
  if (lengthBytes === null || lengthBytes === 0 || lengthBytes > BLOCK_ID_BYTES_MAX) {
    return 'InvalidQueryParameterValue';
  }
  return existingIdLengthBytes === null || lengthBytes === existingIdLengthBytes ? null : 'InvalidBlobOrBlock';
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The length of the decoded id; null where the text is not Base64. */
export function blockIdLengthBytes(idBase64: string): number | null {
  if (!BASE64.test(idBase64)) return null;
  const paddingCount = idBase64.endsWith('==') ? 2 : idBase64.endsWith('=') ? 1 : 0;
  return (idBase64.length / 4) * 3 - paddingCount;
}
