import type { Id } from '../../base/ids.ts';
import type { AccessPolicy } from '../../rules/acl.ts';

/** A table. Its entities are keyed by `id`, so a table of the same name created later never sees them. */
export interface TableRecord {
  readonly id: Id;
  /** As its creator wrote it: names are compared without regard to case, and kept with it. */
  readonly name: string;
  readonly createdMs: number;
  readonly policies: readonly AccessPolicy[];
}
