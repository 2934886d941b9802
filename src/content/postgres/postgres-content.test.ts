/** What content in a database promises beyond the contract: bounded memory, many nodes, crashes, lost connections. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, describe, test } from 'node:test';
import { freePort } from '../../../test/harness/free-port.ts';
import { freshDatabase, type TestDatabase } from '../../../test/harness/postgres.ts';
import { Random } from '../../../test/harness/random.ts';
import { Gate } from '../../../test/harness/store.ts';
import { until } from '../../../test/harness/until.ts';
import { missingTool } from '../../../test/packages.ts';
import { IdSource } from '../../base/ids.ts';
import { type Connection, Database, type Parameter, type Row } from '../../postgres/database.ts';
import { prepareSchema } from '../../postgres/schema.ts';
import { type ContentStore, ContentUnavailable, ExtentMissing, type PlacedExtent } from '../content.ts';
import { cut, each, get, put, whole } from '../contract.ts';
import { PIECE_BYTES } from './placement.ts';
import { openPostgresContent } from './postgres-content.ts';

const LIMIT_SECONDS = 20;
const HOUR_MS = 60 * 60 * 1000;
const ids = new IdSource();
const turn = () => new Promise((resolve) => setImmediate(resolve));

const key = (placement: string): Buffer => Buffer.from(placement);

let stalled: (() => void)[] = [];

/** The source of an extent of which `pieces` come at once, and the rest when it is let go. */
function stalling(bytes: Buffer, pieces: number): { source: AsyncIterable<Uint8Array>; goOn: () => void } {
  const gate = new Gate();
  stalled.push(gate.open);
  async function* source(): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, pieces * PIECE_BYTES);
    await gate.passed;
    yield bytes.subarray(pieces * PIECE_BYTES);
  }
  return { source: source(), goOn: gate.open };
}

