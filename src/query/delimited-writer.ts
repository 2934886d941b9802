/** Rows as delimited text. A field is quoted only where a reader would otherwise take it for something else. */
import { scalarText } from './convert.ts';
import type { DelimitedFormat } from './formats.ts';
import { jsonText } from './json-text.ts';
import { Timestamp } from './timestamp.ts';
import { isAbsent, type Value } from './value.ts';

export class DelimitedWriter {
  readonly #format: DelimitedFormat;
  readonly #special: RegExp;
  readonly #escaped: RegExp | null;

  constructor(format: DelimitedFormat) {
    this.#format = format;
    const { columnSeparator, recordSeparator, fieldQuote, escape } = format;
    // The start of a longer separator at the end of a field would be read together with the separator behind it.
    const separators = [columnSeparator, recordSeparator].map(firstCharacter);
    this.#special = anyOf([...separators, fieldQuote, escape, recordSeparator === '\n' ? '\r' : null], '');
    this.#escaped = escape === null ? null : anyOf([escape, ...(fieldQuote === null ? separators : [fieldQuote])], 'g');
  }

  row(values: readonly Value[]): string {
    let text = '';
    for (const [index, value] of values.entries()) {
      if (index > 0) text += this.#format.columnSeparator;
      text += this.#field(fieldText(value));
    }
    return text + this.#format.recordSeparator;
  }

  #field(text: string): string {
    if (!this.#special.test(text)) return text;
    const { fieldQuote, escape } = this.#format;
    const inside = this.#escaped === null ? text : text.replaceAll(this.#escaped, (found) => `${escape}${found}`);
    if (fieldQuote === null) return inside;
    return `${fieldQuote}${escape === null ? inside.replaceAll(fieldQuote, fieldQuote + fieldQuote) : inside}${fieldQuote}`;
  }
}

function fieldText(value: Value): string {
  if (isAbsent(value)) return '';
  if (typeof value === 'string') return value;
  return typeof value === 'object' && !(value instanceof Timestamp) ? jsonText(value) : scalarText(value);
}

const firstCharacter = (text: string): string => String.fromCodePoint(text.codePointAt(0) as number);

function anyOf(texts: readonly (string | null)[], flags: string): RegExp {
  const forms = texts.filter((text) => text !== null).map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  return new RegExp(forms.join('|'), flags);
}
