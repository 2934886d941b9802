/**
 * Runs a query: the blob's bytes in, the bytes of the answer out, both as streams. Memory holds a piece of each and one
 * record, however large the blob is. The blob is let go of as soon as no more of it is needed.
 */
import { setImmediate as othersTurn } from 'node:timers/promises';
import { Execution, type ExecutionOptions } from './execution.ts';
import { InputPieces } from './input-pieces.ts';
import { ResultStream, type ResultStreamOptions } from './result-stream.ts';

export interface QueryRun extends ExecutionOptions, ResultStreamOptions {
  /** Read to its end, or given up with return(). */
  readonly bytes: Uint8Array | AsyncIterable<Uint8Array>;
}

const PROGRESS_BYTES = 4 * 1024 * 1024;

/**
 * Fails with QueryRefused before it gives its first piece, or not at all. Once it has given one, `return()` lets go of
 * the blob; before that, whoever has it must call `next()`.
 */
export async function* runQuery(run: QueryRun): AsyncGenerator<Uint8Array> {
  const input = new InputPieces(run.bytes);
  try {
    const results = new ResultStream(run);
    const execution = new Execution(run, results);
    let toldBytes = 0;
    const tellProgress = (): void => {
      toldBytes = input.readBytes;
      results.progress(toldBytes);
    };
    for (let state = execution.step(); state !== 'done'; state = execution.step()) {
      if (results.isFull) yield results.take();
      if (state === 'paused') await othersTurn();
      else {
        if (input.readBytes - toldBytes >= PROGRESS_BYTES) {
          tellProgress();
          yield results.take();
        }
        const piece = await input.next();
        if (piece === null) execution.finish();
        else execution.push(piece);
      }
    }
    await input.close();
    if (toldBytes < input.readBytes || toldBytes === 0) tellProgress();
    results.end();
    yield results.take();
  } finally {
    await input.close();
  }
}
