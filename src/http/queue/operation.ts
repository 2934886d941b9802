/** The shape of one Queue operation at the HTTP door: what it needs, and how it is answered. */
import type { Need } from '../../auth/identity.ts';
import type { QueueName } from '../../service/queue/load.ts';
import type { Storage } from '../../service/storage.ts';
import type { AuthorizedExchange, Exchange, Reply } from '../exchange.ts';

export interface Operation {
  /** As in Microsoft's documentation. */
  readonly name: string;
  readonly need: Need;
  handle(storage: Storage, exchange: AuthorizedExchange, resource: QueueResource): Promise<Reply>;
}

/** What the path names. */
export type QueueResource =
  | { readonly kind: 'service' }
  | { readonly kind: 'queue'; readonly queue: string }
  /** What the queue holds: `queue/messages`. */
  | { readonly kind: 'messages'; readonly queue: string }
  /** One of them: `queue/messages/id`. */
  | { readonly kind: 'message'; readonly queue: string; readonly messageId: string };

export function queueNameOf(exchange: Exchange, resource: QueueResource): QueueName {
  if (resource.kind === 'service') throw new TypeError('the route is for a queue, and none is named');
  return { account: exchange.target.account, queue: resource.queue };
}
