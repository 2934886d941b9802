/** Random requests to shares of a client's own: what each may hold after a crash is then known. */
import assert from 'node:assert/strict';
import type { ShareClient, ShareDirectoryClient, ShareFileClient } from '@azure/storage-file-share';
import { type Reachable, refusal } from '../harness/clients.ts';
import { shareClient } from '../harness/file-clients.ts';
import type { Random } from '../harness/random.ts';
import type { Client } from './client.ts';
import {
  isBelow,
  type Known,
  type KnownFile,
  moved,
  NO_CONTENT,
  parentOf,
  type ShareContent,
  type ShareEntry,
  withNode,
  withoutNode,
} from './file-journal.ts';

const NODE_COUNT_MAX = 8;
const SNAPSHOT_COUNT_MAX = 2;
const DEPTH_MAX = 3;
const NAMES = ['a', 'b', 'ä', '😀'];
/** Parts of pages, whole ones, what rides in a commit and what goes to the content store. */
const LENGTHS = [1, 511, 512, 1_500, 8_192, 9_000, 30_000];
const PASSING_NODE_COUNT = 3;

/** What a request leads to: by its path, the node that it gives a new ETag; null where it gives none. */
interface Change {
  readonly next: ShareContent;
  readonly path: string | null;
}

export class FileLoad {
  readonly #client: Client;
  readonly #random: Random;
  readonly #server: Reachable;
  readonly #clients = new Map<string, ShareClient>();

  constructor({ client, random, server }: { client: Client; random: Random; server: Reachable }) {
    this.#client = client;
    this.#random = random;
    this.#server = server;
  }

  async change(share: ShareEntry): Promise<void> {
    const { tree, snapshots } = share.acknowledged;
    const files = [...tree].filter(([, { kind }]) => kind === 'file').map(([path]) => path);
    const dice = this.#random.next();
    if (dice < 0.06) return this.#beRefused(share, files);
    if (dice < 0.14) return snapshots.length < SNAPSHOT_COUNT_MAX ? this.#snapshot(share) : this.#deleteSnapshot(share);
    if (tree.size >= NODE_COUNT_MAX && dice < 0.4) return this.#delete(share);
    if (files.length === 0 || (tree.size < NODE_COUNT_MAX && dice < 0.3)) return this.#create(share);
    if (dice < 0.42) return this.#rename(share);
    if (dice < 0.47) return this.#delete(share);
    const path = this.#random.pick(files);
    if (dice < 0.55) return this.#setMetadata(share, path);
    if (dice < 0.63) return this.#resize(share, path);
    if (dice < 0.68) return this.#overwrite(share, path);
    return this.#putRange(share, path);
  }

  /** Makes the share anew, with files in it, or deletes it with all that it holds and its snapshots. */
  async pass(share: ShareEntry): Promise<void> {
    const client = this.#shareClient(share);
    if (share.exists) {
      await this.#setExists(share, false, client.delete({ deleteSnapshots: 'include' }));
      share.acknowledged = NO_CONTENT;
      return;
    }
    await this.#setExists(share, true, client.create());
    const left = await this.#client.answerTo(client.rootDirectoryClient.listFilesAndDirectories().next());
    assert.equal(left.done, true, `a new share ${share.name} holds files`);
    for (let count = 0; count < PASSING_NODE_COUNT; count++) await this.#create(share);
    await this.#snapshot(share);
  }

