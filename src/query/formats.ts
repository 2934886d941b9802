/** How the data, and the answer, are written: delimited text or JSON, with what separates records and fields. */

import { characterCount } from './text-functions.ts';

export interface DelimitedFormat {
  readonly kind: 'delimited';
  readonly columnSeparator: string;
  readonly recordSeparator: string;
  /** One character; null: fields are never quoted. */
  readonly fieldQuote: string | null;
  /** One character; null: nothing is escaped, and a quote inside of quotes is doubled. */
  readonly escape: string | null;
  readonly hasHeaders: boolean;
}

export interface JsonFormat {
  readonly kind: 'json';
  readonly recordSeparator: string;
}

export type Format = DelimitedFormat | JsonFormat;

export const DEFAULT_DELIMITED: DelimitedFormat = {
  kind: 'delimited',
  columnSeparator: ',',
  recordSeparator: '\n',
  fieldQuote: '"',
  escape: null,
  hasHeaders: false,
};

export const DEFAULT_JSON: JsonFormat = { kind: 'json', recordSeparator: '\n' };

const SEPARATOR_LENGTH_MAX = 16;
/** A separator that begins like a value of JSON would be taken for one. */
const BEGINS_JSON = /^[{["\-\dtfn]/;

/** Why a format cannot be read or written; null: it can. */
export function formatFault(format: Format): string | null {
  const separators =
    format.kind === 'json' ? [format.recordSeparator] : [format.recordSeparator, format.columnSeparator];
  if (separators.some((text) => text === '' || text.length > SEPARATOR_LENGTH_MAX)) {
    return `A separator must have 1 to ${SEPARATOR_LENGTH_MAX} characters.`;
  }
  return format.kind === 'json' ? jsonFault(format) : delimitedFault(format);
}

function jsonFault({ recordSeparator }: JsonFormat): string | null {
  return BEGINS_JSON.test(recordSeparator) ? 'A record separator for JSON must not begin like a value.' : null;
}

function delimitedFault({ columnSeparator, recordSeparator, fieldQuote, escape }: DelimitedFormat): string | null {
  if (columnSeparator.startsWith(recordSeparator) || recordSeparator.startsWith(columnSeparator)) {
    return 'Field delimiter and record delimiter must be different characters.';
  }
  for (const character of [fieldQuote, escape]) {
    if (character === null) continue;
    if (characterCount(character) !== 1) return 'The field quote and the escape character must be one character each.';
    if (columnSeparator.startsWith(character) || recordSeparator.startsWith(character)) {
      return 'The field quote and the escape character must differ from the separators.';
    }
  }
  return null;
}
