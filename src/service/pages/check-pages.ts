/**
 * Verifies the maps of pages of a store at rest: every state of a chunk can be read and is seen by somebody, the index of
 * earlier states is complete, every epoch that a record holds is noted. Tells which extents the maps name, how many
 * references each should have, and how long it must be. Changes nothing; memory grows with the number of extents.
 */
import { successor } from '../../base/bytes.ts';
import type { Id } from '../../base/ids.ts';
import type { Entry, Key } from '../../engine/engine.ts';
import { endOf } from '../../rules/page-ranges.ts';
import type { ExtentRef } from '../records/extent-record.ts';
import { idOf, tableRange } from '../records/keys.ts';
import { decodeChunk, type PageChunk } from '../records/page-chunk.ts';
import {
  chunkOf,
  endedKey,
  parseEndedKey,
  parseMapRow,
  parsePastChunkKey,
  pastChunkKey,
} from '../records/page-keys.ts';
import { type RangeReader, scanSteps } from '../records/scan.ts';
import { PAGE_SETTINGS, type PageSettings } from './page-settings.ts';

export interface NamedExtent {
  readonly extent: ExtentRef;
  /** One for each chunk of each map. */
  readonly references: number;
  /** It has at least so many bytes. */
  readonly endBytes: number;
}

export interface PagesReport {
  readonly extents: ReadonlyMap<Id, NamedExtent>;
  readonly recordCount: number;
  /** What is wrong, a sentence each. */
  readonly findings: readonly string[];
}

export interface PagesToCheck {
  readonly reader: RangeReader;
  /** The epochs that records hold, by map. */
  readonly holders: ReadonlyMap<Id, ReadonlySet<number>>;
  /** Maps that a garbage row (of an epoch or a cut) names: some of their states may be seen by nobody any more. */
  readonly sweptMaps: ReadonlySet<Id>;
  readonly settings?: PageSettings;
}

const STEP_RECORDS = 500;

export async function checkPages(pages: PagesToCheck): Promise<PagesReport> {
  return new PagesCheck(pages).run();
}

/** One state of a chunk: the newest, if it has no last epoch. */
interface State {
  readonly lastEpoch: number | null;
  readonly chunk: PageChunk;
}

/** What is known of an extent. Unmarked: a newest state names it as if nobody else did. */
type Named = { extent: ExtentRef; references: number; endBytes: number; isUnmarked: boolean };

class PagesCheck {
  readonly #reader: RangeReader;
  readonly #holders: ReadonlyMap<Id, ReadonlySet<number>>;
  readonly #sweptMaps: ReadonlySet<Id>;
  readonly #settings: PageSettings;
  readonly #liveEpochs = new Map<Id, Set<number>>();
  readonly #copiedMaps = new Set<Id>();
  readonly #extents = new Map<Id, Named>();
  readonly #unseenCounts = new Map<Id, number>();
  readonly #findings: string[] = [];
  #recordCount = 0;

  constructor({ reader, holders, sweptMaps, settings = PAGE_SETTINGS }: PagesToCheck) {
    this.#reader = reader;
    this.#holders = holders;
    this.#sweptMaps = sweptMaps;
    this.#settings = settings;
  }

