/** Operations on files and directories, with random arguments. */
import { foldName } from '../../src/rules/file-names.ts';
import { refuseRename } from '../../src/rules/file-rename.ts';
import {
  AVAILABLE,
  afterWrite,
  INFINITE_SECONDS,
  type LeaseAction,
  refuseFileWrite,
  resolveLeaseAction,
} from '../../src/rules/lease.ts';
import type { Moment } from '../../src/rules/moment.ts';
import type { Metadata } from '../../src/rules/names.ts';
import { createDirectory } from '../../src/service/file/create-directory.ts';
import { createFile } from '../../src/service/file/create-file.ts';
import { deleteDirectory } from '../../src/service/file/delete-directory.ts';
import { deleteFile } from '../../src/service/file/delete-file.ts';
import { getFile } from '../../src/service/file/get-file.ts';
import { leaseFile } from '../../src/service/file/lease-file.ts';
import { listEntries } from '../../src/service/file/list-entries.ts';
import { NO_CHANGES } from '../../src/service/file/properties.ts';
import { putRange } from '../../src/service/file/put-range.ts';
import { renameNode } from '../../src/service/file/rename.ts';
import { setFileMetadata, setFileProperties } from '../../src/service/file/set-file.ts';
import { setDirectoryMetadata } from '../../src/service/file/use-directory.ts';
import type { NodeRecord } from '../../src/service/records/node-record.ts';
import type { Random } from '../harness/random.ts';
import { bodyOf, gather } from '../harness/store.ts';
import { type Action, action, fileNameOf, requestOf } from './file-action.ts';
import {
  type FileModel,
  inOrder,
  type ModelDirectory,
  type ModelFile,
  type ModelNode,
  meet,
  type Path,
  toldLease,
} from './file-model.ts';

/** Nothing, parts of pages, whole ones, what rides in a commit and what goes to the content store. */
export const LENGTHS = [0, 1, 511, 512, 513, 1_500, 3_000, 9_000, 20_000];
const METADATA: readonly Metadata[] = [[], [['colour', 'blue']], [['colour', 'red']]];
const LEASE_IDS = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];

/** Where, and who asks. */
export interface Target {
  readonly random: Random;
  readonly model: FileModel;
  readonly share: string;
  readonly path: Path;
}

export const describe = ({ share, path }: Target): string => [share, ...path].join('/');

const etagOf = ({ node }: { readonly node: NodeRecord }): string => node.etag;

/** Mostly the right lease id, or none where there is no lease. */
function someLeaseId({ random, model, share, path }: Target): string | null {
  const met = meet(model.rootOf(share, null), path);
  const lease = 'node' in met && met.node?.kind === 'file' ? met.node.lease : AVAILABLE;
  if (random.chance(0.9)) return lease.state === 'leased' ? lease.id : null;
  return random.pick([null, ...LEASE_IDS]);
}

// ---- new ones

export function createDirectoryAction(target: Target): Action {
  const { random, share, path } = target;
  const metadata = random.pick(METADATA);
  return action({
    what: `create directory ${describe(target)}`,
    act: (storage) => createDirectory(storage, { ...requestOf(share, path), metadata, properties: NO_CHANGES }),
    expected(model) {
      const met = meet(model.rootOf(share, null), path);
      if ('refusal' in met) return met.refusal;
      return met.node === null ? null : 'ResourceAlreadyExists';
    },
    judge: (model, { node: { id, etag } }) =>
      model.put(share, path, { kind: 'directory', id, name: path.at(-1) ?? '', etag, metadata, entries: new Map() }),
    gives: etagOf,
  });
}

