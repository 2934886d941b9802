/**
 * One operation of the simulation of queues: how it is done, and whether a model explains what was seen of it. What was
 * seen goes into the model as it is only where it cannot be foretold: ids and ticks.
 */
import type { QueueName } from '../../src/service/queue/load.ts';
import type { Storage } from '../../src/service/storage.ts';
import { ACCOUNT } from '../harness/store.ts';
import { type Seen, watch } from './action.ts';
import type { QueueModel } from './queue-model.ts';

/** Messages, by their ids. */
export interface Touched {
  /** Put or handed out. */
  readonly placed: readonly string[];
  /** Updated or deleted: gone from where they stood. */
  readonly removed: readonly string[];
}

export interface Action {
  readonly what: string;
  /** Once it is done, `explain` knows what was seen. */
  run(storage: Storage): Promise<void>;
  /** The model after it, or what a model that is as this one does not explain, beside what others did in the same round. */
  explain(model: QueueModel, beside: Touched): QueueModel | string;
  touched(): Touched;
  /** Of a Get: what it handed out, and until when. */
  handedOut(): readonly { readonly messageId: string; readonly untilMs: number }[];
}

interface Judged<T> {
  readonly what: string;
  readonly act: (storage: Storage) => Promise<T>;
  readonly judge: (model: QueueModel, seen: Seen<T>, beside: Touched) => QueueModel | string;
  readonly places?: (result: T) => readonly string[];
  readonly removes?: (result: T) => readonly string[];
  readonly handsOut?: (result: T) => ReturnType<Action['handedOut']>;
}

export function action<T>({ what, act, judge, ...judged }: Judged<T>): Action {
  const { places = () => [], removes = () => [], handsOut = () => [] } = judged;
  const { run, seen } = watch(what, act);
  return {
    what,
    run,
    explain: (model, beside) => judge(model, seen(), beside),
    touched() {
      const done = seen();
      if (!('result' in done)) return { placed: [], removed: [] };
      return { placed: places(done.result), removed: removes(done.result) };
    },
    handedOut() {
      const done = seen();
      return 'result' in done ? handsOut(done.result) : [];
    },
  };
}

export const nameOf = (queue: string): QueueName => ({ account: ACCOUNT, queue });