  async #setExists(share: ShareEntry, exists: boolean, request: Promise<unknown>): Promise<void> {
    share.pendingExists = exists;
    await this.#client.answerTo(request);
    share.exists = exists;
    share.pendingExists = null;
    this.#client.kill.countAcknowledged();
  }

  // ---- what is asked for

  async #create(share: ShareEntry): Promise<void> {
    const path = this.#freePath(share);
    if (path === null) return this.#delete(share);
    const turn = this.#newTurn();
    const metadata = { turn };
    if (this.#random.chance(0.3)) {
      const node: Known = { kind: 'directory', turn, etag: null, etagBefore: null };
      return this.#request(share, this.#put(share, path, node), () =>
        this.#directory(share, path).create({ metadata }),
      );
    }
    const node: KnownFile = { kind: 'file', turn, etag: null, etagBefore: null, bytes: this.#zeros() };
    await this.#request(share, this.#put(share, path, node), () =>
      this.#file(share, path).create(node.bytes.length, { metadata }),
    );
  }

  async #overwrite(share: ShareEntry, path: string): Promise<void> {
    const turn = this.#newTurn();
    const node: KnownFile = { ...this.#changed(share, path), turn, bytes: this.#zeros() };
    await this.#request(share, this.#put(share, path, node), () =>
      this.#file(share, path).create(node.bytes.length, { metadata: { turn } }),
    );
  }

  async #putRange(share: ShareEntry, path: string): Promise<void> {
    const before = this.#changed(share, path);
    if (before.bytes.length === 0) return this.#resize(share, path);
    const lengthBytes = Math.min(this.#random.pick(LENGTHS), before.bytes.length);
    const at = this.#random.below(before.bytes.length - lengthBytes + 1);
    const isClear = this.#random.chance(0.25);
    const given = isClear ? Buffer.alloc(lengthBytes) : this.#random.bytes(lengthBytes);
    const bytes = Buffer.from(before.bytes);
    bytes.set(given, at);
    await this.#request(share, this.#put(share, path, { ...before, bytes }), () =>
      isClear
        ? this.#file(share, path).clearRange(at, lengthBytes)
        : this.#file(share, path).uploadRange(given, at, lengthBytes),
    );
  }

  async #resize(share: ShareEntry, path: string): Promise<void> {
    const before = this.#changed(share, path);
    const bytes = this.#zeros();
    bytes.set(before.bytes.subarray(0, bytes.length));
    await this.#request(share, this.#put(share, path, { ...before, bytes }), () =>
      this.#file(share, path).resize(bytes.length),
    );
  }

  async #setMetadata(share: ShareEntry, path: string): Promise<void> {
    const turn = this.#newTurn();
    const node = { ...this.#changed(share, path), turn };
    await this.#request(share, this.#put(share, path, node), () => this.#file(share, path).setMetadata({ turn }));
  }

  async #rename(share: ShareEntry): Promise<void> {
    const { tree } = share.acknowledged;
    const path = this.#random.pick([...tree.keys()]);
    const { kind } = tree.get(path) as Known;
    const files = [...tree].filter(([other, node]) => node.kind === 'file' && other !== path).map(([other]) => other);
    const replaced = files.length > 0 && this.#random.chance(0.3) ? this.#random.pick(files) : null;
    const to = replaced ?? this.#freePath(share);
    if (to === null || isBelow(to, path)) return this.#delete(share);
    const after = moved(tree, path, to);
    const next = withNode(after, to, { ...this.#changed<Known>(share, path) });
    await this.#request(share, { next: { ...share.acknowledged, tree: next }, path: to }, async () => {
      const replaceIfExists = replaced !== null;
      if (kind === 'file') {
        return (await this.#file(share, path).rename(to, { replaceIfExists })).fileRenameResponse;
      }
      return (await this.#directory(share, path).rename(to, { replaceIfExists })).directoryRenameResponse;
    });
  }

  async #delete(share: ShareEntry): Promise<void> {
    const { tree } = share.acknowledged;
    const leaves = [...tree.keys()].filter((path) => ![...tree.keys()].some((other) => isBelow(other, path)));
    if (leaves.length === 0) return;
    const path = this.#random.pick(leaves);
    const isFile = tree.get(path)?.kind === 'file';
    const next = { ...share.acknowledged, tree: withoutNode(tree, path) };
    await this.#request(share, { next, path: null }, () =>
      isFile ? this.#file(share, path).delete() : this.#directory(share, path).delete(),
    );
  }

  async #snapshot(share: ShareEntry): Promise<void> {
    const { tree, snapshots } = share.acknowledged;
    share.pending = { tree, snapshots: [...snapshots, { moment: null, tree }] };
    const { snapshot } = await this.#client.answerTo(this.#shareClient(share).createSnapshot());
    assert.ok(snapshot !== undefined);
    this.#acknowledge(share, { tree, snapshots: [...snapshots, { moment: snapshot, tree }] });
  }

  async #deleteSnapshot(share: ShareEntry): Promise<void> {
    const { tree, snapshots } = share.acknowledged;
    const going = this.#random.pick(snapshots);
    const next = { tree, snapshots: snapshots.filter((snapshot) => snapshot !== going) };
    const client = this.#shareClient(share).withSnapshot(going.moment as string);
    await this.#request(share, { next, path: null }, () => client.delete());
  }

  /** Whatever the moment of the crash, these change nothing. */
  async #beRefused(share: ShareEntry, files: readonly string[]): Promise<void> {
    const [path] = files;
    const missing = this.#file(share, 'never there');
    const faults: (readonly [ask: () => Promise<unknown>, code: string])[] = [
      [() => missing.delete(), '404 ResourceNotFound'],
    ];
    if (path !== undefined) {
      faults.push(
        [() => this.#directory(share, path).create(), '409 ResourceAlreadyExists'],
        [() => this.#file(share, path).uploadRange('x', 100_000, 1), '416 InvalidRange'],
        [() => missing.rename(path), '404 ResourceNotFound'],
      );
    }
    const [ask, code] = this.#random.pick(faults);
    share.pending = share.acknowledged;
    assert.equal(await this.#client.answerTo(refusal(ask())), code);
    this.#acknowledge(share, share.acknowledged);
  }

  // ---- asking for it

  async #request(share: ShareEntry, { next, path }: Change, ask: () => Promise<object>): Promise<void> {
    share.pending = next;
    const { etag = null } = (await this.#client.answerTo(ask())) as { readonly etag?: string };
    const node = path === null ? undefined : next.tree.get(path);
    if (path === null || node === undefined) {
      this.#acknowledge(share, next);
      return;
    }
    assert.ok(etag !== null && etag !== node.etagBefore, `a write must bring a new ETag, not ${etag}`);
    this.#acknowledge(share, { ...next, tree: withNode(next.tree, path, { ...node, etag }) });
  }

  #acknowledge(share: ShareEntry, state: ShareContent): void {
    share.acknowledged = state;
    share.pending = null;
    this.#client.kill.countAcknowledged();
  }

  #put(share: ShareEntry, path: string, node: Known): Change {
    const { tree } = share.acknowledged;
    return { next: { ...share.acknowledged, tree: withNode(tree, path, node) }, path };
  }

  /** With an ETag that is still to come. */
  #changed<T extends Known = KnownFile>(share: ShareEntry, path: string): T {
    const before = share.acknowledged.tree.get(path) as T;
    return { ...before, etag: null, etagBefore: before.etag };
  }

  /** A name that nothing has, in a directory that is there; null where it is not found soon. */
  #freePath({ acknowledged: { tree } }: ShareEntry): string | null {
    const directories = ['', ...[...tree].filter(([, { kind }]) => kind === 'directory').map(([path]) => path)];
    for (let attempt = 0; attempt < NAMES.length; attempt++) {
      const parent = this.#random.pick(directories);
      const path = [...(parent === '' ? [] : [parent]), this.#random.pick(NAMES)].join('/');
      if (!tree.has(path) && path.split('/').length <= DEPTH_MAX) return path;
    }
    return null;
  }

  #zeros(): Buffer {
    return Buffer.alloc(this.#random.pick([0, ...LENGTHS]));
  }

  #newTurn(): string {
    return String(this.#random.below(1_000_000_000));
  }

  #file(share: ShareEntry, path: string): ShareFileClient {
    const name = path.slice(path.lastIndexOf('/') + 1);
    return this.#directory(share, parentOf(path)).getFileClient(name);
  }

  #directory(share: ShareEntry, path: string): ShareDirectoryClient {
    const client = this.#shareClient(share);
    return path === '' ? client.rootDirectoryClient : client.getDirectoryClient(path);
  }

  #shareClient({ name, account }: ShareEntry): ShareClient {
    const client = this.#clients.get(name) ?? shareClient(this.#server, name, account);
    this.#clients.set(name, client);
    return client;
  }
}
