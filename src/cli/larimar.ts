#!/usr/bin/env node
/** The command line: finds the command, runs it, and turns a wrong option into one clear line and exit code 2. */
import { ConfigError } from '../config/config-error.ts';
import { check } from './check.ts';
import { renderHelp } from './help.ts';
import { serve } from './serve.ts';
import { readVersion } from './version.ts';

const EXIT_USAGE = 2;

async function run(args: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h') || args[0] === 'help') return print(renderHelp());
  if (args[0] === '--version' || args[0] === '-v') return print(await readVersion());
  const [command, ...rest] = args[0] === undefined || args[0].startsWith('-') ? ['serve', ...args] : args;
  switch (command) {
    case 'serve':
      return serve(rest);
    case 'check':
      return check(rest);
    default:
      throw new ConfigError(`There is no command "${command}". The commands are: serve, check. See: larimar --help`);
  }
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`larimar: ${error instanceof ConfigError ? error.message : describe(error)}\n`);
  process.exitCode = error instanceof ConfigError ? EXIT_USAGE : 1;
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
