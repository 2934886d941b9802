/** Operations on queues as a whole, with random arguments. */
import { isSameMetadata, type Metadata } from '../../src/rules/names.ts';
import { clearMessages } from '../../src/service/queue/clear-messages.ts';
import { createQueue } from '../../src/service/queue/create-queue.ts';
import { deleteQueue } from '../../src/service/queue/delete-queue.ts';
import { listQueues } from '../../src/service/queue/list-queues.ts';
import { getCountedQueue, setQueueMetadata } from '../../src/service/queue/use-queue.ts';
import type { Random } from '../harness/random.ts';
import { ACCOUNT } from '../harness/store.ts';
import { codeProblem } from './action.ts';
import { type Action, action, nameOf } from './queue-action.ts';
import type { QueueModel } from './queue-model.ts';

const METADATA: readonly Metadata[] = [[], [], [['colour', 'blue']], [['colour', 'red']]];

export function createAction(random: Random, queue: string): Action {
  const metadata = random.pick(METADATA);
  return action({
    what: `create ${queue}`,
    act: (storage) => createQueue(storage, nameOf(queue), metadata),
    judge(model, seen) {
      const found = model.find(queue);
      const isOther = found !== null && !isSameMetadata(found.metadata, metadata);
      const problem = codeProblem(seen, isOther ? 'QueueAlreadyExists' : null);
      if (problem !== null || !('result' in seen)) return problem ?? model;
      if (seen.result !== (found === null)) return `created: ${seen.result}, expected ${found === null}`;
      return found === null ? model.with({ name: queue, metadata, messages: new Map() }) : model;
    },
  });
}

export const deleteAction = (before: QueueModel, queue: string): Action =>
  action({
    what: `delete ${queue}`,
    act: (storage) => deleteQueue(storage, nameOf(queue)),
    judge: (model, seen) => codeProblem(seen, missing(model, queue)) ?? model.without(queue),
    removes: () => idsIn(before, queue),
  });

export const clearAction = (before: QueueModel, queue: string): Action =>
  action({
    what: `clear ${queue}`,
    act: (storage) => clearMessages(storage, nameOf(queue)),
    judge(model, seen) {
      const found = model.find(queue);
      return (
        codeProblem(seen, missing(model, queue)) ?? (found ? model.with({ ...found, messages: new Map() }) : model)
      );
    },
    removes: () => idsIn(before, queue),
  });

export function setMetadataAction(random: Random, queue: string): Action {
  const metadata = random.pick(METADATA);
  return action({
    what: `set the metadata of ${queue}`,
    act: (storage) => setQueueMetadata(storage, nameOf(queue), metadata),
    judge(model, seen) {
      const found = model.find(queue);
      return codeProblem(seen, missing(model, queue)) ?? (found ? model.with({ ...found, metadata }) : model);
    },
  });
}

/** Expired messages are counted until somebody has taken them away. */
export const countAction = (queue: string): Action =>
  action({
    what: `count ${queue}`,
    act: (storage) => getCountedQueue(storage, nameOf(queue)),
    judge(model, seen) {
      const found = model.find(queue);
      const problem = codeProblem(seen, missing(model, queue));
      if (problem !== null || found === null || !('result' in seen)) return problem ?? model;
      const { messageCount, queue: record } = seen.result;
      const liveCount = [...found.messages.values()].filter((message) => model.lives(message)).length;
      if (!isSameMetadata(record.metadata, found.metadata)) return `metadata ${JSON.stringify(record.metadata)}`;
      if (messageCount >= liveCount && messageCount <= found.messages.size) return model;
      return `${messageCount} messages, expected ${liveCount} to ${found.messages.size}`;
    },
  });

export const listAction = (): Action =>
  action({
    what: 'list',
    act: async (storage) => {
      const { queues } = await listQueues(storage, { account: ACCOUNT, prefix: '', from: '', limit: 100 });
      return queues.map(({ name }) => name);
    },
    judge(model, seen) {
      const problem = codeProblem(seen, null);
      if (problem !== null || !('result' in seen)) return problem ?? model;
      const [is, expected] = [seen.result.join(' '), [...model.queues.keys()].sort().join(' ')];
      return is === expected ? model : `${is}, expected ${expected}`;
    },
  });

const idsIn = (model: QueueModel, queue: string): string[] => [...(model.find(queue)?.messages.keys() ?? [])];

export const missing = (model: QueueModel, queue: string): string | null =>
  model.find(queue) === null ? 'QueueNotFound' : null;
