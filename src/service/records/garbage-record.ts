import type { Id } from '../../base/ids.ts';
import type { PageCut } from './blob-record.ts';
import type { ExtentRef } from './extent-record.ts';

/**
 * Something that a committed change let go of, to be swept later in small steps. `keeping` names the layout that took
 * over some of the extents: those stay.
 */
export type GarbageRecord =
  | { readonly kind: 'extent'; readonly extent: ExtentRef }
  /** `mayShare`: some of its extents may have other owners (extents/references.ts). `done`: so many are dealt with. */
  | {
      readonly kind: 'layout';
      readonly id: Id;
      readonly keeping: Id | null;
      readonly mayShare?: true;
      readonly done?: number;
    }
  | { readonly kind: 'staging'; readonly id: Id; readonly keeping: Id | null }
  /** A list of appended blocks. */
  | { readonly kind: 'list'; readonly id: Id }
  /** Two layouts name some of the same extents: those have one more owner than their references say, from `done` on. */
  | { readonly kind: 'share'; readonly id: Id; readonly with: Id; readonly done: number }
  /** Nobody reads the map of pages at this epoch any more. */
  | { readonly kind: 'epoch'; readonly id: Id; readonly epoch: number }
  /** What stood in a map of pages where a wide range was cleared. */
  | ({ readonly kind: 'cut'; readonly id: Id } & PageCut)
  | { readonly kind: 'container'; readonly account: string; readonly id: Id }
  /** A deleted table, with all its entities. */
  | { readonly kind: 'table'; readonly account: string; readonly id: Id }
  /** What a queue held when it was cleared or deleted. */
  | { readonly kind: 'messages'; readonly account: string; readonly id: Id }
  /** A deleted share's tree, with everything that is keyed by the share's id. */
  | { readonly kind: 'tree'; readonly account: string; readonly id: Id }
  /** The snapshot is gone that kept this epoch of a share's tree. */
  | { readonly kind: 'treeEpoch'; readonly account: string; readonly id: Id; readonly epoch: number };
