/**
 * Where a snippet runs: a temporary folder with what its reader has there. That is the project's packages for a program,
 * a copy of the checkout for commands that name its files, and nothing for other commands.
 */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { writeCertificate } from '../harness/certificate.ts';
import { LARIMAR_COMMAND } from '../harness/server-process.ts';
import type { Snippet } from './fences.ts';

export interface SnippetFolder {
  /** For settings that a program keeps for its user. */
  readonly home: string;
  /** Where it runs. */
  readonly work: string;
  /** With the command `larimar`. */
  readonly bin: string;
  remove(): void;
}

const NAMES_CHECKOUT = /\bnpm\b|(?:^|[\s'"])(?:dist|deploy)\//m;
const INSTALLS = /\bnpm ci\b/;
const NAMES_CERTIFICATE = /--cert tls\.crt --key tls\.key/;

/** Found again by every program that runs: neither history nor data nor what npm installed. */
const LEFT_OUT = new Set(['.git', '.cache', 'larimar-data', 'node_modules']);

/** `isBuilt`: as it is after `npm ci`. */
function copyCheckout(work: string, { isBuilt }: { isBuilt: boolean }): void {
  const isCopied = (path: string): boolean => {
    const name = basename(path);
    return !LEFT_OUT.has(name) && (isBuilt || path !== 'dist');
  };
  for (const name of readdirSync('.').filter(isCopied)) {
    cpSync(name, join(work, name), { recursive: true, filter: isCopied });
  }
}

/** A folder of links, and not a link to a folder: whoever deletes in it deletes nothing of the project. */
function linkPackages(work: string): void {
  const packages = join(work, 'node_modules');
  mkdirSync(packages);
  const project = process.cwd();
  for (const name of readdirSync('node_modules'))
    symlinkSync(join(project, 'node_modules', name), join(packages, name));
  symlinkSync(project, join(packages, 'larimar'));
}

function writeLarimarCommand(bin: string): void {
  const file = join(bin, 'larimar');
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' --enable-source-maps '${LARIMAR_COMMAND}' "$@"\n`);
  chmodSync(file, 0o755);
}

/** The pair of files that docs/connect.md makes. */
function writeTlsFiles(work: string): void {
  const made = writeCertificate(work, 'localhost');
  cpSync(made.certFile, join(work, 'tls.crt'));
  cpSync(made.keyFile, join(work, 'tls.key'));
}

export interface Checkout {
  readonly folder: string;
  remove(): void;
}

const remover = (folder: string) => (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });

/** A copy of the checkout with the project's packages, not built. */
export function makeCheckout(): Checkout {
  const folder = mkdtempSync(join(tmpdir(), 'larimar-checkout-'));
  copyCheckout(folder, { isBuilt: false });
  linkPackages(folder);
  return { folder, remove: remover(folder) };
}

export function makeSnippetFolder({ language, code }: Snippet): SnippetFolder {
  const home = mkdtempSync(join(tmpdir(), 'larimar-snippet-'));
  const [work, bin] = [join(home, 'work'), join(home, 'bin')];
  for (const folder of [work, bin]) mkdirSync(folder);
  writeLarimarCommand(bin);
  if (language === 'sh' && NAMES_CHECKOUT.test(code)) {
    const isBuilt = !INSTALLS.test(code);
    copyCheckout(work, { isBuilt });
    if (isBuilt) linkPackages(work);
  }
  if (language === 'js') linkPackages(work);
  if (NAMES_CERTIFICATE.test(code)) writeTlsFiles(work);
  return { home, work, bin, remove: remover(home) };
}
