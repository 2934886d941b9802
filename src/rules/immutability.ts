/**
 * Immutability of one blob: a policy until a date, and a legal hold without one. A policy stays when its date has
 * passed, and then hinders nobody from changing the blob.
 * https://learn.microsoft.com/rest/api/storageservices/set-blob-immutability-policy
 */
import type { ErrorCode } from './error-code.ts';

export type ImmutabilityMode = 'Unlocked' | 'Locked';

export type Immutability = {
  readonly until?: { readonly ms: number; readonly mode: ImmutabilityMode };
  readonly legalHold?: boolean;
};

type Outcome = { readonly immutability: Immutability } | { readonly refusal: ErrorCode };

export function parseImmutabilityMode(text: string): ImmutabilityMode | null {
  const lower = text.toLowerCase();
  return (['Unlocked', 'Locked'] as const).find((mode) => mode.toLowerCase() === lower) ?? null;
}

/** Whether the blob may be changed in place or deleted. */
export function refuseChange(stored: Immutability, nowMs: number): ErrorCode | null {
  if (stored.legalHold === true) return 'BlobImmutableDueToLegalHold';
  return stored.until !== undefined && nowMs < stored.until.ms ? 'BlobImmutableDueToPolicy' : null;
}

/** An unlocked policy can become any other. A locked one, even one that has passed, only a locked one for longer. */
export function resolveSetPolicy(
  stored: Immutability,
  { untilMs, mode }: { untilMs: number; mode: ImmutabilityMode },
  nowMs: number,
): Outcome {
  if (untilMs <= nowMs) return { refusal: 'InvalidHeaderValue' };
  if (stored.until?.mode === 'Locked' && (mode !== 'Locked' || untilMs < stored.until.ms)) {
    return { refusal: 'BlobImmutableDueToPolicy' };
  }
  return { immutability: { ...stored, until: { ms: untilMs, mode } } };
}

/** Without a policy there is nothing to do. A locked one stays for good. */
export function resolveDeletePolicy({ until, legalHold }: Immutability): Outcome {
  if (until?.mode === 'Locked') return { refusal: 'BlobImmutableDueToPolicy' };
  return { immutability: legalHold === undefined ? {} : { legalHold } };
}
