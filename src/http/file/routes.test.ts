import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { parseQuery } from '../request-target.ts';
import { findOperation } from './routes.ts';

const NEWEST = '2026-06-06';

/** `PUT music/a/b.mp3?comp=range` */
function asked(line: string, headers: Readonly<Record<string, string>> = {}, version = NEWEST): Exchange {
  const [method = '', url = ''] = line.split(' ');
  const [resourcePath = '', query = ''] = url.split('?');
  return {
    service: 'f',
    method,
    target: {
      rawPath: `/acme/${resourcePath}`,
      account: 'acme',
      secondary: false,
      hostStyle: false,
      resourcePath,
      query: parseQuery(query),
    },
    header: (name) => headers[name] ?? null,
    rawHeaders: [],
    headersWithPrefix: () => [],
    version,
    requestId: 'request',
    clientAddress: '192.0.2.7',
    secure: false,
    origin: 'http://example.org',
    body: () => Readable.from([]),
    wholeBody: async () => new Uint8Array(0),
    contentLengthBytes: 0,
  };
}

const SNAPSHOT = 'sharesnapshot=2026-01-02T03:04:05.0000000Z';

describe('a request asks for', () => {
  for (const [line, want] of [
    ['GET ?comp=list', 'List Shares'],
    ['GET ?comp=list&include=metadata,snapshots', 'List Shares'],
    ['GET ?restype=service&comp=properties', 'Get File Service Properties'],
    ['PUT ?restype=service&comp=properties', 'Set File Service Properties'],
    ['POST ?restype=service&comp=userdelegationkey', 'Get User Delegation Key'],

    ['PUT music?restype=share', 'Create Share'],
    ['PUT music/?restype=share', 'Create Share'],
    ['PUT music?RESTYPE=Share', 'Create Share'],
    ['GET music?restype=share', 'Get Share Properties'],
    ['HEAD music?restype=share', 'Get Share Properties'],
    [`GET music?restype=share&${SNAPSHOT}`, 'Get Share Properties'],
    ['DELETE music?restype=share', 'Delete Share'],
    [`DELETE music?restype=share&${SNAPSHOT}`, 'Delete Share'],
    ['PUT music?restype=share&comp=properties', 'Set Share Properties'],
    ['GET music?restype=share&comp=metadata', 'Get Share Metadata'],
    [`HEAD music?restype=share&comp=metadata&${SNAPSHOT}`, 'Get Share Metadata'],
    ['PUT music?restype=share&comp=metadata', 'Set Share Metadata'],
    ['GET music?restype=share&comp=acl', 'Get Share ACL'],
    ['PUT music?restype=share&comp=acl', 'Set Share ACL'],
    ['GET music?restype=share&comp=stats', 'Get Share Stats'],
    ['PUT music?restype=share&comp=snapshot', 'Snapshot Share'],
    ['PUT music?restype=share&comp=undelete', 'Restore Share'],
    ['PUT music?restype=share&comp=lease', 'Lease Share'],
    [`PUT music?restype=share&comp=lease&${SNAPSHOT}`, 'Lease Share'],
    ['PUT music?restype=share&comp=filepermission', 'Create Permission'],
    ['GET music?restype=share&comp=filepermission', 'Get Permission'],

    ['PUT music/a?restype=directory', 'Create Directory'],
    ['PUT music/a/b/?restype=directory', 'Create Directory'],
    ['GET music?restype=directory', 'Get Directory Properties'],
    ['HEAD music/a?restype=directory', 'Get Directory Properties'],
    [`GET music/a?restype=directory&${SNAPSHOT}`, 'Get Directory Properties'],
    ['PUT music/a?restype=directory&comp=properties', 'Set Directory Properties'],
    ['PUT music/a?restype=directory&comp=metadata', 'Set Directory Metadata'],
    ['GET music/a?restype=directory&comp=metadata', 'Get Directory Metadata'],
    ['DELETE music/a?restype=directory', 'Delete Directory'],
    ['PUT music/a?restype=directory&comp=rename', 'Rename Directory'],
    ['GET music?restype=directory&comp=list', 'List Directories and Files'],
    ['GET music/?restype=directory&comp=list', 'List Directories and Files'],
    [`GET music/a?restype=directory&comp=list&${SNAPSHOT}`, 'List Directories and Files'],

    ['PUT music/a.mp3', 'Create File'],
    ['GET music/a.mp3', 'Get File'],
    ['HEAD music/a.mp3', 'Get File Properties'],
    [`GET music/a.mp3?${SNAPSHOT}`, 'Get File'],
    ['DELETE music/a/b.mp3', 'Delete File'],
    ['PUT music/a.mp3?comp=properties', 'Set File Properties'],
    ['PUT music/a.mp3?comp=metadata', 'Set File Metadata'],
    ['PUT music/a.mp3?comp=range', 'Put Range'],
    ['GET music/a.mp3?comp=rangelist', 'List Ranges'],
    ['PUT music/a.mp3?comp=lease', 'Lease File'],
    ['PUT music/a.mp3?comp=rename', 'Rename File'],
    ['PUT music/a.mp3?comp=copy&copyid=x', 'Abort Copy File'],

    ['GET music/a?comp=listhandles', 'List Handles'],
    ['GET music?comp=listhandles', 'List Handles'],
    ['GET music/a/?comp=listhandles', 'List Handles'],
    ['GET music/a?restype=directory&comp=listhandles', 'List Handles'],
    ['PUT music/a?comp=forceclosehandles', 'Force Close Handles'],
    ['PUT music/?comp=forceclosehandles', 'Force Close Handles'],
  ] as const) {
    test(`${want}: ${line}`, () => assert.equal(findOperation(asked(line)).operation.name, want));
  }
});

