import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeContext, statusNameOf } from '../../../test/harness/smb-context.ts';
import { openFor } from '../../../test/harness/smb-opens.ts';
import { APPEND_DATA, READ_DATA, WRITE_DATA } from '../wire/access.ts';
import { flush } from './flush.ts';

test('whoever may write may have it flushed', async () => {
  const { client, share } = await makeContext();
  await share.createFile('f', 0);
  await share.createDirectory('d');
  for (const [path, access, status] of [
    ['f', WRITE_DATA, 'SUCCESS'],
    ['f', APPEND_DATA, 'SUCCESS'],
    ['f', READ_DATA, 'ACCESS_DENIED'],
    ['d', WRITE_DATA, 'SUCCESS'],
    ['d', READ_DATA, 'ACCESS_DENIED'],
  ] as const) {
    const { fileId } = await openFor(client, path, { access });
    assert.equal(await statusNameOf(() => flush.handle(client.context(), { fileId })), status, `${path} ${access}`);
  }
  const fileId = { persistent: 1n, volatile: 2n };
  assert.equal(await statusNameOf(() => flush.handle(client.context(), { fileId })), 'FILE_CLOSED');
});
