import { queueNeeds } from '../../auth/needs.ts';
import { putMessage as put } from '../../service/queue/put-message.ts';
import { readMessageText } from './message-body.ts';
import { parsePut } from './message-parameters.ts';
import { renderPutMessage } from './message-xml.ts';
import { type Operation, queueNameOf } from './operation.ts';

/** Before, the answer had no body, and nobody but the next to get the message could change it. */
const SINCE_RECEIPT_OF_PUT = '2016-05-31';

export const putMessage: Operation = {
  name: 'Put Message',
  need: queueNeeds.putMessage,
  async handle(storage, exchange, resource) {
    const { hiddenSeconds, ttlSeconds } = parsePut(exchange.target.query, exchange.version);
    const text = await readMessageText(exchange);
    const placed = await put(storage, queueNameOf(exchange, resource), { text, hiddenSeconds, ttlSeconds });
    if (exchange.version < SINCE_RECEIPT_OF_PUT) return { status: 201, headers: [] };
    return { status: 201, headers: ['Content-Type', 'application/xml'], body: renderPutMessage(placed) };
  },
};
