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
    ['larimar', 'Larimar answers a write when it is on the disk'],
    ['azurite', 'Azurite writes its records every five seconds'],
    ['bare', 'bare stores nothing'],
    ['smbd', 'smbd lets the system decide when bytes reach the disk'],
    [
      'smbd-sync',
      'smbd (sync) answers a WRITE when it is on the disk ("sync always"), so writes should be compared with it',
    ],
  ];
  const tookPart = (name: ContestantName): boolean =>
    columns.includes(name) && results.some(({ row }) => takesPart(name, row));
  const chosen = kept.filter(([name]) => tookPart(name)).map(([, words]) => words);
  const isOverHttp = results.some(({ row }) => row.protocol !== 'smb');
  const connections = isOverHttp ? ` Small requests over HTTP use ${scale.connections} connections.` : '';
  const sentences = [`Figures are medians of the rounds, in which the contestants took turns.${connections}`];
  if (chosen.length > 0) sentences.push(`${chosen.join('; ')}.`);
  if (postgresVersion !== null && columns.some((column) => column.startsWith('postgres-'))) {
    sentences.push(
      'postgres: Larimar nodes over one PostgreSQL, which keeps records and content. The load is divided among the nodes.',
    );
  }
  if (postgresVersion !== null && columns.includes('pgbench')) sentences.push(...aboutPgbench(scale.connections));
  if (postgresVersion !== null) sentences.push(aboutPostgres(postgresVersion));
  const differs = scale.azuriteBlobCount !== scale.blobCount && columns.includes('azurite');
  if (differs && results.some((result) => result.row.stage === 'filled')) {
    const [ours, theirs] = [scale.blobCount, scale.azuriteBlobCount].map((count) => count.toLocaleString('en'));
    sentences.push(`In rows with ${ours} blobs, Azurite held only ${theirs}.`);
  }
  sentences.push(...new Set(results.flatMap(({ row }) => row.remarks?.() ?? [])));
  const failures = results.flatMap((result) => result.failures);
  const failed = failures.length === 0 ? [] : ['', '(!) Not measured, because requests failed:', ...new Set(failures)];
  return [...wrapped(sentences.join(' ')), ...failed];
}

function aboutPgbench(connections: number): string[] {
  return [
    `pgbench runs ${connections} clients on 2 threads with prepared statements, and is measured once all are connected. Each`,
    "transaction touches one row of one of Larimar's tables, with 10,000 rows of 500 bytes: an UPDATE by primary key next to",
    'Set Blob Metadata (with version >= 0, which comes closest to a compare-and-set), an INSERT next to Put Blob 1 KiB, and a',
    'SELECT next to Get Blob 1 KiB.',
  ];
}

function aboutPostgres(version: string): string {
  const settings = 'with default settings (fsync and synchronous_commit on), except for a maximum of 200 connections';
  return (
    `PostgreSQL ${version} runs ${settings}. The database, the nodes and the load share ` +
    `the ${cpus().length} cores of this machine.`
  );
}

function wrapped(text: string): string[] {
  return [...text.matchAll(new RegExp(`(.{1,${lineCharactersMax}})(?: |$)`, 'g'))].map((match) => match[1] as string);
}
