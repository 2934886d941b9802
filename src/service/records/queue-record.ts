import type { Id } from '../../base/ids.ts';
import type { AccessPolicy } from '../../rules/acl.ts';
import type { Metadata } from '../../rules/names.ts';

/** A queue. Its messages are keyed by `contentId`, which is new when it is cleared: what was there before is swept. */
export interface QueueRecord {
  readonly contentId: Id;
  readonly createdMs: number;
  readonly metadata: Metadata;
  readonly policies: readonly AccessPolicy[];
}
