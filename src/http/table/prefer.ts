/**
 * `Prefer`: whether Create Table and Insert Entity answer with what they made. Preferences that are not known are none
 * (RFC 7240, section 2).
 */
import type { Exchange } from '../exchange.ts';

export type Preference = 'return-content' | 'return-no-content';

export function parsePrefer(exchange: Pick<Exchange, 'header'>): Preference | null {
  for (const text of (exchange.header('prefer') ?? '').split(',')) {
    const preference = text.trim().toLowerCase();
    if (preference === 'return-content' || preference === 'return-no-content') return preference;
  }
  return null;
}

export const preferenceHeaders = (preference: Preference | null): readonly string[] =>
  preference === null ? [] : ['Preference-Applied', preference];
