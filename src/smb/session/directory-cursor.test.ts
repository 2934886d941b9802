import assert from 'node:assert/strict';
import { test } from 'node:test';
import { turns } from '../../../test/harness/parallel.ts';
import { type NamePattern, parsePattern } from '../../rules/name-pattern.ts';
import { DirectoryCursor } from './directory-cursor.ts';

const patternOf = (text: string): NamePattern => parsePattern(text) as NamePattern;

test('the directory itself and the one above are told where the pattern means them', () => {
  for (const [pattern, want] of [
    ['*', ['.', '..']],
    ['*.*', ['.', '..']],
    ['.*', ['.', '..']],
    ['?', ['.', '..']],
    ['>', ['.', '..']],
    ['a*', []],
    ['*.txt', []],
    ['..', ['..']],
    ['.', ['.']],
    ['name', []],
  ] as const) {
    assert.deepEqual(new DirectoryCursor(patternOf(pattern)).dots, want, pattern);
  }
});

test('each is told once, until it begins anew', () => {
  const cursor = new DirectoryCursor(patternOf('*'));
  cursor.passDots();
  assert.deepEqual(cursor.dots, ['..']);
  cursor.passDots();
  assert.deepEqual(cursor.dots, []);
  cursor.from = 'X';
  cursor.isOver = true;
  cursor.hasTold = true;
  cursor.restart(patternOf('a'));
  assert.deepEqual([cursor.from, cursor.isOver, cursor.hasTold, cursor.dots], [null, false, false, []]);
});

test('requests go one after the other, whatever becomes of the one before', async () => {
  const cursor = new DirectoryCursor(patternOf('*'));
  const log: string[] = [];
  const act = (name: string) => async (): Promise<void> => {
    log.push(`${name} begins`);
    await turns(2);
    log.push(`${name} ends`);
    if (name === 'first') throw new Error(name);
  };
  const outcomes = await Promise.allSettled([cursor.inTurn(act('first')), cursor.inTurn(act('second'))]);
  assert.deepEqual(log, ['first begins', 'first ends', 'second begins', 'second ends']);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  );
});
