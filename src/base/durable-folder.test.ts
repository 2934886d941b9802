import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolderDurably } from './durable-folder.ts';

test('a folder is made with all that lead to it, with the mode asked for, and may be there already', async () => {
  const root = await mkdtemp(join(tmpdir(), 'larimar-folder-'));
  try {
    const path = join(root, 'a', 'b', 'c');
    await makeFolderDurably(path, { mode: 0o700 });
    await makeFolderDurably(path, { mode: 0o700 });
    const { mode } = await stat(path);
    assert.equal(mode & 0o777, 0o700);
  } finally {
    await rm(root, { recursive: true });
  }
});

test('what cannot be made is an error', async () => {
  await assert.rejects(makeFolderDurably(join(import.meta.filename, 'x')), { code: 'ENOTDIR' });
});
