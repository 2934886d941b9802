/**
 * Word between nodes of what SMB clients change, for those who watch directories. It is looked up and told only where
 * somebody watches the share: nodes tell each other which shares their clients watch, when that changes and with every beat.
 * Words may be lost; where a node knows that some were, or one is too long, its clients hear that they have to look.
 */
import type { Id } from '../../../base/ids.ts';
import type { FileChange } from '../../../rules/file-change.ts';
import { PAYLOAD_BYTES_MAX, type Signals, type Topic } from '../../../signals/signals.ts';
import type { NodeId } from '../../records/node-record.ts';

const CHANGES_TOPIC: Topic = 'file-changes';

/** A node that has not been heard of for so many beats watches nothing any more. */
const SILENT_BEATS_MAX = 10;
/** Beyond so many that are still being looked up, it is only told that there were changes. */
const LOOK_UPS_MAX = 1_000;

export type FileNews =
  /** Of one act, in order. */
  | { readonly what: 'changes'; readonly shareId: Id; readonly changes: readonly FileChange[] }
  /** The directory is marked for deletion. */
  | { readonly what: 'deleting'; readonly shareId: Id; readonly directoryId: NodeId }
  /** Anything may have changed in the share; null: in any. */
  | { readonly what: 'unknown'; readonly shareId: Id | null };

type Word =
  | { readonly by: Id; readonly news: FileNews }
  /** What the node's clients watch by now; null: more than can be told. */
  | { readonly by: Id; readonly watched: readonly Id[] | null };

interface Other {
  watched: ReadonlySet<Id> | null;
  silentBeats: number;
}

export class FileChanges {
  readonly #signals: Signals;
  /** This node, among those that have clients. */
  readonly #owner: Id;
  readonly #listeners = new Set<(news: FileNews) => void>();
  /** How many watches of this node's clients each share has. */
  readonly #watched = new Map<Id, number>();
  readonly #others = new Map<Id, Other>();
  #unlisten: () => void = () => {};
  #lookUpCount = 0;
  /** What was said before is told before. */
  #last: Promise<void> = Promise.resolve();

  constructor({ signals, owner }: { signals: Signals; owner: Id }) {
    this.#signals = signals;
    this.#owner = owner;
  }

  async start(): Promise<void> {
    this.#unlisten = await this.#signals.listen(CHANGES_TOPIC, (payload) => this.#hear(payload));
  }

  stop(): void {
    this.#unlisten();
  }

  /** What happens from now on, on whatever node; the result ends that. */
  listen(heard: (news: FileNews) => void): () => void {
    this.#listeners.add(heard);
    return () => {
      this.#listeners.delete(heard);
    };
  }

  /** A client of this node watches something in the share; the result ends that. */
  watch(shareId: Id): () => void {
    const count = this.#watched.get(shareId) ?? 0;
    this.#watched.set(shareId, count + 1);
    if (count === 0) this.#sayWatched();
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      const left = (this.#watched.get(shareId) ?? 1) - 1;
      if (left > 0) this.#watched.set(shareId, left);
      else this.#watched.delete(shareId);
      if (left === 0) this.#sayWatched();
    };
  }

  /** Whether anybody may want to hear of it. */
  isWatched(shareId: Id): boolean {
    return this.#watched.has(shareId) || this.#isWatchedElsewhere(shareId);
  }

  /** Looks at once, and tells in the order of the calls; null: there is nothing to tell. What cannot be looked up is unknown. */
  say(shareId: Id, look: () => Promise<FileNews | null>): void {
    const unknown: FileNews = { what: 'unknown', shareId };
    const news = this.#lookUpCount < LOOK_UPS_MAX ? look().catch(() => unknown) : Promise.resolve(unknown);
    this.#lookUpCount++;
    const before = this.#last;
    this.#last = (async () => {
      const found = await news;
      this.#lookUpCount--;
      await before;
      if (found !== null) this.#tell(found);
    })();
  }

  /** Everything said so far is told. */
  told(): Promise<void> {
    return this.#last;
  }

  /** With every beat. */
  look(): void {
    for (const [id, other] of this.#others) {
      other.silentBeats++;
      if (other.silentBeats > SILENT_BEATS_MAX) this.#others.delete(id);
    }
    if (this.#watched.size > 0) this.#sayWatched();
  }

  #tell(news: FileNews): void {
    this.#tellHere(news);
    if (news.shareId !== null && this.#isWatchedElsewhere(news.shareId)) this.#send({ by: this.#owner, news });
  }

  #tellHere(news: FileNews): void {
    for (const heard of this.#listeners) heard(news);
  }

  #isWatchedElsewhere(shareId: Id): boolean {
    for (const { watched } of this.#others.values()) if (watched === null || watched.has(shareId)) return true;
    return false;
  }

  #sayWatched(): void {
    this.#send({ by: this.#owner, watched: [...this.#watched.keys()] });
  }

  #send(word: Word): void {
    const payload = JSON.stringify(word);
    const isTooLong = Buffer.byteLength(payload) > PAYLOAD_BYTES_MAX;
    void this.#signals.send(CHANGES_TOPIC, isTooLong ? JSON.stringify(shortened(word)) : payload);
  }

  #hear(payload: string): void {
    if (payload === '') {
      this.#tellHere({ what: 'unknown', shareId: null });
      return;
    }
    const word = JSON.parse(payload) as Word;
    if (word.by === this.#owner) return;
    if ('news' in word) {
      this.#tellHere(word.news);
      return;
    }
    const { by, watched } = word;
    if (watched?.length === 0) this.#others.delete(by);
    else this.#others.set(by, { watched: watched === null ? null : new Set(watched), silentBeats: 0 });
  }
}

const shortened = (word: Word): Word =>
  'news' in word
    ? { by: word.by, news: { what: 'unknown', shareId: word.news.shareId } }
    : { by: word.by, watched: null };