export function createFileAction(target: Target): Action {
  const { random, share, path } = target;
  const metadata = random.pick(METADATA);
  const lengthBytes = random.pick(LENGTHS);
  const body = random.chance(0.5) ? random.bytes(random.below(lengthBytes + 1)) : Buffer.alloc(0);
  const leaseId = someLeaseId(target);
  const found = (model: FileModel): ModelNode | null => nodeIn(model, target);
  return action({
    what: `create file ${describe(target)} of ${lengthBytes}, ${body.length} of them given`,
    act: (storage) =>
      createFile(storage, {
        ...requestOf(share, path, { leaseId }),
        lengthBytes,
        headers: {},
        metadata,
        properties: NO_CHANGES,
        body: bodyOf(body),
      }),
    expected(model) {
      const met = meet(model.rootOf(share, null), path);
      if ('refusal' in met) return met.refusal;
      if (met.node?.kind === 'directory') return 'ResourceTypeMismatch';
      return refuseFileWrite(met.node?.lease ?? AVAILABLE, leaseId);
    },
    judge(model, { node: { id, etag } }) {
      const before = found(model) as ModelFile | null;
      if (before !== null && before.id !== id) return `another id, ${id}, than ${before.id}`;
      const bytes = Buffer.concat([body, Buffer.alloc(lengthBytes - body.length)]);
      const lease = afterWrite(before?.lease ?? AVAILABLE);
      const name = before?.name ?? (path.at(-1) as string);
      return model.put(share, path, { kind: 'file', id, name, etag, metadata, bytes, lease });
    },
    gives: etagOf,
  });
}

// ---- changes of a file

/** What is the same for all of them: when they are refused, a new ETag, a lease that a write may end. */
function changeAction(
  target: Target,
  {
    what,
    act,
    refuse = () => null,
    changed,
  }: {
    what: string;
    act: (
      request: ReturnType<typeof requestOf>,
    ) => (storage: Parameters<Action['run']>[0]) => Promise<{ node: NodeRecord }>;
    refuse?: (file: ModelFile) => string | null;
    changed: (file: ModelFile) => ModelFile;
  },
): Action {
  const { share, path } = target;
  const leaseId = someLeaseId(target);
  return action({
    what: `${what} ${describe(target)}`,
    act: act(requestOf(share, path, { leaseId })),
    expected: (model) =>
      fileRefusal(model, target) ??
      refuseFileWrite(fileIn(model, target).lease, leaseId) ??
      refuse(fileIn(model, target)),
    judge(model, { node: { id, etag } }) {
      const before = fileIn(model, target);
      if (before.id !== id) return `the file ${id}, expected ${before.id}`;
      return model.put(share, path, { ...changed(before), etag, lease: afterWrite(before.lease) });
    },
    gives: etagOf,
  });
}

export function putRangeAction(target: Target): Action {
  const { random } = target;
  const isClear = random.chance(0.3);
  const lengthBytes = Math.max(1, random.pick(LENGTHS));
  const found = nodeIn(target.model, target);
  const length = found?.kind === 'file' ? found.bytes.length : 1_000;
  const room = Math.max(0, length - lengthBytes) + (random.chance(0.1) ? 2 : 1);
  const offsetBytes = random.below(room);
  const bytes = isClear ? Buffer.alloc(lengthBytes) : random.bytes(lengthBytes);
  const range = { offsetBytes, lengthBytes };
  return changeAction(target, {
    what: `${isClear ? 'clear' : 'write'} ${lengthBytes} at ${offsetBytes} of`,
    act: (request) => (storage) =>
      putRange(storage, {
        ...request,
        range,
        body: isClear ? null : bodyOf(bytes),
        keepsWriteTime: random.chance(0.5),
      }),
    refuse: (file) => (offsetBytes + lengthBytes > file.bytes.length ? 'InvalidRange' : null),
    changed(file) {
      const after = Buffer.from(file.bytes);
      after.set(bytes, offsetBytes);
      return { ...file, bytes: after };
    },
  });
}

export function resizeAction(target: Target): Action {
  const lengthBytes = target.random.pick(LENGTHS);
  return changeAction(target, {
    what: `resize to ${lengthBytes}`,
    act: (request) => (storage) =>
      setFileProperties(storage, { ...request, headers: null, lengthBytes, properties: NO_CHANGES }),
    changed(file) {
      const bytes = Buffer.alloc(lengthBytes);
      bytes.set(file.bytes.subarray(0, lengthBytes));
      return { ...file, bytes };
    },
  });
}

export function setMetadataAction(target: Target): Action {
  const metadata = target.random.pick(METADATA);
  return changeAction(target, {
    what: 'set metadata of file',
    act: (request) => (storage) => setFileMetadata(storage, { ...request, metadata }),
    changed: (file) => ({ ...file, metadata }),
  });
}

