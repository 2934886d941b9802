import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StorageError } from '../service/storage-error.ts';
import { parseQuery, parseRequestTarget } from './request-target.ts';

const accounts = new Set(['devstoreaccount1', 'acme', '127']);

const rows: [
  name: string,
  host: string | null,
  url: string,
  want: [account: string, resource: string, style: string],
][] = [
  [
    'an IPv4 host leaves the account to the path',
    '127.0.0.1:10000',
    '/devstoreaccount1/c/b',
    ['devstoreaccount1', 'c/b', 'path'],
  ],
  ['an IPv6 host leaves the account to the path', '[::1]:10000', '/acme/c', ['acme', 'c', 'path']],
  ['an IPv6 host with an IPv4 tail is no name', '[::ffff:127.0.0.1]:10000', '/acme/c', ['acme', 'c', 'path']],
  ['localhost leaves the account to the path', 'localhost:10000', '/acme', ['acme', '', 'path']],
  ['host.docker.internal leaves the account to the path', 'host.docker.internal:10000', '/acme/', ['acme', '', 'path']],
  ['a host of one label leaves the account to the path', 'larimar', '/acme/c', ['acme', 'c', 'path']],
  ['a host whose first label is an account names it', 'acme.blob.localhost:10000', '/c/b', ['acme', 'c/b', 'host']],
  ['a host name has no case', 'ACME.Blob.Localhost', '/c/b', ['acme', 'c/b', 'host']],
  ['a host of two labels is enough', 'acme.localhost', '/', ['acme', '', 'host']],
  [
    'a host whose first label is no account is a custom name',
    'storage.example.org',
    '/acme/c/b',
    ['acme', 'c/b', 'path'],
  ],
  ['an unknown account in the path is passed on', '127.0.0.1', '/nobody/c', ['nobody', 'c', 'path']],
  ['a request without a host is path-style', null, '/acme/c', ['acme', 'c', 'path']],
  ['a secondary in the path', '127.0.0.1', '/acme-secondary/c', ['acme', 'c', 'path secondary']],
  ['a secondary in the host', 'acme-secondary.blob.localhost', '/c', ['acme', 'c', 'host secondary']],
  [
    'an absolute request line overrides the host',
    '127.0.0.1',
    'http://acme.blob.localhost:1/c/b',
    ['acme', 'c/b', 'host'],
  ],
  ['an absolute request line without a path', '127.0.0.1', 'http://acme.blob.localhost', ['acme', '', 'host']],
  ['an absolute request line with a bare query', 'x', 'https://acme.blob.localhost?comp=list', ['acme', '', 'host']],
  ['empty segments of a name stay', 'localhost', '/acme/c//b', ['acme', 'c//b', 'path']],
  ['percent-encoding of a name stays', 'localhost', '/acme/c/a%2Fb%20c', ['acme', 'c/a%2Fb%20c', 'path']],
  ['an encoded account is decoded', 'localhost', '/ac%6De/c', ['acme', 'c', 'path']],
];

for (const [name, host, url, want] of rows) {
  test(name, () => {
    const target = parseRequestTarget({ url, host, accounts });
    const style = `${target.hostStyle ? 'host' : 'path'}${target.secondary ? ' secondary' : ''}`;
    assert.deepEqual([target.account, target.resourcePath, style], want);
  });
}

for (const [name, url] of [
  ['no account at all', '/'],
  ['an empty first segment', '//acme/c'],
  ['half a percent sign in the path', '/acme/c/%4'],
  ['bytes that are no UTF-8 in the path', '/acme/c/%ff'],
  ['raw bytes that are no UTF-8', '/acme/c/\u00ff'],
  ['half a percent sign in the query', '/acme/c?prefix=%zz'],
  ['an asterisk', '*'],
  ['an absolute request line with a user', 'http://acme@localhost/c'],
  ['another scheme', 'ftp://localhost/acme/c'],
] as const) {
  test(`${name} is refused as InvalidUri`, () => {
    assert.throws(
      () => parseRequestTarget({ url, host: 'localhost', accounts }),
      (error) => error instanceof StorageError && error.code === 'InvalidUri',
    );
  });
}

test('the raw path is kept as it was signed, without the query', () => {
  const target = parseRequestTarget({ url: '/acme/c/a%20b?comp=x', host: 'localhost', accounts });
  assert.equal(target.rawPath, '/acme/c/a%20b');
});

test('raw UTF-8 on the request line is read as UTF-8', () => {
  const url = `/acme/c/${Buffer.from('naïve €', 'utf8').toString('latin1')}`;
  assert.equal(parseRequestTarget({ url, host: 'localhost', accounts }).resourcePath, 'c/naïve €');
});

test('query names have no case, values keep theirs, and the order sent is kept', () => {
  const query = parseQuery('RESTYPE=Container&comp=list&b&empty=&&=x');
  assert.deepEqual(query.entries, [
    ['restype', 'Container'],
    ['comp', 'list'],
    ['b', ''],
    ['empty', ''],
    ['', 'x'],
  ]);
  assert.equal(query.get('ResType'), 'Container');
  assert.equal(query.get('b'), '');
  assert.equal(query.get('missing'), null);
  assert.equal(query.has('empty'), true);
  assert.equal(query.has('missing'), false);
});

test('a plus sign in a value is a space, in a signature itself', () => {
  const query = parseQuery('prefix=a+b%2Bc%20d&sig=a+b%2Bc%3D&SIG=x');
  assert.equal(query.get('prefix'), 'a b+c d');
  assert.equal(query.get('sig'), 'a+b+c=');
});

test('a value may hold equal signs', () => {
  assert.equal(parseQuery('where=a=b=').get('where'), 'a=b=');
});
