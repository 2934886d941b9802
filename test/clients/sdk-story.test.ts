/**
 * Short stories of the official JavaScript clients against the server as its users run it: what must work at the very
 * least, wherever it runs. Also run under other versions of Node, which start the server under their own.
 */
// tier: system
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { DequeuedMessageItem } from '@azure/storage-queue';
import { blobService, refusal } from '../harness/clients.ts';
import { queueClient } from '../harness/queue-clients.ts';
import { type ServerProcess, startServerProcess } from '../harness/server-process.ts';

const MIB = 1024 * 1024;

describe('the official client', () => {
  let server: ServerProcess;
  before(async () => {
    server = await startServerProcess();
  });
  after(() => server.stop());

  test('uploads, lists, leases and downloads, and finds everything again after a restart', async () => {
    const container = blobService(server).getContainerClient('story');
    await container.create();
    const contents = new Map([
      ['empty', Buffer.alloc(0)],
      ['small', Buffer.from('small')],
      ['middling', randomBytes(300_000)],
      ['large', randomBytes(9 * MIB)],
    ]);
    for (const [name, content] of contents) {
      const blockwise = { blockSize: MIB, maxSingleShotSize: MIB, concurrency: 4 };
      await container.getBlockBlobClient(name).uploadData(content, { ...blockwise, metadata: { name } });
    }

    const listed: string[] = [];
    for await (const blob of container.listBlobsFlat({ includeMetadata: true })) {
      assert.equal(blob.metadata?.['name'], blob.name);
      listed.push(blob.name);
    }
    assert.deepEqual(listed, [...contents.keys()].sort());

    const small = container.getBlockBlobClient('small');
    const lease = small.getBlobLeaseClient();
    await lease.acquireLease(60);
    assert.equal(await refusal(small.getBlobLeaseClient().acquireLease(60)), '409 LeaseAlreadyPresent');
    assert.equal(await refusal(small.upload('x', 1)), '412 LeaseIdMissing');

    await server.restart();
    assert.equal(await refusal(small.upload('x', 1)), '412 LeaseIdMissing');
    await lease.releaseLease();
    for (const [name, content] of contents) {
      assert.ok(content.equals(await container.getBlobClient(name).downloadToBuffer()), name);
    }
  });

  test('puts, gets and changes messages, and after a restart they are as hidden, and held, as before', async () => {
    const queue = queueClient(server, 'story');
    await queue.create();
    const texts = Array.from({ length: 40 }, (_, index) => `<${index}> ü`);
    for (const text of texts) await queue.sendMessage(text);
    const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 3, visibilityTimeout: 3_600 });
    const [first, second, third] = receivedMessageItems as [
      DequeuedMessageItem,
      DequeuedMessageItem,
      DequeuedMessageItem,
    ];
    assert.deepEqual([first.messageText, second.messageText, third.messageText], texts.slice(0, 3));
    await queue.deleteMessage(first.messageId, first.popReceipt);
    const { popReceipt = '' } = await queue.updateMessage(second.messageId, second.popReceipt, 'changed', 3_600);

    await server.restart();
    assert.equal((await queue.getProperties()).approximateMessagesCount, 39);
    const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 });
    assert.deepEqual(
      peekedMessageItems.map(({ messageText }) => messageText),
      texts.slice(3, 35),
    );
    assert.equal(await refusal(queue.deleteMessage(second.messageId, second.popReceipt)), '404 MessageNotFound');
    await queue.deleteMessage(second.messageId, popReceipt);
    await queue.updateMessage(third.messageId, third.popReceipt, undefined, 0);
    const left: string[] = [];
    for (let page = 0; page < 3; page++) {
      const { receivedMessageItems: got } = await queue.receiveMessages({ numberOfMessages: 32 });
      left.push(...got.map(({ messageText }) => messageText));
    }
    assert.deepEqual(left.sort(), texts.slice(2).sort());
  });
});
