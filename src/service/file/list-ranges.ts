/**
 * List Ranges: where a file has pages of 512 bytes, or what has changed since an earlier snapshot of the share. A list that
 * is read quickly is read at once; any other holds what it lists (pages/page-holds.ts) and is read while it is sent.
 */
import { EngineUnavailable } from '../../engine/engine.ts';
import type { Moment } from '../../rules/moment.ts';
import { endOf, type Span, spanOf } from '../../rules/page-ranges.ts';
import { resolveRange, type ByteRange as WantedRange } from '../../rules/range-header.ts';
import type { PageHold } from '../pages/page-holds.ts';
import type { FileContent, FileRecord, NodePlace } from '../records/node-record.ts';
import type { RecordReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { PAGE_BYTES } from './file-bytes.ts';
import { findEarlier, loadEarlier } from './find-earlier.ts';
import { findToRead } from './get-file.ts';
import type { FoundFile } from './load.ts';
import { NOBODY, reading, type Uses } from './opens/admit.ts';
import { type ListedContents, type ListedRange, rangesStep, STEP_LIMITS, type StepLimits } from './ranges-step.ts';
import type { FileRequest } from './request.ts';

export type { ListedRange } from './ranges-step.ts';

export interface ListRangesRequest extends FileRequest {
  readonly range: WantedRange | null;
  /** What has changed since; null: all there is. */
  readonly previous: Moment | null;
  /** The file may have had another name then. */
  readonly followsRenames: boolean;
}

export interface RangeList {
  readonly node: FileRecord;
  /** In order. Whoever gets them reads them to the end, or gives them up with return(). */
  readonly ranges: AsyncIterable<ListedRange>;
}

export async function listRanges(
  storage: Storage,
  request: ListRangesRequest,
  limits: StepLimits = STEP_LIMITS,
): Promise<RangeList> {
  const { node, earlier, ranges } = await reading(storage, request, async (snapshot, reader, uses) => {
    const found = await findToList(storage, { reader, uses }, request);
    const earlier = await findPrevious(storage, reader, { found, request });
    const contents = await contentsOf(reader, found, earlier);
    const span = wantedSpan(request, found.node);
    const step = await rangesStep(snapshot, contents, span, limits);
    return { node: found.node, earlier, ranges: step.nextBytes < endOf(span) ? null : step.ranges };
  });
  if (ranges === null) return listHeld(storage, { request, earlier, limits });
  return { node, ranges: eachOf(ranges) };
}

/** More than can be read while a snapshot of the engine is kept. */
async function listHeld(
  storage: Storage,
  { request, earlier, limits }: { request: ListRangesRequest; earlier: Earlier | null; limits: StepLimits },
): Promise<RangeList> {
  const { loaded, hold } = await storage.holds.take(async (tx) => {
    // Admitted a moment ago.
    const found = await findToList(storage, { reader: tx, uses: NOBODY }, request);
    return { found, content: pagesOf(found.node.content) };
  });
  // Another file has taken its place.
  if (hold === null) return listRanges(storage, request, limits);
  const { found } = loaded;
  const holds = [hold];
  try {
    const previous = await storage.holds.take(async (tx) => {
      const contents = await contentsOf(tx, found, earlier);
      return { previous: contents.previous, content: pagesOf(contents.previous) };
    });
    if (previous.hold !== null) holds.push(previous.hold);
    const contents = { current: hold.content, previous: previous.hold?.content ?? previous.loaded.previous };
    const ranges = heldRanges(storage, { holds, contents, span: wantedSpan(request, found.node), limits });
    // Begun at once, so that whoever gives it up before the first range lets go of the holds, too.
    await ranges.next();
    return { node: found.node, ranges };
  } catch (error) {
    await releaseAll(holds);
    throw error;
  }
}

const BEGINNING: ListedRange = { kind: 'range', offsetBytes: 0, lengthBytes: 0 };

/** First its beginning, which is no range. */
async function* heldRanges(
  storage: Storage,
  at: { holds: readonly PageHold[]; contents: ListedContents; span: Span; limits: StepLimits },
): AsyncGenerator<ListedRange> {
  const { holds, contents, span, limits } = at;
  try {
    yield BEGINNING;
    let last: ListedRange | null = null;
    for (let atBytes = span.offsetBytes; atBytes < endOf(span); ) {
      const { ranges, nextBytes } = await storage.readers.inSnapshot(async (snapshot) => {
        const held = await snapshot.get(holds.map(({ key }) => key));
        // The engine took this node for dead: what was held may have been swept.
        if (held.includes(null)) throw new EngineUnavailable('a reader lost its hold on the content');
        return rangesStep(snapshot, contents, spanOf(atBytes, endOf(span)), limits);
      });
      for (const range of ranges) {
        const joined: ListedRange | null = last === null ? range : joinedWith(last, range);
        if (last !== null && joined === null) yield last;
        last = joined ?? range;
      }
      atBytes = nextBytes;
    }
    if (last !== null) yield last;
  } finally {
    await releaseAll(holds);
  }
}

/** Null: the second does not go on where the first ends. */
const joinedWith = (first: ListedRange, second: ListedRange): ListedRange | null =>
  first.kind === second.kind && endOf(first) === second.offsetBytes
    ? { kind: first.kind, ...spanOf(first.offsetBytes, endOf(second)) }
    : null;

const releaseAll = async (holds: readonly PageHold[]): Promise<void> => {
  await Promise.all(holds.map((hold) => hold.release()));
};

async function findToList(
  storage: Storage,
  { reader, uses }: { reader: RecordReader; uses: Uses },
  request: ListRangesRequest,
): Promise<FoundFile> {
  const found = await findToRead(storage, { reader, uses }, request);
  await uses.admit(found, 'list ranges');
  wantedSpan(request, found.node);
  return found;
}

/** Where the file stood when a snapshot was taken. */
interface Earlier {
  readonly moment: Moment;
  readonly place: NodePlace;
}

async function findPrevious(
  { known }: Storage,
  reader: RecordReader,
  { found, request }: { found: FoundFile; request: ListRangesRequest },
): Promise<Earlier | null> {
  const { previous: moment, name, followsRenames } = request;
  if (moment === null) return null;
  return { moment, place: await findEarlier(reader, found, { name, moment, followsRenames, known }) };
}

const contentsOf = async (
  reader: RecordReader,
  found: FoundFile,
  earlier: Earlier | null,
): Promise<ListedContents> => ({
  current: found.node.content,
  previous: earlier === null ? null : await loadEarlier(reader, found, earlier),
});

const pagesOf = (content: FileContent | null) => (content === null || content.kind === 'empty' ? null : content);

/** Whole pages, up to the end of the file. */
function wantedSpan({ range }: ListRangesRequest, { lengthBytes }: FileRecord): Span {
  const slice = range === null ? { offsetBytes: 0, lengthBytes } : resolveRange(range, lengthBytes);
  if (slice === 'unsatisfiable') {
    throw new StorageError('InvalidRange', { headers: { 'Content-Range': `bytes */${lengthBytes}` } });
  }
  const fromBytes = Math.floor(slice.offsetBytes / PAGE_BYTES) * PAGE_BYTES;
  return spanOf(fromBytes, Math.min(Math.ceil(endOf(slice) / PAGE_BYTES) * PAGE_BYTES, lengthBytes));
}

async function* eachOf(ranges: readonly ListedRange[]): AsyncGenerator<ListedRange> {
  yield* ranges;
}
