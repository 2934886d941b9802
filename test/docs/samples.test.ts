/** The samples in TypeScript are compiled and run in a copy of the project, in the files that their pages name. */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Tool, tool } from '../clients/tool.ts';
import { hasTool } from '../packages.ts';
import { listPages, nameOf, readSnippets } from './fences.ts';
import { sampleOf, writeSample } from './samples.ts';
import { type Checkout, makeCheckout } from './snippet-folder.ts';

const samples = listPages()
  .flatMap(readSnippets)
  .filter(({ language }) => language === 'ts')
  .map(sampleOf);

// Not `missingTool`, for which the runner would start a server: the runner inside the copy starts its own.
const missingPostgres = !hasTool('postgres') && 'needs postgresql, which npm run test:setup installs';

describe('run as it stands:', () => {
  let checkout: Checkout;
  let node: Tool;

  before(async () => {
    checkout = makeCheckout();
    node = tool(process.execPath, { env: {}, cwd: checkout.folder });
    for (const sample of samples) writeSample(checkout.folder, sample);
    await node.succeed('node_modules/typescript/bin/tsc');
  });
  after(() => checkout.remove());

  for (const { snippet, testFile, isSystemTier, needsPostgres } of samples) {
    test(`${nameOf(snippet)} in ${testFile}`, { skip: needsPostgres && missingPostgres }, async () => {
      const tier = isSystemTier ? ['--system'] : [];
      const output = await node.succeed('dist/test/run.js', '--only', testFile, ...tier);
      assert.match(output.trimEnd().split('\n').at(-1) ?? '', /^[1-9]\d* passed, 0 failed$/, output);
    });
  }
});
