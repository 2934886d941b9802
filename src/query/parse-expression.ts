/**
 * An expression from its tokens, by recursive descent: OR, AND, NOT, predicates, `||`, `+ -`, `* / %`, signs, operands.
 * How deep parentheses go and how high the tree grows is limited, so that no text exhausts the stack, here or later.
 */
import { parseCall, parseCase, parseCast } from './parse-call.ts';
import { parsePath } from './parse-path.ts';
import { QueryRefused } from './query-error.ts';
import type { CompareOperator, Expression } from './syntax.ts';
import type { TokenCursor } from './token-cursor.ts';

const HEIGHT_MAX = 200;

const COMPARISONS: Readonly<Record<string, CompareOperator>> = {
  '=': '=',
  '<>': '<>',
  '!=': '<>',
  '<=': '<=',
  '>=': '>=',
  '<': '<',
  '>': '>',
};
const COMPARISON_SYMBOLS = Object.keys(COMPARISONS);

export class ExpressionParser {
  readonly cursor: TokenCursor;
  readonly #heights = new WeakMap<Expression, number>();
  #depth = 0;

  constructor(cursor: TokenCursor) {
    this.cursor = cursor;
  }

  parse(): Expression {
    return this.#nested(() => this.#parseOr());
  }

  /** A node over others, if that does not make the tree too high. */
  built(node: Expression, children: readonly Expression[]): Expression {
    const height = 1 + children.reduce((highest, child) => Math.max(highest, this.#heights.get(child) ?? 1), 0);
    if (height > HEIGHT_MAX) throw this.#tooDeep();
    this.#heights.set(node, height);
    return node;
  }

  #parseOr(): Expression {
    const operands = [this.#parseAnd()];
    while (this.cursor.acceptWord('OR')) operands.push(this.#parseAnd());
    return this.#several('or', operands);
  }

  #parseAnd(): Expression {
    const operands = [this.#parseNot()];
    while (this.cursor.acceptWord('AND')) operands.push(this.#parseNot());
    return this.#several('and', operands);
  }

  #parseNot(): Expression {
    if (!this.cursor.acceptWord('NOT')) return this.#parsePredicates();
    return this.#negated(this.#nested(() => this.#parseNot()));
  }

  #parsePredicates(): Expression {
    let left = this.#parseConcat();
    for (let next = this.#parsePredicate(left); next !== null; next = this.#parsePredicate(left)) left = next;
    return left;
  }

  #parsePredicate(left: Expression): Expression | null {
    const { cursor } = this;
    const symbol = cursor.acceptOneOf(COMPARISON_SYMBOLS);
    if (symbol !== null) {
      const right = this.#parseConcat();
      return this.built({ kind: 'compare', operator: COMPARISONS[symbol] as CompareOperator, left, right }, [
        left,
        right,
      ]);
    }
    if (cursor.acceptWord('IS')) return this.#parseIs(left);
    const isNegated = cursor.isWord('NOT') && ['BETWEEN', 'IN', 'LIKE'].some((word) => cursor.isWord(word, 1));
    if (isNegated) cursor.take();
    const predicate = this.#parseWordPredicate(left);
    return isNegated && predicate !== null ? this.#negated(predicate) : predicate;
  }

  #parseWordPredicate(left: Expression): Expression | null {
    if (this.cursor.acceptWord('BETWEEN')) return this.#parseBetween(left);
    if (this.cursor.acceptWord('IN')) return this.#parseIn(left);
    if (this.cursor.acceptWord('LIKE')) return this.#parseLike(left);
    return null;
  }

  #parseIs(operand: Expression): Expression {
    const isNegated = this.cursor.acceptWord('NOT');
    const isNull = this.cursor.acceptWord('NULL');
    if (!isNull && !this.cursor.acceptWord('MISSING')) throw this.cursor.refusal('NULL or MISSING');
    const test = this.built({ kind: isNull ? 'isNull' : 'isMissing', operand }, [operand]);
    return isNegated ? this.#negated(test) : test;
  }

