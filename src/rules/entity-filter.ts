/**
 * `$filter`: its syntax tree, the parser, and what a filter means. From the loosest to the tightest stand `or`, `and`,
 * `not`, comparisons. A comparison has a property on one side and a literal on the other; OData has more than that, and the
 * Table service does not.
 * https://learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities
 */
import type { EdmValue } from './edm.ts';
import { type ComparisonOperator, HOLDS, orderOf, TURNED_ROUND } from './entity-filter-comparison.ts';
import { FilterWords, shown } from './entity-filter-words.ts';

export type { ComparisonOperator } from './entity-filter-comparison.ts';

export type Filter =
  | { readonly kind: 'and' | 'or'; readonly left: Filter; readonly right: Filter }
  | { readonly kind: 'not'; readonly operand: Filter }
  /** The property stands on the left; a literal there is turned round by the parser. */
  | {
      readonly kind: 'compare';
      readonly property: string;
      readonly operator: ComparisonOperator;
      readonly literal: EdmValue;
    }
  /** A Boolean property standing alone. */
  | { readonly kind: 'isTrue'; readonly property: string }
  | { readonly kind: 'constant'; readonly value: boolean };

export type ParsedFilter =
  | { readonly filter: Filter }
  /** `unsupported`: it is OData, and the Table service does not offer it. A sentence for the caller. */
  | { readonly problem: string; readonly unsupported: boolean };

export function parseFilter(text: string): ParsedFilter {
  const parser = new FilterParser(text);
  const filter = parser.parseWhole();
  return filter === null ? parser.refusal : { filter };
}

/** Of `a and b and c` all three: a long row of them is deep on the left. */
export function partsOf(filter: Extract<Filter, { kind: 'and' | 'or' }>): Filter[] {
  const parts: Filter[] = [];
  let left: Filter = filter;
  while (left.kind === filter.kind) {
    parts.push(left.right);
    left = left.left;
  }
  parts.push(left);
  return parts.toReversed();
}

/** What a filter means: the plain form, by which faster ones are judged. */
export function matchesFilter(filter: Filter, property: (name: string) => EdmValue | null): boolean {
  switch (filter.kind) {
    case 'and':
      return matchesFilter(filter.left, property) && matchesFilter(filter.right, property);
    case 'or':
      return matchesFilter(filter.left, property) || matchesFilter(filter.right, property);
    case 'not':
      return !matchesFilter(filter.operand, property);
    case 'compare': {
      const found = property(filter.property);
      return found !== null && holds(found, filter.operator, filter.literal);
    }
    case 'isTrue': {
      const found = property(filter.property);
      return found?.type === 'Edm.Boolean' && found.value;
    }
    case 'constant':
      return filter.value;
  }
}

function holds(found: EdmValue, operator: ComparisonOperator, literal: EdmValue): boolean {
  const order = orderOf(found, literal);
  return order !== null && HOLDS[operator](order);
}

// ---- the parser

/** Parentheses and `not`, one in the other. */
const DEPTH_MAX = 100;
/** The service takes 15; one who has a list of keys is better served by one query of a thousand than by many. */
const COMPARISON_COUNT_MAX = 1_000;

const ARITHMETIC: readonly string[] = ['add', 'sub', 'mul', 'div', 'mod'];
const RESERVED: readonly string[] = ['and', 'or', 'not', 'eq', 'ne', 'gt', 'ge', 'lt', 'le'];

/** What stands alone or on a side of a comparison; what it is in the end is known from what comes behind it. */
type Term = { readonly position: number } & (
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'literal'; readonly literal: EdmValue }
  | { readonly kind: 'null' }
  | { readonly kind: 'filter'; readonly filter: Filter }
);

type Refusal = Extract<ParsedFilter, { problem: string }>;

/** Null from any of its functions: there is a refusal. */
class FilterParser {
  readonly #words: FilterWords;
  #depth = 0;
  #comparisonCount = 0;
  /** The first one is what the caller hears of. */
  refusal: Refusal = { problem: 'The filter cannot be read.', unsupported: false };

  constructor(text: string) {
    this.#words = new FilterWords(text);
  }

  parseWhole(): Filter | null {
    const term = this.#parseOr();
    if (term === null) return null;
    if (this.#words.next.kind !== 'end') return this.#refuseNext('an operator or the end');
    return this.#toFilter(term);
  }

  #parseOr(): Term | null {
    return this.#parseJoined('or', () => this.#parseJoined('and', () => this.#parseNot()));
  }