describe('a source in a header makes another operation of', () => {
  const source = { 'x-ms-copy-source': 'http://example.org/acme/music/old.mp3' };
  for (const [line, want] of [
    ['PUT music/a.mp3', 'Copy File'],
    ['PUT music/a.mp3?comp=range', 'Put Range From URL'],
    ['PUT music/a.mp3?comp=metadata', 'Set File Metadata'],
    ['PUT music/a?restype=directory', 'Create Directory'],
    ['GET music/a.mp3', 'Get File'],
  ] as const) {
    test(`${line}: ${want}`, () => assert.equal(findOperation(asked(line, source)).operation.name, want));
  }
});

const KEEPS_DOTS = { 'x-ms-allow-trailing-dot': 'true' };

describe('path and restype name', () => {
  for (const [line, want, headers] of [
    ['GET ?comp=list', { kind: 'service' }],
    ['PUT music/?restype=share', { kind: 'share', share: 'music' }],
    ['GET music?restype=directory', { kind: 'directory', share: 'music', path: [] }],
    ['GET music/?restype=directory', { kind: 'directory', share: 'music', path: [] }],
    ['GET music?comp=listhandles', { kind: 'directory', share: 'music', path: [] }],
    ['GET music/a?comp=listhandles', { kind: 'file', share: 'music', path: ['a'] }],
    ['GET music/a/b/?restype=directory', { kind: 'directory', share: 'music', path: ['a', 'b'] }],
    // As the Python client writes the paths of directories.
    ['GET music/a%2Fb%2fc?restype=directory', { kind: 'directory', share: 'music', path: ['a', 'b', 'c'] }],
    ['GET music/%C3%A4/%20b.mp3', { kind: 'file', share: 'music', path: ['ä', ' b.mp3'] }],
    ['GET music/a+b/100%25', { kind: 'file', share: 'music', path: ['a+b', '100%'] }],
    ['GET music/a./b..', { kind: 'file', share: 'music', path: ['a', 'b'] }],
    ['GET music/a./b..', { kind: 'file', share: 'music', path: ['a.', 'b..'] }, KEEPS_DOTS],
    ['GET music/...a', { kind: 'file', share: 'music', path: ['...a'] }],
  ] as const) {
    test(`${want.kind}: ${line}${headers === undefined ? '' : ', trailing dots kept'}`, () =>
      assert.deepEqual(findOperation(asked(line, headers)).resource, want));
  }
});

describe('a token is for what the path says, as it is written:', () => {
  for (const [line, want] of [
    ['GET ?comp=list', []],
    ['GET music?restype=share', ['music']],
    ['GET music/?restype=directory&comp=list', ['music']],
    ['GET music/a/?restype=directory', ['music', 'a']],
    ['GET music/A/b%20c.mp3', ['music', 'A/b c.mp3']],
    ['GET music/a./b.', ['music', 'a./b.']],
  ] as const) {
    test(line, () => assert.deepEqual(findOperation(asked(line)).names, want));
  }
});

function refusalOf(exchange: Exchange): string {
  try {
    return findOperation(exchange).operation.name;
  } catch (error) {
    assert.ok(error instanceof StorageError);
    return error.code;
  }
}

