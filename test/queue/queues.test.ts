/** Queues as such: created, listed, deleted, their names, metadata, counts and access policies. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { SignedIdentifier } from '@azure/storage-queue';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { refusal } from '../harness/clients.ts';
import type { RawRequest } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { tally, together } from '../harness/parallel.ts';
import { freshQueue, queueClient, queueService } from '../harness/queue-clients.ts';
import { assertRefused, type QueueResponse, sendQueue } from '../harness/queue-http.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const service = queueService(server);

const raw = (request: RawRequest): Promise<QueueResponse> => sendQueue(server.queueUrl, request);
const freshName = (prefix = 'q'): string => `${prefix}-${randomUUID()}`;

/** `metadata`: by name, without the prefix of its headers. */
const withMetadata = (metadata: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`x-ms-meta-${name}`, value]));
const create = (name: string, metadata: Readonly<Record<string, string>> = {}): Promise<QueueResponse> =>
  raw({ method: 'PUT', path: `/${name}`, headers: withMetadata(metadata) });
const remove = (name: string): Promise<QueueResponse> => raw({ method: 'DELETE', path: `/${name}` });

const namesWith = async (prefix: string): Promise<string[]> => {
  const names: string[] = [];
  for await (const { name } of service.listQueues({ prefix })) names.push(name);
  return names;
};

describe('a queue', () => {
  test('is created, found, listed and deleted by the official client', async () => {
    const name = freshName();
    const queue = queueClient(server, name);
    assert.equal(await queue.exists(), false);
    assert.equal((await queue.createIfNotExists()).succeeded, true);
    assert.equal((await queue.createIfNotExists()).succeeded, false);
    assert.equal(await queue.exists(), true);
    assert.deepEqual(await namesWith(name), [name]);
    await queue.delete();
    assert.deepEqual(await namesWith(name), []);
    assert.equal(await refusal(queue.delete()), '404 QueueNotFound');
    assert.equal((await queue.deleteIfExists()).succeeded, false);
  });

  test('is created with 201, and deleted with 204, without a body', async () => {
    const name = freshName();
    const created = await create(name);
    assert.deepEqual([created.status, created.body.length], [201, 0]);
    const deleted = await remove(name);
    assert.deepEqual([deleted.status, deleted.body.length], [204, 0]);
    assertRefused(await remove(name), '404 QueueNotFound');
  });

  test('is not there to any operation once it is deleted', async () => {
    const queue = await freshQueue(server);
    const { messageId, popReceipt } = await queue.sendMessage('held');
    await queue.delete();
    const refusals = await Promise.all(
      [
        queue.getProperties(),
        queue.setMetadata({ a: 'b' }),
        queue.getAccessPolicy(),
        queue.setAccessPolicy([]),
        queue.sendMessage('x'),
        queue.receiveMessages(),
        queue.peekMessages(),
        queue.updateMessage(messageId, popReceipt, 'x', 1),
        queue.deleteMessage(messageId, popReceipt),
        queue.clearMessages(),
      ].map(refusal),
    );
    assert.deepEqual(tally(refusals), { '404 QueueNotFound': refusals.length });
  });

  test('that is created anew is empty, with neither metadata nor policies of the old one', async () => {
    const queue = await freshQueue(server);
    await queue.setMetadata({ old: 'one' });
    await queue.setAccessPolicy([{ id: 'p', accessPolicy: { permissions: 'r' } }]);
    await together(20, (index) => queue.sendMessage(`old ${index}`, { visibilityTimeout: index % 2 }));
    const [held] = (await queue.receiveMessages()).receivedMessageItems;
    assert.ok(held !== undefined);
    await queue.delete();
    await queue.create();
    const { metadata, approximateMessagesCount } = await queue.getProperties();
    assert.deepEqual([metadata ?? {}, approximateMessagesCount], [{}, 0]);
    assert.deepEqual((await queue.getAccessPolicy()).signedIdentifiers, []);
    assert.deepEqual((await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems, []);
    assert.equal(await refusal(queue.deleteMessage(held.messageId, held.popReceipt)), '404 MessageNotFound');
    await queue.sendMessage('new');
    server.clock.advance({ seconds: 60 });
    const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 });
    assert.deepEqual(
      peekedMessageItems.map(({ messageText }) => messageText),
      ['new'],
    );
  });

  test('of one account is not one of another', async () => {
    const { name } = await freshQueue(server);
    assert.equal(await queueClient(server, name, SECOND_ACCOUNT).exists(), false);
  });
});

