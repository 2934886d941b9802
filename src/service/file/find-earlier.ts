/** A file as an earlier snapshot of its share has it, to be held against what it is now. */
import type { Moment } from '../../rules/moment.ts';
import type { FileContent, NodePlace } from '../records/node-record.ts';
import type { RecordReader } from '../records/record-reader.ts';
import type { ShareSnapshotRecord } from '../records/share-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { findPlaceThen } from './find-then.ts';
import { type FileName, type Found, type FoundFile, findNode, findPast, loadSnapshot } from './load.ts';

/** Where it stood then. Refused where it was not there, or where it was and may not have had another name. */
export async function findEarlier(
  reader: RecordReader,
  found: FoundFile,
  {
    name,
    moment,
    followsRenames,
    known,
  }: { name: FileName; moment: Moment; followsRenames: boolean } & Pick<Storage, 'known'>,
): Promise<NodePlace> {
  const { tree, node, place, share, snapshot } = found;
  const { epoch } = await loadPrevious(reader, found, moment);
  if (epoch > (snapshot ?? share).epoch) throw new StorageError('PreviousSnapshotCannotBeNewer');
  const there = await findThere(reader, { ...name, snapshot: moment }, known);
  if (there?.node?.id === node.id) return there.place;
  const then = await findPlaceThen(reader, tree, { ...node, place, epoch });
  if (then === null) throw there?.node ? begunAnew() : new StorageError('ResourceNotFound');
  if (!followsRenames) throw begunAnew();
  return then;
}

/** What it held then. Refused where it has been replaced since: there is nothing to tell the two apart by. */
export async function loadEarlier(
  reader: RecordReader,
  found: FoundFile,
  { moment, place }: { moment: Moment; place: NodePlace },
): Promise<FileContent> {
  const { epoch } = await loadPrevious(reader, found, moment);
  const then = await findPast(reader, found.tree, place, epoch);
  const isSame = then?.kind === 'file' && then.id === found.node.id && then.contentSince === found.node.contentSince;
  if (!isSame) throw begunAnew();
  return then.content;
}

/** What the path led to then; null: to nothing. */
async function findThere(reader: RecordReader, name: FileName, known: Storage['known']): Promise<Found | null> {
  try {
    return await findNode(reader, name, known);
  } catch (error) {
    if (error instanceof StorageError && error.code === 'ParentNotFound') return null;
    throw error;
  }
}

async function loadPrevious(reader: RecordReader, { tree }: Found, moment: Moment): Promise<ShareSnapshotRecord> {
  try {
    return await loadSnapshot(reader, tree, moment);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new StorageError('PreviousSnapshotNotFound');
  }
}

const begunAnew = (): StorageError =>
  new StorageError('FileGenerationMismatch', {
    message: 'The file has been recreated, or renamed, since the previous snapshot was taken.',
  });
