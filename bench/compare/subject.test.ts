import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { findAzurite } from './subject.ts';

function create(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
}

test('an Azurite is found in a folder, with the Node beside it, or named by a command', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'larimar-compare-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const program = join(folder, 'node_modules/azurite/dist/src/azurite.js');
  const ownNode = join(folder, 'node_modules/node/bin/node');

  assert.equal(findAzurite(''), null);
  assert.equal(findAzurite(folder), null);
  create(program);
  assert.deepEqual(findAzurite(folder)?.command, [process.execPath, program]);
  create(ownNode);
  assert.deepEqual(findAzurite(folder)?.command, [ownNode, program]);
  assert.deepEqual(findAzurite('npx  azurite')?.command, ['npx', 'azurite']);
});
