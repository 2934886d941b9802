/** Which Queue operation a request asks for: one closed list by method, `comp` and what the path names. */
import { refuseQueueName } from '../../rules/names.ts';
import { invalidQuery, StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { decodePercent } from '../request-target.ts';
import { compOf, unknownOperation } from '../routing.ts';
import { clearMessages } from './clear-messages.ts';
import { deleteMessage } from './delete-message.ts';
import { getMessages, peekMessages } from './get-messages.ts';
import { listQueues } from './list-queues.ts';
import type { Operation, QueueResource } from './operation.ts';
import { putMessage } from './put-message.ts';
import { createQueue, deleteQueue, getQueueMetadata, setQueueMetadata } from './queue.ts';
import { getQueueAcl, setQueueAcl } from './queue-acl.ts';
import { getServiceProperties, getServiceStats, setServiceProperties } from './service.ts';
import { updateMessage } from './update-message.ts';
import { getUserDelegationKey } from './user-delegation-key.ts';

const OPERATIONS: Readonly<Record<QueueResource['kind'], Readonly<Record<string, Operation>>>> = {
  service: {
    'GET list': listQueues,
    'GET properties': getServiceProperties,
    'PUT properties': setServiceProperties,
    'GET stats': getServiceStats,
    'POST userdelegationkey': getUserDelegationKey,
  },
  queue: {
    'PUT ': createQueue,
    'DELETE ': deleteQueue,
    'GET metadata': getQueueMetadata,
    'HEAD metadata': getQueueMetadata,
    'PUT metadata': setQueueMetadata,
    'GET acl': getQueueAcl,
    'HEAD acl': getQueueAcl,
    'PUT acl': setQueueAcl,
  },
  messages: { 'POST ': putMessage, 'GET ': getMessages, 'DELETE ': clearMessages },
  message: { 'PUT ': updateMessage, 'DELETE ': deleteMessage },
};

const SINCE_UPDATE = '2011-08-18';

export function findOperation(exchange: Exchange): { operation: Operation; resource: QueueResource } {
  const { query, resourcePath } = exchange.target;
  const resource = parseResource(resourcePath);
  const restype = query.get('restype');
  if (restype !== null && !(restype === 'service' && resource.kind === 'service')) {
    throw invalidQuery('restype', restype);
  }
  const operations = OPERATIONS[resource.kind];
  const operation = operations[`${exchange.method} ${compOf(exchange)}`];
  if (operation === undefined) throw unknownOperation(exchange, operations);
  if (operation === updateMessage && exchange.version < SINCE_UPDATE) throw new StorageError('UnsupportedHttpVerb');
  if (operation === getMessages && isPeek(exchange)) return { operation: peekMessages, resource };
  return { operation, resource };
}

/** Whoever wants to look only must not take messages by a slip: what cannot be read is refused. */
function isPeek({ target }: Exchange): boolean {
  const text = target.query.get('peekonly');
  if (text === null) return false;
  const word = text.toLowerCase();
  if (word !== 'true' && word !== 'false') throw invalidQuery('peekonly', text);
  return word === 'true';
}

const MESSAGES = 'messages';

/** `path` is still percent-encoded. */
function parseResource(path: string): QueueResource {
  if (path === '') return { kind: 'service' };
  const [first = '', second, messageId, ...deeper] = (path.endsWith('/') ? path.slice(0, -1) : path).split('/');
  const queue = decodePercent(first);
  const refusal = refuseQueueName(queue);
  if (refusal !== null) throw new StorageError(refusal);
  if (second === undefined) return { kind: 'queue', queue };
  if (decodePercent(second).toLowerCase() !== MESSAGES || messageId === '' || deeper.length > 0) throw invalidPath();
  if (messageId === undefined) return { kind: 'messages', queue };
  return { kind: 'message', queue, messageId: decodePercent(messageId) };
}

const invalidPath = (): StorageError =>
  new StorageError('InvalidUri', { message: 'The path must be queue, queue/messages or queue/messages/id.' });
