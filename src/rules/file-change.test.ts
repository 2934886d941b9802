import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ChangeFilter, type FileChange, nameFilterOf, renameSteps, toldOf, WRITTEN } from './file-change.ts';

const { FILE_NAME, DIR_NAME, ATTRIBUTES, CREATION, SIZE, LAST_WRITE, SECURITY } = ChangeFilter;

describe('what a change concerns', () => {
  for (const [entry, filter] of [
    ['file', FILE_NAME],
    ['directory', DIR_NAME],
  ] as const) {
    test(`the name of a ${entry} is told to those who ask for names of that kind`, () => {
      assert.equal(nameFilterOf(entry), filter);
    });
  }

  test('what is written has another size and another time', () => {
    assert.equal(WRITTEN, SIZE | LAST_WRITE);
  });

  for (const [what, entry, isSame, steps] of [
    ['a file in its directory', 'file', true, ['from: renamed from 1', 'to: renamed to 1', 'to: modified 68']],
    ['a directory in its directory', 'directory', true, ['from: renamed from 2', 'to: renamed to 2']],
    ['a file to another directory', 'file', false, ['from: removed 1', 'to: added 1', 'to: modified 68']],
    ['a directory to another directory', 'directory', false, ['from: removed 2', 'to: added 2']],
  ] as const) {
    test(`renaming ${what}: ${steps.join(', ')}`, () => {
      const told = renameSteps(entry, isSame).map(({ at, kind, filter }) => `${at}: ${kind} ${filter}`);
      assert.deepEqual(told, steps);
    });
  }

  test('the attributes that are told with a new name are those of the bits 4 and 64', () => {
    assert.equal(ATTRIBUTES | CREATION, 68);
  });
});

describe('what a watch hears', () => {
  const added: FileChange = { kind: 'added', filter: FILE_NAME, parentIds: ['b', 'a', 'root'], path: ['A', 'B', 'c'] };

  for (const [directoryId, isTree, filter, told] of [
    ['b', false, FILE_NAME, ['added c']],
    ['b', true, FILE_NAME, ['added c']],
    ['a', false, FILE_NAME, []],
    ['a', true, FILE_NAME, ['added B\\c']],
    ['root', true, FILE_NAME, ['added A\\B\\c']],
    ['elsewhere', true, FILE_NAME, []],
    ['b', true, DIR_NAME, []],
    ['b', true, DIR_NAME | FILE_NAME, ['added c']],
    ['b', true, 0, []],
  ] as const) {
    test(`a watch of ${directoryId}, with all below: ${isTree}, for ${filter}, hears: ${told.join() || 'nothing'}`, () => {
      assert.deepEqual(heard([added], { directoryId, isTree, filter }), told);
    });
  }

  test('what changes of the watched directory itself is not in it', () => {
    assert.deepEqual(heard([{ ...added, path: ['A', 'B'], parentIds: ['a'] }], { directoryId: 'b' }), []);
  });

  test('a new name comes alone, and its attributes to those who do not ask for names', () => {
    const at = { parentIds: ['a'], path: ['new'] };
    const changes: FileChange[] = [
      { kind: 'renamed from', filter: FILE_NAME, parentIds: ['a'], path: ['old'] },
      { kind: 'renamed to', filter: FILE_NAME, ...at },
      { kind: 'modified', filter: ATTRIBUTES, ...at },
    ];
    assert.deepEqual(heard(changes, { directoryId: 'a', filter: FILE_NAME | ATTRIBUTES }), [
      'renamed from old',
      'renamed to new',
    ]);
    assert.deepEqual(heard(changes, { directoryId: 'a', filter: ATTRIBUTES | SECURITY }), ['modified new']);
  });

  function heard(
    changes: readonly FileChange[],
    scope: { directoryId: string; isTree?: boolean; filter?: number },
  ): string[] {
    const told = toldOf(changes, { isTree: true, filter: FILE_NAME, ...scope });
    return told.map(({ kind, path }) => `${kind} ${path.join('\\')}`);
  }
});