describe('Create Queue, where one is there,', () => {
  for (const [what, stored, sent, want] of [
    ['no metadata on either side', {}, {}, '204'],
    ['the same metadata', { a: '1', b: '2' }, { a: '1', b: '2' }, '204'],
    ['the same in another order', { a: '1', b: '2' }, { b: '2', a: '1' }, '204'],
    ['the same by names in another case', { name: 'v' }, { NAME: 'v' }, '204'],
    ['another value', { a: '1' }, { a: '2' }, '409 QueueAlreadyExists'],
    ['a value in another case', { a: 'v' }, { a: 'V' }, '409 QueueAlreadyExists'],
    ['another name', { a: '1' }, { b: '1' }, '409 QueueAlreadyExists'],
    ['less of it', { a: '1', b: '2' }, { a: '1' }, '409 QueueAlreadyExists'],
    ['more of it', { a: '1' }, { a: '1', b: '2' }, '409 QueueAlreadyExists'],
    ['none where there was some', { a: '1' }, {}, '409 QueueAlreadyExists'],
    ['some where there was none', {}, { a: '1' }, '409 QueueAlreadyExists'],
  ] as const) {
    test(`with ${what} gets ${want}, and changes nothing`, async () => {
      const name = freshName();
      assert.equal((await create(name, stored)).status, 201);
      await queueClient(server, name).sendMessage('still here');
      assert.equal((await create(name, sent)).outcome, want);
      const { metadata, approximateMessagesCount } = await queueClient(server, name).getProperties();
      assert.deepEqual([metadata ?? {}, approximateMessagesCount], [stored, 1]);
    });
  }

  test('with metadata that was set later is judged by that', async () => {
    const name = freshName();
    await create(name, { a: '1' });
    await queueClient(server, name).setMetadata({ a: '2' });
    assertRefused(await create(name, { a: '1' }), '409 QueueAlreadyExists');
    assert.equal((await create(name, { a: '2' })).status, 204);
  });

  test('by many at once with equal metadata is 201 for one and 204 for the rest', async () => {
    const name = freshName();
    const answers = await Promise.all(Array.from({ length: 24 }, () => create(name, { a: '1' })));
    assert.deepEqual(tally(answers.map(({ outcome }) => outcome)), { '201': 1, '204': 23 });
  });

  test('by many at once with metadata of their own is 201 for one, whose it is, and 409 for the rest', async () => {
    const name = freshName();
    const answers = await Promise.all(Array.from({ length: 24 }, (_, index) => create(name, { by: `${index}` })));
    const outcomes = answers.map(({ outcome }) => outcome);
    assert.deepEqual(tally(outcomes), { '201': 1, '409 QueueAlreadyExists': 23 });
    const { metadata } = await queueClient(server, name).getProperties();
    assert.deepEqual(metadata, { by: `${outcomes.indexOf('201')}` });
  });
});

