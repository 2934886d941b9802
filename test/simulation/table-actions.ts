/** Every operation on tables and entities but queries, with random arguments. */
import type { AccessPolicy } from '../../src/rules/acl.ts';
import type { EntityKey } from '../../src/rules/edm.ts';
import { type EntityChange, entityTag, type IfMatch } from '../../src/rules/entity-change.ts';
import { ticksOf } from '../../src/service/records/entity-record.ts';
import {
  type ChangesOutcome,
  changeEntities,
  changeEntity,
  type KeyedChange,
} from '../../src/service/table/change-entities.ts';
import { createTable } from '../../src/service/table/create-table.ts';
import { deleteTable } from '../../src/service/table/delete-table.ts';
import { getEntity } from '../../src/service/table/get-entity.ts';
import { getTable, setTableAcl } from '../../src/service/table/use-table.ts';
import type { Random } from '../harness/random.ts';
import { codeProblem, type Seen } from './action.ts';
import { type Action, action, nameOf, toldOf } from './table-action.ts';
import {
  changed,
  type ModelChange,
  type ModelEntity,
  type ModelIfMatch,
  refusalOf,
  type TableModel,
  textOf,
  told,
} from './table-model.ts';
import { largeText, manyProperties, PARTITIONS, ROWS, someKey, someProperties } from './table-values.ts';

const BATCH_COUNT_MAX = 100;

// ---- tables

export const createAction = (table: string): Action =>
  action(
    `create ${table}`,
    (storage) => createTable(storage, nameOf(table)),
    (model, seen) => {
      const expected = model.find(table) === null ? null : 'TableAlreadyExists';
      const problem = codeProblem(seen, expected);
      if (problem !== null || expected !== null) return problem ?? model;
      return model.with({ name: table, policies: [], entities: new Map() });
    },
  );

export const deleteAction = (table: string): Action =>
  action(
    `delete ${table}`,
    (storage) => deleteTable(storage, nameOf(table)),
    (model, seen) => codeProblem(seen, model.find(table) === null ? 'ResourceNotFound' : null) ?? model.without(table),
  );

export function setAclAction(random: Random, table: string): Action {
  const policies: readonly AccessPolicy[] = [{ id: String(random.below(1_000)), permission: 'r' }];
  return action(
    `set the policies of ${table}`,
    (storage) => setTableAcl(storage, nameOf(table), policies),
    (model, seen) => {
      const found = model.find(table);
      if (found === null) return codeProblem(seen, 'TableNotFound') ?? model;
      return codeProblem(seen, null) ?? model.with({ ...found, policies });
    },
  );
}

export const getAclAction = (table: string): Action =>
  action(
    `get the policies of ${table}`,
    (storage) => getTable(storage, nameOf(table)),
    (model, seen) => {
      const found = model.find(table);
      const problem = codeProblem(seen, found === null ? 'TableNotFound' : null);
      if (problem !== null || !('result' in seen)) return problem ?? model;
      const { name, policies } = seen.result;
      const [is, expected] = [
        { name, policies },
        { name: found?.name, policies: found?.policies },
      ].map((one) => JSON.stringify(one));
      return is === expected ? model : `${is}, expected ${expected}`;
    },
  );

// ---- entities

/** `since`: ETags that were current once. */
export interface Known {
  readonly random: Random;
  readonly model: TableModel;
  readonly since: readonly bigint[];
}

export function changeAction(known: Known, table: string): Action {
  const change = someChange(known, table, someKey(known.random));
  const request = requested(known.random, change);
  return action(
    `${describe(change)} in ${table}`,
    async (storage): Promise<ChangesOutcome> => ({ changed: [await changeEntity(storage, nameOf(table), request)] }),
    (model, seen) => judgeChanges(model, { table, changes: [change] }, seen),
    ticksGiven,
  );
}

export function batchAction(known: Known, table: string): Action {
  const { random } = known;
  const dice = random.next();
  if (dice < 0.1) return wideBatch(known, { table, partitionKey: 'ab', count: BATCH_COUNT_MAX, isLarge: false });
  // More bytes than a scan looks at in one step.
  if (dice < 0.2) return wideBatch(known, { table, partitionKey: 'ac', count: 40, isLarge: true });
  const partitionKey = random.pick(PARTITIONS);
  const rows = shuffled(random, ROWS).slice(0, 1 + random.below(6));
  const changes = rows.map((rowKey) => someChange(known, table, { partitionKey, rowKey }));
  // Most of them can be made: a batch of several changes at random seldom could.
  return changesAction(known, table, random.chance(0.7) ? changes.map(withoutDemands) : changes);
}

/** Of many entities, in a partition of their own. */
function wideBatch(
  known: Known,
  { table, partitionKey, count, isLarge }: { table: string; partitionKey: string; count: number; isLarge: boolean },
): Action {
  const { random } = known;
  const changes = numberedRows(count).map((rowKey) => {
    const change = withoutDemands(someChange(known, table, { partitionKey, rowKey }));
    return isLarge ? { ...change, properties: new Map([['text', largeText(random)]]) } : change;
  });
  return changesAction(known, table, changes);
}

function changesAction({ random }: Known, table: string, changes: readonly ModelChange[]): Action {
  const requests = changes.map((change) => requested(random, change));
  const unseen = changes.length > 6 ? ` and ${changes.length - 6} more` : '';
  return action(
    `${changes.slice(0, 6).map(describe).join(', ')}${unseen} in ${table}`,
    (storage) => changeEntities(storage, nameOf(table), requests),
    (model, seen) => judgeChanges(model, { table, changes }, seen),
    ticksGiven,
  );
}

