/**
 * Makes an expression ready to run, once for all rows: each node becomes a function over those of its operands. Logic has
 * three values, so that what is unknown stays unknown through AND, OR and NOT.
 */
import { calculate, negate } from './arithmetic.ts';
import { areEqual, compare } from './compare.ts';
import { cast, toBoolean, toText } from './convert.ts';
import type { Evaluator, Surroundings } from './evaluator.ts';
import { FUNCTIONS, type SqlFunction } from './functions.ts';
import { isLike, type LikePattern, parseLike } from './like.ts';
import { QueryRefused, RecordError } from './query-error.ts';
import type { CompareOperator, Expression } from './syntax.ts';
import { characterCount } from './text-functions.ts';
import { isAbsent, type Value } from './value.ts';
import type { Work } from './work.ts';

type Of<Kind extends Expression['kind']> = Extract<Expression, { kind: Kind }>;

export function compile(expression: Expression, surroundings: Surroundings): Evaluator {
  const ready = (operand: Expression): Evaluator => compile(operand, surroundings);
  switch (expression.kind) {
    case 'literal': {
      const { value } = expression;
      return () => value;
    }
    case 'column':
      return surroundings.columns.read(expression);
    case 'negate': {
      const operand = ready(expression.operand);
      return (row) => negate(operand(row));
    }
    case 'not': {
      const operand = ready(expression.operand);
      return (row) => inverse(operand(row));
    }
    case 'arithmetic': {
      const [left, right] = [ready(expression.left), ready(expression.right)];
      return (row) => calculate(expression.operator, left(row), right(row));
    }
    case 'compare':
      return comparison(expression.operator, ready(expression.left), ready(expression.right));
    case 'and':
      return all(expression.operands.map(ready));
    case 'or':
      return any(expression.operands.map(ready));
    case 'concat':
      return concatenation(expression.operands.map(ready), surroundings.work);
    case 'isNull': {
      const operand = probe(expression.operand, surroundings);
      return (row) => isAbsent(operand(row));
    }
    case 'isMissing': {
      const operand = probe(expression.operand, surroundings);
      return (row) => operand(row) === undefined;
    }
    case 'between':
      return between(ready(expression.operand), ready(expression.low), ready(expression.high));
    case 'in':
      return membership(expression, ready);
    case 'like':
      return likeness(expression, ready, surroundings.work);
    case 'case':
      return choice(expression, ready);
    case 'cast': {
      const operand = ready(expression.operand);
      return (row) => {
        const value = operand(row);
        return isAbsent(value) ? null : cast(value, expression.target);
      };
    }
    case 'call': {
      const called = FUNCTIONS.get(expression.name) as SqlFunction;
      return called.prepare(expression.operands.map(ready), surroundings);
    }
    case 'aggregate':
      return surroundings.aggregate(expression);
  }
}

function probe(operand: Expression, surroundings: Surroundings): Evaluator {
  return operand.kind === 'column' ? surroundings.columns.probe(operand) : compile(operand, surroundings);
}

function inverse(value: Value): boolean | null {
  return isAbsent(value) ? null : !toBoolean(value);
}

const HOLDS: Readonly<Record<CompareOperator, (compared: number) => boolean>> = {
  '=': (compared) => compared === 0,
  '<>': (compared) => compared !== 0,
  '<': (compared) => compared < 0,
  '<=': (compared) => compared <= 0,
  '>': (compared) => compared > 0,
  '>=': (compared) => compared >= 0,
};

function comparison(operator: CompareOperator, left: Evaluator, right: Evaluator): Evaluator {
  const holds = HOLDS[operator];
  return (row) => {
    const compared = compare(left(row), right(row));
    return compared === null ? null : holds(compared);
  };
}

/** False as soon as one is false; unknown if any is unknown; else true. */
function all(operands: readonly Evaluator[]): Evaluator {
  return (row) => {
    let isKnown = true;
    for (const operand of operands) {
      const value = operand(row);
      if (isAbsent(value)) isKnown = false;
      else if (!toBoolean(value)) return false;
    }
    return isKnown ? true : null;
  };
}

