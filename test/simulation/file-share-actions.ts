/** Operations on shares as a whole and on their snapshots, with random arguments. */
import type { Moment } from '../../src/rules/moment.ts';
import { createShare } from '../../src/service/file/create-share.ts';
import { deleteShare } from '../../src/service/file/delete-share.ts';
import { snapshotShare } from '../../src/service/file/snapshot-share.ts';
import { ROOT_ID } from '../../src/service/records/node-record.ts';
import { NEW_SHARE } from '../harness/file-store.ts';
import { type Action, action, shareNameOf } from './file-action.ts';
import { type FileModel, type ModelShare, withoutLeases } from './file-model.ts';

export const createShareAction = (share: string): Action =>
  action({
    what: `create ${share}`,
    act: (storage) => createShare(storage, shareNameOf(share), NEW_SHARE),
    expected: (model) => (model.find(share) === null ? null : 'ShareAlreadyExists'),
    judge: (model, { etag }) =>
      model.with(share, {
        root: { kind: 'directory', id: ROOT_ID, name: '', etag, metadata: [], entries: new Map() },
      }),
    gives: ({ etag }) => etag,
  });

/** With all its snapshots, or only if it has none. */
export const deleteShareAction = (share: string, { includesSnapshots }: { includesSnapshots: boolean }): Action =>
  action({
    what: `delete ${share}${includesSnapshots ? ' with its snapshots' : ''}`,
    act: (storage) =>
      deleteShare(storage, {
        name: shareNameOf(share),
        leaseId: null,
        snapshot: null,
        deleteSnapshots: includesSnapshots ? 'include' : null,
      }),
    expected(model) {
      const found = model.find(share);
      if (found === null) return 'ShareNotFound';
      return found.snapshots.size > 0 && !includesSnapshots ? 'ShareHasSnapshots' : null;
    },
    judge: (model) => model.without(share),
  });

export const snapshotAction = (share: string): Action =>
  action({
    what: `snapshot of ${share}`,
    act: (storage) => snapshotShare(storage, { name: shareNameOf(share), metadata: null }),
    expected: (model) => missing(model, share),
    judge(model, { moment }) {
      const { root, snapshots } = model.find(share) as ModelShare;
      const newest = [...snapshots.keys()].at(-1) ?? '';
      if (moment <= newest) return `snapshot ${moment} after ${newest}`;
      return model.with(share, { snapshots: new Map([...snapshots, [moment, withoutLeases(root)]]) });
    },
  });

export const deleteSnapshotAction = (share: string, moment: Moment): Action =>
  action({
    what: `delete snapshot ${moment} of ${share}`,
    act: (storage) =>
      deleteShare(storage, { name: shareNameOf(share), leaseId: null, snapshot: moment, deleteSnapshots: null }),
    expected: (model) => (model.rootOf(share, moment) === null ? 'ShareNotFound' : null),
    judge(model) {
      const { snapshots } = model.find(share) as ModelShare;
      return model.with(share, { snapshots: new Map([...snapshots].filter(([each]) => each !== moment)) });
    },
  });

export const missing = (model: FileModel, share: string): string | null =>
  model.find(share) === null ? 'ShareNotFound' : null;
