import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { renderChangeSetAnswer, renderQueryAnswer, renderRefusal } from './batch-answer.ts';

const outer = { requestId: '11111111-2222-3333-4444-555555555555' } as Exchange;

const PART = 'Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n';

test('the answers to a change set are nested, in order, with an empty line where there is no body', () => {
  const answer = renderChangeSetAnswer(outer, [
    { status: 204, headers: ['ETag', 'W/"x"'], contentId: null },
    { status: 201, headers: ['A', 'b', 'C', 'd'], body: '{"e":1}', contentId: '7' },
  ]);
  assert.equal(answer.status, 202);
  assert.deepEqual(answer.headers.slice(0, 2), [
    'Content-Type',
    'multipart/mixed; boundary=batchresponse_11111111-2222-3333-4444-555555555555',
  ]);
  assert.equal(
    answer.body,
    '--batchresponse_11111111-2222-3333-4444-555555555555\r\n' +
      'Content-Type: multipart/mixed; boundary=changesetresponse_11111111-2222-3333-4444-555555555555\r\n\r\n' +
      `--changesetresponse_11111111-2222-3333-4444-555555555555\r\n${PART}` +
      'HTTP/1.1 204 No Content\r\nETag: W/"x"\r\nDataServiceVersion: 3.0;\r\n\r\n\r\n' +
      `--changesetresponse_11111111-2222-3333-4444-555555555555\r\n${PART}` +
      'HTTP/1.1 201 Created\r\nContent-ID: 7\r\nA: b\r\nC: d\r\nDataServiceVersion: 3.0;\r\n\r\n{"e":1}\r\n' +
      '--changesetresponse_11111111-2222-3333-4444-555555555555--\r\n' +
      '--batchresponse_11111111-2222-3333-4444-555555555555--\r\n',
  );
});

test('the answer to a query stands in the batch by itself', () => {
  assert.equal(
    renderQueryAnswer(outer, { status: 200, headers: ['A', 'b'], body: '{"value":[]}', contentId: null }).body,
    `--batchresponse_11111111-2222-3333-4444-555555555555\r\n${PART}` +
      'HTTP/1.1 200 OK\r\nA: b\r\nDataServiceVersion: 3.0;\r\n\r\n{"value":[]}\r\n' +
      '--batchresponse_11111111-2222-3333-4444-555555555555--\r\n',
  );
});

test('a refusal says which change it is of, where it is of one', () => {
  const context = { requestId: 'r', nowMs: 0 };
  const sentenceAt = (index: number | null): [number, string] => {
    const { status, body } = renderRefusal(new StorageError('EntityAlreadyExists'), { ...context, index });
    return [status, JSON.parse(body as string)['odata.error'].message.value.split('\n')[0]];
  };
  assert.deepEqual(sentenceAt(3), [409, '3:The specified entity already exists.']);
  assert.deepEqual(sentenceAt(0), [409, '0:The specified entity already exists.']);
  assert.deepEqual(sentenceAt(null), [409, 'The specified entity already exists.']);
});
