/**
 * What is known of a file or directory that SMB clients have open, and what follows for whoever comes next, over REST
 * (rest-open.ts) or SMB (smb-open.ts): that it may, that it may not, or what caches have to be given up before that can be told.
 */
import type { HeldLock } from './byte-lock.ts';
import type { ErrorCode } from './error-code.ts';
import { type Break, type Caching, type CachingStyle, cachesHandle, isCachingWithin, OPLOCK_LEVELS } from './oplock.ts';
import type { ShareMode } from './share-mode.ts';

export type OpenId = string;

export interface OpenUse extends ShareMode {
  readonly id: OpenId;
  readonly caching: Caching;
  readonly style: CachingStyle;
  /** Opens with the same key are one client's and have one cache: they do not disturb each other's. */
  readonly cacheKey: string;
  /** What its client was asked to give up to, and has not answered yet. */
  readonly breakingTo: Caching | null;
  /** It had answered something before that, and more was asked for meanwhile: whoever opens the file waits for all of it. */
  readonly isBreakingOn?: boolean;
}

export interface InUse {
  readonly opens: readonly OpenUse[];
  readonly locks: readonly HeldLock<OpenId>[];
  /** Marked for deletion. */
  readonly isPending: boolean;
}

/**
 * Those of whom something is cached that changes with a write through an open: all but those with its key. An oplock of Level II
 * does not outlive a write, not even its own open's; a lease does.
 */
export const cachersBeside = ({ opens }: InUse, own: OpenUse): OpenUse[] =>
  opens.filter(
    ({ cacheKey, style, caching }) =>
      cacheKey !== own.cacheKey || (style === 'oplock' && caching === OPLOCK_LEVELS.levelII),
  );

export const NOT_IN_USE: InUse = { opens: [], locks: [], isPending: false };

/** To ask the client of an open for less. */
export interface WantedBreak {
  readonly openId: OpenId;
  readonly to: Caching;
}

export type Verdict =
  /** `breaks`: to be asked for, and not waited for. */
  | { readonly verdict: 'admitted'; readonly breaks: readonly WantedBreak[] }
  | { readonly verdict: 'refused'; readonly code: ErrorCode }
  /** Whatever was asked for must be answered first. `breaks`: what is still to be asked for. */
  | { readonly verdict: 'waits'; readonly breaks: readonly WantedBreak[] };

export const refusedWith = (code: ErrorCode): Verdict => ({ verdict: 'refused', code });

/**
 * Of opens that are in the way: a client that caches its handle may have closed it long ago, and is asked to say so. Any
 * other is there. Null: none is in the way.
 */
export function resolveConflict(
  offenders: readonly OpenUse[],
  breakOf: (open: OpenUse) => Break | null,
): Verdict | null {
  if (offenders.length === 0) return null;
  if (!offenders.every(({ caching }) => cachesHandle(caching))) return refusedWith('SharingViolation');
  return resolveBreaks(offenders, breakOf);
}

/** What has to be given up before somebody goes on, or while they do. */
export function resolveBreaks(opens: readonly OpenUse[], breakOf: (open: OpenUse) => Break | null): Verdict {
  const needed = opens.flatMap((open) => {
    const found = breakOf(open);
    return found === null ? [] : [{ open, ...found }];
  });
  const breaks = needed
    // A client is asked one thing at a time: once it has answered, what is needed beyond that is asked.
    .filter(({ open, to, isBlocking, isForAll = false }) =>
      open.breakingTo === null ? true : (!isBlocking || isForAll) && !isCachingWithin(open.breakingTo, to),
    )
    .map(({ open, to }): WantedBreak => ({ openId: open.id, to }));
  return { verdict: needed.some(({ isBlocking }) => isBlocking) ? 'waits' : 'admitted', breaks };
}