describe('content in PostgreSQL', { skip: missingTool('postgres') }, () => {
  let fresh: TestDatabase;
  let database: Database;
  /** The test's own: whatever else is connected belongs to the stores. */
  let connection: Connection;
  let stores: ContentStore[] = [];

  before(async () => {
    fresh = await freshDatabase();
    database = new Database({ url: fresh.url });
    await prepareSchema(database);
    connection = await database.connect();
  });

  afterEach(async () => {
    for (const goOn of stalled) goOn();
    stalled = [];
    for (const store of stores) await store.close();
    stores = [];
    await ask('TRUNCATE larimar_extents, larimar_extent_pieces');
  });

  after(async () => {
    await connection.close();
    await fresh.drop();
  });

  async function openStore(options: { touchIntervalMs?: number } = {}): Promise<ContentStore> {
    const store = await openPostgresContent({ url: fresh.url, ...options });
    stores.push(store);
    return store;
  }

  const ask = (text: string, values: readonly Parameter[] = []): Promise<readonly Row[]> =>
    connection.query({ text, values });

  async function counts(): Promise<{ rows: number; pieces: number }> {
    const [row] = await ask(
      'SELECT (SELECT count(*) FROM larimar_extents), (SELECT count(*) FROM larimar_extent_pieces)',
    );
    return { rows: Number(row?.[0]), pieces: Number(row?.[1]) };
  }

  /** Resolves with their number. */
  async function endConnections(): Promise<number> {
    const rows = await ask(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    return rows.length;
  }

  const untilPieces = (pieces: number): Promise<boolean> =>
    until({ what: `${pieces} pieces are there`, limitSeconds: LIMIT_SECONDS }, async () => {
      return (await counts()).pieces >= pieces;
    });

  /** As a crash leaves it: the row, not yet whole, and the first pieces. */
  async function leaveHalf(pieceCount: number, pieces: readonly number[]): Promise<string> {
    const placement = `${ids.next()}-${randomBytes(4).toString('hex')}-${(pieceCount * PIECE_BYTES).toString(16)}`;
    await ask(`INSERT INTO larimar_extents VALUES ($1, $2, false, now())`, [key(placement), pieceCount * PIECE_BYTES]);
    for (const piece of pieces) {
      await ask('INSERT INTO larimar_extent_pieces VALUES ($1, $2, $3)', [key(placement), piece, randomBytes(100)]);
    }
    return placement;
  }

  async function untouchedFor(placement: string, ms: number): Promise<void> {
    await ask(
      `UPDATE larimar_extents SET touched_at = now() - $2::bigint * interval '1 millisecond' WHERE placement = $1`,
      [key(placement), ms],
    );
  }

  test('a writer reads its source no faster than the database takes it', async () => {
    const store = await openStore();
    const bytes = randomBytes(20 * PIECE_BYTES);
    let pulledBytes = 0;
    async function* source(): AsyncGenerator<Uint8Array> {
      for (const part of cut(bytes, PIECE_BYTES / 2)) {
        pulledBytes += part.length;
        yield part;
      }
    }
    await ask('BEGIN');
    await ask('LOCK TABLE larimar_extent_pieces IN EXCLUSIVE MODE');
    const writing = put(store, bytes, source());
    await until({ what: 'the writer is held up', limitSeconds: LIMIT_SECONDS }, async () => {
      const before = pulledBytes;
      for (let count = 0; count < 50; count++) await turn();
      const [row] = await ask('SELECT count(*) FROM pg_locks WHERE NOT granted');
      return Number(row?.[0]) > 0 && pulledBytes > 0 && pulledBytes === before;
    });
    const takenBytes = pulledBytes;
    await ask('COMMIT');
    // Three on their way, one gathered, and what the next begins with.
    assert.ok(takenBytes <= 4.5 * PIECE_BYTES, `${takenBytes} bytes were taken`);
    assert.ok((await get(store, await writing)).equals(bytes));
  });

  test('a reader has at most two pieces read ahead of it', async () => {
    const store = await openStore();
    const bytes = randomBytes(10 * PIECE_BYTES);
    const extent = await put(store, bytes);
    const reader = store.read(extent.placement, whole(extent))[Symbol.asyncIterator]();
    const pieces = [(await reader.next()).value as Uint8Array];
    await ask('DELETE FROM larimar_extent_pieces WHERE piece > 0');
    const readOn = async (): Promise<void> => {
      for (let next = await reader.next(); next.done !== true; next = await reader.next()) pieces.push(next.value);
    };
    await assert.rejects(readOn(), ExtentMissing);
    assert.ok(pieces.length <= 3, `${pieces.length} pieces`);
    assert.ok(Buffer.concat(pieces).equals(bytes.subarray(0, pieces.length * PIECE_BYTES)));
  });

  test('what comes in small parts is kept in pieces of full size', async () => {
    const store = await openStore();
    const bytes = randomBytes(3 * PIECE_BYTES + 17);
    await put(store, bytes, each(cut(bytes, 10_000)));
    const rows = await ask('SELECT octet_length(bytes) FROM larimar_extent_pieces ORDER BY piece');
    assert.deepEqual(
      rows.map((row) => Number(row[0])),
      [PIECE_BYTES, PIECE_BYTES, PIECE_BYTES, 17],
    );
  });

  test('an extent that is freed leaves nothing, however many pieces it has', async () => {
    const store = await openStore();
    const extent = await put(store, randomBytes(130 * PIECE_BYTES + 1));
    assert.deepEqual(await counts(), { rows: 1, pieces: 131 });
    await store.free(extent.placement, extent.lengthBytes);
    assert.deepEqual(await counts(), { rows: 0, pieces: 0 });
  });

  test('what is freed while it is read is missing for newcomers on every node, and goes with its last reader', async () => {
    const [store, other] = [await openStore(), await openStore()];
    const bytes = randomBytes(6 * PIECE_BYTES);
    const extent = await put(store, bytes);
    const readers = [0, 1].map(() => store.read(extent.placement, whole(extent))[Symbol.asyncIterator]());
    const firsts = await Promise.all(readers.map(async (reader) => (await reader.next()).value as Uint8Array));
    await store.free(extent.placement, extent.lengthBytes);
    for (const newcomer of [store, other]) {
      await assert.rejects(get(newcomer, extent), ExtentMissing);
      assert.equal(await newcomer.verify(extent), 'missing');
    }
    assert.deepEqual(await store.strays(each([])), { extentCount: 0, bytes: 0 }, 'what is read is no stray');
    for (const [index, reader] of readers.entries()) {
      assert.deepEqual(await counts(), { rows: 1, pieces: 6 });
      const pieces = [firsts[index] as Uint8Array];
      for (let next = await reader.next(); next.done !== true; next = await reader.next()) pieces.push(next.value);
      assert.ok(Buffer.concat(pieces).equals(bytes));
    }
    await until({ what: 'it is removed', limitSeconds: LIMIT_SECONDS }, async () => (await counts()).rows === 0);
    await store.close();
    assert.deepEqual(await counts(), { rows: 0, pieces: 0 });
  });

  test('a reader of what another node frees is told that it is missing', async () => {
    const [store, other] = [await openStore(), await openStore()];
    const extent = await put(store, randomBytes(10 * PIECE_BYTES));
    const reader = store.read(extent.placement, whole(extent))[Symbol.asyncIterator]();
    await reader.next();
    await other.free(extent.placement, extent.lengthBytes);
    const readOn = async (): Promise<void> => {
      for (let next = await reader.next(); next.done !== true; next = await reader.next());
    };
    await assert.rejects(readOn(), ExtentMissing);
  });

  test('recovery gives back what a crash left: half an extent, a row alone, pieces without their row, an extent unnamed', async () => {
    const store = await openStore();
    const named = await put(store, randomBytes(3 * PIECE_BYTES));
    const unnamed = await put(store, randomBytes(2 * PIECE_BYTES));
    await leaveHalf(5, [0, 1, 3]);
    await leaveHalf(4, []);
    const rowless = await leaveHalf(200, [130, 131]);
    await ask('DELETE FROM larimar_extents WHERE placement = $1', [key(rowless)]);
    const strays = { extentCount: 4, bytes: 2 * PIECE_BYTES + 500 };
    assert.deepEqual(await store.strays(each([named])), strays);
    assert.deepEqual(await store.recover(each([named])), strays);
    assert.equal(await store.verify(named), 'ok');
    assert.equal(await store.verify(unnamed), 'missing');
    assert.deepEqual(await counts(), { rows: 1, pieces: 3 });
  });

  test('recovery spares what was touched lately, by the clock of the database', async () => {
    const store = await openStore();
    const [young, old] = [await leaveHalf(3, [0]), await leaveHalf(3, [0])];
    const [youngWhole, oldWhole] = [await put(store, randomBytes(10)), await put(store, randomBytes(10))];
    for (const placement of [young, youngWhole.placement]) await untouchedFor(placement, HOUR_MS / 2);
    for (const placement of [old, oldWhole.placement]) await untouchedFor(placement, 2 * HOUR_MS);
    assert.deepEqual(await store.recover(each([]), { spareYoungerThanMs: HOUR_MS }), { extentCount: 2, bytes: 110 });
    const left = await ask('SELECT placement FROM larimar_extents ORDER BY placement');
    assert.deepEqual(
      left.map((row) => String(row[0])),
      [young, youngWhole.placement],
    );
    assert.deepEqual(await counts(), { rows: 2, pieces: 2 });
  });

  test('recovery walks along any number of extents, live or not, of one id or of several', async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const store = await openStore();
    const live: PlacedExtent[] = [];
    const rows: string[] = [];
    const pieces: string[] = [];
    const strays = new Set<string>();
    for (let count = 0; count < 700; count++) {
      const id = ids.next();
      for (let copy = random.below(3); copy >= 0; copy--) {
        const placement = `${id}-${random.bytes(4).toString('hex')}-1`;
        const isLive = live.at(-1)?.id !== id && random.chance(0.5);
        // Of pieces without a row there is more than a page as well.
        const hasRow = isLive || random.chance(count < 600 ? 0 : 0.6);
        if (isLive) live.push({ id, placement, lengthBytes: 1 });
        else strays.add(placement);
        if (hasRow) rows.push(placement);
        pieces.push(placement);
      }
    }
    await ask(
      `INSERT INTO larimar_extents SELECT convert_to(p, 'UTF8'), 1, true, now() FROM unnest(string_to_array($1, ' ')) AS p`,
      [rows.join(' ')],
    );
    await ask(
      `INSERT INTO larimar_extent_pieces SELECT convert_to(p, 'UTF8'), 0, '\\x00' FROM unnest(string_to_array($1, ' ')) AS p`,
      [pieces.join(' ')],
    );
    const report = { extentCount: strays.size, bytes: strays.size };
    assert.deepEqual(await store.strays(each(live)), report);
    assert.deepEqual(await store.recover(each(live)), report);
    const names = live.map(({ placement }) => placement).sort();
    for (const table of ['larimar_extents', 'larimar_extent_pieces']) {
      const left = await ask(`SELECT placement FROM ${table} ORDER BY placement`);
      assert.deepEqual(
        left.map((row) => String(row[0])),
        names,
        table,
      );
    }
  });

  test('recovery lets go of the records when it needs no more of them', async () => {
    const store = await openStore();
    await put(store, randomBytes(10));
    let isLetGo = false;
    async function* live(): AsyncGenerator<PlacedExtent> {
      try {
        for (;;) {
          const id = ids.next();
          yield { id, placement: `${id}-00000000-1`, lengthBytes: 1 };
        }
      } finally {
        isLetGo = true;
      }
    }
    assert.equal((await store.recover(live())).extentCount, 1);
    assert.ok(isLetGo);
  });

  test('recovery refuses records of another store, or out of order, instead of removing what they name', async () => {
    const store = await openStore();
    const extents: PlacedExtent[] = [];
    for (let count = 0; count < 3; count++) extents.push(await put(store, randomBytes(10)));
    const [first, second, third] = extents as [PlacedExtent, PlacedExtent, PlacedExtent];
    const foreign = { id: ids.next(), placement: 'bucket/key', lengthBytes: 1 };
    await assert.rejects(store.recover(each([foreign])), /never wrote/);
    await assert.rejects(store.recover(each([second, first, third])), /out of order/);
    for (const extent of extents) assert.equal(await store.verify(extent), 'ok');
  });

  test('what a later release wrote in another form is left alone', async () => {
    const store = await openStore();
    await ask(`INSERT INTO larimar_extents VALUES ('z1-something-new', 5, true, now())`);
    await ask(`INSERT INTO larimar_extent_pieces VALUES ('z1-something-new', 0, 'bytes')`);
    assert.deepEqual(await store.recover(each([])), { extentCount: 0, bytes: 0 });
    assert.deepEqual(await counts(), { rows: 1, pieces: 1 });
  });

  test('an extent that is being written is touched while its source stalls, and spared by other nodes', async () => {
    const [store, other] = [await openStore({ touchIntervalMs: 20 }), await openStore()];
    const bytes = randomBytes(4 * PIECE_BYTES);
    const { source, goOn } = stalling(bytes, 2);
    const writing = put(store, bytes, source);
    await untilPieces(1);
    await ask(`UPDATE larimar_extents SET touched_at = now() - interval '1 day'`);
    await until({ what: 'it is touched', limitSeconds: LIMIT_SECONDS }, async () => {
      const [row] = await ask(`SELECT touched_at > now() - interval '1 hour' FROM larimar_extents`);
      return row?.[0] === true;
    });
    const nothing = { extentCount: 0, bytes: 0 };
    assert.deepEqual(await other.recover(each([]), { spareYoungerThanMs: HOUR_MS }), nothing);
    assert.deepEqual(await store.recover(each([])), nothing, 'the node that writes knows it anyway');
    goOn();
    assert.ok((await get(other, await writing)).equals(bytes));
  });

  test('a writer whose extent was taken for a stray is told so, and leaves nothing', async () => {
    const [store, other] = [await openStore(), await openStore()];
    const bytes = randomBytes(4 * PIECE_BYTES);
    const { source, goOn } = stalling(bytes, 2);
    const writing = put(store, bytes, source);
    const rejected = assert.rejects(writing, ContentUnavailable);
    await untilPieces(1);
    assert.equal((await other.recover(each([]))).extentCount, 1);
    goOn();
    await rejected;
    await store.close();
    assert.deepEqual(await counts(), { rows: 0, pieces: 0 });
  });

  test('an extent counts only when it is whole', async () => {
    const [store, other] = [await openStore(), await openStore()];
    const bytes = randomBytes(4 * PIECE_BYTES);
    const { source, goOn } = stalling(bytes, 3);
    const writing = put(store, bytes, source);
    await untilPieces(2);
    const [row] = await ask('SELECT placement FROM larimar_extents');
    const extent = { id: ids.next(), placement: String(row?.[0]), lengthBytes: bytes.length };
    await assert.rejects(get(other, extent, { offsetBytes: 0, lengthBytes: 1 }), ExtentMissing);
    assert.equal(await other.verify(extent), 'missing');
    goOn();
    assert.equal(await other.verify(await writing), 'ok');
  });

  test('a write whose connections are lost half-way goes on', async () => {
    const store = await openStore();
    const bytes = randomBytes(12 * PIECE_BYTES);
    const { source, goOn } = stalling(bytes, 6);
    const writing = put(store, bytes, source);
    await untilPieces(3);
    assert.ok((await endConnections()) > 0);
    goOn();
    const extent = await writing;
    assert.equal(await store.verify(extent), 'ok');
    assert.ok((await get(store, extent)).equals(bytes));
  });

  test('a read whose connections are lost half-way goes on', async () => {
    const store = await openStore();
    const bytes = randomBytes(12 * PIECE_BYTES);
    const extent = await put(store, bytes);
    const pieces: Uint8Array[] = [];
    for await (const piece of store.read(extent.placement, whole(extent))) {
      pieces.push(piece);
      if (pieces.length % 4 === 1) assert.ok((await endConnections()) > 0);
    }
    assert.ok(Buffer.concat(pieces).equals(bytes));
  });

  test('writers, readers and sweepers come through lost connections with the right bytes and no leftovers', async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const store = await openStore();
    const live = new Map<PlacedExtent, Buffer>();
    let endedCount = 0;
    async function* disturbed(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const part of parts) {
        if (endedCount === 0 || random.chance(0.08)) endedCount += await endConnections();
        yield part;
      }
    }
    const client = async (): Promise<void> => {
      for (let step = 0; step < 4; step++) {
        const bytes = random.bytes(1 + random.below(6 * PIECE_BYTES));
        const extent = await put(store, bytes, disturbed(each(cut(bytes, 100_000))));
        const read: Uint8Array[] = [];
        for await (const piece of disturbed(store.read(extent.placement, whole(extent)))) read.push(piece);
        assert.ok(Buffer.concat(read).equals(bytes));
        if (random.chance(0.5)) await store.free(extent.placement, extent.lengthBytes);
        else live.set(extent, bytes);
      }
    };
    await Promise.all(Array.from({ length: 4 }, client));
    const named = [...live.keys()].sort((a, b) => (a.id < b.id ? -1 : 1));
    await store.recover(each(named));
    for (const [extent, bytes] of live) assert.ok((await get(store, extent)).equals(bytes));
    assert.equal((await counts()).rows, live.size);
    assert.deepEqual(await store.strays(each(named)), { extentCount: 0, bytes: 0 });
  });

  test('a database that cannot be reached is ContentUnavailable, to readers and writers', async () => {
    const url = new URL(fresh.url);
    url.port = String(await freePort());
    const store = await openPostgresContent({ url: url.href });
    const id = ids.next();
    const extent = { id, placement: `${id}-00000000-a`, lengthBytes: 10 };
    await Promise.all([
      assert.rejects(get(store, extent), ContentUnavailable),
      assert.rejects(put(store, randomBytes(10)), ContentUnavailable),
      assert.rejects(put(store, randomBytes(PIECE_BYTES + 1)), ContentUnavailable),
      assert.rejects(store.free(extent.placement, 10), ContentUnavailable),
    ]);
    await store.close();
  });

  test('an error that is not of the moment is thrown as it is', async () => {
    const bare = await freshDatabase();
    const store = await openPostgresContent({ url: bare.url });
    await assert.rejects(put(store, randomBytes(10)), (error: { code?: string }) => error.code === '42P01');
    await store.close();
    await bare.drop();
  });

  test('a piece that is gone or too short makes an extent damaged', async () => {
    const store = await openStore();
    const [gapped, cutOff, swapped] = [
      await put(store, randomBytes(3 * PIECE_BYTES)),
      await put(store, randomBytes(3 * PIECE_BYTES)),
      await put(store, randomBytes(3 * PIECE_BYTES)),
    ];
    await ask('DELETE FROM larimar_extent_pieces WHERE placement = $1 AND piece = 1', [key(gapped.placement)]);
    await ask(`UPDATE larimar_extent_pieces SET bytes = 'short' WHERE placement = $1 AND piece = 1`, [
      key(cutOff.placement),
    ]);
    await ask('UPDATE larimar_extent_pieces SET piece = 7 WHERE placement = $1 AND piece = 1', [
      key(swapped.placement),
    ]);
    for (const extent of [gapped, cutOff, swapped]) {
      assert.equal(await store.verify(extent), 'damaged');
      await assert.rejects(get(store, extent));
    }
    await assert.rejects(get(store, cutOff), /ends at/);
  });

  test('an id that is not ours never reaches the database', async () => {
    const store = await openStore();
    for (const id of ['', 'ABCDEFABCDEFABCDEFABCDEF', `${ids.next()}x`]) {
      await assert.rejects(store.write(id, each([randomBytes(1)]), 1), /not an extent's id/);
    }
    assert.deepEqual(await counts(), { rows: 0, pieces: 0 });
  });

  test('a closed store waits for its writers and refuses newcomers', async () => {
    const store = await openStore();
    const bytes = randomBytes(4 * PIECE_BYTES);
    const { source, goOn } = stalling(bytes, 2);
    const writing = put(store, bytes, source);
    await untilPieces(1);
    const closing = store.close();
    await assert.rejects(put(store, bytes), /closed/);
    goOn();
    const extent = await writing;
    await closing;
    await assert.rejects(get(store, extent), /closed/);
    assert.ok((await get(await openStore(), extent)).equals(bytes));
  });
});