export function setDirectoryMetadataAction(target: Target): Action {
  const { random, share, path } = target;
  const metadata = random.pick(METADATA);
  return action({
    what: `set metadata of directory ${describe(target)}`,
    act: (storage) => setDirectoryMetadata(storage, { ...requestOf(share, path), metadata }),
    expected: (model) => kindRefusal(model, target, 'directory'),
    judge: (model, { node: { etag } }) =>
      model.put(share, path, { ...(nodeIn(model, target) as ModelDirectory), metadata, etag }),
    gives: etagOf,
  });
}

export function leaseAction(target: Target): Action {
  const { random, share, path } = target;
  const [id = '', other = ''] = random.chance(0.5) ? LEASE_IDS : LEASE_IDS.toReversed();
  const acquire = { action: 'acquire', proposedId: id, freshId: other, durationSeconds: INFINITE_SECONDS } as const;
  const wanted: LeaseAction = random.pick([
    acquire,
    acquire,
    { action: 'release', id },
    { action: 'release', id },
    { action: 'change', id, proposedId: other },
    { action: 'break', periodSeconds: null },
  ]);
  const outcome = (file: ModelFile) => resolveLeaseAction(file.lease, wanted, 0);
  return action({
    what: `${wanted.action} lease of ${describe(target)}`,
    act: (storage) => leaseFile(storage, { ...requestOf(share, path), action: wanted }),
    expected(model) {
      const refusal = fileRefusal(model, target);
      if (refusal !== null) return refusal;
      const result = outcome(fileIn(model, target));
      return 'refusal' in result ? result.refusal : null;
    },
    judge(model, { node, lease: seen }) {
      const before = fileIn(model, target);
      const result = outcome(before);
      if ('refusal' in result) return result.refusal;
      if (toldLease(seen) !== toldLease(result.lease)) return `lease ${toldLease(seen)}`;
      if (node.etag !== before.etag) return 'a lease gives no ETag';
      return model.put(share, path, { ...before, lease: result.lease });
    },
  });
}

// ---- moves and removals

export function renameAction(target: Target, to: Path): Action {
  const { random, share, path, model: now } = target;
  const found = nodeIn(now, target);
  const kind = random.chance(0.9) && found !== null ? found.kind : random.pick(['file', 'directory'] as const);
  const replaces = random.chance(0.5);
  const destination: Target = { ...target, path: to };
  const [sourceLeaseId, destinationLeaseId] = [someLeaseId(target), someLeaseId(destination)];
  return action({
    what: `rename ${kind} ${describe(target)} to ${to.join('/')}${replaces ? ', replacing' : ''}`,
    act: (storage) =>
      renameNode(storage, {
        kind,
        source: fileNameOf(share, path),
        destination: fileNameOf(share, to),
        replaces,
        ignoresReadOnly: false,
        sourceLeaseId,
        destinationLeaseId,
        properties: NO_CHANGES,
        metadata: null,
        contentType: null,
        waitMs: 0,
      }),
    expected(model) {
      const [from, into] = [meet(model.rootOf(share, null), path), meet(model.rootOf(share, null), to)];
      if ('refusal' in from) return from.refusal;
      if (from.node === null) return 'ResourceNotFound';
      if ('refusal' in into) return into.refusal;
      if (path.length === 0 || to.length === 0) return 'InvalidUri';
      if (from.node.kind !== kind) return 'ResourceTypeMismatch';
      return refuseRename({
        ...stateOf(from.node),
        leaseId: sourceLeaseId,
        isIntoItself: to.length > path.length && isSame(to.slice(0, path.length), path),
        replaced: into.node === null || into.node.id === from.node.id ? null : stateOf(into.node),
        replacedLeaseId: destinationLeaseId,
        replaces,
        ignoresReadOnly: false,
      });
    },
    judge(model, { node: { id, etag } }) {
      const before = nodeIn(model, target) as ModelNode;
      if (before.id !== id) return `${id} was renamed, expected ${before.id}`;
      const moved = { ...before, etag, name: to.at(-1) as string };
      const after = moved.kind === 'file' ? { ...moved, lease: afterWrite(moved.lease) } : moved;
      return model.put(share, path, null).put(share, to, after);
    },
    gives: etagOf,
  });
}

