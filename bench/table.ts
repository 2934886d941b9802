/** The benchmark's result: medians, ratios, and the table that shows them. */

import { type ContestantName, contestantNames, isComparedOver, nodeCounts, type Protocol } from './contestants.ts';
import type { Row } from './rows/row.ts';

/** Whatever has figures: the contestants, and pgbench, which serves nothing but takes its turns like them. */
export const columns = [...contestantNames, 'pgbench'] as const;
export type Column = ContestantName | 'pgbench';

export interface RowResult {
  row: Row;
  /** Every round's figure, in order. */
  rounds: Map<Column, number[]>;
  failures: string[];
}

const titles: Readonly<Record<Column, string>> = {
  larimar: 'Larimar',
  azurite: 'Azurite',
  bare: 'bare',
  smbd: 'smbd',
  'smbd-sync': 'smbd (sync)',
  'postgres-1': 'postgres ×1',
  'postgres-3': 'postgres ×3 (sum)',
  pgbench: 'pgbench',
};

interface Ratio {
  title: string;
  of: Column;
  to: Column;
  /** Divides the first by the number of its nodes. */
  perNode?: boolean;
}

const ratios: readonly Ratio[] = [
  { title: 'Larimar/Azurite', of: 'larimar', to: 'azurite' },
  { title: 'Larimar/bare', of: 'larimar', to: 'bare' },
  { title: 'Larimar/smbd', of: 'larimar', to: 'smbd' },
  { title: 'Larimar/smbd (sync)', of: 'larimar', to: 'smbd-sync' },
  { title: '×1/lmdb', of: 'postgres-1', to: 'larimar' },
  { title: '×3/×1', of: 'postgres-3', to: 'postgres-1' },
  { title: '×1/pgbench', of: 'postgres-1', to: 'pgbench' },
  { title: '×3/pgbench', of: 'postgres-3', to: 'pgbench' },
  { title: '×3/pgbench per node', of: 'postgres-3', to: 'pgbench', perNode: true },
];

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return Number.NaN;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** One for the rows over HTTP and one for those over SMB, where there are any: others take part in these. */
export function renderTables(results: readonly RowResult[], chosen: readonly Column[]): string[] {
  return (['http', 'smb'] as const).flatMap((protocol) => {
    const over = results.filter(({ row }) => (row.protocol ?? 'http') === protocol);
    return over.length === 0 ? [] : [renderTable(over, comparedOver(protocol, chosen))];
  });
}

function comparedOver(protocol: Protocol | undefined, chosen: readonly Column[]): Column[] {
  return chosen.filter((column) =>
    column === 'pgbench' ? protocol !== 'smb' : isComparedOver(protocol ?? 'http', column),
  );
}

/** With a column for each of those chosen, and the ratios between them. */
export function renderTable(results: readonly RowResult[], chosen: readonly Column[]): string {
  const shownRatios = ratiosAmong(chosen);
  const cells = [
    ['', 'unit', ...chosen.map((column) => titleOf(column, chosen)), ...shownRatios.map(({ title }) => title)],
    ...results.map(({ row, rounds, failures }) => [
      `${row.title}${failures.length > 0 ? ' (!)' : ''}`,
      `${row.unit}${row.better === 'lower' ? ' (less is better)' : ''}`,
      ...chosen.map((column) => figureText(medianOf(rounds, column))),
      ...shownRatios.map((ratio) => ratioText(valueOf(ratio, rounds))),
    ]),
  ];
  const widths = (cells[0] as string[]).map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  const lines = cells.map((line) => {
    const padded = line.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column < 2 ? cell.padEnd(width) : cell.padStart(width);
    });
    return `| ${padded.join(' | ')} |`;
  });
  const rule = `|${widths.map((width, column) => (column < 2 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [lines[0], rule, ...lines.slice(1)].join('\n');
}

export interface RowReport {
  name: string;
  title: string;
  unit: string;
  better: Row['better'];
  rounds: Record<string, number[]>;
  medians: Record<string, number>;
  /** By the table's title. Not a number, and so null in the file, where one of the two was not measured. */
  ratios: Record<string, number>;
  failures: string[];
}

export function resultsAsJson(results: readonly RowResult[], chosen: readonly Column[]): RowReport[] {
  return results.map(({ row, rounds, failures }) => ({
    name: row.name,
    title: row.title.trim(),
    unit: row.unit,
    better: row.better,
    rounds: Object.fromEntries(rounds),
    medians: Object.fromEntries([...rounds].map(([name, values]) => [name, median(values)])),
    ratios: Object.fromEntries(
      ratiosAmong(comparedOver(row.protocol, chosen)).map((ratio) => [ratio.title, valueOf(ratio, rounds)]),
    ),
    failures,
  }));
}

function ratiosAmong(chosen: readonly Column[]): Ratio[] {
  return ratios.filter(({ of, to }) => chosen.includes(of) && chosen.includes(to));
}

/** Beside its own nodes over a database, Larimar alone is told apart by its engine. */
function titleOf(column: Column, chosen: readonly Column[]): string {
  const isBesideNodes = chosen.some((other) => other.startsWith('postgres-'));
  return column === 'larimar' && isBesideNodes ? 'lmdb' : titles[column];
}

function medianOf(rounds: RowResult['rounds'], column: Column): number {
  return median(rounds.get(column) ?? []);
}

function valueOf({ of, to, perNode }: Ratio, rounds: RowResult['rounds']): number {
  const nodeCount = perNode === true && of !== 'pgbench' ? nodeCounts[of] : 1;
  return medianOf(rounds, of) / nodeCount / medianOf(rounds, to);
}

function figureText(value: number): string {
  if (Number.isNaN(value)) return '-';
  return value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 1 : 0 });
}

function ratioText(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return value.toLocaleString('en', { maximumSignificantDigits: value < 100 ? 2 : 3 });
}
