/**
 * A long scan costs the server neither its memory nor its other clients: queries that look at 200,000 entities and match
 * none run several at once, and the peak of the process's resident memory stays within a bound; and whoever reads one
 * entity is answered between the steps of a scan. The bound is about memory, generous, and says nothing of speed. Linux
 * only, where the peak is read from /proc.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { openStore } from '../../src/main.ts';
import { openStorage } from '../../src/service/open-storage.ts';
import { changeEntities } from '../../src/service/table/change-entities.ts';
import { createTable } from '../../src/service/table/create-table.ts';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import type { Place } from '../harness/engines.ts';
import { startInProcess } from '../harness/in-process.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { entityPath, sendTable, type TableResponse } from '../harness/table-http.ts';

const MIB = 1024 * 1024;
const ENTITY_COUNT = 200_000;
const COMMIT_COUNT = 200;
const SCANS_AT_ONCE = 5;
/** A fraction of what all of them would take if scans held what they look at. */
const GROWTH_MAX_BYTES = 300 * MIB;
const MATCHES_NOTHING = encodeURIComponent(`Text eq 'nowhere' or Number lt 0`);
/** A step of a scan looks at no more than some hundreds. */
const ENTITIES_PER_READ_MAX = 20_000;
const TABLE = 'many';
const READ_PATH = entityPath(TABLE, 'p100', 'r500');

const folder = await mkdtemp(join(tmpdir(), 'larimar-scan-'));
const place: Place = {
  store: { data: folder },
  remove: () => rm(folder, { recursive: true, force: true }),
  abandon: () => rmSync(folder, { recursive: true, force: true }),
};
before(fill);
after(() => place.remove());

const rethrow = (error: unknown): never => {
  throw error;
};

/** Straight into the store: over HTTP it would take minutes. */
async function fill(): Promise<void> {
  const store = await openStore(place.store);
  const { storage, close } = await openStorage({ ...store, clock: systemClock, onError: rethrow });
  const name = { account: DEVELOPMENT_ACCOUNT.name, table: TABLE };
  await createTable(storage, name);
  const rowCount = ENTITY_COUNT / COMMIT_COUNT;
  for (let partition = 0; partition < COMMIT_COUNT; partition++) {
    const changes = Array.from({ length: rowCount }, (_, row) => ({
      key: { partitionKey: `p${partition}`, rowKey: `r${row}` },
      change: {
        kind: 'insert' as const,
        properties: [
          ['Text', { type: 'Edm.String' as const, value: `text ${row}` }],
          ['Number', { type: 'Edm.Int32' as const, value: row }],
        ] as const,
      },
    }));
    assert.ok('changed' in (await changeEntities(storage, name, changes)));
  }
  await close();
  await store.close();
}

/** To its end, page by page. How many entities and pages there were. */
async function scan(url: string, query: string): Promise<{ entities: number; pages: number }> {
  let entities = 0;
  let pages = 0;
  for (let next: string | null = ''; next !== null; pages++) {
    const answer = await sendTable(url, { method: 'GET', path: `/${TABLE}()?${query}${next}` });
    assert.equal(answer.outcome, '200');
    entities += (answer.json as { value: unknown[] }).value.length;
    next = continuationOf(answer);
  }
  return { entities, pages };
}

function continuationOf({ headers }: TableResponse): string | null {
  const partition = headers['x-ms-continuation-nextpartitionkey'];
  const row = headers['x-ms-continuation-nextrowkey'];
  return typeof partition === 'string' ? `&NextPartitionKey=${partition}&NextRowKey=${String(row)}` : null;
}

test('the memory of a server does not follow the number of entities that are scanned', async (t) => {
  if (!existsSync('/proc/self/status')) return t.skip('needs /proc');
  const server = await startServerProcess({ place });
  try {
    const memoryBytes = async (field: 'VmRSS' | 'VmHWM'): Promise<number> => {
      const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
      return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
    };
    const startBytes = await memoryBytes('VmRSS');
    const scans = Array.from({ length: SCANS_AT_ONCE }, () => scan(server.tableUrl, `$filter=${MATCHES_NOTHING}`));
    for (const { entities } of await Promise.all(scans)) assert.equal(entities, 0);
    const { entities, pages } = await scan(server.tableUrl, '$select=RowKey');
    assert.equal(entities, ENTITY_COUNT);
    assert.ok(pages >= ENTITY_COUNT / 1_000);
    const growthBytes = (await memoryBytes('VmHWM')) - startBytes;
    t.diagnostic(`grew by ${Math.round(growthBytes / MIB)} MiB at the peak`);
    assert.ok(growthBytes < GROWTH_MAX_BYTES, `grew by ${Math.round(growthBytes / MIB)} MiB at the peak`);
  } finally {
    await server.stop();
  }
});

describe('whoever reads one entity', () => {
  /** Server and clients share one thread and take turns, so counts tell, however fast or busy the machine is. */
  test('is answered between the steps of a scan', async (t) => {
    const { tableUrl } = await startInProcess({ place });
    const ended = new AbortController();
    const scanned = scan(tableUrl, `$filter=${MATCHES_NOTHING}`).finally(() => ended.abort());
    let readCount = 0;
    while (!ended.signal.aborted) {
      assert.equal((await sendTable(tableUrl, { method: 'GET', path: READ_PATH })).outcome, '200');
      readCount += 1;
    }
    assert.equal((await scanned).entities, 0);
    t.diagnostic(`${readCount} reads beside one scan of ${ENTITY_COUNT} entities`);
    assert.ok(readCount >= ENTITY_COUNT / ENTITIES_PER_READ_MAX, `${readCount} reads`);
  });
});
