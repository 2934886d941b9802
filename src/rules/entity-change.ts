/**
 * What a write may do to an entity. An entity changes only as a whole, so its state is its ETag, or that it is not there.
 * Update, Merge and Delete demand If-Match; without one, Update and Merge are Insert Or Replace and Insert Or Merge, which
 * ask for nothing.
 * https://learn.microsoft.com/rest/api/storageservices/updating-entities-with-optimistic-concurrency
 */
import { formatTicks, type Properties } from './edm.ts';
import type { ErrorCode } from './error-code.ts';

/** `any`: whatever its ETag is, if only it is there. */
export type IfMatch = { readonly kind: 'any' } | { readonly kind: 'tag'; readonly tag: string };

export type EntityChange =
  | { readonly kind: 'insert'; readonly properties: Properties }
  /** Without `ifMatch`: an upsert. */
  | { readonly kind: 'replace' | 'merge'; readonly ifMatch: IfMatch | null; readonly properties: Properties }
  | { readonly kind: 'delete'; readonly ifMatch: IfMatch };

/** `W/"datetime'2024-05-01T12%3A34%3A56.1234567Z'"`: an entity's ETag is the time of its last write. */
export const entityTag = (ticks: bigint): string => `W/"datetime'${formatTicks(ticks).replaceAll(':', '%3A')}'"`;

/** `currentTicks`: of the entity's last write; null where there is none. */
export function refuseEntityChange(change: EntityChange, currentTicks: bigint | null): ErrorCode | null {
  if (change.kind === 'insert') return currentTicks === null ? null : 'EntityAlreadyExists';
  const { ifMatch } = change;
  if (ifMatch === null) return null;
  if (currentTicks === null) return 'ResourceNotFound';
  if (ifMatch.kind === 'any' || sameTag(ifMatch.tag, entityTag(currentTicks))) return null;
  return 'UpdateConditionNotSatisfied';
}

/** Some clients write the percent-encoding in lower case. */
const sameTag = (presented: string, current: string): boolean =>
  presented === current || presented.replaceAll('%3a', '%3A') === current;

const WEAK_TAG = /^W\/"[^"]*"$/;

/** What an If-Match header says; null where it is no ETag of an entity. */
export function parseIfMatch(text: string): IfMatch | null {
  const trimmed = text.trim();
  if (trimmed === '*') return { kind: 'any' };
  return WEAK_TAG.test(trimmed) ? { kind: 'tag', tag: trimmed } : null;
}

/** The properties after a change that leaves some. Null in a request means absent, and never comes this far. */
export function changedProperties(
  change: EntityChange & { readonly properties: Properties },
  before: Properties | null,
): Properties {
  if (change.kind !== 'merge' || before === null) return change.properties;
  const given = new Map(change.properties);
  const had = new Set(before.map(([name]) => name));
  const kept = before.map(([name, value]) => [name, given.get(name) ?? value] as const);
  return [...kept, ...change.properties.filter(([name]) => !had.has(name))];
}