describe('a name', () => {
  for (const [what, name, want] of [
    ['of two letters', 'ab', 'OutOfRangeInput'],
    ['of 64 letters', 'a'.repeat(64), 'OutOfRangeInput'],
    ['with a capital', 'Abc', 'InvalidResourceName'],
    ['with an underscore', 'a_bc', 'InvalidResourceName'],
    ['with a dot', 'a.bc', 'InvalidResourceName'],
    ['with a hyphen first', '-abc', 'InvalidResourceName'],
    ['with a hyphen last', 'abc-', 'InvalidResourceName'],
    ['with two hyphens in a row', 'a--bc', 'InvalidResourceName'],
    ['with an umlaut', '%C3%A4bcd', 'InvalidResourceName'],
    ['with a space', 'a%20bc', 'InvalidResourceName'],
    ['with a dollar', '$abc', 'InvalidResourceName'],
  ] as const) {
    test(`${what} gets 400 ${want}`, async () => {
      assertRefused(await create(name), `400 ${want}`);
    });
  }

  for (const name of ['abc', 'a'.repeat(63), '0-9', '123', 'messages']) {
    test(`of ${name.length} characters is taken: ${name}`, async () => {
      assert.equal((await create(name)).status, 201);
      await queueClient(server, name).sendMessage('x');
      assert.equal((await queueClient(server, name).getProperties()).approximateMessagesCount, 1);
      assert.equal((await remove(name)).status, 204);
    });
  }
});

describe('metadata', () => {
  test('is given at creation, replaced as a whole, and cleared', async () => {
    const queue = queueClient(server, freshName());
    const stored = async (): Promise<unknown> => (await queue.getProperties()).metadata ?? {};
    await queue.create({ metadata: { one: '1', two: 'with  blanks' } });
    assert.deepEqual(await stored(), { one: '1', two: 'with  blanks' });
    await queue.setMetadata({ three: '3' });
    assert.deepEqual(await stored(), { three: '3' });
    await queue.setMetadata();
    assert.deepEqual(await stored(), {});
  });

  test('is set with 204, and read with GET and HEAD, in headers alone', async () => {
    const { name } = await freshQueue(server);
    const path = `/${name}?comp=metadata`;
    const set = await raw({ method: 'PUT', path, headers: withMetadata({ colour: 'blue' }) });
    assert.deepEqual([set.status, set.body.length, set.headers.etag], [204, 0, undefined]);
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, body } = await raw({ method, path });
      assert.deepEqual([status, body.length], [200, 0]);
      assert.equal(headers['x-ms-meta-colour'], 'blue');
      assert.equal(headers['x-ms-approximate-messages-count'], '0');
      assert.deepEqual([headers.etag, headers['last-modified']], [undefined, undefined]);
    }
    const missing = await raw({ method: 'HEAD', path: '/nowhere?comp=metadata' });
    assert.equal(missing.outcome, '404 QueueNotFound');
  });

  test('that is set by many at once is that of one of them, whole', async () => {
    const queue = await freshQueue(server);
    await together(16, (index) => queue.setMetadata({ first: `${index}`, second: `${index}` }));
    const { metadata } = await queue.getProperties();
    assert.match(metadata?.['first'] ?? '', /^\d+$/);
    assert.deepEqual(metadata, { first: metadata?.['first'], second: metadata?.['first'] });
  });

  for (const [what, metadata, want] of [
    ['a name with a hyphen', { 'a-b': 'x' }, '400 InvalidMetadata'],
    ['a name with a digit first', { '1a': 'x' }, '400 InvalidMetadata'],
    ['no name', { '': 'x' }, '400 EmptyMetadataKey'],
    ['a value beyond ASCII', { a: '\u00e9' }, '400 InvalidMetadata'],
    ['8 KiB and a byte', { a: 'x'.repeat(8 * 1024) }, '400 MetadataTooLarge'],
    ['8 KiB and a byte in many', { a: 'x'.repeat(4_095), b: 'x'.repeat(4_096) }, '400 MetadataTooLarge'],
  ] as const) {
    test(`with ${what} gets ${want}, at creation and later`, async () => {
      const name = freshName();
      assertRefused(await create(name, metadata), want);
      assert.equal(await queueClient(server, name).exists(), false);
      await create(name, { kept: 'yes' });
      assertRefused(
        await raw({ method: 'PUT', path: `/${name}?comp=metadata`, headers: withMetadata(metadata) }),
        want,
      );
      assert.deepEqual((await queueClient(server, name).getProperties()).metadata, { kept: 'yes' });
    });
  }

  test('of 8 KiB is taken', async () => {
    const queue = await freshQueue(server);
    const metadata = { a: 'x'.repeat(4_095), b: 'x'.repeat(4_095) };
    await queue.setMetadata(metadata);
    assert.deepEqual((await queue.getProperties()).metadata, metadata);
  });
});

