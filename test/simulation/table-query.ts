/** Queries of the simulation of tables, followed page by page, with anything else between their pages. */
import type { EntityKey } from '../../src/rules/edm.ts';
import { isInScope } from '../../src/rules/entity-scope.ts';
import { QUERY_LIMITS, type QueryEntitiesRequest, type QueryLimits } from '../../src/service/table/query-entities.ts';
import { type EntityPage, queryPage } from '../harness/query-page.ts';
import type { Random } from '../harness/random.ts';
import { codeProblem, type Seen } from './action.ts';
import { type Action, action, nameOf, toldOf } from './table-action.ts';
import { type ModelFilter, someFilter } from './table-filter.ts';
import { compareKeys, type ModelEntity, type ModelTable, type TableModel, told } from './table-model.ts';
import { someScope } from './table-values.ts';

const PAGE_LIMITS = [1, 2, 7, 63, 64, 65, 1_000, 1_000];

export class PagedQuery {
  readonly table: string;
  readonly #random: Random;
  readonly #asked: ModelFilter | null;
  readonly #request: QueryEntitiesRequest;
  #from: EntityKey | null = null;
  isAtEnd = false;
  /** A page of it has been asked for and has not come yet. */
  isUnderWay = false;

  constructor(random: Random, table: string) {
    this.#random = random;
    this.table = table;
    this.#asked = someFilter(random);
    this.#request = {
      name: nameOf(table),
      filter: this.#asked?.filter ?? null,
      limit: random.pick(PAGE_LIMITS),
      from: null,
      scope: someScope(random, table),
    };
  }

  nextPage(): Action {
    const request = { ...this.#request, from: this.#from };
    const limits = this.#someLimits();
    this.isUnderWay = true;
    return action(
      `${request.limit} of ${this.table} from ${shown(this.#from)} by ${this.#asked?.text ?? 'no filter'} in ${shown(request.scope)}`,
      async (storage) => {
        try {
          const page = await queryPage(storage, request, limits);
          this.#from = page.next;
          this.isAtEnd = page.next === null;
          return page;
        } finally {
          this.isUnderWay = false;
        }
      },
      (model, seen) => this.#judge(model, seen, { request, limits }),
    );
  }

  /** Pages that end early, by their bytes or their time, are met as often as those that do not. */
  #someLimits(): QueryLimits {
    const random = this.#random;
    const end = random.pick(['count', 'bytes', 'time', 'time']);
    let nowMs = 0;
    return {
      pageBytesMax: end === 'bytes' ? random.pick([1, 300, 2_000]) : QUERY_LIMITS.pageBytesMax,
      scanMsMax: end === 'time' ? 1 + random.below(2) : Number.POSITIVE_INFINITY,
      monotonicMs: () => nowMs++,
    };
  }

  #judge(
    model: TableModel,
    seen: Seen<EntityPage>,
    { request, limits }: { request: QueryEntitiesRequest; limits: QueryLimits },
  ): TableModel | string {
    const found = model.find(this.table);
    const problem = codeProblem(seen, found === null ? 'TableNotFound' : null);
    if (problem !== null || found === null || !('result' in seen)) return problem ?? model;
    const { entities, next, table } = seen.result;
    if (table.name !== found.name) return `of ${table.name}, expected ${found.name}`;
    const wanted = this.#matches(found, request).filter((entity) => next === null || compareKeys(entity, next) < 0);
    const [is, expected] = [entities.map(toldOf).join('\n'), wanted.map(told).join('\n')];
    if (is !== expected) return `the page\n${is}\nexpected\n${expected}`;
    return pageProblem(seen.result, request, limits) ?? model;
  }

  #matches(table: ModelTable, { from, scope }: QueryEntitiesRequest): ModelEntity[] {
    return [...table.entities.values()]
      .filter((entity) => this.#asked === null || this.#asked.isMatch(entity))
      .filter((entity) => from === null || compareKeys(entity, from) >= 0)
      .filter((entity) => scope === null || isInScope(scope, entity))
      .sort(compareKeys);
  }
}

const LEAST_KEY: EntityKey = { partitionKey: '', rowKey: '' };

/** Too much in it, too little in it for one that is not the last, or no progress. */
function pageProblem(
  { entities, next }: EntityPage,
  { limit, from }: QueryEntitiesRequest,
  { pageBytesMax, scanMsMax }: QueryLimits,
): string | null {
  if (entities.length > limit) return `${entities.length} in a page of ${limit}`;
  const pageBytes = entities.reduce((sum, { value }) => sum + value.length, 0);
  if (pageBytes > pageBytesMax && entities.length > 1) return `${pageBytes} bytes in a page of ${pageBytesMax}`;
  if (next === null) return null;
  if (compareKeys(next, from ?? LEAST_KEY) <= 0) return 'a page that goes on where it began';
  const mayEndEarly = scanMsMax !== Number.POSITIVE_INFINITY || pageBytesMax !== QUERY_LIMITS.pageBytesMax;
  return entities.length < limit && !mayEndEarly ? `${entities.length} of ${limit} in a page before the last` : null;
}

const shown = (value: object | null): string => JSON.stringify(value);
