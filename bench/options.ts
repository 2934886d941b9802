/** The benchmark's command line: what is compared, in which rows, at which scale. */

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { allRows } from './rows/all-rows.ts';
import { mebibyte, type Row, type Scale } from './rows/row.ts';
import { missingSamba } from './samba.ts';
import { type Column, columns } from './table.ts';

export interface Options {
  scale: Scale;
  rows: Row[];
  columns: Column[];
  /** Why the rows about SMB were left out, which nobody asked for. */
  withoutSmb?: string;
  larimarProgram?: string;
  dataFolder?: string;
  jsonFile?: string;
}

export const wholeScale: Scale = {
  rounds: 5,
  roundSeconds: 2,
  longRounds: 3,
  connections: 64,
  blobCount: 100_000,
  azuriteBlobCount: 20_000,
  entityCount: 1_000_000,
  azuriteEntityCount: 20_000,
  longQueueCount: 100_000,
  deepQueueCount: 1_000_000,
  azuriteQueueFillSeconds: 20,
  listedFileCount: 100_000,
  transferBytes: 1024 * mebibyte,
  singlePutBytes: 256 * mebibyte,
};

const quickScale: Scale = {
  ...wholeScale,
  rounds: 3,
  roundSeconds: 1,
  longRounds: 1,
  blobCount: 10_000,
  azuriteBlobCount: 5000,
  entityCount: 100_000,
  azuriteEntityCount: 5000,
  longQueueCount: 10_000,
  deepQueueCount: 50_000,
  azuriteQueueFillSeconds: 20,
  listedFileCount: 10_000,
  transferBytes: 128 * mebibyte,
  singlePutBytes: 64 * mebibyte,
};

/** What is compared when nothing is chosen: Larimar with its peers and its limit, over SMB where Samba can be run. */
const peers = { columns: 'larimar,azurite,bare,smbd,smbd-sync', rows: undefined };
const peersWithoutSmb = { columns: 'larimar,azurite,bare', rows: namesOf((row) => row.protocol !== 'smb') };

const overSmb = { columns: 'larimar,smbd,smbd-sync', rows: namesOf((row) => row.protocol === 'smb') };

/** Larimar on one machine with its nodes over a database, and those with what the database itself reaches. */
const scaleOut = {
  columns: 'larimar,postgres-1,postgres-3,pgbench',
  rows: 'put-1k,put-64k,get-1k,properties,one-blob,set-metadata,lease',
};

function namesOf(isMeant: (row: Row) => boolean): string {
  return allRows(wholeScale)
    .filter(isMeant)
    .map((row) => row.name)
    .join(',');
}

export const help = `Compares Larimar with Azurite (its peer) and with a bare node:http server (the upper limit), taking turns within one
run. Over SMB, it compares Larimar with Samba's smbd, once with default settings (smbd) and once with "sync always"
(smbd-sync), which, like Larimar, answers a WRITE only when it is on the disk. With --scale-out, it compares Larimar on
one machine with one and with three nodes over PostgreSQL, and those with pgbench running single-row transactions.

  npm run bench -- [options], with the defaults in (parentheses)

  --quick             give a first impression; a full run takes several times as long
  --rows a,b          only these rows: ${allRows(wholeScale)
    .map((row) => row.name)
    .join(', ')
    .replace(/(.{60,80}) /g, '$1\n                      ')}
  --only a,b          only these of ${columns.join(', ')}
                      (${peers.columns.replaceAll(',', ', ')})
  --smb               --only ${overSmb.columns}
                      --rows ${overSmb.rows.replace(/^(.{50,75},)/, '$1\n                             ')}
  --scale-out         --only ${scaleOut.columns}
                      --rows ${scaleOut.rows};
                      about seven minutes, three with --quick
  --rounds N          rounds per contestant and row (${wholeScale.rounds}); the table shows the median
  --blobs N           blobs stored for the list, memory and start-up rows (${wholeScale.blobCount})
  --azurite-blobs N   the same for Azurite, which would take minutes to store more (${wholeScale.azuriteBlobCount})
  --entities N        entities stored for the table rows (${wholeScale.entityCount})
  --azurite-entities N  the same for Azurite (${wholeScale.azuriteEntityCount})
  --backlog N         messages waiting in the long queue (${wholeScale.longQueueCount})
  --deep-backlog N    the same in a row for Larimar alone (${wholeScale.deepQueueCount})
  --larimar FILE      use another build: its dist/src/cli/larimar.js
  --data DIR          where the servers keep their data: on a real disk with about 10 GB free (.cache/)
  --json FILE         also write the figures of every round to a file
  --help              show this text

The benchmark needs wrk. For the PostgreSQL rows, it also needs Debian's package postgresql; it starts a database server
of its own in the data folder (as the user postgres if root runs it). For the SMB rows, it needs smbclient and samba, whose
server only root can start; if one of them is missing, the SMB rows are left out unless you name them. Everything that
the benchmark writes is removed at the end.`;

