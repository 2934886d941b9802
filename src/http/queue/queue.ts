/** Create and Delete Queue, Get and Set Queue Metadata. */
import { queueNeeds } from '../../auth/needs.ts';
import { createQueue as create } from '../../service/queue/create-queue.ts';
import { deleteQueue as remove } from '../../service/queue/delete-queue.ts';
import { getCountedQueue, setQueueMetadata as setMetadata } from '../../service/queue/use-queue.ts';
import { metadataHeaders, parseMetadata } from '../metadata.ts';
import { type Operation, queueNameOf } from './operation.ts';

export const createQueue: Operation = {
  name: 'Create Queue',
  need: queueNeeds.createQueue,
  async handle(storage, exchange, resource) {
    const isNew = await create(storage, queueNameOf(exchange, resource), parseMetadata(exchange));
    return { status: isNew ? 201 : 204, headers: [] };
  },
};

export const deleteQueue: Operation = {
  name: 'Delete Queue',
  need: queueNeeds.deleteQueue,
  async handle(storage, exchange, resource) {
    await remove(storage, queueNameOf(exchange, resource));
    return { status: 204, headers: [] };
  },
};

export const getQueueMetadata: Operation = {
  name: 'Get Queue Metadata',
  need: queueNeeds.getQueueMetadata,
  async handle(storage, exchange, resource) {
    const { queue, messageCount } = await getCountedQueue(storage, queueNameOf(exchange, resource));
    return {
      status: 200,
      headers: ['x-ms-approximate-messages-count', String(messageCount), ...metadataHeaders(queue.metadata)],
    };
  },
};

export const setQueueMetadata: Operation = {
  name: 'Set Queue Metadata',
  need: queueNeeds.setQueueMetadata,
  async handle(storage, exchange, resource) {
    await setMetadata(storage, queueNameOf(exchange, resource), parseMetadata(exchange));
    return { status: 204, headers: [] };
  },
};