  async run(): Promise<PagesReport> {
    for await (const entry of this.#table('V')) this.#mapRow(entry.key);
    for (const [mapId, epochs] of this.#holders) this.#holder(mapId, epochs);
    await this.#chunks();
    for await (const entry of this.#table('N')) await this.#ended(entry.key);
    for (const [mapId, count] of this.#unseenCounts) {
      this.#findings.push(`page map ${mapId} keeps earlier states of chunks that no record needs: ${count}`);
    }
    for (const [id, { references, isUnmarked }] of this.#extents) {
      if (references > 1 && isUnmarked) this.#findings.push(`extent ${id} is shared, but not marked as shared`);
    }
    return { extents: this.#extents, recordCount: this.#recordCount, findings: this.#findings };
  }

  #mapRow(key: Key): void {
    const row = parseMapRow(key);
    const { mapId } = row;
    if (row.kind === 'copied') this.#copiedMaps.add(mapId);
    if (row.kind === 'cut' && !this.#sweptMaps.has(mapId)) {
      this.#findings.push(`a cleared range of page map ${mapId} waits for a sweep that is not scheduled`);
    }
    if (row.kind !== 'epoch') return;
    const live = this.#liveEpochs.get(mapId) ?? new Set();
    this.#liveEpochs.set(mapId, live.add(row.epoch));
    if (this.#holders.get(mapId)?.has(row.epoch) === true) return;
    this.#findings.push(`no record holds epoch ${row.epoch} of page map ${mapId}`);
  }

  #holder(mapId: Id, epochs: ReadonlySet<number>): void {
    for (const epoch of epochs) {
      if (this.#liveEpochs.get(mapId)?.has(epoch) === true) continue;
      this.#findings.push(`a record holds epoch ${epoch} of page map ${mapId}, which does not exist`);
    }
  }

  /** Both tables side by side, so that all states of one chunk are seen together. */
  async #chunks(): Promise<void> {
    const past = this.#table('H');
    const newest = this.#table('M');
    let pastHead = await nextOf(past);
    let newestHead = await nextOf(newest);
    while (pastHead !== null || newestHead !== null) {
      const name = [pastHead, newestHead].flatMap((head) => (head === null ? [] : [nameOf(head.key)])).sort()[0];
      const states: State[] = [];
      const { key } = (pastHead !== null && nameOf(pastHead.key) === name ? pastHead : newestHead) as Entry;
      for (; pastHead !== null && nameOf(pastHead.key) === name; pastHead = await nextOf(past)) {
        await this.#state(states, pastHead, parsePastChunkKey(pastHead.key).epoch);
      }
      if (newestHead !== null && nameOf(newestHead.key) === name) {
        await this.#state(states, newestHead, null);
        newestHead = await nextOf(newest);
      }
      this.#chunk({ mapId: idOf(key), chunk: chunkOf(key) }, states);
    }
  }

  async #state(states: State[], { key, value }: Entry, lastEpoch: number | null): Promise<void> {
    const at = { mapId: idOf(key), chunk: chunkOf(key) };
    try {
      states.push({ lastEpoch, chunk: decodeChunk(value) });
    } catch (error) {
      this.#findings.push(`${described(at)} cannot be read: ${(error as Error).message}`);
      return;
    }
    const { since } = (states.at(-1) as State).chunk;
    if (lastEpoch === null || (await this.#isThere(endedKey(at.mapId, { ...at, since, epoch: lastEpoch })))) return;
    this.#findings.push(`an earlier state of ${described(at)} is missing from the index`);
  }

  #chunk(at: { mapId: Id; chunk: number }, states: readonly State[]): void {
    let lastEpoch = 0;
    const named = new Map<Id, Omit<Named, 'references'>>();
    for (const state of states) {
      if (state.chunk.since <= lastEpoch) this.#findings.push(`two states of ${described(at)} overlap`);
      lastEpoch = state.lastEpoch ?? Number.POSITIVE_INFINITY;
      if (state.chunk.since > lastEpoch) this.#findings.push(`a state of ${described(at)} ends before it begins`);
      if (!this.#isSeen(at.mapId, state.chunk.since, lastEpoch) && !this.#sweptMaps.has(at.mapId)) {
        this.#unseenCounts.set(at.mapId, (this.#unseenCounts.get(at.mapId) ?? 0) + 1);
      }
      this.#pieces(at, state, named);
    }
    for (const [id, { extent, endBytes, isUnmarked }] of named) {
      const known = this.#extents.get(id) ?? { extent, references: 0, endBytes: 0, isUnmarked: false };
      known.references++;
      known.endBytes = Math.max(known.endBytes, endBytes);
      known.isUnmarked ||= isUnmarked;
      this.#extents.set(id, known);
    }
  }

  #pieces(
    at: { mapId: Id; chunk: number },
    { lastEpoch, chunk }: State,
    named: Map<Id, Omit<Named, 'references'>>,
  ): void {
    const earlier = new Set(named.keys());
    for (const piece of chunk.pieces) {
      const { id } = piece.extent;
      if (endOf(piece) > this.#settings.chunkBytes) this.#findings.push(`a piece of ${described(at)} lies outside it`);
      const isUnmarked = lastEpoch === null && !piece.isShared && !this.#copiedMaps.has(at.mapId);
      if (isUnmarked && earlier.has(id))
        this.#findings.push(`extent ${id} is in two states of a chunk, but not marked as shared`);
      const known = named.get(id);
      named.set(id, {
        extent: piece.extent,
        endBytes: Math.max(known?.endBytes ?? 0, piece.extentOffsetBytes + piece.lengthBytes),
        isUnmarked: isUnmarked || known?.isUnmarked === true,
      });
    }
  }

  #isSeen(mapId: Id, since: number, lastEpoch: number): boolean {
    for (const epoch of this.#liveEpochs.get(mapId) ?? []) if (since <= epoch && epoch <= lastEpoch) return true;
    return false;
  }

  async #ended(key: Key): Promise<void> {
    const mapId = idOf(key);
    const { chunk, epoch } = parseEndedKey(key);
    if (await this.#isThere(pastChunkKey(mapId, chunk, epoch))) return;
    this.#findings.push(`the index lists an earlier state of ${described({ mapId, chunk })} that does not exist`);
  }

  async #isThere(key: Key): Promise<boolean> {
    return (await this.#reader.range({ from: key, to: successor(key) }, { limit: 1 })).length > 0;
  }

  async *#table(letter: string): AsyncGenerator<Entry> {
    for await (const entries of scanSteps(this.#reader, tableRange(letter), STEP_RECORDS)) {
      this.#recordCount += entries.length;
      yield* entries;
    }
  }
}

async function nextOf(entries: AsyncGenerator<Entry>): Promise<Entry | null> {
  const next = await entries.next();
  return next.done === true ? null : next.value;
}

/** Of all states of one chunk; sorts as their keys do. */
const nameOf = (key: Key): string => idOf(key) + chunkOf(key).toString(16).padStart(8, '0');

const described = ({ mapId, chunk }: { mapId: Id; chunk: number }): string => `chunk ${chunk} of page map ${mapId}`;
