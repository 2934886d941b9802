/**
 * Tables: entities written one by one and in batches, read by their keys, page by page, and by a filter that every entity is
 * looked at for; in a small table and in a large one, so that a cost that grows with the table shows.
 */

import type { Contestant } from '../contestants.ts';
import {
  type Answer,
  expectSuccess,
  failureOf,
  headerOf,
  inLanes,
  type Lane,
  type LaneRequest,
  type Outcome,
  rateInLanes,
  wrk,
} from '../load.ts';
import type { Row, Scale } from './row.ts';

const smallCount = 1000;
const batchCount = 100;
/** Connections that write batches. */
const loaderCount = 8;
/** All entities of a table stand in one partition: wrk puts nothing but a number into a path. */
const partition = 'one';
const numberDigits = 6;
const json = ['Content-Type: application/json', 'Accept: application/json;odata=minimalmetadata'];
const noContent = 'Prefer: return-no-content';
/** About what an entity is in an answer: the bare server gives as much. */
const entityAnswerBytes = 330;

export function tableRows(scale: Scale): Row[] {
  const large = (contestant: Contestant): number =>
    contestant.name === 'azurite' ? scale.azuriteEntityCount : scale.entityCount;
  const small = (): number => smallCount;
  const shared = { unit: 'req/s', better: 'higher', stage: 'fresh', rounds: scale.rounds, warmsUp: true } as const;
  const inTurns = (
    contestant: Contestant,
    step: (lane: Lane) => Promise<string | null>,
    connections = scale.connections,
  ): Promise<Outcome> => rateInLanes({ ports: contestant.tablePorts, connections, seconds: scale.roundSeconds }, step);
  let inserted = 0;

  const upsert = (name: string, table: string, countOf: (contestant: Contestant) => number, title: string): Row => ({
    ...shared,
    name,
    title: `Insert Or Replace Entity, ${title}`,
    prepare: (contestant) => fillTable(contestant, table, countOf(contestant)),
    round: (contestant) =>
      wrk({
        ports: contestant.tablePorts,
        seconds: scale.roundSeconds,
        connections: scale.connections,
        method: 'PUT',
        ...anyEntity(contestant, table),
        query: contestant.query(),
        headers: json,
        body: JSON.stringify(properties(7)),
        nameCount: countOf(contestant),
        anyName: true,
      }),
  });

  const get = (name: string, table: string, countOf: (contestant: Contestant) => number, title: string): Row => ({
    ...shared,
    name,
    title: `Get Entity, ${title}`,
    prepare: (contestant) => fillTable(contestant, table, countOf(contestant)),
    round: (contestant) =>
      wrk({
        ports: contestant.tablePorts,
        seconds: scale.roundSeconds,
        connections: scale.connections,
        method: 'GET',
        ...anyEntity(contestant, table),
        query: contestant.query('', { answerBytes: entityAnswerBytes }),
        headers: json,
        nameCount: countOf(contestant),
        anyName: true,
      }),
  });

  return [
    {
      ...shared,
      name: 'entity-insert',
      title: 'Insert Entity',
      prepare: (contestant) => makeTable(contestant, 'inserted'),
      round: (contestant) =>
        inTurns(contestant, async (lane) => {
          const entity = { PartitionKey: partition, RowKey: `${Date.now()}-${inserted++}`, ...properties(inserted) };
          const body = Buffer.from(JSON.stringify(entity));
          const path = `${contestant.tablePath('inserted')}?${contestant.query()}`;
          return failureOf(await lane.send({ method: 'POST', path, headers: [...json, noContent], body }));
        }),
    },
    upsert('entity-upsert-small', 'small', small, of(smallCount)),
    get('entity-get-small', 'small', small, of(smallCount)),
    {
      ...shared,
      name: 'entity-batch',
      title: `Batches of ${batchCount} upserts, ${loaderCount} loaders`,
      unit: 'entities/s',
      prepare: (contestant) => makeTable(contestant, 'batched'),
      round: async (contestant) => {
        const load = async (lane: Lane): Promise<string | null> => {
          const first = Math.floor(Math.random() * 1000) * batchCount;
          const answer = await lane.send(batchOf(contestant, 'batched', { first, count: batchCount }));
          return failureOfBatch(contestant, answer);
        };
        const outcome = await inTurns(contestant, load, loaderCount);
        return { ...outcome, value: outcome.value * batchCount };
      },
    },
    upsert('entity-upsert', 'large', large, of(scale.entityCount)),
    get('entity-get', 'large', large, of(scale.entityCount)),
    {
      ...shared,
      name: 'entity-query',
      title: `Query 1,000 entities ${of(scale.entityCount)}`,
      prepare: (contestant) => fillTable(contestant, 'large', large(contestant)),
      round: (contestant) =>
        inTurns(contestant, async (lane) => {
          const from = numbered(Math.floor(Math.random() * (large(contestant) - 1000)));
          const filter = encodeURIComponent(`PartitionKey eq '${partition}' and RowKey ge '${from}'`);
          const query = contestant.query(`$filter=${filter}`, { answerBytes: entityAnswerBytes * 1000 });
          const path = `${contestant.tablePath('large()')}?${query}`;
          return failureOf(await lane.send({ method: 'GET', path, headers: json }));
        }),
    },
    {
      ...shared,
      name: 'entity-filter',
      title: `Filter a range of 1,000 by a property ${of(scale.entityCount)}`,
      prepare: (contestant) => fillTable(contestant, 'large', large(contestant)),
      round: (contestant) =>
        inTurns(contestant, async (lane) => {
          const from = Math.floor(Math.random() * (large(contestant) - 1000));
          const keys = `PartitionKey eq '${partition}' and RowKey ge '${numbered(from)}' and RowKey lt '${numbered(from + 1000)}'`;
          const query = contestant.query(`$filter=${encodeURIComponent(`${keys} and Age eq 41`)}`, {
            answerBytes: entityAnswerBytes * 11,
          });
          const path = `${contestant.tablePath('large()')}?${query}`;
          return failureOf(await lane.send({ method: 'GET', path, headers: json }));
        }),
    },
    {
      ...shared,
      name: 'entity-scan',
      title: `Filter that matches nothing ${of(scale.entityCount)}`,
      unit: 'entities/s',
      rounds: scale.longRounds,
      prepare: (contestant) => fillTable(contestant, 'large', large(contestant)),
      round: async (contestant) => {
        const startedAtMs = performance.now();
        await inLanes({ ports: contestant.tablePorts, connections: 1 }, (lane) => scan(contestant, lane));
        const seconds = (performance.now() - startedAtMs) / 1000;
        return { value: large(contestant) / seconds, failureCount: 0, failure: null };
      },
    },
  ];
}

