/**
 * What a tier consists of: which test files run, over which engine, and which of them share a process. Test files under
 * src/ and bench/ are unit tests and see to their engines themselves. A file under test/ runs over the embedded engine in
 * the quick tier and over PostgreSQL in the system tier, unless lines near its top say otherwise:
 *
 * `// tier: system`            only in the system tier, over both engines
 * `// tier: both`              in the system tier again: with more rounds (harness/tier.ts), or with a program that may
 *                              be missing in the quick tier
 * `// engines: embedded`       about the embedded engine, or about nothing that knows of engines
 * `// engines: postgres`       about several nodes
 * `// engines: both in quick`  over both engines in the quick tier already
 * `// process: own`            needs a process for itself
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ENGINE_VARIABLE, TEST_ENGINES, type TestEngine } from '../harness/engines.ts';
import type { Tier } from '../harness/tier.ts';
import { type Tool, toolsNamedIn } from '../packages.ts';
import type { Seconds } from './seconds.ts';

/** One test file over one engine. */
export interface PlannedFile {
  /** As the project names it: `test/blob/races.test.ts`. */
  readonly source: string;
  /** `test/blob/races.test.ts over postgres`. */
  readonly name: string;
  readonly compiled: string;
  /** null: the file sees to its engines itself. */
  readonly engine: TestEngine | null;
  readonly tools: readonly Tool[];
  readonly ownProcess: boolean;
}

/** The files that share a process. */
export interface Group {
  readonly engine: TestEngine | null;
  readonly files: readonly PlannedFile[];
}

export interface PlanOptions {
  readonly outDir: string;
  readonly tier: Tier;
  /** Only files whose path contains it. */
  readonly only: string | undefined;
  /** Only files over this engine. */
  readonly engine: TestEngine | null;
}

/** A process takes about a second to start; groups that are too long leave a core idle at the end. */
const GROUP_SECONDS_MAX = 20;

/** Clients with a package of their own (test/third-party/package.json). */
export const THIRD_PARTY = join('test', 'third-party');

/** Sources, as the project names them. Compiled files do not tell: the compiler leaves deleted ones behind. */
function listTestFiles(folder: 'src' | 'bench' | 'test'): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'))
    .map((path) => join(folder, path))
    .sort();
}

/** A compiled file as the project names its source. */
export const sourceName = (outDir: string, file: string): string => relative(outDir, file).replace(/\.js$/, '.ts');

const textOf = (source: string): string => (existsSync(source) ? readFileSync(source, 'utf8') : '');

const compiledName = (outDir: string, source: string): string => join(outDir, source.replace(/\.ts$/, '.js'));

type Directives = Readonly<Record<'tier' | 'engines' | 'process', string | null>>;

const ALLOWED: Readonly<Record<keyof Directives, readonly string[]>> = {
  tier: ['system', 'both'],
  engines: ['embedded', 'postgres', 'both in quick'],
  process: ['own'],
};

function directivesIn(source: string, text: string): Directives {
  const valueOf = (name: keyof Directives): string | null => {
    const value = new RegExp(`^// ${name}: (.*)$`, 'm').exec(text)?.[1]?.trim() ?? null;
    if (value !== null && !ALLOWED[name].includes(value)) {
      throw new Error(`${source}: "${name}: ${value}" is none of ${ALLOWED[name].join(', ')}`);
    }
    return value;
  };
  return { tier: valueOf('tier'), engines: valueOf('engines'), process: valueOf('process') };
}

function isInTier(tier: Tier, directives: Directives): boolean {
  if (directives.tier === 'both') return true;
  return directives.tier === 'system' ? tier === 'system' : tier === 'quick';
}

/** The engines that a file under test/ runs over in this tier; none: it has no part in it. */
function enginesIn(tier: Tier, directives: Directives): readonly TestEngine[] {
  const own = isInTier(tier, directives);
  const { engines } = directives;
  if (engines === 'embedded' || engines === 'postgres') return own ? [engines] : [];
  if (directives.tier === 'system') return own ? TEST_ENGINES : [];
  if (engines === 'both in quick') return own ? TEST_ENGINES : [];
  if (tier === 'quick') return ['embedded'];
  return directives.tier === 'both' ? TEST_ENGINES : ['postgres'];
}

function plannedFiles({ outDir, tier, only, engine }: PlanOptions): PlannedFile[] {
  const chosen = (source: string): boolean => only === undefined || source.includes(only);
  const planned = (source: string, over: TestEngine | null, text: string, directives: Directives): PlannedFile => {
    const tools = toolsNamedIn(text);
    const program = tools.find((tool) => tool !== 'postgres');
    if (program !== undefined && directives.tier === null) {
      throw new Error(`${source} uses ${program}, so it must say "// tier: system" or "// tier: both"`);
    }
    return {
      source,
      name: over === 'postgres' ? `${source} over postgres` : source,
      compiled: compiledName(outDir, source),
      engine: over,
      tools: over === 'postgres' ? [...new Set<Tool>(['postgres', ...tools])] : tools,
      ownProcess: directives.process === 'own',
    };
  };
  const units = [...listTestFiles('src'), ...listTestFiles('bench')].filter(chosen).flatMap((source) => {
    const text = textOf(source);
    const directives = directivesIn(source, text);
    return isInTier(tier, directives) ? [planned(source, null, text, directives)] : [];
  });
  const others = listTestFiles('test')
    .filter(chosen)
    .flatMap((source) => {
      const text = textOf(source);
      const directives = directivesIn(source, text);
      return enginesIn(tier, directives).map((over) => planned(source, over, text, directives));
    });
  return [...units, ...others].filter((one) => engine === null || one.engine === engine);
}

/** First fit, longest first: groups of one engine and of about the same length. */
function groupFiles(files: readonly PlannedFile[], seconds: Seconds): Group[] {
  const open: { engine: TestEngine | null; seconds: number; files: PlannedFile[]; closed: boolean }[] = [];
  for (const file of [...files].sort((a, b) => seconds.of(b.name) - seconds.of(a.name))) {
    const needed = seconds.of(file.name);
    const fits = open.find(
      (group) =>
        !group.closed &&
        !file.ownProcess &&
        group.engine === file.engine &&
        group.seconds + needed <= GROUP_SECONDS_MAX,
    );
    if (fits === undefined) {
      open.push({ engine: file.engine, seconds: needed, files: [file], closed: file.ownProcess });
    } else {
      fits.seconds += needed;
      fits.files.push(file);
    }
  }
  return open.sort((a, b) => b.seconds - a.seconds);
}

export interface Plan {
  readonly files: readonly PlannedFile[];
  /** Longest first. */
  readonly groups: readonly Group[];
}

export function planTier(options: PlanOptions, seconds: Seconds): Plan {
  const files = plannedFiles(options);
  return { files, groups: groupFiles(files, seconds) };
}

/** How a test process learns of its engine. */
export const engineEnvironment = (engine: TestEngine | null): Record<string, string> =>
  engine === null ? {} : { [ENGINE_VARIABLE]: engine };