  #parseJoined(kind: 'and' | 'or', parsePart: () => Term | null): Term | null {
    let joined = parsePart();
    while (joined !== null && this.#words.takeName(kind)) {
      const left = this.#toFilter(joined);
      const part = left === null ? null : parsePart();
      const right = part === null ? null : this.#toFilter(part);
      if (left === null || right === null) return null;
      joined = { kind: 'filter', filter: { kind, left, right }, position: joined.position };
    }
    return joined;
  }

  #parseNot(): Term | null {
    const { position } = this.#words.next;
    if (!this.#words.takeName('not')) return this.#parseComparison();
    return this.#deeper(position, () => {
      const term = this.#parseNot();
      const operand = term === null ? null : this.#toFilter(term);
      return operand === null ? null : { kind: 'filter', filter: { kind: 'not', operand }, position };
    });
  }

  #parseComparison(): Term | null {
    const left = this.#parseTerm('a property, a literal, not or an opening parenthesis');
    if (left === null) return null;
    const { next } = this.#words;
    if (next.kind !== 'name') return left;
    if (ARITHMETIC.includes(next.text)) return this.#refuseArithmetic();
    if (!isOperator(next.text)) return left;
    this.#words.take();
    const right = this.#parseTerm('a property or a literal');
    if (right === null) return null;
    if (this.#words.next.kind === 'name' && ARITHMETIC.includes(this.#words.next.text)) return this.#refuseArithmetic();
    const filter = this.#compare(left, next.text, right);
    return filter === null ? null : { kind: 'filter', filter, position: left.position };
  }

  #parseTerm(expected: string): Term | null {
    const { next } = this.#words;
    const { position } = next;
    if (next.kind === '(') return this.#parseParenthesis();
    if (next.kind === 'literal') {
      this.#words.take();
      return { kind: 'literal', literal: next.literal, position };
    }
    if (next.kind !== 'name' || RESERVED.includes(next.text)) return this.#refuseNext(expected);
    if (next.isCalled) {
      return this.#refuseAsUnsupported(`The Table service has no functions such as ${shown(next.text)}`, position);
    }
    this.#words.take();
    return next.text === 'null' ? { kind: 'null', position } : { kind: 'property', name: next.text, position };
  }

  #parseParenthesis(): Term | null {
    const { position } = this.#words.take();
    return this.#deeper(position, () => {
      const term = this.#parseOr();
      if (term === null) return null;
      if (this.#words.next.kind !== ')') return this.#refuseNext('an operator or a closing parenthesis');
      this.#words.take();
      return term;
    });
  }

  #deeper(position: number, parse: () => Term | null): Term | null {
    if (this.#depth === DEPTH_MAX) {
      return this.#refuse(`The filter nests more than ${DEPTH_MAX} deep at position ${position}.`);
    }
    this.#depth++;
    const term = parse();
    this.#depth--;
    return term;
  }

  // ---- what terms mean

  #compare(left: Term, operator: ComparisonOperator, right: Term): Filter | null {
    if (left.kind === 'null' || right.kind === 'null') return this.#refuseNull(left.kind === 'null' ? left : right);
    if (left.kind === 'filter' || right.kind === 'filter') {
      const { position } = left.kind === 'filter' ? left : right;
      return this.#refuseAsUnsupported('The Table service does not compare the result of an expression', position);
    }
    if (left.kind === 'property' && right.kind === 'property') {
      return this.#refuseAsUnsupported('The Table service does not compare two properties', left.position);
    }
    if (left.kind === 'property') {
      const literal = (right as Extract<Term, { kind: 'literal' }>).literal;
      return this.#counted({ kind: 'compare', property: left.name, operator, literal }, left.position);
    }
    if (right.kind === 'property') {
      const turned = TURNED_ROUND[operator];
      return this.#counted(
        { kind: 'compare', property: right.name, operator: turned, literal: left.literal },
        left.position,
      );
    }
    const value = holds(left.literal, operator, right.literal);
    return this.#counted({ kind: 'constant', value }, left.position);
  }

  #toFilter(term: Term): Filter | null {
    switch (term.kind) {
      case 'filter':
        return term.filter;
      case 'property':
        return this.#counted({ kind: 'isTrue', property: term.name }, term.position);
      case 'null':
        return this.#refuseNull(term);
      case 'literal':
        if (term.literal.type === 'Edm.Boolean') {
          return this.#counted({ kind: 'constant', value: term.literal.value }, term.position);
        }
        return this.#refuse(
          `The literal at position ${term.position} of the filter stands alone; expected a comparison with a property.`,
        );
    }
  }

  #counted(filter: Filter, position: number): Filter | null {
    this.#comparisonCount++;
    if (this.#comparisonCount <= COMPARISON_COUNT_MAX) return filter;
    return this.#refuse(
      `The filter has more than ${COMPARISON_COUNT_MAX} comparisons; one too many is at position ${position}.`,
    );
  }

  // ---- refusals

  #refuse(problem: string, unsupported = false): null {
    this.refusal = { problem, unsupported };
    return null;
  }

  #refuseNext(expected: string): null {
    const { next } = this.#words;
    if (next.kind === 'broken') return this.#refuse(next.problem);
    return this.#refuse(`Expected ${expected} at position ${next.position} of the filter, found ${shown(next.text)}.`);
  }

  #refuseAsUnsupported(what: string, position: number): null {
    return this.#refuse(`${what}, as at position ${position} of the filter.`, true);
  }

  #refuseArithmetic(): null {
    const { text, position } = this.#words.next;
    return this.#refuseAsUnsupported(`The Table service has no arithmetic such as ${text}`, position);
  }

  #refuseNull({ position }: Term): null {
    return this.#refuse(
      `No property is null, so nothing can be compared with the null at position ${position} of the filter. ` +
        `To find entities without the property Name, use not (Name ne ''), if it is a string in all others.`,
    );
  }
}

const isOperator = (text: string): text is ComparisonOperator => Object.hasOwn(HOLDS, text);