  #parseBetween(operand: Expression): Expression {
    const low = this.#parseConcat();
    this.cursor.expectWord('AND');
    const high = this.#parseConcat();
    return this.built({ kind: 'between', operand, low, high }, [operand, low, high]);
  }

  #parseIn(operand: Expression): Expression {
    this.cursor.expectSymbol('(');
    const choices = this.parseList();
    return this.built({ kind: 'in', operand, choices }, [operand, ...choices]);
  }

  #parseLike(operand: Expression): Expression {
    const { position } = this.cursor;
    const pattern = this.#parseConcat();
    const escape = this.cursor.acceptWord('ESCAPE') ? this.#parseConcat() : null;
    const children = escape === null ? [operand, pattern] : [operand, pattern, escape];
    return this.built({ kind: 'like', operand, pattern, escape, position }, children);
  }

  /** Behind an open parenthesis: one or more, to the one that closes it. */
  parseList(): Expression[] {
    const list = [this.parse()];
    while (this.cursor.acceptSymbol(',')) list.push(this.parse());
    this.cursor.expectSymbol(')');
    return list;
  }

  #parseConcat(): Expression {
    const operands = [this.#parseSum()];
    while (this.cursor.acceptSymbol('||')) operands.push(this.#parseSum());
    return this.#several('concat', operands);
  }

  #parseSum(): Expression {
    return this.#parseChain(['+', '-'], () => this.#parseChain(['*', '/', '%'], () => this.#parseSigned()));
  }

  #parseChain(operators: readonly ('+' | '-' | '*' | '/' | '%')[], parseOperand: () => Expression): Expression {
    let left = parseOperand();
    for (;;) {
      const operator = this.cursor.acceptOneOf(operators);
      if (operator === null) return left;
      const right = parseOperand();
      left = this.built({ kind: 'arithmetic', operator, left, right }, [left, right]);
    }
  }

  #parseSigned(): Expression {
    if (this.cursor.acceptSymbol('+')) return this.#nested(() => this.#parseSigned());
    if (!this.cursor.acceptSymbol('-')) return this.#parseOperand();
    const operand = this.#nested(() => this.#parseSigned());
    return this.built({ kind: 'negate', operand }, [operand]);
  }

  #parseOperand(): Expression {
    const { cursor } = this;
    const { token } = cursor;
    if (cursor.acceptSymbol('(')) {
      const inside = this.parse();
      cursor.expectSymbol(')');
      return inside;
    }
    if (token.kind === 'string' || token.kind === 'number') {
      cursor.take();
      return { kind: 'literal', value: token.kind === 'string' ? token.text : token.value };
    }
    if (cursor.acceptWord('NULL')) return { kind: 'literal', value: null };
    if (cursor.acceptWord('TRUE')) return { kind: 'literal', value: true };
    if (cursor.acceptWord('FALSE')) return { kind: 'literal', value: false };
    if (cursor.acceptWord('CASE')) return parseCase(this);
    if (cursor.acceptWord('CAST')) return parseCast(this);
    if (token.kind === 'word' && cursor.isSymbol('(', 1)) return parseCall(this);
    return { kind: 'column', position: token.position, path: parsePath(cursor) };
  }

  #several(kind: 'or' | 'and' | 'concat', operands: readonly Expression[]): Expression {
    return operands.length === 1 ? (operands[0] as Expression) : this.built({ kind, operands }, operands);
  }

  #negated(operand: Expression): Expression {
    return this.built({ kind: 'not', operand }, [operand]);
  }

  #nested<T>(parse: () => T): T {
    if (this.#depth >= HEIGHT_MAX) throw this.#tooDeep();
    this.#depth++;
    const parsed = parse();
    this.#depth--;
    return parsed;
  }

  #tooDeep(): QueryRefused {
    return new QueryRefused('The expression is nested too deeply', this.cursor.position);
  }
}
