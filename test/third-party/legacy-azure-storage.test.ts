/**
 * azure-storage 2.10, the library before the present ones and still in use. Tables: JSON with full or minimal metadata,
 * entities of typed values, MERGE by name, and batches in a form of their own. Queues: texts in three encodings.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import azure from 'azure-storage';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { startInProcess } from '../harness/in-process.ts';
import { sendQueue } from '../harness/queue-http.ts';
import { call } from './callback.ts';

const { QueueMessageEncoder, TableBatch, TableQuery, TableUtilities } = azure;
const { entityGenerator: value } = TableUtilities;

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });

/** `412 UpdateConditionNotSatisfied` */
async function refusal(request: Promise<unknown>): Promise<string> {
  try {
    await request;
  } catch (error) {
    const { statusCode, code } = error as { statusCode?: number; code?: string };
    return `${statusCode ?? ''} ${code ?? ''}`;
  }
  assert.fail('the request was not refused');
}

/** What the library makes of an entity: each property with its value in `_` and perhaps its type in `$`. */
type Descriptor = Record<string, { _: unknown; $?: string }> & { readonly '.metadata'?: { readonly etag: string } };
const plain = ({ '.metadata': _metadata, ...properties }: Descriptor): Record<string, unknown> =>
  Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, property._]));

const { QueryComparisons: is, TableOperators } = TableUtilities;
const GUID = 'c9da6455-213d-42c9-9a79-3e9149a57833';
const PARTITION = "p'1 %+ü";

const entity = (rowKey: string, properties: object = {}): object => ({
  PartitionKey: value.String(PARTITION),
  RowKey: value.String(rowKey),
  ...properties,
});

