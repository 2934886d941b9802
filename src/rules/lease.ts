/**
 * The lease of a blob or a container (Lease Blob, Lease Container): its states, the five actions on it, and what it
 * allows to others. A lease is plain data with deadlines; that a deadline has passed is derived by `leaseAt` whenever
 * the lease is read. Every other function here takes a lease as `leaseAt` gives it.
 */
import type { ErrorCode } from './error-code.ts';

/** A GUID in lower case with dashes, so that equal ids are equal texts. */
export type LeaseId = string;

/** Seconds, or this for a lease without end. */
export const INFINITE_SECONDS = -1;
export const LEASE_SECONDS_MIN = 15;
export const LEASE_SECONDS_MAX = 60;
export const BREAK_SECONDS_MAX = 60;

type Leased = {
  readonly state: 'leased';
  readonly id: LeaseId;
  readonly durationSeconds: number;
  /** Null: never. */
  readonly expiresAtMs: number | null;
};

type Unleased =
  | { readonly state: 'available' }
  | { readonly state: 'broken'; readonly id: LeaseId }
  | { readonly state: 'expired'; readonly id: LeaseId; readonly durationSeconds: number };

type Locked =
  | Leased
  | {
      readonly state: 'breaking';
      readonly id: LeaseId;
      readonly durationSeconds: number;
      readonly breaksAtMs: number;
    };

export type Lease = Unleased | Locked;

export const AVAILABLE: Lease = { state: 'available' };

type Refused = { readonly refusal: ErrorCode };

/** The lease as it stands now: a deadline counts as passed from its very millisecond on. */
export function leaseAt(stored: Lease, nowMs: number): Lease {
  if (stored.state === 'leased' && stored.expiresAtMs !== null && nowMs >= stored.expiresAtMs) {
    return { state: 'expired', id: stored.id, durationSeconds: stored.durationSeconds };
  }
  if (stored.state === 'breaking' && nowMs >= stored.breaksAtMs) return { state: 'broken', id: stored.id };
  return stored;
}

function isLocked(lease: Lease): lease is Locked {
  return lease.state === 'leased' || lease.state === 'breaking';
}

// ---- ids

const PLAIN_GUID = /^[0-9a-f]{32}$/;
const DASHED_GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const HEX_STRUCT_GUID =
  /^\{0x([0-9a-f]{1,8}),0x([0-9a-f]{1,4}),0x([0-9a-f]{1,4}),\{((?:0x[0-9a-f]{1,2},){7}0x[0-9a-f]{1,2})\}\}$/;

/** Any of the five ways to write a GUID: bare, dashed, dashed in `{}` or `()`, and as a struct of hex numbers. */
export function parseLeaseId(text: string): LeaseId | null {
  const lower = text.trim().toLowerCase();
  if (PLAIN_GUID.test(lower)) return dashed(lower);
  const inner = /^\{(.*)\}$|^\((.*)\)$/.exec(lower);
  const bare = inner?.[1] ?? inner?.[2] ?? lower;
  if (DASHED_GUID.test(bare)) return bare;
  return parseHexStruct(lower);
}

function parseHexStruct(lower: string): LeaseId | null {
  const match = HEX_STRUCT_GUID.exec(lower.replaceAll(' ', ''));
  if (match === null) return null;
  const [, first = '', second = '', third = '', rest = ''] = match;
  const bytes = rest.split(',').map((byte) => byte.slice('0x'.length).padStart(2, '0'));
  return dashed(first.padStart(8, '0') + second.padStart(4, '0') + third.padStart(4, '0') + bytes.join(''));
}