describe('what no operation answers to is refused:', () => {
  for (const [line, want] of [
    ['FETCH music?restype=share', 'InvalidHttpVerb'],
    ['POST music?restype=share', 'UnsupportedHttpVerb'],
    ['DELETE music?restype=share&comp=metadata', 'UnsupportedHttpVerb'],
    ['POST ?comp=list', 'UnsupportedHttpVerb'],
    ['GET ?restype=service&comp=stats', 'InvalidQueryParameterValue'],
    ['GET ', 'InvalidQueryParameterValue'],
    ['GET ?restype=share', 'InvalidQueryParameterValue'],
    ['GET music?restype=share&comp=wrong', 'InvalidQueryParameterValue'],
    ['GET music/a?restype=share', 'InvalidQueryParameterValue'],
    ['GET music/a?restype=container', 'InvalidQueryParameterValue'],
    ['PUT music/a?restype=symboliclink', 'InvalidQueryParameterValue'],
    ['PUT music/a?restype=hardlink', 'InvalidQueryParameterValue'],
    ['GET music', 'MissingRequiredQueryParameter'],
    ['PUT music/', 'MissingRequiredQueryParameter'],
    [`PUT music?restype=share&${SNAPSHOT}`, 'InvalidQueryParameterValue'],
    [`PUT music?restype=share&comp=metadata&${SNAPSHOT}`, 'InvalidQueryParameterValue'],
    [`GET music?restype=share&comp=acl&${SNAPSHOT}`, 'InvalidQueryParameterValue'],
    [`GET music?restype=share&comp=stats&${SNAPSHOT}`, 'InvalidQueryParameterValue'],
    [`PUT music/a.mp3?${SNAPSHOT}`, 'InvalidQueryParameterValue'],
    [`PUT music/a?restype=directory&${SNAPSHOT}`, 'InvalidQueryParameterValue'],
    ['PUT mu?restype=share', 'OutOfRangeInput'],
    ['PUT Music?restype=share', 'InvalidResourceName'],
    ['PUT mu--sic?restype=share', 'InvalidResourceName'],
    ['PUT $root?restype=share', 'InvalidResourceName'],
    ['PUT music/a.mp3/', 'InvalidResourceName'],
    ['PUT music/a//b.mp3', 'InvalidResourceName'],
    ['PUT music//?restype=directory', 'InvalidResourceName'],
    ['PUT music/..?restype=directory', 'InvalidResourceName'],
    ['PUT music/a/./b', 'InvalidResourceName'],
    ['PUT music/con', 'InvalidResourceName'],
    ['PUT music/a%5Cb', 'InvalidResourceName'],
    ['PUT music/a%3Ab', 'InvalidResourceName'],
    [`PUT music/${'a'.repeat(256)}`, 'InvalidFileOrDirectoryPathName'],
    [`PUT music/${'a/'.repeat(250)}b`, 'InvalidFileOrDirectoryPathName'],
  ] as const) {
    test(`${want}: ${line.slice(0, 60)}`, () => assert.equal(refusalOf(asked(line)), want));
  }
});

describe('an operation is there since its version:', () => {
  for (const [line, since, want] of [
    ['PUT music?restype=share&comp=snapshot', '2017-04-17', 'Snapshot Share'],
    ['GET music?restype=share&comp=acl', '2015-02-21', 'Get Share ACL'],
    ['PUT music?restype=share&comp=filepermission', '2019-02-02', 'Create Permission'],
    ['PUT music?restype=share&comp=undelete', '2019-12-12', 'Restore Share'],
    ['PUT music?restype=share&comp=lease', '2020-02-10', 'Lease Share'],
    ['PUT music/a.mp3?comp=lease', '2019-02-02', 'Lease File'],
    ['GET music/a?comp=listhandles', '2018-11-09', 'List Handles'],
    ['PUT music/a?restype=directory&comp=rename', '2021-04-10', 'Rename Directory'],
  ] as const) {
    test(`${want}, ${since}`, () => {
      assert.equal(refusalOf(asked(line, {}, since)), want);
      assert.equal(refusalOf(asked(line, {}, '2014-02-14')), 'InvalidQueryParameterValue');
    });
  }
});

test('trailing dots are kept since 2022-11-02', () => {
  for (const [version, want] of [
    ['2022-11-02', 'a.'],
    ['2021-12-02', 'a'],
  ] as const) {
    const { resource } = findOperation(asked('GET music/a.', KEEPS_DOTS, version));
    assert.deepEqual(resource, { kind: 'file', share: 'music', path: [want] });
  }
});