for (const account of [DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT]) {
  describe(`azure-storage for tables as ${account.name}`, () => {
    const tables = azure.createTableService(account.name, account.key, { primaryHost: server.tableEndpoint(account) });
    const table = `Legacy${randomBytes(6).toString('hex')}`;

    const insert = (descriptor: object): Promise<Descriptor> =>
      call((done) => tables.insertEntity(table, descriptor, done as never));
    const retrieve = (rowKey: string): Promise<Descriptor> =>
      call((done) => tables.retrieveEntity(table, PARTITION, rowKey, done as never));
    const merge = (properties: object): Promise<unknown> =>
      call((done) => tables.insertOrMergeEntity(table, entity('merged', properties), done));
    const rowKeys = async (query: azure.TableQuery): Promise<unknown[]> => {
      const { entries } = await call<azure.TableService.QueryEntitiesResult<Descriptor>>((done) =>
        tables.queryEntities<Descriptor>(table, query, null as never, done),
      );
      return entries.map(({ RowKey }) => RowKey?._);
    };

    test('creates a table once, and finds it', async () => {
      await call((done) => tables.createTable(table, done));
      assert.equal(await refusal(call((done) => tables.createTable(table, done))), '409 TableAlreadyExists');
      const again = await call<azure.TableService.TableResult>((done) => tables.createTableIfNotExists(table, done));
      assert.equal(again.created, false);
      const found = await call<azure.TableService.TableResult>((done) => tables.doesTableExist(table, done));
      assert.equal(found.exists, true);
      const listed = await call<azure.TableService.ListTablesResponse>((done) =>
        tables.listTablesSegmentedWithPrefix(table.slice(0, 10), null as never, done),
      );
      assert.deepEqual(listed.entries, [table]);
    });

    test('writes and reads values of every type', async () => {
      const when = new Date('2024-05-01T12:34:56.789Z');
      const bytes = randomBytes(100);
      await insert(
        entity('types', {
          text: value.String("it's ü 🪨"),
          n: value.Int32(7),
          big: value.Int64('9007199254740993'),
          part: value.Double(1.5),
          whole: value.Double(3),
          none: value.Double(Number.NaN),
          endless: value.Double(Number.NEGATIVE_INFINITY),
          yes: value.Boolean(true),
          when: value.DateTime(when),
          id: value.Guid(GUID),
          bytes: value.Binary(bytes),
        }),
      );
      const { PartitionKey, RowKey, Timestamp, ...got } = plain(await retrieve('types'));
      assert.deepEqual([PartitionKey, RowKey, Timestamp instanceof Date], [PARTITION, 'types', true]);
      assert.deepEqual(got, {
        text: "it's ü 🪨",
        n: 7,
        big: '9007199254740993',
        part: 1.5,
        whole: 3,
        none: Number.NaN,
        endless: Number.NEGATIVE_INFINITY,
        yes: true,
        when,
        id: GUID,
        bytes,
      });
      assert.equal(await refusal(insert(entity('types'))), '409 EntityAlreadyExists');
    });

    test('finds entities by values of every type', async () => {
      for (const filter of [
        TableQuery.stringFilter('text', is.EQUAL, "it's ü 🪨"),
        TableQuery.int32Filter('n', is.GREATER_THAN, 6),
        TableQuery.int64Filter('big', is.EQUAL, '9007199254740993'),
        TableQuery.doubleFilter('part', is.LESS_THAN, 1.75),
        TableQuery.booleanFilter('yes', is.EQUAL, true),
        TableQuery.dateFilter('when', is.LESS_THAN_OR_EQUAL, new Date('2024-05-01T12:34:56.789Z')),
        TableQuery.guidFilter('id', is.EQUAL, GUID),
        TableQuery.combineFilters(
          TableQuery.stringFilter('PartitionKey', is.EQUAL, PARTITION),
          TableOperators.AND,
          TableQuery.int32Filter('n', is.NOT_EQUAL, 8),
        ),
      ]) {
        assert.deepEqual(await rowKeys(new TableQuery().where(filter)), ['types'], filter);
      }
      const never = new TableQuery().where('PartitionKey eq ? and n eq ?', PARTITION, 8);
      assert.deepEqual(await rowKeys(never), []);
    });

    test('replaces what has the ETag that it read, and nothing newer', async () => {
      await insert(entity('etag', { n: value.Int32(1), other: value.String('x') }));
      const first = await retrieve('etag');
      const { other: _dropped, ...kept } = first;
      const changed = { ...kept, n: value.Int32(2) };
      const replace = (): Promise<unknown> => call((done) => tables.replaceEntity(table, changed, done));
      await replace();
      const { n, other } = await retrieve('etag');
      assert.deepEqual([n?._, other], [2, undefined]);
      assert.equal(await refusal(replace()), '412 UpdateConditionNotSatisfied');
      assert.equal(
        await refusal(call((done) => tables.deleteEntity(table, first, done as never))),
        '412 UpdateConditionNotSatisfied',
      );
    });

    test('merges, and inserts what is not there', async () => {
      await merge({ a: value.Int32(1) });
      await merge({ b: value.Int32(2) });
      await call((done) => tables.mergeEntity(table, entity('merged', { a: value.String('one') }), done));
      const { a, b } = await retrieve('merged');
      assert.deepEqual([a?._, b?._], ['one', 2]);
      await call((done) => tables.insertOrReplaceEntity(table, entity('merged', { c: value.Int32(3) }), done));
      assert.deepEqual(Object.keys(plain(await retrieve('merged'))).sort(), [
        'PartitionKey',
        'RowKey',
        'Timestamp',
        'c',
      ]);
      const absent = call((done) => tables.mergeEntity(table, entity('absent'), done));
      assert.equal(await refusal(absent), '404 ResourceNotFound');
    });

    test('does a batch whole or not at all', async () => {
      const batch = new TableBatch();
      for (let index = 0; index < 30; index++)
        batch.insertEntity(entity(`batch-${100 + index}`), { echoContent: index % 2 === 0 });
      batch.insertOrMergeEntity(entity('merged', { d: value.Int32(4) }));
      const results = await call<azure.TableService.BatchResult[]>((done) => tables.executeBatch(table, batch, done));
      assert.equal(results.length, 31);
      for (const { error, response } of results) assert.deepEqual([error, response?.isSuccessful], [null, true]);
      assert.equal((await retrieve('merged'))['d']?._, 4);

      const failing = new TableBatch();
      failing.deleteEntity(entity('batch-100'));
      failing.insertEntity(entity('batch-101'), {});
      assert.equal(await refusal(call((done) => tables.executeBatch(table, failing, done))), '409 EntityAlreadyExists');
      assert.equal((await retrieve('batch-100'))['RowKey']?._, 'batch-100');
    });

    test('goes through a query segment by segment', async () => {
      const query = new TableQuery().select('RowKey').top(8).where('RowKey ge ? and RowKey lt ?', 'batch-', 'batch.');
      const seen: unknown[] = [];
      let token = null as azure.TableService.TableContinuationToken | null;
      do {
        const segment = await call<azure.TableService.QueryEntitiesResult<Descriptor>>((done) =>
          tables.queryEntities<Descriptor>(table, query, token as never, done),
        );
        assert.ok(segment.entries.length <= 8);
        seen.push(...segment.entries.map(({ RowKey }) => RowKey?._));
        token = segment.continuationToken ?? null;
      } while (token !== null);
      assert.deepEqual(
        seen,
        Array.from({ length: 30 }, (_, index) => `batch-${100 + index}`),
      );
    });

    test('reads with a signature of its own making, and no more than that', async () => {
      const policy = { AccessPolicy: { Permissions: 'r', Expiry: new Date('2099-01-01T00:00:00Z') } };
      const sas = tables.generateSharedAccessSignature(table, policy);
      const reader = azure.createTableServiceWithSas(server.tableEndpoint(account), sas);
      const read = await call<Descriptor>((done) => reader.retrieveEntity(table, PARTITION, 'types', done as never));
      assert.equal(read['n']?._, 7);
      const write = call((done) => reader.insertEntity(table, entity('new'), done as never));
      assert.match(await refusal(write), /^403 /);
    });

    test('deletes an entity and the table', async () => {
      await call((done) => tables.deleteEntity(table, entity('types'), done as never));
      assert.equal(await refusal(retrieve('types')), '404 ResourceNotFound');
      await call((done) => tables.deleteTable(table, done as never));
      const gone = await call<azure.TableService.TableResult>((done) => tables.doesTableExist(table, done));
      assert.equal(gone.exists, false);
      assert.equal(await refusal(retrieve('types')), '404 TableNotFound');
    });
  });
}

