/** Values as JSON, without white space: whole rows of an answer, and what a field of delimited text holds of JSON. */
import { scalarText } from './convert.ts';
import type { JsonFormat } from './formats.ts';
import { Timestamp } from './timestamp.ts';
import type { JsonObject, Value } from './value.ts';

export function jsonText(value: Value): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value === 'string') return JSON.stringify(value);
  if (value instanceof Timestamp) return JSON.stringify(value.toString());
  if (typeof value !== 'object') return scalarText(value);
  if (value instanceof Map) return objectText(...entriesOf(value));
  return `[${(value as readonly Value[]).map(jsonText).join(',')}]`;
}

function entriesOf(object: JsonObject): [names: string[], values: Value[]] {
  return [[...object.keys()], [...object.values()]];
}

/** What is missing has no member. */
function objectText(names: readonly string[], values: readonly Value[]): string {
  let text = '';
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(names[index])}:${jsonText(value)}`;
  }
  return `{${text}}`;
}

/** A record of the answer. */
export const jsonRow = (names: readonly string[], values: readonly Value[], { recordSeparator }: JsonFormat): string =>
  objectText(names, values) + recordSeparator;
