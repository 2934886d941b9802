/** The sequence number of a page blob: conditions on it (Put Page) and changes of it (Set Blob Properties). */
import type { ErrorCode } from './error-code.ts';

/** From 0; stored and sent as decimal text. */
export type SequenceNumber = bigint;

export const SEQUENCE_NUMBER_MAX = 2n ** 63n - 1n;

export type SequenceAction = 'max' | 'update' | 'increment';

/** Null for anything that is not a number in range. */
export function parseSequenceNumber(text: string): SequenceNumber | null {
  if (!/^\d{1,19}$/.test(text)) return null;
  const number = BigInt(text);
  return number <= SEQUENCE_NUMBER_MAX ? number : null;
}

export function parseSequenceAction(text: string): SequenceAction | null {
  const lower = text.toLowerCase();
  return (['max', 'update', 'increment'] as const).find((action) => action === lower) ?? null;
}

/** All that are given must hold. */
export function refuseSequence(
  current: SequenceNumber,
  { le, lt, eq }: { le: SequenceNumber | null; lt: SequenceNumber | null; eq: SequenceNumber | null },
): ErrorCode | null {
  const holds = (le === null || current <= le) && (lt === null || current < lt) && (eq === null || current === eq);
  return holds ? null : 'SequenceNumberConditionNotMet';
}

/** `given` is a number in range: `increment` takes none, the others need one. */
export function resolveSequenceAction(
  current: SequenceNumber,
  action: SequenceAction,
  given: SequenceNumber | null,
): { readonly sequenceNumber: SequenceNumber } | { readonly refusal: ErrorCode } {
  if (action === 'increment') {
    if (given !== null) return { refusal: 'InvalidHeaderValue' };
    if (current >= SEQUENCE_NUMBER_MAX) return { refusal: 'SequenceNumberIncrementTooLarge' };
    return { sequenceNumber: current + 1n };
  }
  if (given === null) return { refusal: 'MissingRequiredHeader' };
  return { sequenceNumber: action === 'max' && current > given ? current : given };
}
