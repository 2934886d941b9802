/**
 * What the test process knows of a share that one client uses over SMB alone. Most requests come one after the other: there is the
 * last acknowledged tree and, while one is under way, those that it may lead to. Writes come many at once, and each of
 * them takes effect as a whole or not at all, in any order.
 */
import type { TestAccount } from '../harness/accounts.ts';

export interface SmbKnownFile {
  readonly kind: 'file';
  readonly bytes: Buffer;
  /** When it was looked at last; null: never. */
  readonly seenEtag: string | null;
  /** Since then an open through which it was written has been closed. */
  readonly hasNewEtag: boolean;
}

export type SmbKnown = SmbKnownFile | { readonly kind: 'directory' };

/** By path, from the root. */
export type SmbTree = ReadonlyMap<string, SmbKnown>;

export interface SentWrite {
  readonly path: string;
  readonly offsetBytes: number;
  readonly bytes: Buffer;
  isAcknowledged: boolean;
}

export interface SmbShareEntry {
  readonly account: TestAccount;
  readonly name: string;
  acknowledged: SmbTree;
  /** What the requests under way may lead to. */
  pending: readonly SmbTree[];
  /** Writes that were sent at once; the tree is as it was before them. */
  writes: readonly SentWrite[];
  /** What the client has open. */
  readonly opened: Set<string>;
}

export const newSmbShareEntry = (name: string, account: TestAccount): SmbShareEntry => ({
  account,
  name,
  acknowledged: new Map(),
  pending: [],
  writes: [],
  opened: new Set(),
});

/** Why a file cannot hold this after these writes, in whatever order; null: it can. */
export function writesProblem(before: Buffer, sent: readonly SentWrite[], found: Buffer): string | null {
  const endOf = ({ offsetBytes, bytes }: SentWrite): number => offsetBytes + bytes.length;
  const leastBytes = Math.max(
    before.length,
    ...sent.filter(({ isAcknowledged }) => isAcknowledged).map((write) => endOf(write)),
  );
  if (found.length < leastBytes) return `has ${found.length} bytes, expected ${leastBytes} or more`;
  const isExplained = Buffer.alloc(found.length);
  const left = new Set(sent.filter((write) => endOf(write) <= found.length));
  // Whoever may have been the last is taken away, with what it covers, until nobody is left of whom that can be said.
  for (let last = lastOf(left, found, isExplained); last !== null; last = lastOf(left, found, isExplained)) {
    isExplained.fill(1, last.offsetBytes, endOf(last));
    left.delete(last);
  }
  const missing = [...left].filter(({ isAcknowledged }) => isAcknowledged);
  if (missing.length > 0) return `is not as written at ${missing.map(({ offsetBytes }) => offsetBytes).join()}`;
  if (found.length > leastBytes && !sent.some((write) => endOf(write) === found.length && !left.has(write)))
    return `has ${found.length} bytes, which nobody has written`;
  const base = Buffer.concat([before], found.length);
  const at = found.findIndex((byte, index) => isExplained[index] === 0 && byte !== base[index]);
  return at < 0 ? null : `is at ${at} what it never was`;
}

function lastOf(writes: ReadonlySet<SentWrite>, found: Buffer, isExplained: Buffer): SentWrite | null {
  for (const write of writes) {
    const { offsetBytes, bytes } = write;
    if (bytes.every((byte, index) => isExplained[offsetBytes + index] === 1 || found[offsetBytes + index] === byte))
      return write;
  }
  return null;
}
