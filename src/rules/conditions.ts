/**
 * The four conditional headers (RFC 9110 §13, with Azure Storage's own rules for which mixes a read, a write and a
 * container operation take). A target is the blob or container as it stands; null is one that does not exist.
 */
import type { ErrorCode } from './error-code.ts';
import type { Etag } from './etag.ts';
import { meetsTagCondition, type TagExpression } from './tag-expression.ts';
import type { Tags } from './tags.ts';
import { type ApiVersion, SINCE_READ_CONDITIONS_COMBINE, SINCE_READ_IF_NONE_MATCH_ANY_REFUSED } from './versions.ts';

/** Any ETag at all, or one of these (quotes stripped). */
export type EtagCondition = '*' | readonly string[];

export type Conditions = {
  readonly ifMatch: EtagCondition | null;
  readonly ifNoneMatch: EtagCondition | null;
  readonly ifModifiedSinceMs: number | null;
  readonly ifUnmodifiedSinceMs: number | null;
  readonly ifTags?: TagExpression | null;
};

export const NO_CONDITIONS: Conditions = {
  ifMatch: null,
  ifNoneMatch: null,
  ifModifiedSinceMs: null,
  ifUnmodifiedSinceMs: null,
};

export type Target = { readonly etag: Etag; readonly lastModifiedMs: number };

/** `notModified`: the answer is 304 and not the code's usual status. */
export type Refusal = { readonly code: ErrorCode; readonly notModified: boolean };

const NOT_MET: Refusal = { code: 'ConditionNotMet', notModified: false };
const NOT_MODIFIED: Refusal = { code: 'ConditionNotMet', notModified: true };
const refusal = (code: ErrorCode): Refusal => ({ code, notModified: false });

/** Takes any text: what is no ETag simply matches none. */
export function parseEtagCondition(text: string): EtagCondition {
  const trimmed = text.trim();
  return trimmed === '*' ? '*' : trimmed.split(',').map((etag) => withoutQuotes(etag.trim()));
}

function withoutQuotes(text: string): string {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}

// ---- the truth of a single condition on a target that exists

function matches(condition: EtagCondition, target: Target): boolean {
  return condition === '*' || condition.includes(target.etag);
}

/** Clients see Last-Modified in whole seconds, so that is how it compares. */
function modifiedSince(sinceMs: number, target: Target): boolean {
  return Math.floor(target.lastModifiedMs / 1000) > Math.floor(sinceMs / 1000);
}

// ---- reads

/** Get Blob and its kin. A read of something that does not exist and that nothing here refuses is not found. */
export function refuseRead(
  conditions: Conditions,
  target: Target | null,
  { version }: { version: ApiVersion },
): Refusal | null {
  const combines = version >= SINCE_READ_CONDITIONS_COMBINE;
  const illegal = combines ? null : refuseMix(conditions);
  if (illegal !== null) return refusal(illegal);
  if (target === null) return refuseAbsent(conditions);
  const judged = combines ? conditions : onlyJudged(conditions);
  if (judged.ifNoneMatch !== '*') return judge(judged, target);
  if (version >= SINCE_READ_IF_NONE_MATCH_ANY_REFUSED) return refusal('UnsatisfiableCondition');
  return judge({ ...judged, ifNoneMatch: null }, target);
}

/** Passes if If-Match and If-Unmodified-Since and (If-None-Match or If-Modified-Since): 412 goes before 304. */
function judge(conditions: Conditions, target: Target): Refusal | null {
  const { ifMatch, ifNoneMatch, ifModifiedSinceMs, ifUnmodifiedSinceMs } = conditions;
  if (ifMatch !== null && !matches(ifMatch, target)) return NOT_MET;
  if (ifUnmodifiedSinceMs !== null && modifiedSince(ifUnmodifiedSinceMs, target)) return NOT_MET;
  if (ifNoneMatch === null && ifModifiedSinceMs === null) return null;
  const changed = ifNoneMatch !== null && !matches(ifNoneMatch, target);
  const modified = ifModifiedSinceMs !== null && modifiedSince(ifModifiedSinceMs, target);
  return changed || modified ? null : NOT_MODIFIED;
}

