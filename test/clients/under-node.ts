/**
 * A version of Node: under it, all unit tests in one process, and the official client's short story against a server that
 * runs under the same version. It comes from npm's `node` package; where it cannot be had, these tests are skipped.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Tool, tool } from './tool.ts';

const outDir = fileURLToPath(new URL('../..', import.meta.url));
const loadsTestFiles = join(outDir, 'test/runner/entry.js');
const story = fileURLToPath(new URL('sdk-story.test.js', import.meta.url));
const unitTests = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => join(outDir, 'src', path.replace(/\.ts$/, '.js')));

export function testUnderNode(version: string): void {
  describe(`under Node ${version}`, () => {
    let folder: string;
    let node: Tool;
    let missing: string | null = null;

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'larimar-node-'));
      try {
        const flags = ['--silent', '--no-audit', '--no-fund', '--prefix', folder];
        await promisify(execFile)('npm', ['install', ...flags, `node@${version}`]);
      } catch (error) {
        missing = `npm install node@${version}: ${(error as Error).message}`;
      }
      node = tool(join(folder, 'node_modules/node/bin/node'), { cwd: process.cwd(), env: { HOME: folder } });
    });
    after(() => rm(folder, { recursive: true, force: true }));

    test('it is that version', async (t) => {
      if (missing !== null) return t.skip(missing);
      assert.ok((await node.succeed('--version')).startsWith(`v${version}.`));
    });

    test('every unit test passes', async (t) => {
      if (missing !== null) return t.skip(missing);
      await node.succeed('--enable-source-maps', loadsTestFiles, ...unitTests);
    });

    test('the official client is served', async (t) => {
      if (missing !== null) return t.skip(missing);
      await node.succeed('--enable-source-maps', loadsTestFiles, story);
    });
  });
}
