/**
 * LIKE: `%` stands for any text, `_` for any one character. The pattern is cut at its `%` into pieces, and each piece is
 * looked for behind the one before: the first place where it fits is as good as any later one, so nothing is tried twice.
 */
import { RecordError } from './query-error.ts';
import type { Work } from './work.ts';

/** As T-SQL has it. */
const PATTERN_LENGTH_MAX = 4000;

/** One character each to match; null: any. */
type Piece = readonly (string | null)[];

/** A pattern without `%` is one piece, which must fit the whole text. */
export interface LikePattern {
  readonly pieces: readonly Piece[];
  /** The same as text, where no `_` is in them. */
  readonly literals: readonly string[] | null;
}

export function parseLike(pattern: string, escape: string | null): LikePattern {
  if (pattern.length > PATTERN_LENGTH_MAX)
    throw invalidPattern(`A pattern can have up to ${PATTERN_LENGTH_MAX} characters.`);
  const pieces: (string | null)[][] = [[]];
  const characters = Array.from(pattern);
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] as string;
    if (character === escape) {
      const next = characters[++at];
      if (next === undefined) throw invalidPattern('The pattern ends with its escape character.');
      pieces.at(-1)?.push(next);
    } else if (character === '%') pieces.push([]);
    else pieces.at(-1)?.push(character === '_' ? null : character);
  }
  const isLiteral = pieces.every((piece) => !piece.includes(null));
  return { pieces, literals: isLiteral ? pieces.map((piece) => piece.join('')) : null };
}

export function isLike(text: string, { pieces, literals }: LikePattern, work: Work): boolean {
  work.spend(text.length);
  return literals === null ? matchPieces(Array.from(text), pieces, work) : matchLiterals(text, literals);
}

function matchLiterals(text: string, literals: readonly string[]): boolean {
  const first = literals[0] as string;
  const last = literals.at(-1) as string;
  if (literals.length === 1) return text === first;
  const lastAt = text.length - last.length;
  if (lastAt < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let from = first.length;
  for (const literal of literals.slice(1, -1)) {
    const at = text.indexOf(literal, from);
    if (at === -1 || at + literal.length > lastAt) return false;
    from = at + literal.length;
  }
  return true;
}

function matchPieces(text: readonly string[], pieces: readonly Piece[], work: Work): boolean {
  const first = pieces[0] as Piece;
  const last = pieces.at(-1) as Piece;
  if (pieces.length === 1) return text.length === first.length && fits(text, 0, first, work);
  const lastAt = text.length - last.length;
  if (lastAt < first.length || !fits(text, 0, first, work) || !fits(text, lastAt, last, work)) return false;
  let from = first.length;
  for (const piece of pieces.slice(1, -1)) {
    while (from + piece.length <= lastAt && !fits(text, from, piece, work)) from++;
    if (from + piece.length > lastAt) return false;
    from += piece.length;
  }
  return true;
}

function fits(text: readonly string[], at: number, piece: Piece, work: Work): boolean {
  for (let index = 0; index < piece.length; index++) {
    const wanted = piece[index];
    if (wanted !== null && wanted !== text[at + index]) {
      work.spend(index);
      return false;
    }
  }
  work.spend(piece.length);
  return true;
}

const invalidPattern = (reason: string): RecordError => new RecordError('InvalidArgument', reason);
