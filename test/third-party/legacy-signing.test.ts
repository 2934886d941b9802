/**
 * azure-storage 2.10 signs: with the account's key for queues and tables, with tokens that it makes itself, and batches
 * of entities in a form of their own.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import azureStorage from 'azure-storage';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { startInProcess } from '../harness/in-process.ts';
import { freshTable } from '../harness/table-clients.ts';
import { call } from './callback.ts';

const server = await startInProcess();

interface OldMessage {
  readonly messageId: string;
  readonly popReceipt: string;
  readonly messageText: string;
}

describe('azure-storage for queues', () => {
  const { createQueueService, createQueueServiceWithSas, QueueUtilities } = azureStorage;
  const { name, key } = DEVELOPMENT_ACCOUNT;
  const service = createQueueService(name, key, { primaryHost: server.queueEndpoint() });
  const taken = (from: typeof service, queue: string): Promise<OldMessage> =>
    call((done) => from.getMessage(queue, done as never));

  test('signs everything that it can ask for', async () => {
    const queue = `legacy-${randomUUID()}`;
    await call((done) => service.createQueue(queue, { metadata: { a: 'b' } } as never, done as never));
    await call((done) => service.setQueueMetadata(queue, { c: 'd' }, done as never));
    const read = await call<{ metadata: unknown }>((done) => service.getQueueMetadata(queue, done as never));
    assert.deepEqual(read.metadata, { c: 'd' });
    const { entries } = await call<{ entries: { name: string }[] }>((done) => {
      service.listQueuesSegmentedWithPrefix(queue, null as never, done as never);
    });
    assert.deepEqual(
      entries.map((entry) => entry.name),
      [queue],
    );
    await call((done) => service.createMessage(queue, 'o\'b <&> "ü文"', done as never));
    const peeked = await call<OldMessage>((done) => service.peekMessage(queue, done as never));
    const { messageId, popReceipt, messageText } = await taken(service, queue);
    assert.deepEqual([peeked.messageId, messageText], [messageId, 'o\'b <&> "ü文"']);
    const updated = await call<OldMessage>((done) => {
      service.updateMessage(queue, messageId, popReceipt, 5, { messageText: 'other' }, done as never);
    });
    await call((done) => service.deleteMessage(queue, messageId, updated.popReceipt, done as never));
    await call((done) => service.clearMessages(queue, done as never));
    await call((done) => service.getQueueAcl(queue, done as never));
    await call((done) => service.getServiceProperties(done as never));
    await call((done) => service.deleteQueue(queue, done as never));
  });

  test('makes tokens for a queue, and uses them', async () => {
    const queue = `legacy-${randomUUID()}`;
    await call((done) => service.createQueue(queue, done as never));
    const { ADD, PROCESS } = QueueUtilities.SharedAccessPermissions;
    const guestWith = (permissions: string) =>
      createQueueServiceWithSas(
        server.queueEndpoint(),
        service.generateSharedAccessSignature(queue, {
          AccessPolicy: { Permissions: permissions, Expiry: new Date(server.clock.nowMs() + 60_000) },
        }),
      );
    const [sender, worker] = [guestWith(ADD), guestWith(PROCESS)];
    await call((done) => sender.createMessage(queue, 'work', done as never));
    await assert.rejects(taken(sender, queue), { statusCode: 403, code: 'AuthorizationPermissionMismatch' });
    const { messageId, popReceipt, messageText } = await taken(worker, queue);
    assert.equal(messageText, 'work');
    await call((done) => worker.deleteMessage(queue, messageId, popReceipt, done as never));
  });
});

describe('azure-storage for tables', () => {
  const { name, key } = DEVELOPMENT_ACCOUNT;
  const { TableUtilities, createTableService, createTableServiceWithSas } = azureStorage;
  const service = createTableService(name, key, { primaryHost: server.tableEndpoint() });
  const { entityGenerator } = TableUtilities;
  const entity = (n: number) => ({
    PartitionKey: entityGenerator.String("o'b +&ü(1)"),
    RowKey: entityGenerator.String('=,;@:'),
    n: entityGenerator.Int32(n),
  });
  test('signs everything that it can ask for', async () => {
    const table = 'Legacy';
    await call((done) => service.createTable(table, done));
    await call((done) => service.insertEntity(table, entity(1), done));
    await call((done) => service.replaceEntity(table, entity(2), done));
    await call((done) => service.mergeEntity(table, entity(3), done));
    await call((done) => service.insertOrReplaceEntity(table, entity(4), done));
    await call((done) => service.insertOrMergeEntity(table, entity(5), done));
    const batch = new azureStorage.TableBatch();
    batch.insertOrMergeEntity(entity(6));
    await call((done) => service.executeBatch(table, batch, done));
    const read = await call<{ n: { _: number } }>((done) => {
      service.retrieveEntity(table, "o'b +&ü(1)", '=,;@:', done);
    });
    assert.equal(read.n._, 6);
    const query = new azureStorage.TableQuery().where('PartitionKey eq ?', "o'b +&ü(1)");
    const { entries } = await call<{ entries: unknown[] }>((done) => {
      service.queryEntities(table, query, null as never, done as never);
    });
    assert.equal(entries.length, 1);
    await call((done) => service.getTableAcl(table, done));
    await call((done) => service.getServiceProperties(done));
    await call((done) => service.deleteEntity(table, entity(0), done));
    await call((done) => service.deleteTable(table, done));
  });

  test('makes tokens for a range of a table, and uses them', async () => {
    const table = 'LegacyTokens';
    await call((done) => service.createTable(table, done));
    for (const partition of ['a', 'b', 'c']) {
      const row = { PartitionKey: entityGenerator.String(partition), RowKey: entityGenerator.String('1') };
      await call((done) => service.insertEntity(table, row, done));
    }
    const token = service.generateSharedAccessSignature(table, {
      AccessPolicy: {
        Permissions: TableUtilities.SharedAccessPermissions.QUERY,
        Expiry: new Date(server.clock.nowMs() + 60_000),
        StartPk: 'b',
        StartRk: '1',
        EndPk: 'c',
        EndRk: '0',
      },
    });
    const guest = createTableServiceWithSas(server.tableEndpoint(), token);
    const { entries } = await call<{ entries: { PartitionKey: { _: string } }[] }>((done) => {
      guest.queryEntities(table, new azureStorage.TableQuery(), null as never, done as never);
    });
    assert.deepEqual(
      entries.map(({ PartitionKey }) => PartitionKey._),
      ['b'],
    );
  });
});

interface Answer {
  readonly entity?: Record<string, unknown>;
  readonly response?: { readonly statusCode: number };
}

const legacyRow = (rowKey: string) => ({ PartitionKey: { _: 'p' }, RowKey: { _: rowKey }, v: { _: 'ü' } });

test('azure-storage, which ends lines with LF, changes and reads entities by a batch', async () => {
  const table = await freshTable(server);
  const service = azureStorage.createTableService(server.connectionString());
  const execute = async (fill: (batch: azureStorage.TableBatch) => void): Promise<readonly Answer[]> => {
    const batch = new azureStorage.TableBatch();
    fill(batch);
    return call((done) => service.executeBatch(table.tableName, batch, done as never));
  };
  const written = await execute((batch) => {
    batch.insertEntity(legacyRow('1'), { echoContent: true });
    batch.insertOrMergeEntity(legacyRow('2'));
  });
  assert.deepEqual(
    written.map(({ response }) => response?.statusCode),
    [201, 204],
  );
  const [read] = await execute((batch) => batch.retrieveEntity('p', '2'));
  assert.deepEqual([read?.response?.statusCode, read?.entity?.['v']], [200, { _: 'ü' }]);
  const missing = execute((batch) => batch.retrieveEntity('p', '3'));
  await assert.rejects(missing, { code: 'ResourceNotFound', statusCode: 404 });
  await assert.rejects(
    execute((batch) => {
      batch.insertOrMergeEntity(legacyRow('3'));
      batch.insertEntity(legacyRow('2'), {});
    }),
    { code: 'EntityAlreadyExists' },
  );
  for (const rowKey of ['1', '2']) assert.equal((await table.getEntity('p', rowKey))['v'], 'ü');
  await assert.rejects(table.getEntity('p', '3'), { statusCode: 404 });
});