/** Null when only help was asked for. `withoutSamba`: why it cannot be run, if it cannot. */
export function parseOptions(words: readonly string[], withoutSamba = missingSamba()): Options | null {
  const { values } = parseArgs({
    args: [...words],
    options: {
      quick: { type: 'boolean' },
      rows: { type: 'string' },
      only: { type: 'string' },
      smb: { type: 'boolean' },
      'scale-out': { type: 'boolean' },
      rounds: { type: 'string' },
      blobs: { type: 'string' },
      'azurite-blobs': { type: 'string' },
      entities: { type: 'string' },
      'azurite-entities': { type: 'string' },
      backlog: { type: 'string' },
      'deep-backlog': { type: 'string' },
      larimar: { type: 'string' },
      data: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return null;
  const base = values.quick === true ? quickScale : wholeScale;
  const scale: Scale = {
    ...base,
    rounds: countOf('--rounds', values.rounds, base.rounds),
    blobCount: countOf('--blobs', values.blobs, base.blobCount),
    azuriteBlobCount: countOf('--azurite-blobs', values['azurite-blobs'], base.azuriteBlobCount),
    entityCount: countOf('--entities', values.entities, base.entityCount),
    azuriteEntityCount: countOf('--azurite-entities', values['azurite-entities'], base.azuriteEntityCount),
    longQueueCount: countOf('--backlog', values.backlog, base.longQueueCount),
    deepQueueCount: countOf('--deep-backlog', values['deep-backlog'], base.deepQueueCount),
  };
  const preset = presetOf(values, withoutSamba);
  const leavesOut = preset === peersWithoutSmb && values.rows === undefined && withoutSamba !== null;
  return {
    scale,
    rows: chosen('--rows', values.rows ?? preset.rows, allRows(scale), (row) => row.name),
    columns: chosen('--only', values.only ?? preset.columns, [...columns], (name) => name),
    ...(leavesOut ? { withoutSmb: withoutSamba } : {}),
    ...(values.larimar === undefined ? {} : { larimarProgram: resolve(values.larimar) }),
    ...(values.data === undefined ? {} : { dataFolder: resolve(values.data) }),
    ...(values.json === undefined ? {} : { jsonFile: values.json }),
  };
}

interface Preset {
  columns: string;
  /** Undefined: every row. */
  rows: string | undefined;
}

function presetOf(values: { smb?: boolean; 'scale-out'?: boolean }, withoutSamba: string | null): Preset {
  if (values.smb === true) return overSmb;
  if (values['scale-out'] === true) return scaleOut;
  return withoutSamba === null ? peers : peersWithoutSmb;
}

function countOf(option: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`${option} takes a number above 0, not "${text}".`);
  return Number(text);
}

/** The choice keeps the order of `all`. */
function chosen<T>(option: string, text: string | undefined, all: T[], nameOf: (item: T) => string): T[] {
  if (text === undefined) return all;
  const names = text.split(',');
  const unknown = names.find((name) => !all.some((item) => nameOf(item) === name));
  if (unknown !== undefined)
    throw new Error(`${option}: "${unknown}" is unknown. Choose from ${all.map(nameOf).join(', ')}.`);
  return all.filter((item) => names.includes(nameOf(item)));
}
