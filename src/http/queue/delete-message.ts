import { queueNeeds } from '../../auth/needs.ts';
import { deleteMessage as remove } from '../../service/queue/delete-message.ts';
import { parseHold } from './hold.ts';
import { type Operation, queueNameOf } from './operation.ts';

export const deleteMessage: Operation = {
  name: 'Delete Message',
  need: queueNeeds.deleteMessage,
  async handle(storage, exchange, resource) {
    const hold = parseHold(exchange.target.query, resource);
    await remove(storage, queueNameOf(exchange, resource), hold);
    return { status: 204, headers: [] };
  },
};
