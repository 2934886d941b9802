/** `+ - * / %`: of two INTs an INT, as in T-SQL (so 7 / 2 is 3), else a FLOAT. Days can be added to a timestamp. */
import { toNumber } from './convert.ts';
import { addDays } from './date-parts.ts';
import { RecordError } from './query-error.ts';
import { Timestamp } from './timestamp.ts';
import { isAbsent, isInt64, type Value } from './value.ts';

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%';

export function calculate(operator: ArithmeticOperator, left: Value, right: Value): Value {
  if (isAbsent(left) || isAbsent(right)) return null;
  if (left instanceof Timestamp && (operator === '+' || operator === '-')) {
    const days = Number(toNumber(right));
    return addDays(left, operator === '+' ? days : -days);
  }
  if (right instanceof Timestamp && operator === '+') return addDays(right, Number(toNumber(left)));
  const a = toNumber(left);
  const b = toNumber(right);
  if (typeof a === 'bigint' && typeof b === 'bigint') return checkedInt(ofInts(operator, a, b));
  return checkedFloat(ofFloats(operator, Number(a), Number(b)));
}

export function negate(value: Value): Value {
  if (isAbsent(value)) return null;
  const number = toNumber(value);
  return typeof number === 'bigint' ? checkedInt(-number) : -number;
}

export function checkedInt(value: bigint): bigint {
  if (!isInt64(value)) throw overflow();
  return value;
}

export function checkedFloat(value: number): number {
  if (!Number.isFinite(value)) throw overflow();
  return value;
}

function ofInts(operator: ArithmeticOperator, a: bigint, b: bigint): bigint {
  if (b === 0n && (operator === '/' || operator === '%')) throw divideByZero();
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '%':
      return a % b;
  }
}

function ofFloats(operator: ArithmeticOperator, a: number, b: number): number {
  if (b === 0 && (operator === '/' || operator === '%')) throw divideByZero();
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '%':
      return a % b;
  }
}

const overflow = (): RecordError => new RecordError('ArithmeticOverflow', 'The result is out of range.');
const divideByZero = (): RecordError => new RecordError('DivideByZero', 'A number is divided by zero.');
