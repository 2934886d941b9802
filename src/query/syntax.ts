/**
 * A query as a tree. Every node that can be refused later carries its position in the text; the parser has bounded the
 * height of the tree, so whoever walks it may do so by recursion.
 * https://learn.microsoft.com/azure/storage/blobs/query-acceleration-sql-reference
 */
import type { ArithmeticOperator } from './arithmetic.ts';
import type { CastTarget } from './convert.ts';
import type { Value } from './value.ts';

export type PathStep =
  /** Without quotes case does not matter. */
  | { readonly kind: 'member'; readonly name: string; readonly isQuoted: boolean }
  | { readonly kind: 'index'; readonly index: number }
  /** `[*]`, in table descriptors only. */
  | { readonly kind: 'each' };

export type CompareOperator = '=' | '<>' | '<' | '<=' | '>' | '>=';

export const AGGREGATES = ['count', 'sum', 'avg', 'min', 'max'] as const;
export type AggregateName = (typeof AGGREGATES)[number];

export interface Column {
  readonly kind: 'column';
  readonly path: readonly PathStep[];
  readonly position: number;
}

export interface Aggregate {
  readonly kind: 'aggregate';
  readonly name: AggregateName;
  /** null: COUNT(*). */
  readonly operand: Expression | null;
  readonly position: number;
}

export interface Call {
  readonly kind: 'call';
  /** In lower case. */
  readonly name: string;
  readonly operands: readonly Expression[];
  readonly position: number;
}

export type Expression =
  | { readonly kind: 'literal'; readonly value: Value }
  | Column
  | { readonly kind: 'negate' | 'not'; readonly operand: Expression }
  | {
      readonly kind: 'arithmetic';
      readonly operator: ArithmeticOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly kind: 'compare';
      readonly operator: CompareOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'and' | 'or' | 'concat'; readonly operands: readonly Expression[] }
  | { readonly kind: 'isNull' | 'isMissing'; readonly operand: Expression }
  | { readonly kind: 'between'; readonly operand: Expression; readonly low: Expression; readonly high: Expression }
  | { readonly kind: 'in'; readonly operand: Expression; readonly choices: readonly Expression[] }
  | {
      readonly kind: 'like';
      readonly operand: Expression;
      readonly pattern: Expression;
      readonly escape: Expression | null;
      readonly position: number;
    }
  | {
      readonly kind: 'case';
      /** null: each condition stands for itself. */
      readonly subject: Expression | null;
      readonly branches: readonly { readonly when: Expression; readonly result: Expression }[];
      readonly otherwise: Expression | null;
    }
  | { readonly kind: 'cast'; readonly operand: Expression; readonly target: CastTarget }
  | Call
  | Aggregate;

export interface SelectItem {
  readonly expression: Expression;
  /** Behind AS. */
  readonly alias: string | null;
}

export interface Query {
  readonly select:
    | { readonly kind: 'all' }
    | { readonly kind: 'items'; readonly items: readonly SelectItem[] }
    /** `sys.split(size)` */
    | { readonly kind: 'split'; readonly sizeBytes: number };
  /** Behind `BlobStorage[*]`. */
  readonly tablePath: readonly PathStep[];
  /** What columns may be qualified with, in lower case. */
  readonly tableName: string;
  readonly where: Expression | null;
  readonly limitCount: number | null;
  /** Where the table is named. */
  readonly position: number;
  readonly textLength: number;
}
