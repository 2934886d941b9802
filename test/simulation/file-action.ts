/** One operation of the simulation of shares: how it is done, and whether a model explains what was seen of it. */
import type { Moment } from '../../src/rules/moment.ts';
import type { FileName, ShareName } from '../../src/service/file/load.ts';
import type { Storage } from '../../src/service/storage.ts';
import { StorageError } from '../../src/service/storage-error.ts';
import { ACCOUNT } from '../harness/store.ts';
import type { FileModel, Path } from './file-model.ts';

/** A refusal by its code, or what came of it. */
type Seen<T> = { readonly refusal: string } | { readonly result: T };

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
  let seen: Seen<T> | null = null;
  const known = (): Seen<T> => {
    if (seen === null) throw new Error(`${what} has not been done`);
    return seen;
  };
  return {
    what,
    async run(storage) {
      try {
        seen = { result: await act(storage) };
      } catch (error) {
        if (!(error instanceof StorageError)) throw error;
        seen = { refusal: error.code };
      }
    },
    explain(model) {
      const done = known();
      const [found, wanted] = ['refusal' in done ? done.refusal : null, expected(model)];
      if (found !== wanted) return `${found ?? 'done'}, expected ${wanted ?? 'it to be done'}`;
      return 'result' in done ? judge(model, done.result) : model;
    },
    given() {
      const done = known();
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
