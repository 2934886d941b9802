import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { parseQuery } from '../request-target.ts';
import { findOperation } from './routes.ts';

/** `GET work/messages?peekonly=true` */
function asked(line: string, version = '2024-11-04'): Exchange {
  const [method = '', url = ''] = line.split(' ');
  const [resourcePath = '', query = ''] = url.split('?');
  return {
    service: 'q',
    method,
    target: {
      rawPath: `/acme/${resourcePath}`,
      account: 'acme',
      secondary: false,
      hostStyle: false,
      resourcePath,
      query: parseQuery(query),
    },
    header: () => null,
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

const ID = '5974b586-0df3-4e2d-ad0c-18e3892bfca2';

describe('a request asks for', () => {
  for (const [line, want] of [
    ['GET ?comp=list', 'List Queues'],
    ['GET ?comp=list&prefix=w&include=metadata', 'List Queues'],
    ['GET ?restype=service&comp=properties', 'Get Queue Service Properties'],
    ['GET ?comp=properties', 'Get Queue Service Properties'],
    ['PUT ?restype=service&comp=properties', 'Set Queue Service Properties'],
    ['GET ?restype=service&comp=stats', 'Get Queue Service Stats'],
    ['POST ?restype=service&comp=userdelegationkey', 'Get User Delegation Key'],
    ['PUT work', 'Create Queue'],
    ['PUT work/', 'Create Queue'],
    ['PUT work?timeout=30', 'Create Queue'],
    ['DELETE work', 'Delete Queue'],
    ['GET work?comp=metadata', 'Get Queue Metadata'],
    ['HEAD work?comp=metadata', 'Get Queue Metadata'],
    ['PUT work?COMP=Metadata', 'Set Queue Metadata'],
    ['GET work?comp=acl', 'Get Queue ACL'],
    ['HEAD work?comp=acl', 'Get Queue ACL'],
    ['PUT work?comp=acl', 'Set Queue ACL'],
    ['POST work/messages', 'Put Message'],
    ['POST work/messages/', 'Put Message'],
    ['POST w%6Frk/m%65ssages', 'Put Message'],
    ['POST work/messages?messagettl=-1&visibilitytimeout=3', 'Put Message'],
    ['GET work/messages', 'Get Messages'],
    ['GET work/messages?numofmessages=32', 'Get Messages'],
    ['GET work/messages?peekonly=false', 'Get Messages'],
    ['GET work/messages?peekonly=true', 'Peek Messages'],
    ['GET work/messages?numofmessages=2&PeekOnly=True', 'Peek Messages'],
    ['DELETE work/messages', 'Clear Messages'],
    ['DELETE work/messages/', 'Clear Messages'],
    [`PUT work/messages/${ID}?popreceipt=x&visibilitytimeout=0`, 'Update Message'],
    [`DELETE work/messages/${ID}?popreceipt=x`, 'Delete Message'],
    [`DELETE work/messages/${ID}/?popreceipt=x`, 'Delete Message'],
  ] as const) {
    test(`${want}: ${line}`, () => assert.equal(findOperation(asked(line)).operation.name, want));
  }
});

describe('a path names', () => {
  for (const [path, want] of [
    ['PUT w-1', { kind: 'queue', queue: 'w-1' }],
    ['GET work/messages', { kind: 'messages', queue: 'work' }],
    [`DELETE work/messages/${ID}`, { kind: 'message', queue: 'work', messageId: ID }],
    ['DELETE work/messages/a%2Fb', { kind: 'message', queue: 'work', messageId: 'a/b' }],
    ['GET ?comp=list', { kind: 'service' }],
  ] as const) {
    test(`${want.kind}: ${path}`, () => assert.deepEqual(findOperation(asked(path)).resource, want));
  }
});

const refusalOf = (exchange: Exchange): string => {
  try {
    return findOperation(exchange).operation.name;
  } catch (error) {
    assert.ok(error instanceof StorageError);
    return error.code;
  }
};

describe('what no operation answers to is refused:', () => {
  for (const [line, want] of [
    ['FETCH work', 'InvalidHttpVerb'],
    ['POST work', 'UnsupportedHttpVerb'],
    ['GET work', 'UnsupportedHttpVerb'],
    ['HEAD work', 'UnsupportedHttpVerb'],
    ['DELETE work?comp=metadata', 'UnsupportedHttpVerb'],
    ['PUT work/messages', 'UnsupportedHttpVerb'],
    ['HEAD work/messages', 'UnsupportedHttpVerb'],
    [`GET work/messages/${ID}`, 'UnsupportedHttpVerb'],
    [`POST work/messages/${ID}`, 'UnsupportedHttpVerb'],
    ['POST ?comp=list', 'UnsupportedHttpVerb'],
    ['GET ', 'InvalidQueryParameterValue'],
    ['GET ?comp=wrong', 'InvalidQueryParameterValue'],
    ['GET work?comp=list', 'InvalidQueryParameterValue'],
    ['GET work/messages?comp=metadata', 'InvalidQueryParameterValue'],
    ['GET ?restype=account&comp=properties', 'InvalidQueryParameterValue'],
    ['GET work?restype=service&comp=properties', 'InvalidQueryParameterValue'],
    ['PUT work?restype=queue', 'InvalidQueryParameterValue'],
    ['GET work/messages?peekonly=', 'InvalidQueryParameterValue'],
    ['GET work/messages?peekonly=1', 'InvalidQueryParameterValue'],
    ['GET work/message', 'InvalidUri'],
    ['PUT work//', 'InvalidUri'],
    [`DELETE work/messages//`, 'InvalidUri'],
    [`DELETE work//${ID}`, 'InvalidUri'],
    [`DELETE work/messages/${ID}/more`, 'InvalidUri'],
    [`DELETE work/messages/${ID}//`, 'InvalidUri'],
    ['PUT wo', 'OutOfRangeInput'],
    ['PUT /', 'OutOfRangeInput'],
    ['GET /messages', 'OutOfRangeInput'],
    [`PUT ${'a'.repeat(64)}`, 'OutOfRangeInput'],
    ['PUT Work', 'InvalidResourceName'],
    ['PUT work--a', 'InvalidResourceName'],
    ['POST wor%2Fk/messages', 'InvalidResourceName'],
    ['PUT $logs', 'InvalidResourceName'],
  ] as const) {
    test(`${want}: ${line}`, () => assert.equal(refusalOf(asked(line)), want));
  }
});

test('a message can be updated since 2011-08-18', () => {
  const line = `PUT work/messages/${ID}?popreceipt=x`;
  assert.equal(refusalOf(asked(line, '2009-09-19')), 'UnsupportedHttpVerb');
  assert.equal(refusalOf(asked(line, '2011-08-18')), 'Update Message');
});
