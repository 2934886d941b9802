/** SUBSTRING, TRIM and CHAR_LENGTH: characters are Unicode's, not halves of them. */

export function characterCount(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length - 1; at++) {
    if (isPair(text, at)) {
      count--;
      at++;
    }
  }
  return count;
}

/** The first character is number 0, as in the reference's example. What lies outside of the text adds nothing. */
export function substring(text: string, start: number, count: number): string {
  const end = start + count;
  let at = 0;
  let from = start <= 0 ? 0 : text.length;
  for (let index = 0; at < text.length && index < end; index++) {
    if (index === start) from = at;
    at += isPair(text, at) ? 2 : 1;
  }
  return from < at ? text.slice(from, at) : '';
}

export type TrimSide = 'both' | 'leading' | 'trailing';

export function trim(text: string, side: TrimSide, characters: string): string {
  const trimmed = new Set(characters);
  let from = 0;
  let to = text.length;
  if (side !== 'trailing') {
    while (from < to && trimmed.has(characterAt(text, from))) from += characterAt(text, from).length;
  }
  if (side !== 'leading') {
    while (from < to && trimmed.has(characterBefore(text, to))) to -= characterBefore(text, to).length;
  }
  return text.slice(from, to);
}

const isPair = (text: string, at: number): boolean => (text.codePointAt(at) as number) > 0xffff;

const characterAt = (text: string, at: number): string => text.slice(at, at + (isPair(text, at) ? 2 : 1));

const characterBefore = (text: string, at: number): string =>
  at >= 2 && isPair(text, at - 2) ? text.slice(at - 2, at) : text.slice(at - 1, at);
