/**
 * What a run of the tests consists of: the unit tests, all in one process, and the acceptance tests, a process for each
 * file and each engine. A file under test/ runs over both engines unless a line near its top names the one that it is
 * about: `// engines: embedded` (data folders, their files and locks) or `// engines: postgres` (several nodes). What takes
 * long and is little about the engine says `// engines: embedded, in acceptance both`.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ENGINE_VARIABLE, TEST_ENGINES, type TestEngine } from '../harness/engines.ts';
import { type Tool, toolsNamedIn } from '../packages.ts';

export interface PlannedRun {
  /** `test/blob/races.test.ts over postgres`. */
  readonly name: string;
  /** Compiled. */
  readonly files: readonly string[];
  /** null: the files see to their engines themselves. */
  readonly engine: TestEngine | null;
  /** What the files ask for. */
  readonly tools: readonly Tool[];
}

export interface Plan {
  readonly units: PlannedRun | null;
  readonly acceptance: readonly PlannedRun[];
}

export interface PlanOptions {
  readonly outDir: string;
  /** Only files whose path contains it. */
  readonly only: string | undefined;
  /** Also the files named *.acceptance.test.ts, and the engines that others keep for this. */
  readonly withSlow: boolean;
  /** Only acceptance tests over this engine. */
  readonly engine: TestEngine | null;
}

/** Sources, as the project names them. Compiled files do not tell: the compiler leaves deleted ones behind. */
function listTestFiles(folder: 'src' | 'test'): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => join(folder, path))
    .sort();
}

/** A compiled file as the project names its source. */
export const sourceName = (outDir: string, file: string): string => relative(outDir, file).replace(/\.js$/, '.ts');

const compiledName = (outDir: string, source: string): string => join(outDir, source.replace(/\.ts$/, '.js'));

const textOf = (source: string): string => (existsSync(source) ? readFileSync(source, 'utf8') : '');

const BOTH_IN_ACCEPTANCE = 'embedded, in acceptance both';

function enginesOf(source: string, { withSlow }: Pick<PlanOptions, 'withSlow'>): readonly TestEngine[] {
  const named = /^\/\/ engines: (.*)$/m.exec(textOf(source))?.[1]?.trim();
  if (named === undefined) return TEST_ENGINES;
  if (named === BOTH_IN_ACCEPTANCE) return withSlow ? TEST_ENGINES : ['embedded'];
  const engine = TEST_ENGINES.find((one) => one === named);
  if (engine === undefined)
    throw new Error(`${source}: "engines: ${named}" names no engine (${TEST_ENGINES.join(', ')})`);
  return [engine];
}

function acceptanceRun(source: string, engine: TestEngine, outDir: string): PlannedRun {
  const tools = toolsNamedIn(textOf(source));
  return {
    name: engine === 'embedded' ? source : `${source} over ${engine}`,
    files: [compiledName(outDir, source)],
    engine,
    tools: engine === 'postgres' ? [...new Set<Tool>(['postgres', ...tools])] : tools,
  };
}

function unitRun(sources: readonly string[], outDir: string): PlannedRun {
  return {
    name: `unit tests, ${sources.length} files`,
    files: sources.map((source) => compiledName(outDir, source)),
    engine: null,
    tools: [...new Set(sources.flatMap((source) => toolsNamedIn(textOf(source))))],
  };
}

export function planRuns({ outDir, only, withSlow, engine }: PlanOptions): Plan {
  const chosen = (source: string): boolean => only === undefined || source.includes(only);
  const units = listTestFiles('src').filter(chosen);
  const acceptance = listTestFiles('test')
    .filter((source) => withSlow || !source.endsWith('.acceptance.test.ts'))
    .filter(chosen);
  return {
    units: units.length === 0 ? null : unitRun(units, outDir),
    acceptance: acceptance.flatMap((source) =>
      enginesOf(source, { withSlow })
        .filter((one) => engine === null || one === engine)
        .map((one) => acceptanceRun(source, one, outDir)),
    ),
  };
}

/** How a test process learns of its engine. */
export const engineEnvironment = ({ engine }: PlannedRun): Record<string, string> =>
  engine === null ? {} : { [ENGINE_VARIABLE]: engine };
