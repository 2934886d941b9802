/**
 * Shares, their snapshots and their trees. A share has a possible name and an id of its own, counts its snapshots, and
 * knows the newest epoch that they keep. Every node stands under its folded name, at a place that is noted for its id, in a
 * state that began no later than the tree has come; what was before is kept as long as a snapshot sees it, and noted by
 * its epochs. A node's permission is there, a pending copy has somebody who makes it, and the share's files have together
 * as many bytes as it counts. Rows of trees that await the sweeper may be half gone: they only hold what they hold.
 */

import { asBuffer } from '../../base/bytes.ts';
import type { Id } from '../../base/ids.ts';
import type { Entry, Key } from '../../engine/engine.ts';
import { isPending } from '../../rules/copy.ts';
import { foldName, refuseFileName, refuseShareName } from '../../rules/file-names.ts';
import { parseMoment } from '../../rules/moment.ts';
import { decodeDescriptor } from '../../rules/security-descriptor.ts';
import { decodeUsage } from '../file/usage.ts';
import type { PagesContent } from '../records/blob-record.ts';
import { decodeJson } from '../records/codec.ts';
import {
  endedNodeKey,
  nodeKey,
  nodePlaceOf,
  parseDeletedShareKey,
  parseEndedNodeKey,
  parsePastNodeKey,
  pastNodeKey,
  permissionKey,
  permissionOf,
  placedIdOf,
  placeKey,
  shareKey,
  snapshotKey,
  snapshotMomentOf,
  type TreeAddress,
  treeOfKey,
  usageKey,
} from '../records/file-keys.ts';
import { accountOf, ownNameOf } from '../records/keys.ts';
import { type NodePlace, type NodeRecord, ROOT_ID } from '../records/node-record.ts';
import type { ShareRecord, ShareSnapshotRecord } from '../records/share-record.ts';
import type { Awaited } from './awaited.ts';
import type { DueRows } from './due-rows.ts';
import { FileViews, NOW } from './file-views.ts';

/** What was met of one share. */
interface Share extends Pick<ShareRecord, 'epoch' | 'keptEpoch' | 'snapshotCount' | 'lastSnapshot'> {
  /** For whoever reads of a fault. */
  readonly name: string;
  readonly account: string;
  /** In the order of their moments. */
  readonly snapshots: { readonly moment: string; readonly epoch: number }[];
  /** Once all snapshots are known. */
  views: FileViews;
  readonly permissions: Set<string>;
  lengthBytes: number;
  countedBytes: bigint;
}

export interface FilesOptions {
  readonly findings: string[];
  readonly awaited: Awaited;
  readonly due: DueRows;
  /** The record holds a map of pages at its epoch. */
  readonly holdPages: (content: PagesContent) => void;
  readonly isCopying: (copyId: string) => boolean;
}

/** A row that must be there, or must not be otherwise: looked up with others. */
interface Question {
  readonly key: Key;
  /** What is wrong with the answer; null: nothing. */
  readonly problem: (value: Uint8Array | null) => string | null;
}

export class Files {
  shareCount = 0;
  /** Without those that await the sweeper. */
  fileCount = 0;
  directoryCount = 0;
  /** States of files and directories that only snapshots see. */
  pastCount = 0;
  readonly #options: FilesOptions;
  readonly #findings: string[];
  readonly #shares = new Map<Id, Share>();
  #questions: Question[] = [];
  /** The earlier state before the one that comes. */
  #before: { readonly place: string; readonly epoch: number } = { place: '', epoch: 0 };

  constructor(options: FilesOptions) {
    this.#options = options;
    this.#findings = options.findings;
  }

  // ---- shares and snapshots

  share({ key, value }: Entry): void {
    const record = decodeJson<ShareRecord>(value);
    const [account, name] = [accountOf(key), ownNameOf(key)];
    if (refuseShareName(name) !== null || !isSame(shareKey(account, name), key)) {
      this.#findings.push(`${JSON.stringify(name)} is not a valid share name`);
    }
    if (record.deleted !== undefined)
      this.#findings.push(`share ${name} is marked as deleted, but is stored as an existing share`);
    this.#addShare(`share ${name}`, account, record);
  }

