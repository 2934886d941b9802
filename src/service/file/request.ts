/** What requests on files and directories have in common, and what those who change something are answered with. */
import type { LeaseId } from '../../rules/lease.ts';
import type { NodeId, NodeRecord } from '../records/node-record.ts';
import { ROOT_ID } from '../records/node-record.ts';
import type { FileName, Found } from './load.ts';
import type { Patience } from './opens/admit.ts';

export interface NodeRequest extends Patience {
  readonly name: FileName;
}

export interface FileRequest extends NodeRequest {
  readonly leaseId: LeaseId | null;
}

export interface Stored<T extends NodeRecord = NodeRecord> {
  readonly node: T;
  readonly parentId: NodeId;
}

export const storedAt = <T extends NodeRecord>({ parent }: Pick<Found, 'parent'>, node: T): Stored<T> => ({
  node,
  parentId: parent?.id ?? ROOT_ID,
});
