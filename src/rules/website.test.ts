import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentsAt, type Website } from './website.ts';

const PLAIN: Website = { indexDocument: 'index.html' };
const WITH_ERROR: Website = { ...PLAIN, errorDocument404Path: 'errors/404.html' };
/** An application of one page, which looks at the path itself. */
const ONE_PAGE: Website = { defaultIndexDocumentPath: '/app/index.html' };

for (const [what, site, path, expected] of [
  ['the root is its index', PLAIN, '', ['200 index.html']],
  ['a directory is its index', PLAIN, 'a/b/', ['200 a/b/index.html']],
  ['a document is itself', PLAIN, 'a/b.css', ['200 a/b.css']],
  ['a directory without its slash is no directory', PLAIN, 'a', ['200 a']],
  ['a doubled slash is a name like any other', PLAIN, 'a//', ['200 a//index.html']],
  ['what is missing has the error page', WITH_ERROR, 'x', ['200 x', '404 errors/404.html']],
  ['so has a directory without an index', WITH_ERROR, 'x/', ['200 x/index.html', '404 errors/404.html']],
  ['what is missing is the one page', ONE_PAGE, 'x', ['200 x', '200 app/index.html']],
  ['every directory is the one page', ONE_PAGE, 'x/', ['200 app/index.html']],
  ['the root is the one page', ONE_PAGE, '', ['200 app/index.html']],
  [
    'the one page counts before the error page',
    { ...ONE_PAGE, errorDocument404Path: 'e' },
    'x',
    ['200 x', '200 app/index.html'],
  ],
  ['a site without any index has documents', {}, 'a', ['200 a']],
  ['a site without any index has no root', {}, '', []],
  ['and says so with its error page', { errorDocument404Path: '/e' }, 'x/', ['404 e']],
] as readonly [string, Website, string, readonly string[]][]) {
  test(what, () => {
    assert.deepEqual(
      documentsAt(path, site).map(({ name, status }) => `${status} ${name}`),
      expected,
    );
  });
}
