/**
 * Entity Group Transaction: up to 100 changes of entities of one partition, all or none of them; or a query, alone. A batch
 * that cannot be read is refused as such. Everything else that is wrong is the refusal of one operation, also where the
 * caller may not do it: it stands with its index in an answer of 202.
 * https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions
 */
import { refuseNeed } from '../../auth/authorize.ts';
import { tableNeeds } from '../../auth/needs.ts';
import type { Storage } from '../../service/storage.ts';
import { StorageError } from '../../service/storage-error.ts';
import { type Changed, changeEntities } from '../../service/table/change-entities.ts';
import { refuseRepeatedHeaders } from '../answer.ts';
import { readWhole } from '../body.ts';
import type { AuthorizedExchange, Reply } from '../exchange.ts';
import { parseBoundary } from '../multipart.ts';
import { renderChangeSetAnswer, renderQueryAnswer, renderRefusal } from './batch-answer.ts';
import { type BatchRequest, parseBatchBody } from './batch-body.ts';
import { BatchExchange } from './batch-exchange.ts';
import { refuseOutOfScope, scopeOf } from './caller-scope.ts';
import { BODY_BYTES_MAX, type ChangeRequest, isChange, parseChange, renderChanged } from './change-entity.ts';
import { EntityGroup } from './entity-group.ts';
import { getEntity } from './get-entity.ts';
import { invalidInput } from './invalid-input.ts';
import type { FindOperation, Means, Operation, TableResource } from './operation.ts';
import { queryEntities } from './query-entities.ts';

const CHANGE_COUNT_MAX = 100;

export const batch: Operation = {
  name: 'Entity Group Transaction',
  need: tableNeeds.batch,
  async handle(storage, exchange, _resource, means) {
    const boundary = parseBoundary(exchange.header('content-type'));
    const bytes = await readWhole(exchange, { maxBytes: BODY_BYTES_MAX });
    const body = parseBatchBody(bytes, { boundary, changeCountMax: CHANGE_COUNT_MAX });
    if (body.kind === 'query') return answerQuery(storage, exchange, { part: body.request, means });
    return answerChanges(storage, exchange, { requests: body.requests, find: means.find });
  },
};

interface Change {
  readonly exchange: BatchExchange;
  readonly request: ChangeRequest;
}

interface Refusal {
  readonly error: StorageError;
  /** Null: not of one change in particular. */
  readonly index: number | null;
}

async function answerChanges(
  storage: Storage,
  outer: AuthorizedExchange,
  { requests, find }: { readonly requests: readonly BatchRequest[]; readonly find: FindOperation },
): Promise<Reply> {
  const contentIdOf = (index: number | null): string | null => requests[index ?? -1]?.contentId ?? null;
  const refused = ({ error, index }: Refusal): Reply => {
    const reply = renderRefusal(error, { requestId: outer.requestId, nowMs: storage.clock.nowMs(), index });
    return renderChangeSetAnswer(outer, [{ ...reply, contentId: contentIdOf(index) }]);
  };
  const changes = refuseCount(requests.length) ?? parseChanges(outer, requests, find);
  if ('error' in changes) return refused(changes);
  const changed = await applyChanges(storage, outer.target.account, changes);
  if ('error' in changed) return refused(changed);
  const replies = changes.map(({ exchange, request }, index) => ({
    ...renderChanged(exchange, request, changed[index] as Changed),
    contentId: contentIdOf(index),
  }));
  return renderChangeSetAnswer(outer, replies);
}

/** The service names the last operation that there was room for. */
function refuseCount(count: number): Refusal | null {
  if (count === 0) return { error: invalidInput('The change set contains no operation.'), index: null };
  if (count <= CHANGE_COUNT_MAX) return null;
  const message = `The batch request operation exceeds the maximum ${CHANGE_COUNT_MAX} changes per change set.`;
  return { error: invalidInput(message), index: CHANGE_COUNT_MAX - 1 };
}

