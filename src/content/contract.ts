/**
 * What every content store promises, as tests. Run over each adapter by content.test.ts. A subject can be opened again
 * and again over the same bytes, as after a restart.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type Id, IdSource } from '../base/ids.ts';
import {
  type ByteRange,
  type ContentStore,
  ExtentMissing,
  type PlacedExtent,
  SourceLengthMismatch,
} from './content.ts';

export interface ContentSubject {
  open(): Promise<ContentStore>;
  /** After every test. */
  dispose(): Promise<void>;
}

export interface ContentTraits {
  /** Sizes at which the store changes how it keeps or moves bytes; each is tried, with one byte less and one more. */
  readonly boundariesBytes: readonly number[];
}

const ids = new IdSource();

export function contentContract(name: string, prepare: () => Promise<ContentSubject>, traits: ContentTraits): void {
  describe(`content: ${name}`, () => {
    let subject: ContentSubject;
    let store: ContentStore;

    beforeEach(async () => {
      subject = await prepare();
      store = await subject.open();
      await store.recover(each([]));
    });

    afterEach(async () => {
      await store.close();
      await subject.dispose();
    });

    const sizesBytes = [...new Set([1, ...traits.boundariesBytes.flatMap((size) => [size - 1, size, size + 1])])];
    const largestBytes = Math.max(...sizesBytes);

    for (const lengthBytes of sizesBytes) {
      test(`an extent of ${lengthBytes} bytes is read back as it was written`, async () => {
        const bytes = randomBytes(lengthBytes);
        const extent = await put(store, bytes);
        assert.ok((await get(store, extent)).equals(bytes));
        assert.equal(await store.verify(extent), 'ok');
      });
    }

    test('the size of the pieces that come in does not matter', async () => {
      const bytes = randomBytes(largestBytes);
      for (const pieceBytes of [977, 65_536, 3_000_000]) {
        const extent = await put(store, bytes, slowly(cut(bytes, pieceBytes)));
        assert.ok((await get(store, extent)).equals(bytes), `in pieces of ${pieceBytes}`);
      }
      const withEmptyPieces = [new Uint8Array(0), bytes, new Uint8Array(0)];
      assert.ok((await get(store, await put(store, bytes, each(withEmptyPieces)))).equals(bytes));
    });

    for (const lengthBytes of [50_000, largestBytes]) {
      test(`any range of an extent of ${lengthBytes} bytes can be read alone`, async () => {
        const bytes = randomBytes(lengthBytes);
        const extent = await put(store, bytes);
        for (const range of rangesOf(lengthBytes, traits.boundariesBytes)) {
          const end = range.offsetBytes + range.lengthBytes;
          const part = bytes.subarray(range.offsetBytes, end);
          assert.ok((await get(store, extent, range)).equals(part), `${range.offsetBytes} to ${end}`);
        }
      });

      test(`a range beyond the ${lengthBytes} bytes of an extent is refused, with neighbours on both sides`, async () => {
        const neighbours = await Promise.all([0, 1, 2].map(() => put(store, randomBytes(lengthBytes))));
        const extent = neighbours[1] as PlacedExtent;
        for (const range of [
          { offsetBytes: 0, lengthBytes: lengthBytes + 1 },
          { offsetBytes: lengthBytes, lengthBytes: 1 },
          { offsetBytes: -1, lengthBytes: 1 },
        ]) {
          await assert.rejects(get(store, extent, range), RangeError);
        }
      });

      test(`a source that throws rejects a write of ${lengthBytes} bytes with its own error`, async () => {
        const broken = new Error('the client went away');
        const source = async function* () {
          yield randomBytes(lengthBytes / 2);
          throw broken;
        };
        await assert.rejects(store.write(ids.next(), source(), lengthBytes), (error) => error === broken);
        await leftNothing();
      });

      test(`a source that ends before ${lengthBytes} bytes rejects the write`, async () => {
        const source = each([randomBytes(lengthBytes - 1)]);
        await assert.rejects(store.write(ids.next(), source, lengthBytes), SourceLengthMismatch);
        await leftNothing();
      });

      test(`a source that goes beyond ${lengthBytes} bytes rejects the write and is let go`, async () => {
        let returned = false;
        const source = async function* () {
          try {
            yield randomBytes(lengthBytes);
            yield randomBytes(1);
            yield randomBytes(1);
            assert.fail('the source was read on');
          } finally {
            returned = true;
          }
        };
        await assert.rejects(store.write(ids.next(), source(), lengthBytes), SourceLengthMismatch);
        assert.ok(returned);
        await leftNothing();
      });

      test(`a failed write of ${lengthBytes} bytes does no harm to those beside it`, async () => {
        const bytes = Array.from({ length: 12 }, () => randomBytes(lengthBytes));
        const writes = bytes.map((body, index) =>
          index % 3 === 0
            ? store.write(ids.next(), each([body.subarray(1)]), lengthBytes).then(
                () => assert.fail('a short source was taken'),
                () => null,
              )
            : put(store, body, slowly(cut(body, 20_000))),
        );
        for (const [index, extent] of (await Promise.all(writes)).entries()) {
          if (extent !== null) assert.ok((await get(store, extent)).equals(bytes[index] as Buffer));
        }
      });

      test(`a reader of ${lengthBytes} bytes that has started finishes although the extent is freed`, async () => {
        const bytes = randomBytes(lengthBytes);
        const extent = await put(store, bytes);
        const reader = store.read(extent.placement, whole(extent))[Symbol.asyncIterator]();
        const pieces = [(await reader.next()).value as Uint8Array];
        await store.free(extent.placement, lengthBytes);
        for (let next = await reader.next(); next.done !== true; next = await reader.next()) pieces.push(next.value);
        assert.ok(Buffer.concat(pieces).equals(bytes));
      });

      test(`a freed extent of ${lengthBytes} bytes is missing, and freeing it again does nothing`, async () => {
        const [gone, kept] = [await put(store, randomBytes(lengthBytes)), await put(store, randomBytes(lengthBytes))];
        assert.equal((await get(store, gone)).length, lengthBytes);
        for (let time = 0; time < 3; time++) await store.free(gone.placement, lengthBytes);
        assert.equal(await store.verify(gone), 'missing');
        await assert.rejects(get(store, gone), ExtentMissing);
        assert.equal(await store.verify(kept), 'ok');
        assert.equal((await get(store, kept)).length, lengthBytes);
      });

      test(`verify tells an extent of ${lengthBytes} bytes from another id and another length`, async () => {
        const extent = await put(store, randomBytes(lengthBytes));
        assert.equal(await store.verify({ ...extent, id: ids.next() }), 'damaged');
        assert.equal(await store.verify({ ...extent, lengthBytes: lengthBytes - 1 }), 'damaged');
      });

      test(`recovery keeps what records name, and drops the other extents of ${lengthBytes} bytes`, async () => {
        const bytes = Array.from({ length: 8 }, () => randomBytes(lengthBytes));
        const extents = await Promise.all(bytes.map((body) => put(store, body)));
        const isNamed = extents.map((_, index) => index % 4 === 1);
        await reopen(extents.filter((_, index) => isNamed[index]));
        for (const [index, extent] of extents.entries()) {
          assert.equal(await store.verify(extent), isNamed[index] ? 'ok' : 'missing');
          if (isNamed[index]) assert.ok((await get(store, extent)).equals(bytes[index] as Buffer));
          else await assert.rejects(get(store, extent), ExtentMissing);
        }
      });

      test(`${lengthBytes} bytes that no record names are reported as strays, left alone, and recovered`, async () => {
        const extents = await Promise.all([0, 1, 2].map(() => put(store, randomBytes(lengthBytes))));
        await store.close();
        store = await subject.open();
        assert.deepEqual(await store.strays(each(extents)), { extentCount: 0, bytes: 0 });
        for (const extent of extents) assert.equal(await store.verify(extent), 'ok');
        const strays = await store.strays(each([]));
        assert.equal(strays.extentCount, 3);
        assert.ok(strays.bytes >= 3 * lengthBytes);
        assert.deepEqual(await store.recover(each([])), strays);
        for (const extent of extents) assert.equal(await store.verify(extent), 'missing');
        assert.deepEqual(await store.strays(each([])), { extentCount: 0, bytes: 0 });
      });
    }

    test('many writers of many sizes at once each get their own bytes back', async () => {
      const bytes = Array.from({ length: 60 }, (_, index) =>
        randomBytes(sizesBytes[index % sizesBytes.length] as number),
      );
      const extents = await Promise.all(bytes.map((body) => put(store, body, slowly(cut(body, 100_000)))));
      const read = await Promise.all(extents.map((extent) => get(store, extent)));
      for (const [index, body] of bytes.entries()) assert.ok(read[index]?.equals(body), `writer ${index}`);
    });

    test('a reader that gives up half-way leaves the extent to others', async () => {
      const bytes = randomBytes(largestBytes);
      const extent = await put(store, bytes);
      for await (const piece of store.read(extent.placement, whole(extent))) {
        assert.ok(piece.length > 0);
        break;
      }
      assert.ok((await get(store, extent)).equals(bytes));
    });

    test('pieces given out stay as they are while the reader goes on', async () => {
      const bytes = randomBytes(largestBytes);
      const extent = await put(store, bytes);
      const pieces: Uint8Array[] = [];
      for await (const piece of store.read(extent.placement, whole(extent))) pieces.push(piece);
      assert.ok(Buffer.concat(pieces).equals(bytes));
    });

    test('a placement that the store never gave is missing', async () => {
      const extent = { id: ids.next(), placement: '../../secret', lengthBytes: 1 };
      await assert.rejects(get(store, extent), ExtentMissing);
      assert.equal(await store.verify(extent), 'missing');
      await store.free(extent.placement, 1);
    });

    test('an extent without bytes is refused', async () => {
      await assert.rejects(store.write(ids.next(), each([]), 0), RangeError);
    });

    test('an extent can be written anew under its id, and the old place freed', async () => {
      const bytes = randomBytes(50_000);
      const old = await put(store, bytes);
      const placement = await store.write(old.id, store.read(old.placement, whole(old)), old.lengthBytes);
      await store.free(old.placement, old.lengthBytes);
      const moved = { ...old, placement };
      assert.equal(await store.verify(old), 'missing');
      assert.equal(await store.verify(moved), 'ok');
      assert.ok((await get(store, moved)).equals(bytes));
    });

    async function reopen(live: readonly PlacedExtent[]): Promise<void> {
      await store.close();
      store = await subject.open();
      await store.recover(each(live));
    }

    /** Nothing that a record could name is left, so a recovery without names removes everything there is. */
    async function leftNothing(): Promise<void> {
      await reopen([]);
      assert.deepEqual(await store.strays(each([])), { extentCount: 0, bytes: 0 });
    }
  });
}