type Message = azure.QueueService.QueueMessageResult;

for (const account of [DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT]) {
  describe(`azure-storage for queues as ${account.name}`, () => {
    const queues = azure.createQueueService(account.name, account.key, { primaryHost: server.queueEndpoint(account) });
    const queue = `legacy-${randomBytes(6).toString('hex')}`;

    const put = (
      text: string | Buffer,
      options: azure.QueueService.CreateMessageRequestOptions = {},
    ): Promise<Message> => call((done) => queues.createMessage(queue, text, options, done));
    const get = (options: azure.QueueService.GetMessagesRequestOptions = {}): Promise<Message[]> =>
      call((done) => queues.getMessages(queue, options, done));
    const peek = (): Promise<Message[]> => call((done) => queues.peekMessages(queue, { numOfMessages: 32 }, done));
    const remove = ({ messageId = '', popReceipt = '' }: Message): Promise<unknown> =>
      call((done) => queues.deleteMessage(queue, messageId, popReceipt, done as never));
    const clear = (): Promise<unknown> => call((done) => queues.clearMessages(queue, done as never));
    const metadata = (): Promise<azure.QueueService.QueueResult> =>
      call((done) => queues.getQueueMetadata(queue, done));

    test('creates a queue, finds it, and sets its metadata', async () => {
      const created = await call<azure.QueueService.QueueResult>((done) => queues.createQueueIfNotExists(queue, done));
      assert.equal(created.created, true);
      const again = await call<azure.QueueService.QueueResult>((done) => queues.createQueueIfNotExists(queue, done));
      assert.equal(again.created, false);
      await call((done) => queues.setQueueMetadata(queue, { colour: 'blue' }, done));
      assert.deepEqual((await metadata()).metadata, { colour: 'blue' });
      const other = call((done) => queues.createQueue(queue, { metadata: { colour: 'red' } } as never, done));
      assert.equal(await refusal(other), '409 QueueAlreadyExists');
      const listed = await call<azure.QueueService.ListQueueResult>((done) =>
        queues.listQueuesSegmentedWithPrefix(queue, null as never, { include: 'metadata' } as never, done),
      );
      assert.deepEqual(
        listed.entries.map(({ name, metadata: shown }) => [name, shown]),
        [[queue, { colour: 'blue' }]],
      );
    });

    test('puts, peeks at, gets, changes and deletes a message', async () => {
      const text = `<it's> & "ü" \u{1faa8}`;
      const sent = await put(text, { messageTimeToLive: 600 });
      assert.deepEqual(
        (await peek()).map(({ messageId, messageText }) => [messageId, messageText]),
        [[sent.messageId, text]],
      );
      const [got = {}] = await get({ numOfMessages: 32, visibilityTimeout: 300 });
      assert.deepEqual([got.messageId, got.messageText, Number(got.dequeueCount)], [sent.messageId, text, 1]);
      const updated = await call<Message>((done) =>
        queues.updateMessage(queue, got.messageId ?? '', got.popReceipt ?? '', 0, { messageText: 'changed' }, done),
      );
      assert.notEqual(updated.popReceipt, got.popReceipt);
      assert.equal(await refusal(remove(got)), '404 MessageNotFound');
      const [again = {}] = await get();
      assert.deepEqual([again.messageText, Number(again.dequeueCount)], ['changed', 2]);
      assert.equal(await refusal(remove(updated)), '404 MessageNotFound');
      await remove(again);
      assert.equal((await metadata()).approximateMessageCount, 0);
    });

    test('hides messages, and clears them', async () => {
      await put('later', { visibilityTimeout: 600 });
      await put('now');
      assert.deepEqual(
        (await peek()).map(({ messageText }) => messageText),
        ['now'],
      );
      assert.equal((await metadata()).approximateMessageCount, 2);
      await clear();
      assert.equal((await metadata()).approximateMessageCount, 0);
    });

    test('encodes texts in its own ways, and finds them as they were', async () => {
      for (const [encoder, text, stored] of [
        [new QueueMessageEncoder.TextBase64QueueMessageEncoder(), 'ü\r\n', 'w7wNCg=='],
        [new QueueMessageEncoder.BinaryBase64QueueMessageEncoder(), Buffer.from([0, 1, 255]), 'AAH/'],
        [new QueueMessageEncoder.TextXmlQueueMessageEncoder(), '<ü>', '&lt;ü&gt;'],
      ] as const) {
        queues.messageEncoder = encoder;
        await put(text);
        assert.deepEqual(
          (await peek()).map(({ messageText }) => messageText),
          [text],
        );
        const path = `/${queue}/messages?peekonly=true`;
        const { messages } = await sendQueue(server.queueUrl, { method: 'GET', path, account });
        assert.equal(messages[0]?.['MessageText'], stored);
        await clear();
      }
    });

    test('takes messages with a signature of its own making, and puts none', async () => {
      await put('work');
      const policy = { AccessPolicy: { Permissions: 'p', Expiry: new Date('2099-01-01T00:00:00Z') } };
      const sas = queues.generateSharedAccessSignature(queue, policy);
      const worker = azure.createQueueServiceWithSas(server.queueEndpoint(account), sas);
      const [got = {}] = await call<Message[]>((done) => worker.getMessages(queue, done));
      assert.equal(got.messageText, 'work');
      await call((done) => worker.deleteMessage(queue, got.messageId ?? '', got.popReceipt ?? '', done as never));
      assert.match(await refusal(call((done) => worker.createMessage(queue, 'x', done))), /^403 /);
    });

    test('deletes the queue', async () => {
      await call((done) => queues.deleteQueue(queue, done as never));
      const gone = await call<azure.QueueService.QueueResult>((done) => queues.doesQueueExist(queue, done));
      assert.equal(gone.exists, false);
      assert.equal(await refusal(peek()), '404 QueueNotFound');
    });
  });
}
