/** `larimar check`: verifies a data folder that no server is using, and reports in words and by its exit code. */
import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ConfigError } from '../config/config-error.ts';
import { OPTIONS, readOptions } from '../config/options.ts';
import { openStore } from '../main.ts';
import { type CheckReport, checkStore } from '../service/check.ts';

const FINDINGS_SHOWN_MAX = 100;

export async function check(args: readonly string[]): Promise<number> {
  const { data: given } = readOptions(args, process.env, ['data']);
  const data = given?.[0] ?? OPTIONS.data.fallback;
  await access(join(data, 'records')).catch(() => {
    throw new ConfigError(`${resolve(data)} is no data folder of Larimar. Name one with --data DIR.`);
  });
  const store = await openStore({ data, looksOnly: true });
  try {
    const report = await checkStore(store, showProgress);
    clearProgress();
    process.stdout.write(render(data, report));
    return report.findings.length === 0 ? 0 : 1;
  } finally {
    await store.close();
  }
}

function showProgress(recordCount: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${recordCount} records read`);
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}

function leftOvers({ awaitingSweep, leftByCrash }: CheckReport): string[] {
  if (awaitingSweep === 0 && leftByCrash === 0) return [];
  return [
    `  left for the next start to clear: ${awaitingSweep} changes to sweep, ${leftByCrash} extents after a crash`,
  ];
}

function render(data: string, report: CheckReport): string {
  const lines = [
    `${resolve(data)}:`,
    `  ${report.containers} containers, ${report.blobs} blobs, ${report.stagedBlocks} staged blocks`,
    `  ${report.extents} extents, ${report.contentBytes} bytes`,
    ...leftOvers(report),
    ...report.findings.slice(0, FINDINGS_SHOWN_MAX).map((finding) => `  wrong: ${finding}`),
  ];
  const hidden = report.findings.length - FINDINGS_SHOWN_MAX;
  if (hidden > 0) lines.push(`  … and ${hidden} more`);
  lines.push(report.findings.length === 0 ? 'clean' : `wrong in ${report.findings.length} places`);
  return `${lines.join('\n')}\n`;
}
