/**
 * Blob index tags: what is legal, and the `x-ms-tags` header. Names tell upper from lower case. All legal characters
 * are ASCII, so the order of code units is also that of the bytes.
 * https://learn.microsoft.com/rest/api/storageservices/set-blob-tags
 */
import type { ErrorCode } from './error-code.ts';

export type Tags = readonly (readonly [name: string, value: string])[];

export const TAG_COUNT_MAX = 10;
export const TAG_NAME_LENGTH_MAX = 128;
export const TAG_VALUE_LENGTH_MAX = 256;

const TAG_TEXT = /^[A-Za-z0-9 +\-./:=_]*$/;

/** Legal tags in the order of the header: `name=value&name=value`, each part as in an HTML form. Empty: no tags. */
export function parseTagsHeader(text: string): Tags | { readonly refusal: ErrorCode } {
  const tags: (readonly [string, string])[] = [];
  for (const pair of text === '' ? [] : text.split('&')) {
    const equals = pair.indexOf('=');
    if (equals === -1) return { refusal: 'InvalidHeaderValue' };
    const name = decodeFormText(pair.slice(0, equals));
    const value = decodeFormText(pair.slice(equals + 1));
    if (name === null || value === null) return { refusal: 'InvalidHeaderValue' };
    tags.push([name, value]);
  }
  const refusal = refuseTags(tags);
  return refusal === null ? tags : { refusal };
}

const PERCENT_ENCODED = /^(?:[^%]|%[0-9a-f]{2})*$/i;

function decodeFormText(text: string): string | null {
  return PERCENT_ENCODED.test(text) ? text.replaceAll('+', ' ').replaceAll(/%(..)/g, characterOf) : null;
}

/** Of a byte, the character with its number: all beyond ASCII are illegal in a tag, whatever their bytes mean. */
function characterOf(_: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

export function refuseTags(tags: Tags): ErrorCode | null {
  if (tags.length > TAG_COUNT_MAX) return 'TagsTooLarge';
  const names = new Set<string>();
  for (const [name, value] of tags) {
    if (name === '') return 'EmptyTagName';
    if (name.length > TAG_NAME_LENGTH_MAX || value.length > TAG_VALUE_LENGTH_MAX) return 'TagsTooLarge';
    if (!TAG_TEXT.test(name) || !TAG_TEXT.test(value)) return 'InvalidTag';
    names.add(name);
  }
  return names.size < tags.length ? 'DuplicateTagNames' : null;
}

/** By name, the order in which they are reported. */
export function sortTags(tags: Tags): Tags {
  return tags.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
