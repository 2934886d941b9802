/**
 * When a blob ends by itself (Set Blob Expiry): the four options and what they make of the time that is sent.
 * https://learn.microsoft.com/rest/api/storageservices/set-blob-expiry
 */
import { parseHttpDate } from '../base/http-date.ts';
import type { ErrorCode } from './error-code.ts';

export const EXPIRY_OPTIONS = ['NeverExpire', 'RelativeToCreation', 'RelativeToNow', 'Absolute'] as const;
export type ExpiryOption = (typeof EXPIRY_OPTIONS)[number];

/** The end of the year 9999: no later time can be written as an HTTP date. */
const EXPIRES_AT_MS_MAX = 253_402_300_799_999;

/** Whatever its case; null for other text. */
export function parseExpiryOption(text: string): ExpiryOption | null {
  const lower = text.toLowerCase();
  return EXPIRY_OPTIONS.find((option) => option.toLowerCase() === lower) ?? null;
}

/** `time`: as sent, milliseconds or an HTTP date; null where it is not sent. An end at null is never. */
export function resolveExpiry(
  { option, time }: { option: ExpiryOption; time: string | null },
  { createdMs, nowMs }: { createdMs: number; nowMs: number },
): { readonly expiresAtMs: number | null } | { readonly refusal: ErrorCode } {
  if (option === 'NeverExpire') return time === null ? { expiresAtMs: null } : { refusal: 'InvalidHeaderValue' };
  if (time === null) return { refusal: 'MissingRequiredHeader' };
  const expiresAtMs = resolveTime(option, time, { createdMs, nowMs });
  if (expiresAtMs === null || expiresAtMs <= nowMs || expiresAtMs > EXPIRES_AT_MS_MAX) {
    return { refusal: 'InvalidHeaderValue' };
  }
  return { expiresAtMs };
}

function resolveTime(
  option: Exclude<ExpiryOption, 'NeverExpire'>,
  time: string,
  { createdMs, nowMs }: { createdMs: number; nowMs: number },
): number | null {
  if (option === 'Absolute') return parseHttpDate(time);
  if (!/^\d+$/.test(time)) return null;
  return (option === 'RelativeToNow' ? nowMs : createdMs) + Number(time);
}
