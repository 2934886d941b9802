import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRequestTarget } from '../request-target.ts';
import { targetOfRename } from './rename-target.ts';

const accounts = new Set(['team', 'other']);
const PATH_STYLE = 'http://127.0.0.1:10003/team/papers/old';

const cases: readonly (readonly [
  what: string,
  url: string,
  source: string | null,
  found: readonly [string, string],
])[] = [
  ['the account is the source’s', '/papers/new?comp=rename', PATH_STYLE, ['team', 'papers/new']],
  ['also of a directory', '/papers/a/b?restype=directory&comp=rename', PATH_STYLE, ['team', 'papers/a/b']],
  ['an account in the path stays', '/other/papers/new?comp=rename', PATH_STYLE, ['other', 'papers/new']],
  ['only a rename is read so', '/papers/new?comp=metadata', PATH_STYLE, ['papers', 'new']],
  ['a source of no account says nothing', '/papers/new?comp=rename', 'http://h/nobody/papers/old', ['papers', 'new']],
  ['nor does one that is no URL', '/papers/new?comp=rename', 'papers/old', ['papers', 'new']],
  ['nor does none', '/papers/new?comp=rename', null, ['papers', 'new']],
];

for (const [what, url, source, found] of cases) {
  test(`the destination of a rename: ${what}`, () => {
    const target = parseRequestTarget({ url, host: '127.0.0.1:10003', accounts });
    const { account, resourcePath } = targetOfRename({ header: () => source }, target, accounts);
    assert.deepEqual([account, resourcePath], found);
  });
}

test('the destination of a rename: an account in the host’s name stays', () => {
  const target = parseRequestTarget({ url: '/papers/new?comp=rename', host: 'team.example.org', accounts });
  assert.equal(targetOfRename({ header: () => PATH_STYLE }, target, accounts), target);
});
