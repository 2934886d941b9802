/**
 * COUNT, SUM, AVG, MIN and MAX over the rows that a query finds. Null and missing values count for nothing; of no values
 * at all the count is 0 and the rest is null.
 */
import { checkedFloat, checkedInt } from './arithmetic.ts';
import { compare } from './compare.ts';
import { parseNumber, toNumber } from './convert.ts';
import type { AggregateName } from './syntax.ts';
import { isAbsent, type Value } from './value.ts';

export interface Accumulator {
  add(value: Value): void;
  result(): Value;
}

export function accumulatorFor(name: AggregateName): Accumulator {
  switch (name) {
    case 'count':
      return new Count();
    case 'sum':
      return new Sum();
    case 'avg':
      return new Average();
    case 'min':
      return new Extreme(-1);
    case 'max':
      return new Extreme(1);
  }
}

class Count implements Accumulator {
  #count = 0n;

  add(value: Value): void {
    if (!isAbsent(value)) this.#count++;
  }

  result(): Value {
    return this.#count;
  }
}

/** Exact as long as there are nothing but INTs; their sum may leave the range on the way, if it comes back. */
class Sum implements Accumulator {
  #ints = 0n;
  #floats: number | null = null;
  #isEmpty = true;

  add(value: Value): void {
    if (isAbsent(value)) return;
    const number = toNumber(value);
    this.#isEmpty = false;
    if (typeof number === 'bigint') this.#ints += number;
    else this.#floats = (this.#floats ?? 0) + number;
  }

  result(): Value {
    if (this.#isEmpty) return null;
    return this.#floats === null ? checkedInt(this.#ints) : checkedFloat(Number(this.#ints) + this.#floats);
  }
}

class Average implements Accumulator {
  #sum = 0;
  #count = 0;

  add(value: Value): void {
    if (isAbsent(value)) return;
    this.#sum += Number(toNumber(value));
    this.#count++;
  }

  result(): Value {
    return this.#count === 0 ? null : checkedFloat(this.#sum / this.#count);
  }
}

/**
 * The least or the greatest. In delimited text numbers are strings: as long as every string is a number they are compared
 * as such, and as text if not. Which of the two holds is known at the end only.
 */
class Extreme implements Accumulator {
  readonly #sign: 1 | -1;
  #asNumber: Value = null;
  #asText: Value = null;
  #isNumeric = true;

  constructor(sign: 1 | -1) {
    this.#sign = sign;
  }

  add(value: Value): void {
    if (isAbsent(value)) return;
    const numeric = typeof value === 'string' && this.#isNumeric ? parseNumber(value) : null;
    if (typeof value === 'string' && numeric === null) this.#isNumeric = false;
    this.#asText = this.#further(this.#asText, value);
    if (this.#isNumeric) this.#asNumber = this.#further(this.#asNumber, numeric ?? value);
  }

  result(): Value {
    return this.#isNumeric ? this.#asNumber : this.#asText;
  }

  #further(known: Value, value: Value): Value {
    const compared = compare(value, known);
    return compared === null || compared * this.#sign > 0 ? value : known;
  }
}