// ---- writes

/** A write takes one condition, or one of two pairs, and one ETag: nothing else, whatever the state of the target. */
export function refuseMix(conditions: Conditions): ErrorCode | null {
  const { ifMatch, ifNoneMatch, ifModifiedSinceMs, ifUnmodifiedSinceMs } = conditions;
  const count = [ifMatch, ifNoneMatch, ifModifiedSinceMs, ifUnmodifiedSinceMs].filter((given) => given !== null).length;
  const pair =
    count === 2 &&
    ((ifNoneMatch !== null && ifModifiedSinceMs !== null) || (ifMatch !== null && ifUnmodifiedSinceMs !== null));
  const severalEtags = isSeveral(ifMatch) || isSeveral(ifNoneMatch);
  return (count > 1 && !pair) || severalEtags ? 'MultipleConditionHeadersNotSupported' : null;
}

function isSeveral(condition: EtagCondition | null): boolean {
  return condition !== null && condition !== '*' && condition.length > 1;
}

/** Of the two allowed pairs only the ETag's half is judged. */
function onlyJudged(conditions: Conditions): Conditions {
  return {
    ...conditions,
    ifModifiedSinceMs: conditions.ifNoneMatch === null ? conditions.ifModifiedSinceMs : null,
    ifUnmodifiedSinceMs: conditions.ifMatch === null ? conditions.ifUnmodifiedSinceMs : null,
  };
}

/** `creates`: the operation makes the blob where there is none, so that `If-None-Match: *` asks for just that. */
export function refuseWriteConditions(
  conditions: Conditions,
  target: Target | null,
  { creates }: { creates: boolean },
): Refusal | null {
  const illegal = refuseMix(conditions);
  if (illegal !== null) return refusal(illegal);
  if (target === null) return refuseAbsent(conditions);
  if (creates && conditions.ifNoneMatch === '*') return refusal('BlobAlreadyExists');
  return judge(onlyJudged(conditions), target) === null ? null : NOT_MET;
}

/** Of something that does not exist only If-Match can be false; the other conditions are skipped. */
export function refuseAbsent(conditions: Conditions): Refusal | null {
  return conditions.ifMatch === null ? null : NOT_MET;
}

// ---- tags

/** Something that does not exist has no tags. */
export function refuseTags({ ifTags = null }: Conditions, tags: Tags): Refusal | null {
  return ifTags === null || meetsTagCondition(ifTags, tags) ? null : NOT_MET;
}

// ---- containers

/** What a container operation takes: Set Container Metadata the first, Set ACL, Delete and Lease both, all others none. */
export type ContainerConditions = 'none' | 'ifModifiedSince' | 'dates';

/** A condition that the operation does not take is refused, whatever the state of the container. */
export function refuseContainerHeaders(conditions: Conditions, takes: ContainerConditions): ErrorCode | null {
  const { ifMatch, ifNoneMatch, ifModifiedSinceMs, ifUnmodifiedSinceMs } = conditions;
  const unsupported =
    ifMatch !== null ||
    ifNoneMatch !== null ||
    (ifModifiedSinceMs !== null && takes === 'none') ||
    (ifUnmodifiedSinceMs !== null && takes !== 'dates');
  return unsupported ? 'ConditionHeadersNotSupported' : null;
}

export function refuseContainerConditions(
  conditions: Conditions,
  target: Target,
  { takes }: { takes: ContainerConditions },
): Refusal | null {
  const unsupported = refuseContainerHeaders(conditions, takes);
  if (unsupported !== null) return refusal(unsupported);
  return judge(conditions, target) === null ? null : NOT_MET;
}
