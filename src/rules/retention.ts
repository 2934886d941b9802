/** Soft delete: for how long something deleted can be had back. That the time is over is derived, never written. */

const MS_PER_DAY = 86_400_000;

export type Deleted = { readonly atMs: number; readonly untilMs: number };

export function retentionUntil(atMs: number, days: number): number {
  return atMs + days * MS_PER_DAY;
}

export function isGone(deleted: Deleted, nowMs: number): boolean {
  return nowMs >= deleted.untilMs;
}

/** Whole days after the present one, as the service counts: of seven days, six at first and none on the last. */
export function remainingDays(deleted: Deleted, nowMs: number): number {
  return Math.max(0, Math.ceil((deleted.untilMs - nowMs) / MS_PER_DAY) - 1);
}