const of = (count: number): string => `of ${count.toLocaleString('en')}`;

/** From page to page, to the end of the table. */
async function scan(contestant: Contestant, lane: Lane): Promise<void> {
  const filter = `$filter=${encodeURIComponent("Name eq 'nobody' or Score gt 1000000.0")}`;
  for (let words = filter; ; ) {
    const path = `${contestant.tablePath('large()')}?${contestant.query(words)}`;
    const answer = expectSuccess(await lane.send({ method: 'GET', path, headers: json }));
    const partition = headerOf(answer, 'x-ms-continuation-NextPartitionKey');
    const row = headerOf(answer, 'x-ms-continuation-NextRowKey') ?? '';
    if (partition === null) return;
    words = `${filter}&NextPartitionKey=${encodeURIComponent(partition)}&NextRowKey=${encodeURIComponent(row)}`;
  }
}

const numbered = (index: number): string => String(index).padStart(numberDigits, '0');

/** Wrk puts the number in between. */
const anyEntity = (contestant: Contestant, table: string): { path: string; pathEnd: string } => ({
  path: contestant.tablePath(`${table}(PartitionKey='${partition}',RowKey='`),
  pathEnd: "')",
});

const properties = (index: number): object => ({
  Name: `somebody number ${index}`,
  Age: index % 90,
  Score: (index % 1000) + 0.5,
  IsActive: index % 2 === 0,
  'Since@odata.type': 'Edm.DateTime',
  Since: '2024-05-01T12:34:56Z',
});

async function makeTable(contestant: Contestant, table: string): Promise<void> {
  if (contestant.name === 'bare') return;
  await contestant.startTables();
  const body = Buffer.from(JSON.stringify({ TableName: table }));
  const path = `${contestant.tablePath('Tables')}?${contestant.query()}`;
  await inLanes({ ports: contestant.tablePorts.slice(0, 1), connections: 1 }, async (lane) => {
    const answer = await lane.send({ method: 'POST', path, headers: json, body });
    if (answer.status !== 409) expectSuccess(answer);
  });
}

/** Which tables are there already, by contestant: several rows use the same ones. */
const filled = new WeakMap<Contestant, Set<string>>();

async function fillTable(contestant: Contestant, table: string, count: number): Promise<void> {
  if (contestant.name === 'bare') return;
  const tables = filled.get(contestant) ?? new Set();
  filled.set(contestant, tables);
  if (tables.has(table)) return;
  tables.add(table);
  await makeTable(contestant, table);
  let next = 0;
  const ports = contestant.tablePorts;
  await inLanes({ ports, connections: loaderCount }, async (lane) => {
    while (next < count) {
      const first = next;
      next += batchCount;
      const batch = batchOf(contestant, table, { first, count: Math.min(batchCount, count - first) });
      const failure = failureOfBatch(contestant, await lane.send(batch));
      if (failure !== null) throw new Error(failure);
    }
  });
}

/** The official client's format. */
function batchOf(
  contestant: Contestant,
  table: string,
  { first, count }: { first: number; count: number },
): LaneRequest {
  const root = `http://127.0.0.1:${contestant.tablePorts[0]}${contestant.tablePath(table)}`;
  let body = '--batch_b\r\nContent-Type: multipart/mixed; boundary=changeset_c\r\n\r\n';
  for (let index = first; index < first + count; index++) {
    body +=
      '--changeset_c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n' +
      `PUT ${root}(PartitionKey='${partition}',RowKey='${numbered(index)}') HTTP/1.1\r\n` +
      'Content-Type: application/json\r\nAccept: application/json;odata=minimalmetadata\r\n' +
      `DataServiceVersion: 3.0\r\n\r\n${JSON.stringify(properties(index))}\r\n`;
  }
  body += '--changeset_c--\r\n--batch_b--\r\n';
  const headers = [
    'Content-Type: multipart/mixed; boundary=batch_b',
    'Accept: application/json',
    'x-ms-version: 2019-02-02',
  ];
  const path = `${contestant.tablePath('$batch')}?${contestant.query()}`;
  return { method: 'POST', path, headers, body: Buffer.from(body) };
}

/** A refused batch is answered 202 too, with one part only: told by its length. */
function failureOfBatch(contestant: Contestant, answer: Answer): string | null {
  const isShort = contestant.name !== 'bare' && answer.bodyBytes < 2000;
  return failureOf(answer) ?? (isShort ? `a batch was refused (its answer has ${answer.bodyBytes} bytes)` : null);
}