describe('the approximate count', () => {
  test('is of all messages, visible or hidden, goes down with each that is deleted, and to nothing at a clear', async () => {
    const queue = await freshQueue(server);
    const count = async (): Promise<number | undefined> => (await queue.getProperties()).approximateMessagesCount;
    assert.equal(await count(), 0);
    for (let index = 0; index < 3; index++) await queue.sendMessage('visible');
    await queue.sendMessage('hidden', { visibilityTimeout: 60 });
    assert.equal(await count(), 4);
    const { receivedMessageItems: held } = await queue.receiveMessages({ numberOfMessages: 2 });
    assert.equal(await count(), 4);
    for (const [index, { messageId, popReceipt }] of held.entries()) {
      const updated = await queue.updateMessage(messageId, popReceipt, 'changed', 0);
      assert.equal(await count(), 4 - index);
      await queue.deleteMessage(messageId, updated.popReceipt as string);
      assert.equal(await count(), 3 - index);
    }
    await queue.clearMessages();
    assert.equal(await count(), 0);
    await queue.sendMessage('new');
    assert.equal(await count(), 1);
  });

  test('holds when many put and delete at once', async () => {
    const queue = await freshQueue(server);
    const sent = await together(64, (index) => queue.sendMessage(`${index}`));
    assert.deepEqual(tally(sent.map(({ status }) => status)), { fulfilled: 64 });
    await together(32, async (index) => {
      const result = sent[index];
      if (result?.status !== 'fulfilled') return;
      await queue.deleteMessage(result.value.messageId, result.value.popReceipt);
    });
    assert.equal((await queue.getProperties()).approximateMessagesCount, 32);
  });

  test('no longer has expired messages, once a Get has come by', async () => {
    const queue = await freshQueue(server);
    for (let index = 0; index < 40; index++) await queue.sendMessage('short', { messageTimeToLive: 10 });
    await queue.sendMessage('long');
    server.clock.advance({ seconds: 10 });
    const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32 });
    assert.deepEqual(
      receivedMessageItems.map(({ messageText }) => messageText),
      ['long'],
    );
    assert.equal((await queue.getProperties()).approximateMessagesCount, 1);
  });
});

const many = queueService(server, SECOND_ACCOUNT);
const names = Array.from({ length: 120 }, (_, index) => `list-${1_000 + index}`);
const list = async (query: string): Promise<{ body: string; names: string[]; next: string }> => {
  const answer = await raw({ method: 'GET', path: `/?comp=list${query}`, account: SECOND_ACCOUNT });
  assert.equal(answer.status, 200, answer.body.toString());
  assert.match(answer.headers['content-type'] ?? '', /^application\/xml/);
  const body = answer.body.toString();
  const listed = [...body.matchAll(/<Name>([^<]*)<\/Name>/g)].map(([, name]) => name as string);
  return { body, names: listed, next: /<NextMarker>([^<]*)<\/NextMarker>/.exec(body)?.[1] ?? '' };
};

const metadataShown = async (includeMetadata: boolean): Promise<unknown[]> => {
  const metadata: unknown[] = [];
  for await (const item of many.listQueues({ prefix: 'list-1000', includeMetadata })) metadata.push(item.metadata);
  return metadata;
};

