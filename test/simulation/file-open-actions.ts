/**
 * What an SMB client does with a file: it opens it, or makes it, writes and cuts it through the open, and closes it. The file has no new
 * ETag before that.
 */
import { afterWrite } from '../../src/rules/lease.ts';
import { ALL_ACCESS } from '../../src/rules/share-mode.ts';
import { type Disposition, type OpenOrCreated, openOrCreate } from '../../src/service/file/opens/open-or-create.ts';
import { resizeOpen, zeroOpen } from '../../src/service/file/opens/resize-open.ts';
import type { ThroughOpen } from '../../src/service/file/opens/through-open.ts';
import { writeOpen } from '../../src/service/file/opens/write-open.ts';
import type { Storage } from '../../src/service/storage.ts';
import { type Action, action, fileNameOf } from './file-action.ts';
import { describe, LENGTHS, nodeIn, type Target } from './file-actions.ts';
import { type FileModel, type ModelFile, meet } from './file-model.ts';

const DISPOSITIONS: readonly Disposition[] = [
  'open or create',
  'open or create',
  'open',
  'create',
  'overwrite or create',
  'supersede',
];
const ARCHIVE = 0x20;
const BEYOND_END_BYTES_MAX = 2_000;

const CLIENT = { ip: '10.0.0.5:50312', name: 'desktop', sessionId: '1' };

/** What a client has open. */
export interface OpenedFile extends ThroughOpen {
  /** With the model as it is by now. */
  target: Target;
  hasWritten: boolean;
}

/** `opened` is told what is open then. The target is a file, or nothing yet. */
export function openAction(target: Target, opened: (file: OpenedFile) => void): Action {
  const { random, share, path } = target;
  const disposition = random.pick(DISPOSITIONS);
  const request = {
    name: fileNameOf(share, path),
    disposition,
    kind: null,
    access: ALL_ACCESS,
    share: ALL_ACCESS,
    isAtMost: false,
    attributes: ARCHIVE,
    descriptor: null,
    allocationBytes: 0,
    leasedNode: () => null,
    client: CLIENT,
  };
  const fileBefore = (model: FileModel): ModelFile | null => nodeIn(model, target) as ModelFile | null;
  return action<OpenOrCreated>({
    what: `${disposition} ${describe(target)} over SMB`,
    async act(storage) {
      const done = await openOrCreate(storage, request, { breakCaching() {}, closed() {} }, {});
      opened({ openId: done.id, name: done.name, place: done.place, target, hasWritten: false });
      return done;
    },
    expected(model) {
      const met = meet(model.rootOf(share, null), path);
      if ('refusal' in met) return met.refusal;
      const before = fileBefore(model);
      if (before === null) return disposition === 'open' ? 'ResourceNotFound' : null;
      if (disposition === 'create') return 'ResourceAlreadyExists';
      return before.lease.state === 'leased' ? 'SharingViolation' : null;
    },
    judge(model, { action: did, node: { id, etag } }) {
      const before = fileBefore(model);
      if (before === null) {
        const name = path.at(-1) as string;
        const made: ModelFile = {
          kind: 'file',
          id,
          name,
          etag,
          metadata: [],
          bytes: NOTHING,
          lease: { state: 'available' },
        };
        return did === 'created' ? model.put(share, path, made) : `${did}, expected it to be created`;
      }
      if (before.id !== id) return `the file ${id}, expected ${before.id}`;
      if (did === 'opened') return before.etag === etag ? model : 'opening gives no ETag';
      return model.put(share, path, { ...before, etag, bytes: NOTHING, lease: afterWrite(before.lease) });
    },
    gives: ({ action: did, node: { etag } }) => (did === 'opened' ? null : etag),
  });
}

const NOTHING = Buffer.alloc(0);

/** A change of the bytes: who closes the open later knows of it. */
function changeOpenAction(
  opened: OpenedFile,
  {
    what,
    act,
    changed,
  }: { what: string; act: (storage: Storage) => Promise<void>; changed: (bytes: Buffer) => Buffer },
): Action {
  const { target } = opened;
  return action({
    what: `${what} ${describe(target)} over SMB`,
    async act(storage) {
      await act(storage);
      opened.hasWritten = true;
    },
    expected: () => null,
    judge(model) {
      const file = nodeIn(model, target) as ModelFile;
      return model.put(target.share, target.path, { ...file, bytes: changed(file.bytes) });
    },
  });
}

/** Over what is there, over its end, beyond it, and at it, wherever that is by then. */
export function writeOpenAction(opened: OpenedFile): Action {
  const { target } = opened;
  const { random, model } = target;
  const bytes = random.bytes(Math.max(1, random.pick(LENGTHS)));
  const length = (nodeIn(model, target) as ModelFile | null)?.bytes.length ?? 0;
  const dice = random.next();
  const offsetBytes = dice < 0.25 ? 'end' : random.below(length + (dice < 0.5 ? BEYOND_END_BYTES_MAX : 1));
  return changeOpenAction(opened, {
    what: `write ${bytes.length} at ${offsetBytes} of`,
    act: (storage) => writeOpen(storage, opened, { offsetBytes, bytes }, {}),
    changed(before) {
      const at = offsetBytes === 'end' ? before.length : offsetBytes;
      const after = Buffer.concat([before], Math.max(before.length, at + bytes.length));
      after.set(bytes, at);
      return after;
    },
  });
}

export function resizeOpenAction(opened: OpenedFile): Action {
  const toBytes = opened.target.random.pick(LENGTHS);
  return changeOpenAction(opened, {
    what: `resize to ${toBytes}`,
    act: (storage) => resizeOpen(storage, opened, { toBytes }, {}),
    changed: (before) => Buffer.concat([before.subarray(0, toBytes)], toBytes),
  });
}

export function zeroOpenAction(opened: OpenedFile): Action {
  const { random } = opened.target;
  const [offsetBytes, lengthBytes] = [random.pick(LENGTHS), random.pick(LENGTHS)];
  return changeOpenAction(opened, {
    what: `clear ${lengthBytes} at ${offsetBytes} of`,
    act: (storage) => zeroOpen(storage, opened, { offsetBytes, lengthBytes }, {}),
    changed: (before) => Buffer.from(before).fill(0, offsetBytes, Math.min(before.length, offsetBytes + lengthBytes)),
  });
}

export function closeOpenAction(opened: OpenedFile): Action {
  const { target, openId } = opened;
  return action({
    what: `close ${describe(target)}`,
    act: ({ opens }) => opens.close(openId, { hasWritten: opened.hasWritten, looks: true }),
    expected: () => null,
    judge(model, { node }) {
      const before = nodeIn(model, target) as ModelFile;
      if (node?.id !== before.id) return `${node?.id ?? 'nothing'} is left, expected ${before.id}`;
      if (opened.hasWritten) return model.put(target.share, target.path, { ...before, etag: node.etag });
      return node.etag === before.etag ? model : 'closing what was not written gives no ETag';
    },
    gives: ({ node }) => (opened.hasWritten ? (node?.etag ?? null) : null),
  });
}