  deletedShare({ key, value }: Entry): void {
    const record = decodeJson<ShareRecord>(value);
    const { share, id } = parseDeletedShareKey(key);
    const name = `deleted share ${share}`;
    if (record.id !== id) this.#findings.push(`${name} is stored under another id`);
    if (record.deleted === undefined) this.#findings.push(`${name} is not marked as deleted`);
    else this.#options.due.record(key, { dueMs: record.deleted.untilMs, name });
    this.#addShare(name, accountOf(key), record);
  }

  #addShare(name: string, account: string, { id, ...record }: ShareRecord): void {
    this.shareCount++;
    if (this.#shares.has(id)) this.#findings.push(`${name} has the same id as another share`);
    if (this.#options.awaited.trees.has(id)) this.#findings.push(`${name} exists, but is to be swept`);
    const met = { snapshots: [], permissions: new Set<string>(), lengthBytes: 0, countedBytes: 0n };
    this.#shares.set(id, { ...record, ...met, name, account, views: new FileViews([]) });
  }

  /** After all shares, like everything that follows. */
  snapshot({ key, value }: Entry): void {
    const { epoch } = decodeJson<ShareSnapshotRecord>(value);
    const moment = snapshotMomentOf(key);
    const share = this.#find(key, `snapshot ${moment}`);
    if (share === null) return;
    const what = `snapshot ${moment} of ${share.name}`;
    if (!isSame(snapshotKey(treeOfKey(key), moment), key)) this.#findings.push(`${what} has an invalid key`);
    if (epoch >= share.epoch) this.#findings.push(`${what} is of epoch ${epoch}, which has not ended`);
    if (epoch <= (share.snapshots.at(-1)?.epoch ?? 0)) {
      this.#findings.push(`${what} is of epoch ${epoch}, which is no later than that of the snapshot before it`);
    }
    share.snapshots.push({ moment, epoch });
  }

  snapshotsEnd(): void {
    for (const share of this.#shares.values()) {
      const { name, snapshots, snapshotCount, keptEpoch, epoch, lastSnapshot } = share;
      const newest = snapshots.at(-1);
      if (snapshots.length !== snapshotCount) {
        this.#findings.push(`${name} should have ${snapshotCount} snapshots, but has ${snapshots.length}`);
      }
      if (keptEpoch !== (newest?.epoch ?? 0)) {
        const found = newest === undefined ? 'there is none' : `it is of epoch ${newest.epoch}`;
        this.#findings.push(`the newest snapshot of ${name} should be of epoch ${keptEpoch}, but ${found}`);
      }
      if (keptEpoch >= epoch) this.#findings.push(`${name} is at epoch ${epoch}, which already belongs to a snapshot`);
      if (newest !== undefined && !isNoLater(newest.moment, lastSnapshot)) {
        this.#findings.push(`${name} has a snapshot that is later than its last one, ${lastSnapshot}`);
      }
      share.views = new FileViews(snapshots.map((snapshot) => snapshot.epoch));
    }
  }

  // ---- what trees have besides nodes

  permission({ key, value }: Entry): void {
    const permission = permissionOf(key);
    const share = this.#find(key, `permission ${permission}`);
    if (share === null) return;
    share.permissions.add(permission);
    const decoded = decodeDescriptor(value);
    if ('refusal' in decoded) {
      this.#findings.push(`permission ${permission} of ${share.name} cannot be read: ${decoded.refusal}`);
    }
    if (!isSame(permissionKey(treeOfKey(key), permission), key)) {
      this.#findings.push(`a permission of ${share.name} has an invalid key`);
    }
  }

  usage({ key, value }: Entry): void {
    const share = this.#find(key, 'a byte count');
    if (share === null) return;
    share.countedBytes += decodeUsage(value);
    if (!isSame(usageKey(treeOfKey(key), key.at(-1) ?? 0), key)) {
      this.#findings.push(`a byte count of ${share.name} has an invalid key`);
    }
  }

  /** Where a node stands. */
  place({ key, value }: Entry): void {
    const id = placedIdOf(key);
    const place = decodeJson<NodePlace>(value);
    const share = this.#find(key, `the location of entry ${id}`);
    if (share === null) return;
    const what = `the location of entry ${id} of ${share.name}`;
    if (!isSame(placeKey(treeOfKey(key), id), key)) this.#findings.push(`${what} has an invalid key`);
    if (id === ROOT_ID) this.#findings.push(`${what} is recorded, although it is the root`);
    this.#ask(nodeKey(treeOfKey(key), place), (node) => {
      if (node === null) return `${what} is empty`;
      const { id: found } = decodeJson<NodeRecord>(node);
      return found === id ? null : `${what} holds entry ${found}`;
    });
  }

  // ---- nodes

  /** After all permissions. */
  node({ key, value }: Entry): void {
    const node = decodeJson<NodeRecord>(value);
    this.#hold(node);
    const place = nodePlaceOf(key);
    const tree = treeOfKey(key);
    const share = this.#find(key, described(node));
    if (share === null) return;
    const what = `${described(node)} of ${share.name}`;
    if (!isSame(nodeKey(tree, place), key)) this.#findings.push(`${what} has an invalid key`);
    this.#state(share, { what, node, place, last: NOW });
    if (node.since > share.epoch) {
      this.#findings.push(`${what} is of epoch ${node.since}, but the share is at epoch ${share.epoch}`);
    }
    if (node.kind === 'file') {
      share.lengthBytes += node.lengthBytes;
      if (node.content.kind === 'pages' && node.content.isFrozen === true) {
        this.#findings.push(`${what} has content that is frozen, so that nobody can write to it`);
      }
      if (isPending(node.copy) && !this.#options.isCopying(node.copy?.id ?? '')) {
        this.#findings.push(`${what} waits for a copy that has no job`);
      }
    }
    if (isRoot(place)) return;
    if (node.kind === 'file') this.fileCount++;
    else this.directoryCount++;
    this.#ask(placeKey(tree, node.id), (found) => {
      if (found === null) return `${what} has no recorded location`;
      const noted = decodeJson<NodePlace>(found);
      return isSamePlace(noted, place) ? null : `${what} is not at its recorded location`;
    });
  }

  /** In the order of their keys. */
  pastNode({ key, value }: Entry): void {
    const node = decodeJson<NodeRecord>(value);
    this.#hold(node);
    const { epoch, ...place } = parsePastNodeKey(key);
    const tree = treeOfKey(key);
    const share = this.#find(key, `an earlier state of ${described(node)}`);
    if (share === null) return;
    this.pastCount++;
    const what = `${described(node)} of ${share.name}, as it was up to epoch ${epoch},`;
    if (!isSame(pastNodeKey(tree, place, epoch), key)) this.#findings.push(`${what} has an invalid key`);
    this.#state(share, { what, node, place, last: epoch });
    this.#order({ what, node, tree, place, epoch });
    if (epoch >= share.epoch) this.#findings.push(`${what} is kept for an epoch that has not ended`);
    if (!share.views.isSeen({ since: node.since, last: epoch }) && !this.#isSwept(tree)) {
      this.#findings.push(`${what} is kept, although no snapshot contains it`);
    }
    if (node.kind === 'file' && node.content.kind === 'pages' && node.content.isFrozen !== true) {
      this.#findings.push(`${what} has content that can still be written to`);
    }
    this.#ask(endedNodeKey(tree, { ...place, epoch, since: node.since }), (found) =>
      found === null ? `${what} is missing from the index` : null,
    );
  }

  /** The index of earlier states. */
  ended({ key }: Entry): void {
    const { since, epoch, ...place } = parseEndedNodeKey(key);
    const tree = treeOfKey(key);
    const share = this.#find(key, 'a row of the index of earlier states');
    if (share === null) return;
    const what = `the index of ${share.name} lists a state of ${JSON.stringify(place.name)}, up to epoch ${epoch},`;
    if (!isSame(endedNodeKey(tree, { ...place, epoch, since }), key)) {
      this.#findings.push(`${what} under an invalid key`);
    }
    this.#ask(pastNodeKey(tree, place, epoch), (found) => {
      if (found === null) return `${what} that does not exist`;
      return decodeJson<NodeRecord>(found).since === since ? null : `${what} that began in another epoch`;
    });
  }

  /** What every state of a node must be, whether current or not. */
  #state(
    share: Share,
    { what, node, place, last }: { what: string; node: NodeRecord; place: NodePlace; last: number },
  ): void {
    const { id, kind, since } = node;
    const { parentId } = place;
    if (isRoot(place)) {
      if (id !== ROOT_ID || kind !== 'directory' || node.name !== '')
        this.#findings.push(`${what} is stored as the root, but is not a root directory`);
      share.views.root({ since, last });
    } else {
      if (refuseFileName(node.name) !== null) this.#findings.push(`${what} has an invalid name`);
      if (foldName(node.name) !== place.name) {
        this.#findings.push(`${what} is stored under the name ${JSON.stringify(place.name)}`);
      }
      if (id === ROOT_ID) this.#findings.push(`${what} has the id of the root`);
      if (kind === 'directory') share.views.directory({ id, parentId, since, last });
      else share.views.file({ parentId, since, last });
    }
    if (!share.permissions.has(node.permission)) {
      this.#findings.push(`${what} has permission ${node.permission}, which does not exist`);
    }
  }

  /** The states of a name follow each other. */
  #order({ what, node, tree, place, epoch }: PastState): void {
    const at = `${tree.shareId}/${place.parentId}/${place.name}`;
    if (node.since > epoch) this.#findings.push(`${what} ends before it begins`);
    if (this.#before.place === at && node.since <= this.#before.epoch) {
      this.#findings.push(`${what} overlaps an earlier state`);
    }
    this.#before = { place: at, epoch };
    this.#ask(nodeKey(tree, place), (current) =>
      current !== null && decodeJson<NodeRecord>(current).since <= epoch ? `${what} overlaps the current state` : null,
    );
  }

  #hold(node: NodeRecord): void {
    if (node.kind === 'file' && node.content.kind === 'pages') this.#options.holdPages(node.content);
  }

  // ---- the end of it

  /** After each step of places, nodes, earlier states and their index. */
  async lookUp(get: (keys: readonly Key[]) => Promise<(Entry | null)[]>): Promise<void> {
    const questions = this.#questions;
    this.#questions = [];
    const found = questions.length === 0 ? [] : await get(questions.map(({ key }) => key));
    for (const [index, { problem }] of questions.entries()) {
      const said = problem(found[index]?.value ?? null);
      if (said !== null) this.#findings.push(said);
    }
  }

  end(): void {
    for (const { name, views, lengthBytes, countedBytes } of this.#shares.values()) {
      for (const problem of views.problems()) this.#findings.push(`${name} ${problem}`);
      if (countedBytes !== BigInt(lengthBytes)) {
        this.#findings.push(`the byte count of ${name} is ${countedBytes}, but its files have ${lengthBytes} bytes`);
      }
    }
  }

  #ask(key: Key, problem: Question['problem']): void {
    this.#questions.push({ key, problem });
  }

  /** Null: it awaits the sweeper, and until that comes to it, it stays; or it belongs to no share, which is a finding. */
  #find(key: Key, what: string): Share | null {
    const { account, shareId } = treeOfKey(key);
    if (this.#options.awaited.trees.has(shareId)) return null;
    const share = this.#shares.get(shareId);
    if (share?.account === account) return share;
    this.#findings.push(`${what} under ${shareId} of ${account} belongs to no share`);
    return null;
  }

  #isSwept({ shareId }: TreeAddress): boolean {
    return this.#options.awaited.treeEpochs.has(shareId);
  }
}

interface PastState {
  readonly what: string;
  readonly node: NodeRecord;
  readonly tree: TreeAddress;
  readonly place: NodePlace;
  readonly epoch: number;
}

const described = ({ kind, name, id }: NodeRecord): string => `${kind} ${JSON.stringify(name)} (${id})`;

const isRoot = ({ parentId, name }: NodePlace): boolean => parentId === ROOT_ID && name === '';

const isSamePlace = (a: NodePlace, b: NodePlace): boolean => a.parentId === b.parentId && a.name === b.name;

const isNoLater = (moment: string, last: string | undefined): boolean =>
  last !== undefined && (parseMoment(moment) ?? 0n) <= (parseMoment(last) ?? 0n);

const isSame = (a: Key, b: Key): boolean => asBuffer(a).equals(b);
