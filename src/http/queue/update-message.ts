import { queueNeeds } from '../../auth/needs.ts';
import { formatHttpDate } from '../../base/http-date.ts';
import { updateMessage as update } from '../../service/queue/update-message.ts';
import { parseHold } from './hold.ts';
import { readOptionalMessageText } from './message-body.ts';
import { parseUpdate } from './message-parameters.ts';
import { type Operation, queueNameOf } from './operation.ts';
import { renderPopReceipt } from './pop-receipt.ts';

export const updateMessage: Operation = {
  name: 'Update Message',
  need: queueNeeds.updateMessage,
  async handle(storage, exchange, resource) {
    const hiddenSeconds = parseUpdate(exchange.target.query);
    const hold = parseHold(exchange.target.query, resource);
    const text = await readOptionalMessageText(exchange);
    const { place, nextVisibleMs } = await update(storage, queueNameOf(exchange, resource), {
      hold,
      hiddenSeconds,
      text,
    });
    return {
      status: 204,
      headers: ['x-ms-popreceipt', renderPopReceipt(place), 'x-ms-time-next-visible', formatHttpDate(nextVisibleMs)],
    };
  },
};
