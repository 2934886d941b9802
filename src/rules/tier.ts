/**
 * Access tiers (Set Blob Tier): which tier a blob may go to, and rehydration from the archive. The state is data; that a
 * rehydration is done is derived by `tierAt` whenever the state is read.
 * https://learn.microsoft.com/rest/api/storageservices/set-blob-tier
 */
import type { ErrorCode } from './error-code.ts';
import type { BlobType } from './precedence.ts';

/** Of block blobs. */
export const ACCESS_TIERS = ['Hot', 'Cool', 'Cold', 'Archive', 'Smart'] as const;
export type AccessTier = (typeof ACCESS_TIERS)[number];
export type OnlineTier = Exclude<AccessTier, 'Archive'>;

const GIB = 2 ** 30;

/** Of page blobs in premium accounts, from low to high, each with the longest blob that it takes. */
const PAGE_TIER_BYTES_MAX = {
  P4: 32 * GIB,
  P6: 64 * GIB,
  P10: 128 * GIB,
  P15: 256 * GIB,
  P20: 512 * GIB,
  P30: 1024 * GIB,
  P40: 2048 * GIB,
  P50: 4096 * GIB,
  P60: 8192 * GIB,
  P70: 16_384 * GIB,
  P80: 32_768 * GIB,
} as const;
export type PageTier = keyof typeof PAGE_TIER_BYTES_MAX;
export const PAGE_TIERS = Object.keys(PAGE_TIER_BYTES_MAX) as readonly PageTier[];

export type Tier = AccessTier | PageTier;

export type RehydratePriority = 'High' | 'Standard';

export type Rehydration = {
  readonly to: OnlineTier;
  readonly priority: RehydratePriority;
  readonly doneMs: number;
};

export type TierState = {
  /** Absent: nobody has set it, and it is the account's. */
  readonly tier?: Tier;
  readonly changedMs?: number;
  /** Only of a blob in the archive. */
  readonly rehydrating?: Rehydration;
};

export function isPageTier(tier: Tier): tier is PageTier {
  return Object.hasOwn(PAGE_TIER_BYTES_MAX, tier);
}

/** Whatever its case; null for other text. */
export function parseTier(text: string): Tier | null {
  const lower = text.toLowerCase();
  return [...ACCESS_TIERS, ...PAGE_TIERS].find((tier) => tier.toLowerCase() === lower) ?? null;
}

export function parseRehydratePriority(text: string): RehydratePriority | null {
  const lower = text.toLowerCase();
  return (['High', 'Standard'] as const).find((priority) => priority.toLowerCase() === lower) ?? null;
}

/** The state as it stands now: a rehydration is done from its very millisecond on. Has the three fields and no others. */
export function tierAt(stored: TierState, nowMs: number): TierState {
  const { tier, changedMs, rehydrating } = stored;
  if (rehydrating !== undefined && nowMs >= rehydrating.doneMs) {
    return { tier: rehydrating.to, changedMs: rehydrating.doneMs };
  }
  return {
    ...(tier === undefined ? {} : { tier }),
    ...(changedMs === undefined ? {} : { changedMs }),
    ...(rehydrating === undefined ? {} : { rehydrating }),
  };
}

/** A record with this state in place of its own: a mere spread would keep a rehydration that is over. */
export function withTier<Stored extends TierState>(stored: Stored, state: TierState): Stored {
  const { tier: _tier, changedMs: _changedMs, rehydrating: _rehydrating, ...others } = stored;
  return { ...others, ...state } as Stored;
}

/** Also while it is being rehydrated. */
export function isArchived(state: TierState, nowMs: number): boolean {
  return tierAt(state, nowMs).tier === 'Archive';
}

/** The value of `x-ms-archive-status`, of a state as `tierAt` gives it. */
export function archiveStatus(state: TierState): `rehydrate-pending-to-${Lowercase<OnlineTier>}` | null {
  if (state.rehydrating === undefined) return null;
  return `rehydrate-pending-to-${state.rehydrating.to.toLowerCase() as Lowercase<OnlineTier>}`;
}

/** A tier given with a write that makes the blob: also refused by `resolveSetTier`. */
export function refuseTier(tier: Tier, blob: { blobType: BlobType; lengthBytes: number }): ErrorCode | null {
  const isForType = isPageTier(tier) ? blob.blobType === 'PageBlob' : blob.blobType === 'BlockBlob';
  if (!isForType) return 'AccessTierNotSupportedForBlobType';
  return isPageTier(tier) && blob.lengthBytes > PAGE_TIER_BYTES_MAX[tier] ? 'BlobTierInadequateForContentLength' : null;
}

export type SetTierRequest = {
  readonly tier: Tier;
  /** Null: `Standard`, and of a rehydration under way what it has. */
  readonly priority: RehydratePriority | null;
  readonly blobType: BlobType;
  readonly lengthBytes: number;
  readonly isSnapshotOrVersion: boolean;
  readonly nowMs: number;
  /** How long a rehydration takes that begins, or is raised to High, now. */
  readonly rehydrationMs: number;
};

/** `accepted`: it is on its way, and the answer is 202 in place of 200. */
export function resolveSetTier(
  stored: TierState,
  request: SetTierRequest,
): { readonly state: TierState; readonly accepted: boolean } | { readonly refusal: ErrorCode } {
  const state = tierAt(stored, request.nowMs);
  const { tier, nowMs } = request;
  const refusal = (isLower(tier, state.tier) ? 'CannotChangeToLowerTier' : null) ?? refuseTier(tier, request);
  if (refusal !== null) return { refusal };
  if (state.rehydrating !== undefined) return resolveSetTierAgain(state, state.rehydrating, request);
  if (state.tier === tier) return { state, accepted: false };
  if (state.tier !== 'Archive') return { state: { tier, changedMs: nowMs }, accepted: false };
  // What stands beside the blob stays in the archive: it can be copied from there.
  if (request.isSnapshotOrVersion) return { refusal: 'BlobArchived' };
  const rehydrating = {
    to: tier as OnlineTier,
    priority: request.priority ?? 'Standard',
    doneMs: nowMs + request.rehydrationMs,
  };
  return { state: { ...state, rehydrating }, accepted: true };
}

function isLower(tier: Tier, than: Tier | undefined): boolean {
  if (than === undefined || !isPageTier(tier) || !isPageTier(than)) return false;
  return PAGE_TIER_BYTES_MAX[tier] < PAGE_TIER_BYTES_MAX[than];
}

/** A rehydration cannot be turned aside or called off. It can be raised to High, and a wish to lower it is passed over. */
function resolveSetTierAgain(
  state: TierState,
  rehydrating: Rehydration,
  { tier, priority, nowMs, rehydrationMs }: SetTierRequest,
): { readonly state: TierState; readonly accepted: boolean } | { readonly refusal: ErrorCode } {
  if (tier !== rehydrating.to) return { refusal: 'BlobBeingRehydrated' };
  if (priority !== 'High' || rehydrating.priority === 'High') return { state, accepted: true };
  const doneMs = Math.min(rehydrating.doneMs, nowMs + rehydrationMs);
  return { state: { ...state, rehydrating: { ...rehydrating, priority, doneMs } }, accepted: true };
}
