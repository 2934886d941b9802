import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StorageError } from '../storage-error.ts';
import { SourceRefused, SourceUnreachable, showUrl, type UnreachableReason } from './outside.ts';
import { asVerifyFailure, cannotVerify, sourceConditionNotMet, sourceNotFound } from './verify-failure.ts';

test("the source's status, code and sentence become the caller's, and stand beside the code in elements and headers", () => {
  const { code, details } = cannotVerify({ status: 404, code: 'BlobNotFound', sentence: 'It is not there.' });
  assert.equal(code, 'CannotVerifyCopySource');
  assert.deepEqual(details, {
    status: 404,
    message: 'It is not there.',
    elements: {
      CopySourceStatusCode: '404',
      CopySourceErrorCode: 'BlobNotFound',
      CopySourceErrorMessage: 'It is not there.',
    },
    headers: { 'x-ms-copy-source-status-code': '404', 'x-ms-copy-source-error-code': 'BlobNotFound' },
  });
});

test('a source that says no more than its status has no more said of it', () => {
  const { details } = asVerifyFailure(new SourceRefused({ status: 403 })) as StorageError;
  assert.deepEqual(details, {
    status: 403,
    message: 'Could not verify the copy source.',
    elements: { CopySourceStatusCode: '403' },
    headers: { 'x-ms-copy-source-status-code': '403' },
  });
});

const outcome = (error: unknown): string =>
  error instanceof StorageError ? `${error.details.status ?? '-'} ${error.code}` : String(error);

for (const [status, want] of [
  [304, '304 CannotVerifyCopySource'],
  [401, '401 CannotVerifyCopySource'],
  [404, '404 CannotVerifyCopySource'],
  [409, '409 CannotVerifyCopySource'],
  [412, '- SourceConditionNotMet'],
  [416, '416 CannotVerifyCopySource'],
  [503, '503 CannotVerifyCopySource'],
] as const) {
  test(`a source that answers ${status} makes ${want}`, () => {
    assert.equal(outcome(asVerifyFailure(new SourceRefused({ status }))), want);
  });
}

for (const [reason, status] of [
  ['malformed', 400],
  ['forbidden', 403],
  ['redirects', 409],
  ['connection', 409],
  ['answer', 409],
  ['timeout', 500],
  ['brokeOff', 500],
] as const satisfies readonly (readonly [UnreachableReason, number])[]) {
  test(`a source that is not reached (${reason}) makes ${status}, and says why`, () => {
    const failure = asVerifyFailure(new SourceUnreachable(reason, 'This is why.'));
    assert.equal(outcome(failure), `${status} CannotVerifyCopySource`);
    assert.equal((failure as StorageError).message, 'Could not verify the copy source. This is why.');
  });
}

test('sources of this server fail in the same words', () => {
  assert.equal(outcome(sourceNotFound()), '404 CannotVerifyCopySource');
  assert.equal(outcome(sourceConditionNotMet({ notModified: true })), '304 CannotVerifyCopySource');
  assert.equal(outcome(sourceConditionNotMet({ notModified: false })), '- SourceConditionNotMet');
});

test('an error that is not about the source stays what it is', () => {
  const error = new Error('ours');
  assert.equal(asVerifyFailure(error), error);
});

test('a URL is shown without its query, its fragment and its password', () => {
  assert.equal(showUrl('https://u:p@host:8080/c/b?sig=x#y'), 'https://host:8080/c/b');
  assert.equal(showUrl('sig=x'), 'the URL given');
});
