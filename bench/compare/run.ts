/** `npm run compare`: asks the same of Larimar and of an Azurite, and prints what each did. */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectFolder } from '../load.ts';
import { endAll } from '../running.ts';
import { type Check, checks, type Finding } from './checks.ts';
import { findAzurite, larimar, type Product, readVersion, Subject } from './subject.ts';

const help = `Asks the same of Larimar and of an Azurite, and prints what each did.

  npm run compare -- --azurite DIR_OR_COMMAND

DIR_OR_COMMAND is a folder in which npm installed azurite, or a command that starts it. Azurite 3.37 needs Node 22 or
newer. To install both into a folder, and to compare with it:

  npm install --prefix .cache/azurite-3.37 node@22 azurite@3.37
  npm run compare -- --azurite .cache/azurite-3.37
`;

async function compare(products: readonly Product[]): Promise<void> {
  const titles = await Promise.all(products.map(async (product) => `${product.name} ${await versionOf(product)}`));
  const folder = makeFolder();
  const rows: string[][] = [];
  for (const [index, check] of checks.entries()) {
    process.stderr.write(`${check.title} …\n`);
    const findings: Finding[] = [];
    for (const product of products) {
      findings.push(await find(check, new Subject(product, join(folder, `${index}-${product.name}`))));
    }
    rows.push([check.title, ...findings.map(({ seen }) => seen)]);
    if (findings[0]?.isRight !== true) process.exitCode = 1;
  }
  process.stdout.write(`\n${renderTable([['', ...titles], ...rows])}\n`);
}

async function versionOf(product: Product): Promise<string> {
  try {
    return await readVersion(product);
  } catch (error) {
    throw new Error(`${product.command.join(' ')} --version failed: ${(error as Error).message}\n\n${help}`, {
      cause: error,
    });
  }
}

async function find(check: Check, subject: Subject): Promise<Finding> {
  try {
    return await check.run(subject);
  } catch (error) {
    return { seen: `failed: ${(error as Error).message}`, isRight: false };
  } finally {
    await subject.stop();
  }
}

/** Not the system's temporary folder: that may be memory, which a kill does not empty but a power cut does. */
function makeFolder(): string {
  const parent = join(projectFolder, '.cache');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'compare-'));
  process.on('exit', () => {
    endAll();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

function renderTable(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const rule = widths.map((width) => '-'.repeat(width));
  const [head = [], ...rows] = lines;
  return [head, rule, ...rows]
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));
try {
  const { values } = parseArgs({ options: { azurite: { type: 'string' }, help: { type: 'boolean' } } });
  const azurite = findAzurite(values.azurite ?? '');
  if (values.help === true) {
    process.stdout.write(help);
  } else if (azurite === null) {
    const found = values.azurite === undefined ? 'Which Azurite?' : `There is no azurite in ${values.azurite}.`;
    throw new Error(`${found}\n\n${help}`);
  } else {
    await compare([larimar, azurite]);
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
process.exit();