describe('the list', () => {
  test('is whole and in order of names, whatever the order of creation', async () => {
    const results = await together(names.length, (index) =>
      many.createQueue(names[(index * 7) % names.length] as string, { metadata: { nth: `${index}` } }),
    );
    assert.deepEqual(tally(results.map(({ status }) => status)), { fulfilled: names.length });
    await many.createQueue('another');
    const listed: string[] = [];
    for await (const { name } of many.listQueues()) listed.push(name);
    assert.deepEqual(listed, ['another', ...names]);
  });

  test('names its endpoint and repeats what it was asked', async () => {
    const { body } = await list('&prefix=list-10&maxresults=2');
    const endpoint = `${server.queueEndpoint(SECOND_ACCOUNT)}/`;
    assert.ok(body.includes(`<EnumerationResults ServiceEndpoint="${endpoint}">`), body);
    assert.match(
      body,
      /<Prefix>list-10<\/Prefix>.*<MaxResults>2<\/MaxResults>.*<Queues><Queue><Name>list-1000<\/Name>/s,
    );
    assert.match((await list('&prefix=nothing')).body, /<Queues ?\/>|<Queues><\/Queues>/);
  });

  test('comes in pages, each from where the last one ended', async () => {
    const pages: string[][] = [];
    for await (const page of many.listQueues({ prefix: 'list-' }).byPage({ maxPageSize: 50 })) {
      pages.push((page.queueItems ?? []).map(({ name }) => name));
    }
    assert.deepEqual(pages, [names.slice(0, 50), names.slice(50, 100), names.slice(100)]);
    const first = await list('&prefix=list-&maxresults=119');
    assert.deepEqual(first.names, names.slice(0, 119));
    const second = await list(`&prefix=list-&maxresults=119&marker=${encodeURIComponent(first.next)}`);
    assert.deepEqual([second.names, second.next], [names.slice(119), '']);
    assert.match(second.body, /<Marker>[^<]+<\/Marker>/);
    assert.deepEqual((await list('&prefix=list-&maxresults=120')).next, '');
  });

  test('goes on behind a queue that is deleted between two pages', async () => {
    const { next } = await list('&prefix=list-&maxresults=2');
    const gone = names[2] as string;
    await many.deleteQueue(gone);
    const { names: second } = await list(`&prefix=list-&maxresults=2&marker=${encodeURIComponent(next)}`);
    assert.deepEqual(second, names.slice(3, 5));
    await many.createQueue(gone);
  });

  test('keeps to a prefix', async () => {
    assert.deepEqual((await list('&prefix=list-1000')).names, ['list-1000']);
    assert.deepEqual((await list('&prefix=list-111')).names, names.slice(110));
    assert.deepEqual((await list('&prefix=a')).names, ['another']);
    assert.deepEqual((await list('&prefix=LIST')).names, []);
    assert.deepEqual((await list('&prefix=')).names.length, names.length + 1);
  });

  test('has metadata where it is asked for, and else not', async () => {
    const queue = queueClient(server, 'list-1000', SECOND_ACCOUNT);
    await queue.setMetadata({ one: '1', mark: 'a<b>&"c"' });
    assert.deepEqual(await metadataShown(true), [{ one: '1', mark: 'a<b>&"c"' }]);
    assert.deepEqual(await metadataShown(false), [undefined]);
    assert.match(
      (await list('&prefix=another&include=metadata')).body,
      /<Name>another<\/Name><Metadata(?: \/>|><\/Metadata>)/,
    );
  });

  test('of more than there can be is as long as it is', async () => {
    assert.equal((await list('&maxresults=5001')).names.length, names.length + 1);
  });

  for (const value of ['0', '-1']) {
    test(`of maxresults=${value} gets 400 with what is allowed`, async () => {
      assertRefused(
        await raw({ method: 'GET', path: `/?comp=list&maxresults=${value}` }),
        '400 OutOfRangeQueryParameterValue',
        {
          QueryParameterName: 'maxresults',
          QueryParameterValue: value,
          MinimumAllowed: '1',
          MaximumAllowed: '5000',
        },
      );
    });
  }

  for (const [query, want] of [
    ['maxresults=x', '400 InvalidQueryParameterValue'],
    ['maxresults=1.5', '400 InvalidQueryParameterValue'],
    ['marker=nonsense', '400 InvalidMarker'],
    ['include=nonsense', '400 InvalidQueryParameterValue'],
  ] as const) {
    test(`refuses ${query}`, async () => {
      assertRefused(await raw({ method: 'GET', path: `/?comp=list&${query}` }), want);
    });
  }
});

