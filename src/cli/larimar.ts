#!/usr/bin/env node
/**
 * The command line: finds the command, runs it, and turns a wrong option into one clear line and exit code 2, a store
 * that is out of reach into one and exit code 1. Passwords and keys stay out of all of it.
 */
import { ConfigError } from '../config/config-error.ts';
import { StoreUnreachable } from '../config/store-failure.ts';
import { withoutPasswords } from '../config/store-url.ts';
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
    default: {
      // What was meant as a key or a URL must not end up on a screen or in a log.
      const named = /^[\w-]{1,20}$/.test(command ?? '') ? `no command "${command}"` : 'no such command';
      throw new ConfigError(`There is ${named}. The commands are: serve, check. See: larimar --help`);
    }
  }
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  const exitCode = error instanceof ConfigError ? EXIT_USAGE : 1;
  // Nothing that the failure left behind, such as a connection half made, keeps the process.
  process.stderr.write(`larimar: ${describe(error)}\n`, () => process.exit(exitCode));
}

function describe(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StoreUnreachable) return error.message;
  return withoutPasswords(error instanceof Error ? (error.stack ?? error.message) : String(error));
}