function dashed(hex: string): LeaseId {
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

// ---- actions

export type LeaseAction =
  | {
      readonly action: 'acquire';
      readonly proposedId: LeaseId | null;
      /** Used where no id is proposed. */
      readonly freshId: LeaseId;
      readonly durationSeconds: number;
    }
  | { readonly action: 'renew'; readonly id: LeaseId }
  | { readonly action: 'change'; readonly id: LeaseId; readonly proposedId: LeaseId }
  | { readonly action: 'release'; readonly id: LeaseId }
  | { readonly action: 'break'; readonly periodSeconds: number | null };

/** The new lease; and, after a break, the seconds until it is broken. */
export type LeaseOutcome = { readonly lease: Lease; readonly remainingSeconds: number | null };

/** The numbers in an action are out of range, whatever the state of the lease. */
export function refuseLeaseNumbers(action: LeaseAction): ErrorCode | null {
  if (action.action === 'acquire') return refuseLeaseDuration(action.durationSeconds);
  if (action.action === 'break' && action.periodSeconds !== null) return refuseBreakPeriod(action.periodSeconds);
  return null;
}

export function refuseLeaseDuration(seconds: number): ErrorCode | null {
  const finite = Number.isInteger(seconds) && seconds >= LEASE_SECONDS_MIN && seconds <= LEASE_SECONDS_MAX;
  return finite || seconds === INFINITE_SECONDS ? null : 'InvalidHeaderValue';
}

export function refuseBreakPeriod(seconds: number): ErrorCode | null {
  return Number.isInteger(seconds) && seconds >= 0 && seconds <= BREAK_SECONDS_MAX ? null : 'InvalidHeaderValue';
}

export function resolveLeaseAction(lease: Lease, action: LeaseAction, nowMs: number): LeaseOutcome | Refused {
  switch (action.action) {
    case 'acquire':
      return withoutRemaining(acquire(lease, { ...action, nowMs }));
    case 'renew':
      return withoutRemaining(renew(lease, { ...action, nowMs }));
    case 'change':
      return withoutRemaining(change(lease, action));
    case 'release':
      return withoutRemaining(release(lease, action));
    case 'break':
      return breakLease(lease, { ...action, nowMs });
  }
}

function withoutRemaining(result: { readonly lease: Lease } | Refused): LeaseOutcome | Refused {
  return 'refusal' in result ? result : { lease: result.lease, remainingSeconds: null };
}

export function acquire(
  lease: Lease,
  options: { proposedId: LeaseId | null; freshId: LeaseId; durationSeconds: number; nowMs: number },
): { readonly lease: Leased } | Refused {
  const { proposedId, freshId, durationSeconds, nowMs } = options;
  if (isLocked(lease)) {
    if (proposedId !== lease.id) return { refusal: 'LeaseAlreadyPresent' };
    if (lease.state === 'breaking') return { refusal: 'LeaseIsBreakingAndCannotBeAcquired' };
  }
  return { lease: leasedFrom({ id: proposedId ?? freshId, durationSeconds, nowMs }) };
}

/** An expired lease can be renewed as long as it stands: a write to the blob meanwhile has cleared it (`afterWrite`). */
export function renew(
  lease: Lease,
  { id, nowMs }: { id: LeaseId; nowMs: number },
): { readonly lease: Leased } | Refused {
  if (lease.state === 'available' || lease.id !== id) return { refusal: 'LeaseIdMismatchWithLeaseOperation' };
  if (lease.state === 'breaking' || lease.state === 'broken') return { refusal: 'LeaseIsBrokenAndCannotBeRenewed' };
  return { lease: leasedFrom({ id, durationSeconds: lease.durationSeconds, nowMs }) };
}

/** Proposing the id that the lease already has succeeds, so that a change can be sent again after a lost answer. */
export function change(
  lease: Lease,
  { id, proposedId }: { id: LeaseId; proposedId: LeaseId },
): { readonly lease: Leased } | Refused {
  if (!isLocked(lease)) return { refusal: 'LeaseNotPresentWithLeaseOperation' };
  if (id !== lease.id && proposedId !== lease.id) return { refusal: 'LeaseIdMismatchWithLeaseOperation' };
  if (lease.state === 'breaking') return { refusal: 'LeaseIsBreakingAndCannotBeChanged' };
  return { lease: { ...lease, id: proposedId } };
}

export function release(lease: Lease, { id }: { id: LeaseId }): { readonly lease: Lease } | Refused {
  if (lease.state === 'available' || lease.id !== id) return { refusal: 'LeaseIdMismatchWithLeaseOperation' };
  return { lease: AVAILABLE };
}

/** Without a period a finite lease runs to its end and an infinite one ends now; no break ever lengthens a lease. */
export function breakLease(
  lease: Lease,
  { periodSeconds, nowMs }: { periodSeconds: number | null; nowMs: number },
): { readonly lease: Lease; readonly remainingSeconds: number } | Refused {
  if (lease.state === 'available') return { refusal: 'LeaseNotPresentWithLeaseOperation' };
  const broken = { lease: { state: 'broken', id: lease.id }, remainingSeconds: 0 } as const;
  if (!isLocked(lease)) return broken;
  const endsAtMs = lease.state === 'leased' ? lease.expiresAtMs : lease.breaksAtMs;
  const wishedAtMs = periodSeconds === null ? (endsAtMs ?? nowMs) : nowMs + periodSeconds * 1000;
  const breaksAtMs = Math.min(wishedAtMs, endsAtMs ?? Number.POSITIVE_INFINITY);
  if (breaksAtMs <= nowMs) return broken;
  return {
    lease: { state: 'breaking', id: lease.id, durationSeconds: lease.durationSeconds, breaksAtMs },
    remainingSeconds: Math.ceil((breaksAtMs - nowMs) / 1000),
  };
}

function leasedFrom(options: { id: LeaseId; durationSeconds: number; nowMs: number }): Leased {
  const { id, durationSeconds, nowMs } = options;
  const expiresAtMs = durationSeconds === INFINITE_SECONDS ? null : nowMs + durationSeconds * 1000;
  return { state: 'leased', id, durationSeconds, expiresAtMs };
}

// ---- what a lease allows to an operation that presents this id, or none

export function refuseBlobWrite(lease: Lease, presented: LeaseId | null): ErrorCode | null {
  return refuseWithoutLease(lease, presented, BLOB_CODES);
}

export function refuseBlobRead(lease: Lease, presented: LeaseId | null): ErrorCode | null {
  return presented === null ? null : refuseBlobWrite(lease, presented);
}

export function refuseContainerDelete(lease: Lease, presented: LeaseId | null): ErrorCode | null {
  return refuseWithoutLease(lease, presented, CONTAINER_CODES);
}

/** Every operation on the container itself other than its deletion. */
export function refuseContainerUse(lease: Lease, presented: LeaseId | null): ErrorCode | null {
  return presented === null ? null : refuseContainerDelete(lease, presented);
}

export function refuseFileWrite(lease: Lease, presented: LeaseId | null): ErrorCode | null {
  return refuseWithoutLease(lease, presented, FILE_CODES);
}

export function refuseFileRead(lease: Lease, presented: LeaseId | null): ErrorCode | null {
  return presented === null ? null : refuseFileWrite(lease, presented);
}

/** A lease id on a write that would create the blob. */
export function refuseAbsentBlobWrite(presented: LeaseId | null): ErrorCode | null {
  return presented === null ? null : 'LeaseNotPresentWithBlobOperation';
}

type OperationCodes = { readonly mismatch: ErrorCode; readonly notPresent: ErrorCode };

const BLOB_CODES: OperationCodes = {
  mismatch: 'LeaseIdMismatchWithBlobOperation',
  notPresent: 'LeaseNotPresentWithBlobOperation',
};

const CONTAINER_CODES: OperationCodes = {
  mismatch: 'LeaseIdMismatchWithContainerOperation',
  notPresent: 'LeaseNotPresentWithContainerOperation',
};

const FILE_CODES: OperationCodes = {
  mismatch: 'LeaseIdMismatchWithFileOperation',
  notPresent: 'LeaseNotPresentWithFileOperation',
};

function refuseWithoutLease(lease: Lease, presented: LeaseId | null, codes: OperationCodes): ErrorCode | null {
  if (isLocked(lease)) {
    if (presented === null) return 'LeaseIdMissing';
    return presented === lease.id ? null : codes.mismatch;
  }
  if (presented === null) return null;
  // Only whoever held the lease has lost it.
  return lease.state !== 'available' && presented === lease.id ? 'LeaseLost' : codes.notPresent;
}

/** The lease to store with a write that was allowed: one that had ended is forgotten, so its holder learns of the loss. */
export function afterWrite(lease: Lease): Lease {
  return isLocked(lease) ? lease : AVAILABLE;
}

// ---- what is reported

export type LeaseHeaders = {
  readonly status: 'locked' | 'unlocked';
  readonly state: Lease['state'];
  readonly duration: 'fixed' | 'infinite' | null;
};

export function leaseHeaders(lease: Lease): LeaseHeaders {
  return {
    status: isLocked(lease) ? 'locked' : 'unlocked',
    state: lease.state,
    duration: lease.state !== 'leased' ? null : lease.expiresAtMs === null ? 'infinite' : 'fixed',
  };
}