const policies = (count: number): SignedIdentifier[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `policy-${index}`,
    accessPolicy: {
      startsOn: new Date('2024-01-01T00:00:00Z'),
      expiresOn: new Date('2099-01-01T00:00:00Z'),
      permissions: 'raup',
    },
  }));

const policyXml = (inside: string): string =>
  `<SignedIdentifiers><SignedIdentifier>${inside}</SignedIdentifier></SignedIdentifiers>`;

describe('access policies', () => {
  test('come back as they were set, five at most', async () => {
    const queue = await freshQueue(server);
    const stored = async (): Promise<SignedIdentifier[]> => (await queue.getAccessPolicy()).signedIdentifiers;
    assert.deepEqual(await stored(), []);
    await queue.setAccessPolicy(policies(5));
    assert.deepEqual(await stored(), policies(5));
    assert.equal(await refusal(queue.setAccessPolicy(policies(6))), '400 InvalidXmlDocument');
    assert.deepEqual(await stored(), policies(5));
    await queue.setAccessPolicy([{ id: 'bare', accessPolicy: {} }]);
    assert.deepEqual(
      (await stored()).map(({ id }) => id),
      ['bare'],
    );
    await queue.setAccessPolicy([]);
    assert.deepEqual(await stored(), []);
  });

  test('are answered with 200 and 204, and an empty body clears them', async () => {
    const { name } = await freshQueue(server);
    const path = `/${name}?comp=acl`;
    const set = await raw({ method: 'PUT', path, body: policyXml('<Id>a</Id>') });
    assert.deepEqual([set.status, set.body.length], [204, 0]);
    const got = await raw({ method: 'GET', path });
    assert.equal(got.status, 200);
    assert.match(got.headers['content-type'] ?? '', /^application\/xml/);
    assert.match(got.body.toString(), /<SignedIdentifiers>.*<Id>a<\/Id>/s);
    const head = await raw({ method: 'HEAD', path });
    assert.deepEqual([head.status, head.body.length], [200, 0]);
    assert.equal((await raw({ method: 'PUT', path })).status, 204);
    assert.doesNotMatch((await raw({ method: 'GET', path })).body.toString(), /<Id>/);
  });

  for (const [what, body, want] of [
    [
      'a letter that means nothing to queues',
      policyXml('<Id>a</Id><AccessPolicy><Permission>rw</Permission></AccessPolicy>'),
      '400 InvalidXmlNodeValue',
    ],
    [
      'a time that is none',
      policyXml('<Id>a</Id><AccessPolicy><Expiry>tomorrow</Expiry></AccessPolicy>'),
      '400 InvalidXmlNodeValue',
    ],
    ['an id of 65 characters', policyXml(`<Id>${'a'.repeat(65)}</Id>`), '400 InvalidXmlDocument'],
    ['no id', policyXml('<AccessPolicy/>'), '400 InvalidXmlDocument'],
    ['an id twice', policyXml('<Id>a</Id></SignedIdentifier><SignedIdentifier><Id>a</Id>'), '400 InvalidXmlDocument'],
    ['another root', '<Surprise/>', '400 InvalidXmlDocument'],
  ] as const) {
    test(`with ${what} get ${want}, and those before stay`, async () => {
      const queue = await freshQueue(server);
      await queue.setAccessPolicy(policies(1));
      assertRefused(await raw({ method: 'PUT', path: `/${queue.name}?comp=acl`, body }), want);
      assert.deepEqual((await queue.getAccessPolicy()).signedIdentifiers, policies(1));
    });
  }

  test('of a queue that is not there get 404', async () => {
    const missing = queueClient(server, 'nowhere');
    assert.equal(await refusal(missing.getAccessPolicy()), '404 QueueNotFound');
    assert.equal(await refusal(missing.setAccessPolicy(policies(1))), '404 QueueNotFound');
    assert.equal((await raw({ method: 'HEAD', path: '/nowhere?comp=acl' })).outcome, '404 QueueNotFound');
  });
});