export function deleteAction(target: Target): Action {
  const { random, share, path, model: now } = target;
  const found = nodeIn(now, target);
  const kind = random.chance(0.9) && found !== null ? found.kind : random.pick(['file', 'directory'] as const);
  const leaseId = someLeaseId(target);
  const request = requestOf(share, path, { leaseId });
  return action({
    what: `delete ${kind} ${describe(target)}`,
    act: (storage) => (kind === 'file' ? deleteFile(storage, request) : deleteDirectory(storage, request)),
    expected(model) {
      const refusal = kindRefusal(model, target, kind);
      if (refusal !== null) return refusal;
      const node = nodeIn(model, target) as ModelNode;
      if (node.kind === 'file') return refuseFileWrite(node.lease, leaseId);
      if (path.length === 0) return 'InvalidUri';
      return node.entries.size > 0 ? 'DirectoryNotEmpty' : null;
    },
    judge: (model) => model.put(share, path, null),
  });
}

// ---- reads, of the share or of a snapshot

export function readAction(target: Target, snapshot: Moment | null): Action {
  const { share, path } = target;
  return action({
    what: `read ${describe(target)}${snapshot === null ? '' : ` in ${snapshot}`}`,
    async act(storage) {
      const request = { ...requestOf(share, path), name: fileNameOf(share, path, snapshot), range: null };
      const { node, bytes } = await getFile(storage, request);
      return { node, bytes: await gather(bytes) };
    },
    expected: (model) => readRefusal(model, target, 'file', snapshot),
    judge(model, { node: { id, etag, name }, bytes }) {
      const { node: file } = meet(model.rootOf(share, snapshot), path) as { node: ModelFile };
      const [is, expected] = [[id, etag, name].join(' '), [file.id, file.etag, file.name].join(' ')];
      if (is !== expected) return `${is}, expected ${expected}`;
      return bytes.equals(file.bytes) ? model : `${bytes.length} bytes that are others`;
    },
  });
}

export function listAction(target: Target, snapshot: Moment | null): Action {
  const { random, share, path } = target;
  const prefix = random.pick(['', '', 'a', 'B', 'cc']);
  return action({
    what: `list ${describe(target)}${snapshot === null ? '' : ` in ${snapshot}`} from '${prefix}'`,
    async act(storage) {
      const request = { name: fileNameOf(share, path, snapshot), waitMs: 0, prefix, from: null, limit: 100 };
      return (await listEntries(storage, request)).entries.map(({ name, id }) => `${name} ${id}`);
    },
    expected: (model) => readRefusal(model, target, 'directory', snapshot),
    judge(model, result) {
      const { node } = meet(model.rootOf(share, snapshot), path) as { node: ModelDirectory };
      const expected = inOrder(node)
        .filter(({ name }) => foldName(name).startsWith(foldName(prefix)))
        .map(({ name, id }) => `${name} ${id}`);
      return result.join() === expected.join() ? model : `${result.join()}, expected ${expected.join()}`;
    },
  });
}

// ---- what is met

export function nodeIn(model: FileModel, { share, path }: Target): ModelNode | null {
  const met = meet(model.rootOf(share, null), path);
  return 'node' in met ? met.node : null;
}

const fileIn = (model: FileModel, target: Target): ModelFile => nodeIn(model, target) as ModelFile;

const fileRefusal = (model: FileModel, target: Target): string | null => kindRefusal(model, target, 'file');

/** To whoever reads, what is of the other kind is not there. */
function readRefusal(
  model: FileModel,
  { share, path }: Target,
  kind: ModelNode['kind'],
  snapshot: Moment | null,
): string | null {
  const met = meet(model.rootOf(share, snapshot), path);
  if ('refusal' in met) return met.refusal;
  return met.node?.kind === kind ? null : 'ResourceNotFound';
}

function kindRefusal(model: FileModel, { share, path }: Target, kind: ModelNode['kind']): string | null {
  const met = meet(model.rootOf(share, null), path);
  if ('refusal' in met) return met.refusal;
  if (met.node === null) return 'ResourceNotFound';
  return met.node.kind === kind ? null : 'ResourceTypeMismatch';
}

const stateOf = (node: ModelNode) => ({
  kind: node.kind,
  lease: node.kind === 'file' ? node.lease : AVAILABLE,
  isReadOnly: false,
  isCopyPending: false,
});

const isSame = (a: Path, b: Path): boolean => a.map(foldName).join('/') === b.map(foldName).join('/');
