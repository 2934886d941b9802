/**
 * The Azure command line for queues (`az storage queue`, `az storage message`), unmodified, with nothing but a connection
 * string. A call takes seconds, most of them the program's own start: few calls, each telling. Needs Debian's azure-cli.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { missingTool } from '../packages.ts';
import { azSuite } from './az-storage.ts';

const QUEUE = 'letters';

interface Shown {
  readonly id: string;
  readonly content: string | null;
  readonly popReceipt: string;
  readonly dequeueCount: number;
  readonly expirationTime: string;
  readonly insertionTime: string;
  readonly timeNextVisible: string;
}

describe('az', { skip: missingTool('az'), concurrency: 1 }, () => {
  const suite = azSuite();
  const { storage, refused } = suite;

  const message = <T>(verb: string, ...args: readonly string[]): Promise<T> =>
    storage('message', verb, '-q', QUEUE, ...args);

  test('a queue is created with metadata, found and listed', async () => {
    assert.deepEqual(await storage('queue', 'create', '-n', QUEUE, '--metadata', 'colour=blue'), { created: true });
    await refused('QueueAlreadyExists', 'queue', 'create', '-n', QUEUE, '--fail-on-exist');
    assert.deepEqual(await storage('queue', 'exists', '-n', QUEUE), { exists: true });
    await storage('queue', 'metadata', 'update', '-n', QUEUE, '--metadata', 'colour=red', 'size=3');
    assert.deepEqual(await storage('queue', 'metadata', 'show', '-n', QUEUE), { colour: 'red', size: '3' });
    const listed = await storage<{ name: string; metadata: unknown }[]>('queue', 'list', '--include-metadata');
    assert.deepEqual(
      listed.map(({ name, metadata }) => [name, metadata]),
      [[QUEUE, { colour: 'red', size: '3' }]],
    );
  });

  test('a message is put, peeked at, got, changed, given back and deleted', async () => {
    const put = await message<Shown>('put', '--content', "it's <ü> & co", '--time-to-live', '3600');
    await message('put', '--content', 'later', '--visibility-timeout', '600');
    const peeked = await message<Shown[]>('peek', '--num-messages', '32');
    assert.deepEqual(
      peeked.map(({ id, content, dequeueCount }) => [id, content, dequeueCount]),
      [[put.id, "it's <ü> & co", 0]],
    );
    const [got] = await message<Shown[]>('get', '--visibility-timeout', '300');
    assert.deepEqual([got?.id, got?.dequeueCount], [put.id, 1]);
    assert.equal(Date.parse(got?.expirationTime ?? '') - Date.parse(got?.insertionTime ?? ''), 3_600_000);
    const held = ['--id', put.id, '--pop-receipt', got?.popReceipt ?? ''];
    const updated = await message<Shown>('update', ...held, '--content', 'changed', '--visibility-timeout', '0');
    await refused('MessageNotFound', 'message', 'delete', '-q', QUEUE, ...held);
    const [again] = await message<Shown[]>('get', '--num-messages', '32');
    assert.deepEqual([again?.id, again?.content, again?.dequeueCount], [put.id, 'changed', 2]);
    assert.notEqual(again?.popReceipt, updated.popReceipt);
    await message('delete', '--id', put.id, '--pop-receipt', again?.popReceipt ?? '');
    await message('clear');
    assert.deepEqual(await message('peek'), []);
  });

  test('a policy is stored, and a signature by it adds messages and does no more', async () => {
    const policy = ['-n', 'senders', '--permissions', 'a', '--expiry', '2099-01-01T00:00Z'];
    await storage('queue', 'policy', 'create', '-q', QUEUE, ...policy);
    const shown = await storage<Record<string, { permission: string }>>('queue', 'policy', 'list', '-q', QUEUE);
    assert.equal(shown['senders']?.permission, 'a');
    const sas = await storage<string>('queue', 'generate-sas', '-n', QUEUE, '--policy-name', 'senders');
    const url = `${suite.server.queueEndpoint()}/${QUEUE}/messages?${sas}`;
    const body = '<QueueMessage><MessageText>by token</MessageText></QueueMessage>';
    assert.equal((await fetch(url, { method: 'POST', body })).status, 201);
    assert.equal((await fetch(url)).status, 403);
  });

  test('a deleted queue is gone', async () => {
    assert.deepEqual(await storage('queue', 'delete', '-n', QUEUE, '--fail-not-exist'), { deleted: true });
    assert.deepEqual(await storage('queue', 'exists', '-n', QUEUE), { exists: false });
  });
});
