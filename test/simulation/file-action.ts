/** One operation of the simulation of shares: how it is done, and whether a model explains what was seen of it. */
import type { Moment } from '../../src/rules/moment.ts';
import type { FileName, ShareName } from '../../src/service/file/load.ts';
import type { Storage } from '../../src/service/storage.ts';
import { ACCOUNT } from '../harness/store.ts';
import { codeProblem, watch } from './action.ts';
import type { FileModel, Path } from './file-model.ts';

export interface Action {
  readonly what: string;
  /** Once it is done, `explain` knows what was seen. */
  run(storage: Storage): Promise<void>;
  /** The model after it; or what a model that is as this one does not explain. */
  explain(model: FileModel): FileModel | string;
  /** The ETag that it gave, if it gave one. */
  given(): string | null;
}

interface Judged<T> {
  readonly what: string;
  readonly act: (storage: Storage) => Promise<T>;
  /** The code it should be refused with; null: none. */
  readonly expected: (model: FileModel) => string | null;
  /** The same of a model by which it is not refused. */
  readonly judge: (model: FileModel, result: T) => FileModel | string;
  readonly gives?: (result: T) => string | null;
}

export function action<T>({ what, act, expected, judge, gives }: Judged<T>): Action {
  const { run, seen } = watch(what, act);
  return {
    what,
    run,
    explain(model) {
      const done = seen();
      const problem = codeProblem(done, expected(model));
      if (problem !== null) return problem;
      return 'result' in done ? judge(model, done.result) : model;
    },
    given() {
      const done = seen();
      return gives !== undefined && 'result' in done ? gives(done.result) : null;
    },
  };
}

export const shareNameOf = (share: string): ShareName => ({ account: ACCOUNT, share });

export const fileNameOf = (share: string, path: Path, snapshot: Moment | null = null): FileName => ({
  ...shareNameOf(share),
  path,
  snapshot,
});

export const requestOf = (share: string, path: Path, { leaseId = null }: { leaseId?: string | null } = {}) => ({
  name: fileNameOf(share, path),
  leaseId,
  waitMs: 0,
});
