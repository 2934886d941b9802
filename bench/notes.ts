/** What stands below the table: how its figures came about, and what makes them less than they seem. */

import { cpus } from 'node:os';
import type { ContestantName } from './contestants.ts';
import type { Options } from './options.ts';
import { takesPart } from './rows/row.ts';
import type { RowResult } from './table.ts';

const lineCharactersMax = 120;

export interface Told {
  options: Pick<Options, 'scale' | 'columns'>;
  results: readonly RowResult[];
  /** Null: it was not run. */
  postgresVersion: string | null;
}

export function notes({ options: { scale, columns }, results, postgresVersion }: Told): string[] {
  const kept: [ContestantName, string][] = [
    ['larimar', 'Larimar answers a write once it is on the disk'],
    ['azurite', 'Azurite writes its records every five seconds'],
    ['bare', 'bare stores nothing'],
    ['smbd', 'smbd leaves to the system when bytes reach the disk'],
    [
      'smbd-sync',
      'smbd (sync) answers a WRITE once it is on the disk (sync always), so that it is the one to compare writes with',
    ],
  ];
  const tookPart = (name: ContestantName): boolean =>
    columns.includes(name) && results.some(({ row }) => takesPart(name, row));
  const chosen = kept.filter(([name]) => tookPart(name)).map(([, words]) => words);
  const isOverHttp = results.some(({ row }) => row.protocol !== 'smb');
  const connections = isOverHttp ? `; small requests over HTTP on ${scale.connections} connections` : '';
  const sentences = [`Medians of the rounds, contestants in turn${connections}.`];
  if (chosen.length > 0) sentences.push(`${chosen.join('; ')}.`);
  if (postgresVersion !== null && columns.some((column) => column.startsWith('postgres-'))) {
    sentences.push(
      'postgres: nodes over one PostgreSQL, which keeps records and content; the load is divided among the nodes.',
    );
  }
  if (postgresVersion !== null && columns.includes('pgbench')) sentences.push(...aboutPgbench(scale.connections));
  if (postgresVersion !== null) sentences.push(aboutPostgres(postgresVersion));
  const differs = scale.azuriteBlobCount !== scale.blobCount && columns.includes('azurite');
  if (differs && results.some((result) => result.row.stage === 'filled')) {
    const [ours, theirs] = [scale.blobCount, scale.azuriteBlobCount].map((count) => count.toLocaleString('en'));
    sentences.push(`Where a row says ${ours} blobs, Azurite held only ${theirs}.`);
  }
  sentences.push(...new Set(results.flatMap(({ row }) => row.remarks?.() ?? [])));
  const failures = results.flatMap((result) => result.failures);
  const failed = failures.length === 0 ? [] : ['', '(!) No measurement, since requests failed:', ...new Set(failures)];
  return [...wrapped(sentences.join(' ')), ...failed];
}

function aboutPgbench(connections: number): string[] {
  return [
    `pgbench: ${connections} clients, 2 threads, prepared statements, measured once all are connected; one row per`,
    "transaction, on a table of Larimar's with 10,000 rows of 500 bytes: beside Set Blob Metadata an UPDATE by primary key",
    '(with version >= 0, the closest it gets to a compare-and-set), beside Put Blob 1 KiB an INSERT, beside Get Blob 1 KiB',
    'a SELECT.',
  ];
}

function aboutPostgres(version: string): string {
  const settings = 'with its default settings (fsync and synchronous_commit on) but for 200 connections at most';
  return `PostgreSQL ${version}, ${settings}; it, the nodes and the load share the ${cpus().length} cores of this machine.`;
}

function wrapped(text: string): string[] {
  return [...text.matchAll(new RegExp(`(.{1,${lineCharactersMax}})(?: |$)`, 'g'))].map((match) => match[1] as string);
}