function any(operands: readonly Evaluator[]): Evaluator {
  return (row) => {
    let isKnown = true;
    for (const operand of operands) {
      const value = operand(row);
      if (isAbsent(value)) isKnown = false;
      else if (toBoolean(value)) return true;
    }
    return isKnown ? false : null;
  };
}

function concatenation(operands: readonly Evaluator[], work: Work): Evaluator {
  return (row) => {
    let text = '';
    for (const operand of operands) {
      const value = operand(row);
      if (isAbsent(value)) return null;
      const piece = toText(value);
      work.spend(piece.length);
      text += piece;
    }
    return text;
  };
}

function between(operand: Evaluator, low: Evaluator, high: Evaluator): Evaluator {
  return all([comparison('>=', operand, low), comparison('<=', operand, high)]);
}

function membership({ operand, choices }: Of<'in'>, ready: (operand: Expression) => Evaluator): Evaluator {
  const wanted = ready(operand);
  const evaluators = choices.map(ready);
  const texts = literalTexts(choices);
  return (row) => {
    const value = wanted(row);
    if (isAbsent(value)) return null;
    if (texts !== null && typeof value === 'string') return texts.has(value);
    let isKnown = true;
    for (const evaluator of evaluators) {
      const isEqual = areEqual(value, evaluator(row));
      if (isEqual === true) return true;
      if (isEqual === null) isKnown = false;
    }
    return isKnown ? false : null;
  };
}

/** Where all choices are strings, a long list costs no more than a short one. */
function literalTexts(choices: readonly Expression[]): ReadonlySet<string> | null {
  const texts = new Set<string>();
  for (const choice of choices) {
    if (choice.kind !== 'literal' || typeof choice.value !== 'string') return null;
    texts.add(choice.value);
  }
  return texts;
}

function likeness(expression: Of<'like'>, ready: (operand: Expression) => Evaluator, work: Work): Evaluator {
  const operand = ready(expression.operand);
  const patternOf = likePattern(expression, ready);
  return (row) => {
    const value = operand(row);
    const pattern = patternOf(row);
    return isAbsent(value) || pattern === null ? null : isLike(toText(value), pattern, work);
  };
}

/** A pattern that is the same for all rows is read, and refused, once. */
function likePattern(
  { pattern, escape, position }: Of<'like'>,
  ready: (operand: Expression) => Evaluator,
): (row: Value) => LikePattern | null {
  const evaluators = [ready(pattern), escape === null ? () => undefined : ready(escape)] as const;
  const read = (row: Value): LikePattern | null => readPattern(evaluators[0](row), evaluators[1](row), escape !== null);
  if (pattern.kind !== 'literal' || (escape !== null && escape.kind !== 'literal')) return read;
  try {
    const constant = read(undefined);
    return () => constant;
  } catch (error) {
    if (error instanceof RecordError) throw new QueryRefused(error.message, position);
    throw error;
  }
}

function readPattern(pattern: Value, escape: Value, hasEscape: boolean): LikePattern | null {
  if (isAbsent(pattern) || (hasEscape && isAbsent(escape))) return null;
  if (!hasEscape) return parseLike(toText(pattern), null);
  const character = toText(escape as Exclude<Value, null | undefined>);
  if (characterCount(character) !== 1) throw new RecordError('InvalidArgument', 'ESCAPE must be a single character.');
  return parseLike(toText(pattern), character);
}

function choice({ subject, branches, otherwise }: Of<'case'>, ready: (operand: Expression) => Evaluator): Evaluator {
  const wanted = subject === null ? null : ready(subject);
  const cases = branches.map(({ when, result }) => ({ when: ready(when), result: ready(result) }));
  const rest: Evaluator = otherwise === null ? () => null : ready(otherwise);
  return (row) => {
    const value = wanted?.(row);
    for (const { when, result } of cases) {
      const condition = wanted === null ? when(row) : areEqual(value, when(row));
      if (!isAbsent(condition) && toBoolean(condition)) return result(row);
    }
    return rest(row);
  };
}
