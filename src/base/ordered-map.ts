/**
 * An immutable map from byte keys to values, in byte order: a change gives a new map that shares all but O(log n) of
 * its nodes with the old one, so a reader keeps its own view for free. A weight-balanced tree, after S. Adams,
 * "Efficient sets: a balancing act" (1993), with the parameters that Hirai and Yamamoto proved sound (2011).
 */
import { compareBytes } from './bytes.ts';

export interface Item<V> {
  readonly key: Uint8Array;
  readonly value: V;
}

/** From `from` (included) to `to` (excluded); an end that is left out is open. */
export interface Bounds {
  readonly from?: Uint8Array;
  readonly to?: Uint8Array;
  readonly reverse?: boolean;
}

interface Node<V> extends Item<V> {
  readonly size: number;
  readonly left: Tree<V>;
  readonly right: Tree<V>;
}

type Tree<V> = Node<V> | null;

export class OrderedMap<V> {
  static readonly #empty = new OrderedMap<never>(null);
  readonly #root: Tree<V>;

  private constructor(root: Tree<V>) {
    this.#root = root;
  }

  static empty<V>(): OrderedMap<V> {
    return OrderedMap.#empty;
  }

  get size(): number {
    return sizeOf(this.#root);
  }

  get(key: Uint8Array): V | undefined {
    let node = this.#root;
    while (node !== null) {
      const order = compareBytes(key, node.key);
      if (order === 0) return node.value;
      node = order < 0 ? node.left : node.right;
    }
    return undefined;
  }

  /** The map keeps the key itself: it must not be changed afterwards. */
  set(key: Uint8Array, value: V): OrderedMap<V> {
    return new OrderedMap(insert(this.#root, key, value));
  }

  delete(key: Uint8Array): OrderedMap<V> {
    const root = remove(this.#root, key);
    return root === this.#root ? this : new OrderedMap(root);
  }

  items({ from, to, reverse = false }: Bounds = {}): Generator<Item<V>, void> {
    return reverse ? descend(this.#root, from, to) : ascend(this.#root, from, to);
  }
}

/** A tree is in balance while neither side outweighs the other by more than this. */
const SIDE_RATIO_MAX = 3;
/** Below this ratio of inner to outer grandchildren a single rotation restores the balance, above it a double one. */
const SINGLE_ROTATION_RATIO = 2;

const sizeOf = (tree: Tree<unknown>): number => (tree === null ? 0 : tree.size);
const weightOf = (tree: Tree<unknown>): number => sizeOf(tree) + 1;

function join<V>({ key, value }: Item<V>, left: Tree<V>, right: Tree<V>): Node<V> {
  return { key, value, left, right, size: sizeOf(left) + sizeOf(right) + 1 };
}

/** Joins two trees of which one may have gained or lost a single node since they were in balance. */
function balance<V>(item: Item<V>, left: Tree<V>, right: Tree<V>): Node<V> {
  if (right !== null && weightOf(right) > SIDE_RATIO_MAX * weightOf(left)) return rotateLeft(item, left, right);
  if (left !== null && weightOf(left) > SIDE_RATIO_MAX * weightOf(right)) return rotateRight(item, left, right);
  return join(item, left, right);
}

function rotateLeft<V>(item: Item<V>, left: Tree<V>, right: Node<V>): Node<V> {
  const inner = right.left;
  if (inner === null || weightOf(inner) < SINGLE_ROTATION_RATIO * weightOf(right.right)) {
    return join(right, join(item, left, inner), right.right);
  }
  return join(inner, join(item, left, inner.left), join(right, inner.right, right.right));
}

function rotateRight<V>(item: Item<V>, left: Node<V>, right: Tree<V>): Node<V> {
  const inner = left.right;
  if (inner === null || weightOf(inner) < SINGLE_ROTATION_RATIO * weightOf(left.left)) {
    return join(left, left.left, join(item, inner, right));
  }
  return join(inner, join(left, left.left, inner.left), join(item, inner.right, right));
}

function insert<V>(tree: Tree<V>, key: Uint8Array, value: V): Node<V> {
  if (tree === null) return { key, value, left: null, right: null, size: 1 };
  const order = compareBytes(key, tree.key);
  if (order < 0) return balance(tree, insert(tree.left, key, value), tree.right);
  if (order > 0) return balance(tree, tree.left, insert(tree.right, key, value));
  return { key, value, left: tree.left, right: tree.right, size: tree.size };
}

/** The same tree when the key is not there. */
function remove<V>(tree: Tree<V>, key: Uint8Array): Tree<V> {
  if (tree === null) return null;
  const order = compareBytes(key, tree.key);
  if (order < 0) {
    const left = remove(tree.left, key);
    return left === tree.left ? tree : balance(tree, left, tree.right);
  }
  if (order > 0) {
    const right = remove(tree.right, key);
    return right === tree.right ? tree : balance(tree, tree.left, right);
  }
  if (tree.left === null) return tree.right;
  if (tree.right === null) return tree.left;
  const { first, rest } = takeFirst(tree.right);
  return balance(first, tree.left, rest);
}

function takeFirst<V>(tree: Node<V>): { first: Item<V>; rest: Tree<V> } {
  if (tree.left === null) return { first: tree, rest: tree.right };
  const { first, rest } = takeFirst(tree.left);
  return { first, rest: balance(tree, rest, tree.right) };
}

function* ascend<V>(root: Tree<V>, from?: Uint8Array, to?: Uint8Array): Generator<Item<V>, void> {
  const path: Node<V>[] = [];
  let node = root;
  while (node !== null) {
    if (from !== undefined && compareBytes(node.key, from) < 0) {
      node = node.right;
    } else {
      path.push(node);
      node = node.left;
    }
  }
  for (let next = path.pop(); next !== undefined; next = path.pop()) {
    if (to !== undefined && compareBytes(next.key, to) >= 0) return;
    yield next;
    for (let below = next.right; below !== null; below = below.left) path.push(below);
  }
}

function* descend<V>(root: Tree<V>, from?: Uint8Array, to?: Uint8Array): Generator<Item<V>, void> {
  const path: Node<V>[] = [];
  let node = root;
  while (node !== null) {
    if (to !== undefined && compareBytes(node.key, to) >= 0) {
      node = node.left;
    } else {
      path.push(node);
      node = node.right;
    }
  }
  for (let next = path.pop(); next !== undefined; next = path.pop()) {
    if (from !== undefined && compareBytes(next.key, from) < 0) return;
    yield next;
    for (let below = next.left; below !== null; below = below.right) path.push(below);
  }
}
