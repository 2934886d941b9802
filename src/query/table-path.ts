/** The rows that a table descriptor, such as `BlobStorage[*].warehouses[*]`, finds in one record: none, one or many. */
import { stepInto } from './columns.ts';
import type { PathStep } from './syntax.ts';
import type { Value } from './value.ts';

export function rowsAt(record: Value, path: readonly PathStep[]): readonly Value[] {
  let rows: readonly Value[] = [record];
  for (const step of path) {
    if (step.kind === 'each') rows = rows.flatMap((row) => (Array.isArray(row) ? (row as readonly Value[]) : []));
    else rows = rows.map(stepInto(step)).filter((row) => row !== undefined);
  }
  return rows;
}
