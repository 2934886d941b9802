import { readFile } from 'node:fs/promises';

/** From the package itself: found above the compiled file, wherever that was installed. */
export async function readVersion(): Promise<string> {
  const packageFile = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(await readFile(packageFile, 'utf8')) as { version: string }).version;
}
