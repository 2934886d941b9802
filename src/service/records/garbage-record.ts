import type { Id } from '../../base/ids.ts';
import type { ExtentRef } from './extent-record.ts';

/**
 * Something that a committed change let go of, to be swept later in small steps. `keeping` names the layout that took
 * over some of the extents: those stay.
 */
export type GarbageRecord =
  | { readonly kind: 'extent'; readonly extent: ExtentRef }
  | { readonly kind: 'layout'; readonly id: Id; readonly keeping: Id | null }
  | { readonly kind: 'staging'; readonly id: Id; readonly keeping: Id | null }
  | { readonly kind: 'container'; readonly account: string; readonly id: Id };
