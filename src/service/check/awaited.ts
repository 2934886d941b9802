/** What garbage rows name: it may be there and may be half gone, and nothing that lives may hold it. */
import type { Id } from '../../base/ids.ts';
import type { GarbageRecord } from '../records/garbage-record.ts';

export type AwaitedLayout = Extract<GarbageRecord, { kind: 'layout' }>;
export type AwaitedShare = Extract<GarbageRecord, { kind: 'share' }>;

export class Awaited {
  count = 0;
  readonly containers = new Set<Id>();
  readonly tables = new Set<Id>();
  /** What queues held. */
  readonly messages = new Set<Id>();
  /** Of deleted shares. */
  readonly trees = new Set<Id>();
  /** Trees of shares, some of whose earlier states may be seen by no snapshot any more. */
  readonly treeEpochs = new Set<Id>();
  readonly extents = new Set<Id>();
  /** Lists of appended blocks. */
  readonly lists = new Set<Id>();
  /** With the layout that took over some of its blocks. */
  readonly stagings = new Map<Id, Id | null>();
  readonly layouts: AwaitedLayout[] = [];
  readonly shares: AwaitedShare[] = [];
  /** Maps of pages, some of whose states may be seen by nobody any more. */
  readonly maps = new Set<Id>();

  add(garbage: GarbageRecord): void {
    this.count++;
    switch (garbage.kind) {
      case 'extent':
        this.extents.add(garbage.extent.id);
        return;
      case 'layout':
        this.layouts.push(garbage);
        return;
      case 'share':
        this.shares.push(garbage);
        return;
      case 'list':
        this.lists.add(garbage.id);
        return;
      case 'staging':
        this.stagings.set(garbage.id, garbage.keeping);
        return;
      case 'epoch':
      case 'cut':
        this.maps.add(garbage.id);
        return;
      case 'container':
        this.containers.add(garbage.id);
        return;
      case 'table':
        this.tables.add(garbage.id);
        return;
      case 'messages':
        this.messages.add(garbage.id);
        return;
      case 'tree':
        this.trees.add(garbage.id);
        return;
      case 'treeEpoch':
        this.treeEpochs.add(garbage.id);
        return;
    }
  }
}