/** Every other one is the least key that can stand behind the one before. */
const numberedRows = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${100 + Math.floor(index / 2)}${' '.repeat(index % 2)}`);

const withoutDemands = (change: ModelChange): ModelChange =>
  change.kind === 'insert' || change.kind === 'delete'
    ? { ...change, kind: 'replace', ifMatch: null }
    : { ...change, ifMatch: null };

function someChange(known: Known, table: string, key: EntityKey): ModelChange {
  const { random } = known;
  const kind = random.pick(['insert', 'insert', 'replace', 'merge', 'merge', 'delete'] as const);
  // Where they meet: an entity takes no more than one such set.
  const isMany = key.rowKey === '1' && random.chance(0.4);
  const properties = isMany ? manyProperties(random) : someProperties(random);
  if (kind === 'insert') return { key, kind, ifMatch: null, properties };
  if (kind === 'delete') {
    return { key, kind, ifMatch: someIfMatch(known, table, key) ?? 'any', properties: new Map() };
  }
  return { key, kind, ifMatch: someIfMatch(known, table, key), properties };
}

function someIfMatch({ random, model, since }: Known, table: string, key: EntityKey): ModelIfMatch {
  const dice = random.next();
  if (dice < 0.25) return null;
  if (dice < 0.4) return 'any';
  const current = model.find(table)?.entities.get(textOf(key))?.ticks;
  if (dice < 0.8 && current !== undefined) return current;
  return since.length === 0 ? 1n : random.pick(since);
}

const describe = ({ kind, key, ifMatch }: ModelChange): string =>
  `${kind} ${JSON.stringify(key.partitionKey)}/${JSON.stringify(key.rowKey)}${ifMatch === null ? '' : ` if ${ifMatch}`}`;

function requested(random: Random, { key, kind, ifMatch, properties }: ModelChange): KeyedChange {
  const presented = ifMatch === null ? null : tagOf(random, ifMatch);
  const own = [...properties];
  const change: EntityChange =
    kind === 'insert'
      ? { kind, properties: own }
      : kind === 'delete'
        ? { kind, ifMatch: presented ?? { kind: 'any' } }
        : { kind, ifMatch: presented, properties: own };
  return { key, change };
}

/** As some clients write it. */
function tagOf(random: Random, ifMatch: bigint | 'any'): IfMatch {
  if (ifMatch === 'any') return { kind: 'any' };
  const tag = entityTag(ifMatch);
  return { kind: 'tag', tag: random.chance(0.2) ? tag.replaceAll('%3A', '%3a') : tag };
}

function ticksGiven(outcome: ChangesOutcome): readonly bigint[] {
  return 'changed' in outcome ? outcome.changed.flatMap((value) => (value === null ? [] : [ticksOf(value)])) : [];
}

function judgeChanges(
  model: TableModel,
  { table, changes }: { table: string; changes: readonly ModelChange[] },
  seen: Seen<ChangesOutcome>,
): TableModel | string {
  const found = model.find(table);
  if (found === null) return codeProblem(seen, 'TableNotFound') ?? model;
  const expected = refusalOf(found, changes);
  const outcome = 'result' in seen ? seen.result : { refusal: seen.refusal, index: 0 };
  if (expected !== null || 'refusal' in outcome) {
    const is = 'refusal' in outcome ? `${outcome.refusal} of change ${outcome.index}` : 'done';
    const wanted = expected === null ? 'done' : `${expected.refusal} of change ${expected.index}`;
    return is === wanted ? model : `${is}, expected ${wanted}`;
  }
  const ticks = outcome.changed.map((value) => (value === null ? null : ticksOf(value)));
  const after = changed(found, changes, ticks);
  for (const [index, { key, kind }] of changes.entries()) {
    const value = outcome.changed[index] ?? null;
    if ((value === null) !== (kind === 'delete')) return `a ${kind} that leaves ${value === null ? 'no' : 'an'} entity`;
    if (value === null) continue;
    const before = found.entities.get(textOf(key))?.ticks ?? 0n;
    if ((ticks[index] as bigint) <= before) return `Timestamp ${ticks[index]} after ${before}`;
    const [is, wanted] = [toldOf({ ...key, value }), told(after.entities.get(textOf(key)) as ModelEntity)];
    if (is !== wanted) return `${is}, expected ${wanted}`;
  }
  return model.with(after);
}

export function getAction(random: Random, table: string): Action {
  const key = someKey(random);
  return action(
    `get ${JSON.stringify(key.partitionKey)}/${JSON.stringify(key.rowKey)} in ${table}`,
    async (storage) => (await getEntity(storage, nameOf(table), key)).entity,
    (model, seen) => {
      const found = model.find(table);
      const entity = found?.entities.get(textOf(key)) ?? null;
      const expected = found === null ? 'TableNotFound' : entity === null ? 'ResourceNotFound' : null;
      const problem = codeProblem(seen, expected);
      if (problem !== null || entity === null || !('result' in seen)) return problem ?? model;
      const [is, wanted] = [toldOf(seen.result), told(entity)];
      return is === wanted ? model : `${is}, expected ${wanted}`;
    },
  );
}

function shuffled<T>(random: Random, items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
