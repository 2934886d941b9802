/** The message that a consumer holds, as Update and Delete Message name it: its id in the path, its receipt in the query. */
import type { Hold } from '../../service/queue/held-message.ts';
import { StorageError } from '../../service/storage-error.ts';
import type { Query } from '../exchange.ts';
import { requireWord } from './message-parameters.ts';
import type { QueueResource } from './operation.ts';
import { parsePopReceipt } from './pop-receipt.ts';

const GUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** No message has an id that is no GUID. */
export function parseHold(query: Query, resource: QueueResource): Hold {
  if (resource.kind !== 'message') throw new TypeError('the route is for a message, and none is named');
  const place = parsePopReceipt(requireWord(query, 'popreceipt'));
  const messageId = resource.messageId.toLowerCase();
  if (!GUID.test(messageId)) throw new StorageError('MessageNotFound');
  return { messageId, place };
}
