/** `larimar check`: verifies a store that no server is using, and reports in words and by its exit code. */
import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeStore, STORE_OPTIONS } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import { readOptions } from '../config/options.ts';
import { StoreUnreachable } from '../config/store-failure.ts';
import { describeStore, type StoreSetting, storeOptionsOf } from '../config/store-setting.ts';
import { openStore, type Store } from '../main.ts';
import { type CheckReport, checkStore } from '../service/check.ts';

const FINDINGS_SHOWN_MAX = 100;

export async function check(args: readonly string[]): Promise<number> {
  const setting = makeStore(readOptions(args, process.env, STORE_OPTIONS));
  const store = await open(setting);
  try {
    await refuseOthers(store, setting);
    const report = await checkStore(store, showProgress);
    clearProgress();
    process.stdout.write(render(setting, report));
    return report.findings.length === 0 ? 0 : 1;
  } finally {
    await store.close();
  }
}

async function open(setting: StoreSetting): Promise<Store> {
  if (setting.kind === 'folder') {
    await access(join(setting.path, 'records')).catch(() => {
      throw new ConfigError(`${resolve(setting.path)} is not a Larimar data folder. Name one with --data DIR.`);
    });
  }
  try {
    return await openStore({ ...storeOptionsOf(setting), looksOnly: true });
  } catch (error) {
    // Exit code 1 would say that the store was read and something is wrong in it.
    throw error instanceof StoreUnreachable ? new ConfigError(error.message) : error;
  }
}

/** A change under way looks like a fault to whoever reads both sides of it at different times. */
async function refuseOthers(store: Store, setting: StoreSetting): Promise<void> {
  const count = await store.otherNodes();
  if (count === 0) return;
  const [nodes, them] = count === 1 ? ['A node is', 'it'] : [`${count} nodes are`, 'them'];
  throw new ConfigError(
    `${nodes} using ${placeOf(setting)}. Stop ${them} before you check the store. ` +
      '(A node that was killed still counts for 15 seconds.)',
  );
}

const placeOf = (setting: StoreSetting): string =>
  setting.kind === 'folder' ? resolve(setting.path) : (describeStore(setting)[0]?.[1] ?? '');

function showProgress(recordCount: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${recordCount} records read`);
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}

const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

const pastStates = ({ pastBlobs }: CheckReport): string[] =>
  pastBlobs === 0
    ? []
    : [`  ${counted(pastBlobs, 'earlier state')} of blobs: snapshots, versions, and blobs that can be undeleted`];

const tables = ({ tables: tableCount, entities }: CheckReport): string[] =>
  tableCount === 0 && entities === 0
    ? []
    : [`  ${counted(tableCount, 'table')}, ${counted(entities, 'entity', 'entities')}`];

const queues = ({ queues: queueCount, messages }: CheckReport): string[] =>
  queueCount === 0 && messages === 0 ? [] : [`  ${counted(queueCount, 'queue')}, ${counted(messages, 'message')}`];

const shares = ({ shares: shareCount, directories, files, pastFiles }: CheckReport): string[] =>
  shareCount === 0
    ? []
    : [
        `  ${counted(shareCount, 'share')}, ${counted(directories, 'directory', 'directories')}, ${counted(files, 'file')}`,
        ...(pastFiles === 0
          ? []
          : [`  ${counted(pastFiles, 'earlier state')} of files and directories, kept for share snapshots`]),
      ];

function leftOvers({ awaitingSweep, leftByCrash }: CheckReport): string[] {
  if (awaitingSweep === 0 && leftByCrash === 0) return [];
  return [
    `  to be cleaned up at the next start: leftovers of ${counted(awaitingSweep, 'change')}, ` +
      `${counted(leftByCrash, 'extent')} left by a crash`,
  ];
}

function render(setting: StoreSetting, report: CheckReport): string {
  const lines = [
    `${placeOf(setting)}:`,
    `  ${counted(report.containers, 'container')}, ${counted(report.blobs, 'blob')}, ` +
      counted(report.stagedBlocks, 'staged block'),
    ...pastStates(report),
    `  ${counted(report.extents, 'extent')}, ${counted(report.contentBytes, 'byte')}`,
    ...tables(report),
    ...queues(report),
    ...shares(report),
    ...leftOvers(report),
    ...report.findings.slice(0, FINDINGS_SHOWN_MAX).map((finding) => `  problem: ${finding}`),
  ];
  const hidden = report.findings.length - FINDINGS_SHOWN_MAX;
  if (hidden > 0) lines.push(`  … and ${hidden} more`);
  lines.push(report.findings.length === 0 ? 'clean' : `${counted(report.findings.length, 'problem')} found`);
  return `${lines.join('\n')}\n`;
}
