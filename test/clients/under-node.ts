/**
 * A version of Node other than this one: under it, all unit tests in one process, the official clients' short stories
 * against a server that runs under the same version, and from Node 22 on, which they ask for, the newest official clients.
 * The versions are packages of npm's that `npm run test:setup` installs.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { TIER_VARIABLE } from '../harness/tier.ts';
import { planTier } from '../runner/plan.ts';
import { Seconds } from '../runner/seconds.ts';
import { runTestProcess } from '../runner/test-process.ts';

const outDir = fileURLToPath(new URL('../..', import.meta.url));
const newestClients = join(outDir, 'test/clients/newest-clients.js');
const story = join(outDir, 'test/clients/sdk-story.test.js');

const quickFiles = planTier({ outDir, tier: 'quick', only: undefined, engine: null }, new Seconds('quick')).files;
const unitTests = quickFiles.filter(({ engine }) => engine === null).map(({ compiled }) => compiled);
/** Those of services whose clients have newer versions, without what takes long and is about the server alone. */
const clientTests = quickFiles
  .filter(({ source, engine }) => /^test\/(blob|queue|file)\//.test(source) && engine === 'embedded')
  .filter(({ source }) => !/races|fuzz|bad-input|outside/.test(source))
  .map(({ compiled }) => compiled);

const NEWEST_CLIENTS_NODE_MIN = 22;

export function testUnderNode(version: number): void {
  const node = join(process.cwd(), 'test/third-party/node_modules', `node-${version}`, 'bin/node');
  const isThisOne = process.versions.node.startsWith(`${version}.`);
  const missing = existsSync(node) ? false : `needs Node ${version}, which npm run test:setup installs`;

  /** Runs test files as the quick tier does, under the other Node. */
  const assertPass = async (files: readonly string[], flags: readonly string[] = []): Promise<void> => {
    const env = { [TIER_VARIABLE]: 'quick' };
    const { finished, output } = await runTestProcess({ files, outDir, node, flags, env });
    const failures = finished.filter(({ outcome }) => outcome === 'failed');
    const described = failures.map(({ file, path, reason }) => `${file}: ${path.join(' › ')}\n${reason}\n`);
    assert.equal(described.join('\n'), '', output);
    assert.ok(finished.length > 0);
  };

  describe(`under Node ${version}`, { skip: isThisOne ? `this is Node ${version}` : missing }, () => {
    test('the program has that version', () => {
      assert.ok(execFileSync(node, ['--version'], { encoding: 'utf8' }).startsWith(`v${version}.`));
    });

    test('every unit test passes', () => assertPass(unitTests));

    test('the official clients work', () => assertPass([story]));

    test(
      'the newest official clients work',
      {
        skip: version < NEWEST_CLIENTS_NODE_MIN && 'they ask for Node 22',
      },
      () => assertPass(clientTests, ['--import', newestClients]),
    );
  });
}
