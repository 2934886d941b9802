import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SmbError, statusName } from '../statuses.ts';
import { parseFilePath } from './file-path.ts';

function parsed(name: string, creates = false): string {
  try {
    const { path, isStream } = parseFilePath(name, { creates });
    return `${path.join(' / ')}${isStream ? ', the content' : ''}`;
  } catch (error) {
    if (!(error instanceof SmbError)) throw error;
    return statusName(error.status);
  }
}

describe('the name', () => {
  for (const [name, want] of [
    ['', ''],
    ['a', 'a'],
    ['a\\b.txt', 'a / b.txt'],
    ['a b\\ü', 'a b / ü'],
    ['a.', 'a.'],
    ['a\\b::$DATA', 'a / b, the content'],
    ['b::$data', 'b, the content'],
    ['\\a', 'INVALID_PARAMETER'],
    ['a\\..\\b', 'OBJECT_PATH_SYNTAX_BAD'],
    ['.', 'OBJECT_NAME_INVALID'],
    ['a\\\\b', 'OBJECT_NAME_INVALID'],
    ['a\\', 'OBJECT_NAME_INVALID'],
    ['a*', 'OBJECT_NAME_INVALID'],
    ['a/b', 'OBJECT_NAME_INVALID'],
    ['con', 'OBJECT_NAME_INVALID'],
    ['\u{1f600}', '\u{1f600}'],
    // Half of a character: REST could never name the file, neither in a URL nor in XML.
    ['a\ud83d', 'OBJECT_NAME_INVALID'],
    [':AFP_AfpInfo', 'OBJECT_NAME_INVALID'],
    ['a:x\\b', 'OBJECT_NAME_INVALID'],
    ['a:AFP_AfpInfo', 'OBJECT_NAME_NOT_FOUND'],
    ['a:stream:$DATA', 'OBJECT_NAME_NOT_FOUND'],
    ['a'.repeat(255), 'a'.repeat(255)],
    ['a'.repeat(256), 'OBJECT_NAME_INVALID'],
    [Array.from({ length: 10 }, () => 'a'.repeat(250)).join('\\'), 'OBJECT_NAME_INVALID'],
  ] as const) {
    test(`${name.length > 40 ? `of ${name.length} units` : `'${name}'`} leads to '${want.slice(0, 30)}'`, () => {
      assert.equal(parsed(name), want);
    });
  }

  test('of a stream that is to be made is invalid', () =>
    assert.equal(parsed('a:stream', true), 'OBJECT_NAME_INVALID'));
});
