/**
 * What can go wrong with a query: the expression itself, which refuses the whole request, or one record of the data,
 * which is told inside the answer. Names and sentences of the latter are those that clients of the service see.
 * https://learn.microsoft.com/rest/api/storageservices/query-blob-contents
 */

/** The expression cannot be run. */
export class QueryRefused extends Error {
  override readonly name = 'QueryRefused';
  /** Where in the expression, in characters, the first being 1. */
  readonly position: number;

  constructor(reason: string, position: number) {
    super(`${reason} (at position ${position})`);
    this.position = position;
  }
}

export type RecordErrorName =
  | 'ArithmeticOverflow'
  | 'DivideByZero'
  | 'InvalidArgument'
  | 'InvalidColumnOrdinal'
  | 'InvalidTypeConversion'
  | 'ParseError'
  | 'RecordTooLarge'
  | 'ResourceLimitExceeded';

/** One record cannot be read or evaluated. After a fatal one nothing of the data can be understood any more. */
export class RecordError extends Error {
  override readonly name = 'RecordError';
  readonly errorName: RecordErrorName;
  readonly isFatal: boolean;

  constructor(errorName: RecordErrorName, description: string, { isFatal = false }: { isFatal?: boolean } = {}) {
    super(description);
    this.errorName = errorName;
    this.isFatal = isFatal;
  }
}

export const invalidConversion = (): RecordError =>
  new RecordError('InvalidTypeConversion', 'Invalid type conversion.');
