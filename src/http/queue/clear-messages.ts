import { queueNeeds } from '../../auth/needs.ts';
import { clearMessages as clear } from '../../service/queue/clear-messages.ts';
import { type Operation, queueNameOf } from './operation.ts';

export const clearMessages: Operation = {
  name: 'Clear Messages',
  need: queueNeeds.clearMessages,
  async handle(storage, exchange, resource) {
    await clear(storage, queueNameOf(exchange, resource));
    return { status: 204, headers: [] };
  },
};
