/** Where nodes stand, from their ids upwards: each directory on the way is read once. */
import { decodeJson } from '../../records/codec.ts';
import { nodeKey, placeKey, type TreeAddress } from '../../records/file-keys.ts';
import { type NodeId, type NodePlace, type NodeRecord, ROOT_ID } from '../../records/node-record.ts';
import type { RecordReader } from '../../records/record-reader.ts';

interface Step extends NodePlace {
  /** As it was written. */
  readonly spelled: string;
}

export class PlaceReader {
  readonly #reader: RecordReader;
  readonly #tree: TreeAddress;
  readonly #read = new Map<NodeId, Promise<Step | null>>();

  constructor(reader: RecordReader, tree: TreeAddress) {
    this.#reader = reader;
    this.#tree = tree;
  }

  /** In the directory, or in one in it; it is not below itself. */
  async isBelow(id: NodeId, directoryId: NodeId): Promise<boolean> {
    return (await this.#above(id)).some(({ parentId }) => parentId === directoryId);
  }

  /** The names on the way from the root, and the directory that it is in; null: nothing has this id any more. */
  async pathOf(id: NodeId): Promise<{ path: readonly string[]; parentId: NodeId } | null> {
    if (id === ROOT_ID) return { path: [], parentId: ROOT_ID };
    const steps = await this.#above(id);
    const [first] = steps;
    if (first === undefined) return null;
    return { path: steps.map(({ spelled }) => spelled).toReversed(), parentId: first.parentId };
  }

  /** The directories above it, the nearest first, and the names on the way from the root; null: the root, or nothing any more. */
  async wayTo(id: NodeId): Promise<{ parentIds: readonly NodeId[]; path: readonly string[] } | null> {
    const steps = await this.#above(id);
    if (steps.length === 0) return null;
    return {
      parentIds: steps.map(({ parentId }) => parentId),
      path: steps.map(({ spelled }) => spelled).toReversed(),
    };
  }

  /** Its own step first, then those of the directories above it up to the root. */
  async #above(id: NodeId): Promise<Step[]> {
    const steps: Step[] = [];
    for (let at = id; at !== ROOT_ID; ) {
      const step = await this.#step(at);
      if (step === null) return [];
      steps.push(step);
      at = step.parentId;
    }
    return steps;
  }

  #step(id: NodeId): Promise<Step | null> {
    const step = this.#read.get(id) ?? this.#load(id);
    this.#read.set(id, step);
    return step;
  }

  async #load(id: NodeId): Promise<Step | null> {
    const [placed] = await this.#reader.getMany([placeKey(this.#tree, id)]);
    if (!placed) return null;
    const place = decodeJson<NodePlace>(placed);
    const [value] = await this.#reader.getMany([nodeKey(this.#tree, place)]);
    return value ? { ...place, spelled: decodeJson<NodeRecord>(value).name } : null;
  }
}
