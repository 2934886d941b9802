/** The benchmark's result: medians, ratios, and the table that shows them. */

import type { ContestantName } from './contestants.ts';
import type { Row } from './rows/row.ts';

export interface RowResult {
  row: Row;
  /** Every round's figure, in order. */
  rounds: Map<ContestantName, number[]>;
  failures: string[];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return Number.NaN;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

export function renderTable(results: readonly RowResult[]): string {
  const cells = [
    ['', 'unit', 'Larimar', 'Azurite', 'bare', 'Larimar/Azurite', 'Larimar/bare'],
    ...results.map(({ row, rounds, failures }) => [
      `${row.title}${failures.length > 0 ? ' (!)' : ''}`,
      `${row.unit}${row.better === 'lower' ? ' (less is better)' : ''}`,
      figureText(medianOf(rounds, 'larimar')),
      figureText(medianOf(rounds, 'azurite')),
      figureText(medianOf(rounds, 'bare')),
      ratioText(ratioOf(rounds, 'azurite')),
      ratioText(ratioOf(rounds, 'bare')),
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
  /** Not a number, and so null in the file, where one of the two was not measured. */
  larimarToAzurite: number;
  larimarToBare: number;
  failures: string[];
}

export function resultsAsJson(results: readonly RowResult[]): RowReport[] {
  return results.map(({ row, rounds, failures }) => ({
    name: row.name,
    title: row.title.trim(),
    unit: row.unit,
    better: row.better,
    rounds: Object.fromEntries(rounds),
    medians: Object.fromEntries([...rounds].map(([name, values]) => [name, median(values)])),
    larimarToAzurite: ratioOf(rounds, 'azurite'),
    larimarToBare: ratioOf(rounds, 'bare'),
    failures,
  }));
}

function medianOf(rounds: RowResult['rounds'], name: ContestantName): number {
  return median(rounds.get(name) ?? []);
}

function ratioOf(rounds: RowResult['rounds'], other: ContestantName): number {
  return medianOf(rounds, 'larimar') / medianOf(rounds, other);
}

function figureText(value: number): string {
  if (Number.isNaN(value)) return '-';
  return value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 1 : 0 });
}

function ratioText(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return value.toLocaleString('en', { maximumSignificantDigits: value < 100 ? 2 : 3 });
}
