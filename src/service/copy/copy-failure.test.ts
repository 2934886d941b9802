import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EngineUnavailable } from '../../engine/engine.ts';
import { describeFailure, describeRetry, isPassing } from './copy-failure.ts';
import { SourceRefused, SourceUnreachable } from './outside.ts';

for (const [error, passes, description] of [
  [new SourceRefused({ status: 404, code: 'BlobNotFound' }), false, /^404 BlobNotFound "/],
  [new SourceRefused({ status: 404 }), false, /^404 NotFound "/],
  [new SourceRefused({ status: 403, code: 'AuthenticationFailed' }), false, /^403 AuthenticationFailed "/],
  [new SourceRefused({ status: 412, code: 'ConditionNotMet' }), false, /^412 ConditionNotMet "/],
  [new SourceRefused({ status: 418 }), false, /^418 SourceRefused "/],
  [new SourceRefused({ status: 429 }), true, null],
  [new SourceRefused({ status: 500 }), true, null],
  [new SourceRefused({ status: 503, code: 'ServerBusy' }), true, null],
  [new SourceUnreachable('connection', 'x'), true, null],
  [new SourceUnreachable('timeout', 'x'), true, null],
  [new SourceUnreachable('brokeOff', 'x'), true, null],
  [new SourceUnreachable('forbidden', 'x'), false, /^502 BadGateway "/],
  [new SourceUnreachable('redirects', 'x'), false, /^502 BadGateway "/],
  [new EngineUnavailable('x'), true, null],
] as const) {
  const what = error instanceof SourceUnreachable ? error.reason : error.message;
  test(`after "${what}" a copy ${passes ? 'is tried again' : 'has failed'}`, () => {
    assert.equal(isPassing(error), passes);
    if (description === null) assert.match(describeRetry(error), /^50[02] \w+ ".*tried again\."$/);
    else assert.match(describeFailure(error), description);
  });
}
