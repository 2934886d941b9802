/**
 * For `node --import`: tests get the newest official clients (test/third-party/package.json) instead of those that run on
 * every supported Node. The module registers itself as a hook of module resolution, which runs in a thread of its own.
 */
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';

const NEWEST: Readonly<Record<string, string>> = {
  '@azure/storage-blob': 'newest-storage-blob',
  '@azure/storage-queue': 'newest-storage-queue',
  '@azure/storage-file-share': 'newest-storage-file-share',
};

/** Where packages are looked for: the file itself need not exist. */
const THIRD_PARTY = pathToFileURL('test/third-party/package.json').href;

interface Context {
  readonly parentURL?: string;
}

export function resolve<T>(
  specifier: string,
  context: Context,
  nextResolve: (specifier: string, context: Context) => T,
): T {
  const newest = NEWEST[specifier];
  if (newest === undefined) return nextResolve(specifier, context);
  return nextResolve(newest, { ...context, parentURL: THIRD_PARTY });
}

if (isMainThread) register(import.meta.url);