/**
 * The first operation that is wrong is the one refused. Existence and ETags are asked of the store afterwards, by a set
 * without any other fault.
 */
function parseChanges(
  outer: AuthorizedExchange,
  requests: readonly BatchRequest[],
  find: FindOperation,
): Change[] | Refusal {
  const changes: Change[] = [];
  const group = new EntityGroup();
  try {
    for (const request of requests) changes.push(parseChangeOf(outer, request, { group, find }));
    return changes;
  } catch (error) {
    return { error: asRefusalOfPart(error), index: changes.length };
  }
}

/** In order of precedence. */
function parseChangeOf(
  outer: AuthorizedExchange,
  part: BatchRequest,
  { group, find }: { readonly group: EntityGroup; readonly find: FindOperation },
): Change {
  const exchange = new BatchExchange(outer, part);
  refuseRepeatedHeaders(exchange);
  const { operation, resource } = find(exchange);
  if (!isChange(operation) || !('table' in resource)) {
    throw invalidInput(`A change set may contain only changes of entities, not ${operation.name}.`);
  }
  refuseUnpermitted(exchange, operation);
  refuse(group.refuseTable(resource.table));
  const request = parseChange(operation, exchange, { resource, body: part.body });
  refuseOutOfScope(exchange.identity, request.table, request.key);
  refuse(group.refuseKey(request.key));
  return { exchange, request };
}

/** A batch is let in with any of the permissions: what its parts need is asked here. */
function refuseUnpermitted(exchange: BatchExchange, { need }: Operation): void {
  const { identity, service, version } = exchange;
  refuse(refuseNeed(identity, need, { service, version }));
}

async function applyChanges(
  storage: Storage,
  account: string,
  changes: readonly Change[],
): Promise<readonly Changed[] | Refusal> {
  const requests = changes.map(({ request }) => request);
  const { table } = requests[0] as ChangeRequest;
  try {
    const outcome = await changeEntities(storage, { account, table }, requests);
    if ('changed' in outcome) return outcome.changed;
    return { error: new StorageError(outcome.refusal), index: outcome.index };
  } catch (error) {
    return { error: asRefusalOfPart(error), index: 0 };
  }
}

/** What is not the caller's doing fails the batch itself. */
function asRefusalOfPart(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  throw error;
}

const QUERIES: ReadonlySet<Operation> = new Set([queryEntities, getEntity]);

async function answerQuery(
  storage: Storage,
  outer: AuthorizedExchange,
  { part, means }: { readonly part: BatchRequest; readonly means: Means },
): Promise<Reply> {
  const { contentId, method } = part;
  if (method !== 'GET') throw invalidInput('Outside a change set, a batch may contain only a query.');
  try {
    const exchange = new BatchExchange(outer, part);
    refuseRepeatedHeaders(exchange);
    const { operation, resource } = means.find(exchange);
    if (!QUERIES.has(operation))
      throw invalidInput(`A batch may contain only queries of entities, not ${operation.name}.`);
    refuseUnpermitted(exchange, operation);
    refuseOtherTable(exchange, resource);
    return renderQueryAnswer(outer, { ...(await operation.handle(storage, exchange, resource, means)), contentId });
  } catch (error) {
    const context = { requestId: outer.requestId, nowMs: storage.clock.nowMs(), index: null };
    return renderQueryAnswer(outer, { ...renderRefusal(asRefusalOfPart(error), context), contentId });
  }
}

/** A token for a table was signed for a batch without one. */
function refuseOtherTable({ identity }: BatchExchange, resource: TableResource): void {
  const scope = scopeOf(identity);
  if (scope === null || ('table' in resource && resource.table.toLowerCase() === scope.table)) return;
  throw new StorageError('AuthorizationPermissionMismatch');
}

function refuse(error: StorageError | null): void {
  if (error !== null) throw error;
}
