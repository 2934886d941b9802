/** Get Messages: by its method a read, and yet it hides what it gives. Peek Messages, which changes nothing. */
import { queueNeeds } from '../../auth/needs.ts';
import { getMessages as get } from '../../service/queue/get-messages.ts';
import { peekMessages as peek } from '../../service/queue/peek-messages.ts';
import { StorageError } from '../../service/storage-error.ts';
import { parseGet, parsePeek } from './message-parameters.ts';
import { renderGotMessages, renderPeekedMessages } from './message-xml.ts';
import { type Operation, queueNameOf } from './operation.ts';

const HEADERS = ['Cache-Control', 'no-cache', 'Content-Type', 'application/xml'];

export const getMessages: Operation = {
  name: 'Get Messages',
  need: queueNeeds.getMessages,
  async handle(storage, exchange, resource) {
    const { target, version } = exchange;
    if (target.secondary) {
      throw new StorageError('InsufficientAccountPermissions', { message: 'Write operations are not allowed.' });
    }
    const messages = await get(storage, queueNameOf(exchange, resource), parseGet(target.query, version));
    return { status: 200, headers: HEADERS, body: renderGotMessages(messages, version) };
  },
};

export const peekMessages: Operation = {
  name: 'Peek Messages',
  need: queueNeeds.peekMessages,
  async handle(storage, exchange, resource) {
    const messages = await peek(storage, queueNameOf(exchange, resource), parsePeek(exchange.target.query));
    return { status: 200, headers: HEADERS, body: renderPeekedMessages(messages, exchange.version) };
  },
};
