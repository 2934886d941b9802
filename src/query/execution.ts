/**
 * One query over one blob: pieces go in, records are read, judged and written into the results. Works in steps, so that
 * whoever drives it can send what has come together, and let others have their turn.
 */
import { DelimitedReader } from './delimited-reader.ts';
import type { Format } from './formats.ts';
import { JsonReader } from './json-reader.ts';
import { makePlan, type Plan } from './plan.ts';
import { RecordError } from './query-error.ts';
import type { RecordReader } from './record-reader.ts';
import type { ResultStream } from './result-stream.ts';
import { RowOutput } from './row-output.ts';
import { Split } from './split.ts';
import type { Query } from './syntax.ts';
import { rowsAt } from './table-path.ts';
import type { Value } from './value.ts';
import { Work } from './work.ts';

export interface ExecutionOptions {
  readonly query: Query;
  readonly input: Format;
  readonly output: Format;
  readonly nowMs: number;
}

/** Characters of data, roughly some milliseconds, after which others have their turn. */
const PAUSE_CHARACTERS = 256 * 1024;
/** A long expression takes its time with every record, however short that is. */
const EXPRESSION_SHARE = 8;

export class Execution {
  readonly #options: ExecutionOptions;
  readonly #results: ResultStream;
  readonly #reader: RecordReader;
  readonly #output: RowOutput;
  readonly #work = new Work();
  /** Null until the header is read. */
  #plan: Plan | null;
  readonly #split: Split | null;
  /** Of the record that was read last: those still to be taken, the next one at the end. */
  #rows: Value[] = [];
  #recordText = '';
  #isFinished = false;
  #rowCount = 0;
  #isDone = false;

  /** Fails with QueryRefused, as `step` does while there is still a header to be read. */
  constructor(options: ExecutionOptions, results: ResultStream) {
    const { input, output, query } = options;
    this.#options = options;
    this.#results = results;
    this.#reader = input.kind === 'json' ? new JsonReader(input) : new DelimitedReader(input);
    this.#output = new RowOutput(output, { results, work: this.#work });
    this.#split = query.select.kind === 'split' ? new Split(query.select.sizeBytes) : null;
    this.#plan = input.kind === 'delimited' && input.hasHeaders ? null : this.#makePlan(null);
    this.#isDone = query.limitCount === 0;
  }

  push(piece: Uint8Array): void {
    this.#reader.push(piece);
  }

  /** There is no more to push. */
  finish(): void {
    this.#reader.finish();
    this.#isFinished = true;
  }

  /** Why it stopped: done or hungry for more, or just to let results be sent or others be served. */
  step(): 'done' | 'hungry' | 'paused' {
    while (!this.#isDone) {
      if (this.#rows.length > 0) this.#tell(() => this.#takeRow());
      else if (this.#tell(() => this.#takeRecord()) === false) {
        if (!this.#isFinished) return 'hungry';
        this.#tell(() => this.#close());
        this.#isDone = true;
      }
      if (this.#results.isFull || this.#work.isPauseDue(PAUSE_CHARACTERS)) return this.#isDone ? 'done' : 'paused';
    }
    return 'done';
  }

  /** An error of a record or row becomes a part of the results; null then. */
  #tell<T>(act: () => T): T | null {
    try {
      return act();
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      // Without its header, delimited text is not understood.
      const isFatal = error.isFatal || this.#plan === null;
      this.#results.error(new RecordError(error.errorName, error.message, { isFatal }), this.#reader.recordAtBytes);
      if (isFatal) this.#isDone = true;
      return null;
    }
  }

  /** False: there is none, for now or at all. */
  #takeRecord(): boolean {
    const record = this.#reader.next();
    if (record === null) return false;
    this.#work.beginRow(record.text.length);
    if (this.#plan === null) this.#plan = this.#makePlan(record.value as readonly string[]);
    else if (this.#split === null) this.#rows = rowsAt(record.value, this.#options.query.tablePath).toReversed();
    this.#recordText = record.text;
    this.#writeSplit(this.#split?.recordEnds(record.endBytes) ?? null);
    return true;
  }

  #takeRow(): void {
    const { query, output } = this.#options;
    const plan = this.#plan as Plan;
    const row = this.#rows.pop();
    this.#work.beginRow(Math.ceil(query.textLength / EXPRESSION_SHARE));
    if (!plan.wants(row)) return;
    if (this.#givesRecordsAsTheyAre()) this.#results.result(this.#recordText + output.recordSeparator);
    else {
      const given = plan.take(row);
      if (given === null) return;
      this.#output.write(given);
    }
    this.#rowCount++;
    if (this.#rowCount === query.limitCount) this.#isDone = true;
  }

  #writeSplit(sizeBytes: number | null): void {
    if (sizeBytes !== null) this.#output.write({ names: ['_1'], values: [BigInt(sizeBytes)] });
  }

  /** Whole records, from JSON to JSON, keep their very text. */
  #givesRecordsAsTheyAre(): boolean {
    const { query, input, output } = this.#options;
    return (
      query.select.kind === 'all' && query.tablePath.length === 0 && input.kind === 'json' && output.kind === 'json'
    );
  }

  #close(): void {
    this.#writeSplit(this.#split?.ends() ?? null);
    if (this.#split !== null) return;
    this.#plan ??= this.#makePlan([]);
    const last = this.#plan.finish();
    if (last !== null) this.#output.write(last);
    else if (this.#plan.names !== null) this.#output.header(this.#plan.names);
  }

  #makePlan(header: readonly string[] | null): Plan {
    const { query, input, nowMs } = this.#options;
    return makePlan(query, { isDelimited: input.kind === 'delimited', header, nowMs, work: this.#work });
  }
}
