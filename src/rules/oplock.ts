/**
 * What SMB clients may cache of a file, and when they must give it up ([MS-SMB2] oplocks and leases, Managing file locks):
 * reads (R), writes (W), and the handle itself beyond its closing (H). An oplock is a lease with old names: Level II is R,
 * Exclusive is RW, Batch is RWH. To break is to ask a client for less; where it holds what others cannot see, unwritten
 * bytes or a handle that may be closed already, it has to answer.
 */
import { type Access, NO_ACCESS } from './share-mode.ts';

export type Caching = '' | 'R' | 'RH' | 'RW' | 'RWH';

/** Oplocks know no state between Batch and Level II, so they are broken further. */
export type CachingStyle = 'lease' | 'oplock';

export const OPLOCK_LEVELS = { none: '', levelII: 'R', exclusive: 'RW', batch: 'RWH' } as const satisfies Record<
  string,
  Caching
>;

export const cachesWrites = (caching: Caching): boolean => caching.includes('W');
export const cachesHandle = (caching: Caching): boolean => caching.includes('H');

/** Whether all of it is part of the other. */
export const isCachingWithin = (caching: Caching, allowed: Caching): boolean =>
  Array.from(caching).every((letter) => allowed.includes(letter));

/** What is in both. */
export const commonCaching = (one: Caching, other: Caching): Caching =>
  Array.from(one)
    .filter((letter) => other.includes(letter))
    .join('') as Caching;

/** Whether a client that is asked for less has to answer. */
export const mustAnswer = (caching: Caching): boolean => cachesWrites(caching) || cachesHandle(caching);

export type BreakClass =
  /** Somebody looks at the bytes or the size: they must be written. */
  | 'read'
  /** Somebody changes something: what others have read is not so any more. */
  | 'write'
  /** An SMB open replaces the content. */
  | 'overwrite'
  /** Somebody needs the file to be closed, or closable. */
  | 'handle'
  /** A REST lease is acquired: nothing may be written behind its back. */
  | 'lease';

export interface Break {
  readonly to: Caching;
  /** Whoever needs it waits for the client's answer. */
  readonly isBlocking: boolean;
  /** A client that is just asked for something else is asked for this as well, and whoever waits for it waits for both. */
  readonly isForAll?: true;
}

const waits = (to: Caching): Break => ({ to, isBlocking: true });
const goesOn = (to: Caching): Break => ({ to, isBlocking: false });
const allWait = (to: Caching): Break => ({ to, isBlocking: true, isForAll: true });

const BREAKS: Readonly<Record<BreakClass, Readonly<Partial<Record<Caching, Break>>>>> = {
  read: { RWH: waits('RH'), RW: waits('R') },
  write: { RWH: waits(''), RH: goesOn(''), RW: waits(''), R: goesOn('') },
  overwrite: { RWH: allWait(''), RH: goesOn(''), RW: allWait(''), R: goesOn('') },
  handle: { RWH: waits('RW'), RH: waits('R') },
  lease: { RWH: waits('RW'), RH: waits('R'), RW: waits('R') },
};

/** What is asked of a client that caches so much; null: nothing. */
export function breakOf(caching: Caching, style: CachingStyle, breakClass: BreakClass): Break | null {
  const found = BREAKS[breakClass][caching] ?? null;
  return found === null || style === 'lease' || found.to === '' ? found : { ...found, to: OPLOCK_LEVELS.levelII };
}

/** What a client is asked for that has just answered, and has to give up more: of its handle it is asked by itself. */
export const nextStep = (caching: Caching, to: Caching): Caching => (caching === 'RH' && to === '' ? 'R' : to);

/** Another open of the same file, by somebody who shares no cache with the one that asks. */
export interface Beside {
  readonly access: Access;
  readonly caching: Caching;
  readonly style: CachingStyle;
}

/**
 * How far an open reaches that neither reads, writes nor deletes: to the attributes alone, to the security descriptor as
 * well, or further. The first disturbs nobody's cache, the second no lease.
 */
export type Reach = 'attributes' | 'permissions' | 'all';

export interface CachingWish {
  readonly caching: Caching;
  readonly style: CachingStyle;
}

/**
 * What a new open gets of what it wishes to cache. Whatever the others had to give up for it, they have by now: one that
 * still caches writes was not asked, as the new one only looks.
 */
export function grantCaching(
  { caching, style }: CachingWish,
  {
    beside,
    hasLocks,
    isLeased,
    isDirectory,
  }: { beside: readonly Beside[]; hasLocks: boolean; isLeased: boolean; isDirectory: boolean },
): Caching {
  if (isDirectory) return '';
  if (beside.some((other) => cachesWrites(other.caching))) return '';
  const isContested = beside.some((other) => style === 'oplock' || other.access !== NO_ACCESS || other.caching !== '');
  if (style === 'oplock' && isContested && beside.some((other) => cachesHandle(other.caching))) return '';
  let granted = isContested || isLeased || hasLocks ? withoutWrites(caching, style) : caching;
  if (beside.some((other) => other.style === 'oplock' && other.caching !== '')) granted = commonCaching(granted, 'R');
  return hasLocks && granted === 'R' ? '' : granted;
}

const withoutWrites = (caching: Caching, style: CachingStyle): Caching =>
  style === 'oplock' ? commonCaching(caching, OPLOCK_LEVELS.levelII) : commonCaching(caching, 'RH');
