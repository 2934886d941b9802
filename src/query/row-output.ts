/** Rows into the answer, in its format: with a line of names before the first, where that is asked for. */
import { DelimitedWriter } from './delimited-writer.ts';
import type { Format } from './formats.ts';
import { jsonRow } from './json-text.ts';
import type { OutputRow } from './plan.ts';
import type { ResultStream } from './result-stream.ts';
import type { Work } from './work.ts';

export class RowOutput {
  readonly #results: ResultStream;
  readonly #work: Work;
  readonly #render: (row: OutputRow) => string;
  #lacksHeader: boolean;

  constructor(format: Format, { results, work }: { results: ResultStream; work: Work }) {
    this.#results = results;
    this.#work = work;
    this.#lacksHeader = format.kind === 'delimited' && format.hasHeaders;
    if (format.kind === 'json') {
      this.#render = ({ names, values }) => jsonRow(names, values, format);
    } else {
      const writer = new DelimitedWriter(format);
      this.#render = ({ values }) => writer.row(values);
    }
  }

  write(row: OutputRow): void {
    const text = this.#render(row);
    this.#work.spend(text.length);
    this.header(row.names);
    this.#results.result(text);
  }

  /** The names of the columns, if they are wanted and still to be written. */
  header(names: readonly string[]): void {
    if (!this.#lacksHeader) return;
    this.#lacksHeader = false;
    this.#results.result(this.#render({ names, values: names }));
  }
}