/** Writes a new extent. */
export async function put(
  store: ContentStore,
  bytes: Uint8Array,
  source: AsyncIterable<Uint8Array> = each([bytes]),
): Promise<PlacedExtent> {
  const id: Id = ids.next();
  return { id, placement: await store.write(id, source, bytes.length), lengthBytes: bytes.length };
}

export async function get(store: ContentStore, extent: PlacedExtent, range = whole(extent)): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of store.read(extent.placement, range)) pieces.push(piece);
  return Buffer.concat(pieces);
}

export const whole = ({ lengthBytes }: PlacedExtent): ByteRange => ({ offsetBytes: 0, lengthBytes });

export async function* each<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

/** A source that gives way to everything else between two pieces. */
export async function* slowly<T>(items: Iterable<T>): AsyncGenerator<T> {
  for (const item of items) {
    await new Promise((resolve) => setImmediate(resolve));
    yield item;
  }
}

export function* cut(bytes: Uint8Array, pieceBytes: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

function rangesOf(lengthBytes: number, boundariesBytes: readonly number[]): ByteRange[] {
  const points = [0, 1, lengthBytes - 1, lengthBytes];
  for (const boundary of boundariesBytes) points.push(boundary - 1, boundary, boundary + 1);
  const inside = [...new Set(points)].filter((point) => point <= lengthBytes);
  return inside.flatMap((start) =>
    inside.filter((end) => end >= start).map((end) => ({ offsetBytes: start, lengthBytes: end - start })),
  );
}
