/** Get and Set Blob Tags, `x-ms-tags` on writes, and conditions on tags. */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { BlobClient, BlobSASPermissions, type BlockBlobClient, type Tags } from '@azure/storage-blob';
import { blobService, freshContainer, NO_RETRIES, outcome, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess();
const service = blobService(server);
const container = await freshContainer(service);

const BEFORE_LEASES_ON_TAGS = '2020-02-10';
const SINCE_CONDITIONS_ON_TAGS = '2026-02-06';
const NOT_PERMITTED = '403 AuthorizationPermissionMismatch';

const freshName = (): BlockBlobClient => container.getBlockBlobClient(randomUUID());
const inSeconds = (seconds: number): Date => new Date(server.clock.nowMs() + seconds * 1000);

async function freshBlob(tags: Tags = {}): Promise<BlockBlobClient> {
  const blob = freshName();
  await blob.upload('content', 7, { tags });
  return blob;
}

const tagsOf = async (blob: BlobClient): Promise<Tags> => (await blob.getTags()).tags;

/** What the client would not send. */
const raw = (
  blob: BlobClient,
  method: string,
  query: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
): Promise<RawResponse> =>
  send(server.url, {
    method,
    path: `/${blob.containerName}/${encodeURIComponent(blob.name)}${query}`,
    headers,
    ...(body === undefined ? {} : { body }),
  });

const tagXml = (tags: readonly (readonly [string, string])[]): string =>
  `<Tags><TagSet>${tags.map(([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`).join('')}</TagSet></Tags>`;

const numbered = (count: number): [string, string][] =>
  Array.from({ length: count }, (_, index) => [`tag${index}`, 'x'] as [string, string]);

describe('Set Blob Tags and Get Blob Tags', () => {
  test('replace all tags by those that are sent', async () => {
    const blob = await freshBlob();
    assert.deepEqual(await tagsOf(blob), {});
    assert.equal((await blob.getProperties()).tagCount, undefined);
    await blob.setTags({ colour: 'red', size: '' });
    assert.deepEqual(await tagsOf(blob), { colour: 'red', size: '' });
    assert.equal((await blob.getProperties()).tagCount, 2);
    assert.equal((await blob.download()).tagCount, 2);
    await blob.setTags({ colour: 'blue' });
    assert.deepEqual(await tagsOf(blob), { colour: 'blue' });
    await blob.setTags({});
    assert.deepEqual(await tagsOf(blob), {});
    assert.equal((await blob.getProperties()).tagCount, undefined);
  });

  test('change neither ETag nor Last-Modified', async () => {
    const blob = await freshBlob();
    const before = await blob.getProperties();
    server.clock.advance({ seconds: 5 });
    const answer = await raw(blob, 'PUT', '?comp=tags', { body: tagXml([['a', 'b']]) });
    assert.deepEqual([answer.status, answer.headers.etag, answer.body.length], [204, undefined, 0]);
    const after = await blob.getProperties();
    assert.equal(after.etag, before.etag);
    assert.deepEqual(after.lastModified, before.lastModified);
  });

  test('report tags in the order of their names', async () => {
    const blob = await freshBlob({ b: '1', a: '2', C: '3' });
    const { body, headers } = await raw(blob, 'GET', '?comp=tags');
    assert.equal(headers['content-type'], 'application/xml');
    assert.deepEqual(body.toString().match(/(?<=<Key>)[^<]*/g), ['C', 'a', 'b']);
  });

  test('keep every character that is allowed, spaces at the ends included', async () => {
    const tags = { ' a+b ': ' ', 'a-b.c/d:e=f_g': '+-./:=_', A: 'a b  c' };
    const blob = await freshBlob();
    await blob.setTags(tags);
    assert.deepEqual(await tagsOf(blob), tags);
    await blob.upload('x', 1, { tags });
    assert.deepEqual(await tagsOf(blob), tags);
  });

  for (const [what, tags, want] of [
    ['ten tags', numbered(10), null],
    ['eleven tags', numbered(11), 'TagsTooLarge'],
    ['a name of 128 characters', [['n'.repeat(128), 'x']], null],
    ['a name of 129 characters', [['n'.repeat(129), 'x']], 'TagsTooLarge'],
    ['a value of 256 characters', [['x', 'v'.repeat(256)]], null],
    ['a value of 257 characters', [['x', 'v'.repeat(257)]], 'TagsTooLarge'],
    ['an empty name', [['', 'x']], 'EmptyTagName'],
    ['a character that is not allowed in a name', [['a*b', 'x']], 'InvalidTag'],
    ['a character that is not allowed in a value', [['x', 'a,b']], 'InvalidTag'],
    ['a letter beyond ASCII', [['x', 'ä']], 'InvalidTag'],
    [
      'a name twice',
      [
        ['x', '1'],
        ['x', '2'],
      ],
      'DuplicateTagNames',
    ],
    [
      'names that differ by their case',
      [
        ['x', '1'],
        ['X', '2'],
      ],
      null,
    ],
  ] as const) {
    test(`${what}: ${want ?? 'ok'}, as a body and as a header`, async () => {
      const blob = await freshBlob({ before: 'yes' });
      const refused = want === null ? null : `400 ${want}`;
      const asBody = await raw(blob, 'PUT', '?comp=tags', { body: tagXml(tags) });
      assert.equal(asBody.outcome, refused ?? '204');
      if (refused !== null) assert.deepEqual(await tagsOf(blob), { before: 'yes' });
      const header = tags.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
      const headers = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-tags': header };
      assert.equal((await raw(blob, 'PUT', '', { headers, body: 'x' })).outcome, refused ?? '201');
      if (want === null) assert.deepEqual(await tagsOf(blob), Object.fromEntries(tags));
    });
  }

  for (const [what, body] of [
    ['what is no XML', '<Tags><TagSet>'],
    ['another document', '<BlockList/>'],
    ['no set of tags', '<Tags/>'],
    ['a tag without a name', '<Tags><TagSet><Tag><Value>x</Value></Tag></TagSet></Tags>'],
    ['a tag without a value', '<Tags><TagSet><Tag><Key>x</Key></Tag></TagSet></Tags>'],
    ['something else among the tags', '<Tags><TagSet><Other/></TagSet></Tags>'],
  ] as const) {
    test(`${what} is refused`, async () => {
      const answer = await raw(await freshBlob(), 'PUT', '?comp=tags', { body });
      assert.equal(answer.outcome, '400 InvalidXmlDocument');
    });
  }

  for (const header of ['x', 'a=b&', 'a=%zz']) {
    test(`x-ms-tags: ${header} is refused`, async () => {
      const headers = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-tags': header };
      assert.equal((await raw(freshName(), 'PUT', '', { headers, body: 'x' })).outcome, '400 InvalidHeaderValue');
    });
  }

  test('check the hashes of the body', async () => {
    const blob = await freshBlob();
    const body = tagXml([['a', 'b']]);
    const md5 = createHash('md5').update(body).digest('base64');
    assert.equal((await raw(blob, 'PUT', '?comp=tags', { body, headers: { 'content-md5': md5 } })).status, 204);
    const wrong = { 'content-md5': Buffer.alloc(16).toString('base64') };
    assert.equal((await raw(blob, 'PUT', '?comp=tags', { body, headers: wrong })).outcome, '400 Md5Mismatch');
    const crc64 = { 'x-ms-content-crc64': Buffer.alloc(8).toString('base64') };
    assert.equal((await raw(blob, 'PUT', '?comp=tags', { body, headers: crc64 })).outcome, '400 Crc64Mismatch');
  });

  test('need a blob that is there and committed', async () => {
    const blob = freshName();
    assert.equal(await refusal(blob.getTags()), '404 BlobNotFound');
    assert.equal(await refusal(blob.setTags({ a: 'b' })), '404 BlobNotFound');
    await blob.stageBlock('YQ==', 'x', 1);
    assert.equal(await refusal(blob.setTags({ a: 'b' })), '404 BlobNotFound');
    const nowhere = service.getContainerClient('nowhere').getBlobClient('x');
    assert.equal(await refusal(nowhere.setTags({ a: 'b' })), '404 ContainerNotFound');
  });

  test('need the lease to set, not to get', async () => {
    const blob = await freshBlob({ a: 'b' });
    const lease = blob.getBlobLeaseClient();
    await lease.acquireLease(-1);
    const leaseId = lease.leaseId;
    const body = tagXml([['a', 'c']]);
    assert.equal(await refusal(blob.setTags({ a: 'c' })), '412 LeaseIdMissing');
    const other = { conditions: { leaseId: randomUUID() } };
    assert.equal(await refusal(blob.setTags({ a: 'c' }, other)), '412 LeaseIdMismatchWithBlobOperation');
    assert.equal(await refusal(blob.getTags(other)), '412 LeaseIdMismatchWithBlobOperation');
    assert.deepEqual(await tagsOf(blob), { a: 'b' });
    assert.equal(await outcome(blob.getTags({ conditions: { leaseId } })), 'ok');
    assert.equal(await outcome(blob.setTags({ a: 'c' }, { conditions: { leaseId } })), 'ok');
    const early = { body, headers: { 'x-ms-version': BEFORE_LEASES_ON_TAGS } };
    assert.equal((await raw(blob, 'PUT', '?comp=tags', early)).status, 204);
  });

  test('go by conditions of their own, since they have them', async () => {
    const blob = await freshBlob();
    const body = tagXml([['a', 'b']]);
    const { etag = '' } = await blob.getProperties();
    const set = (version: string, header: string, value: string): Promise<RawResponse> =>
      raw(blob, 'PUT', '?comp=tags', { body, headers: { 'x-ms-version': version, [header]: value } });
    assert.equal((await set(SINCE_CONDITIONS_ON_TAGS, 'x-ms-blob-if-match', '"0x0"')).outcome, '412 ConditionNotMet');
    assert.equal((await set(SINCE_CONDITIONS_ON_TAGS, 'x-ms-blob-if-match', etag)).status, 204);
    assert.equal((await set('2024-11-04', 'x-ms-blob-if-match', '"0x0"')).status, 204);
    assert.equal((await set(SINCE_CONDITIONS_ON_TAGS, 'if-match', '"0x0"')).status, 204);
    const headers = { 'x-ms-version': SINCE_CONDITIONS_ON_TAGS, 'x-ms-blob-if-none-match': etag };
    assert.equal((await raw(blob, 'GET', '?comp=tags', { headers })).status, 304);
  });

  test('are open to a token with t', async () => {
    const blob = await freshBlob({ a: 'b' });
    for (const [permissions, want] of [
      ['t', 'ok'],
      ['rw', NOT_PERMITTED],
    ] as const) {
      const options = { permissions: BlobSASPermissions.parse(permissions), expiresOn: inSeconds(60) };
      const guest = new BlobClient(await blob.generateSasUrl(options), undefined, NO_RETRIES);
      assert.equal(await outcome(guest.getTags()), want);
      assert.equal(await outcome(guest.setTags({ a: 'c' })), want);
    }
  });
});

describe('tags of a blob', () => {
  const writes: readonly (readonly [string, (blob: BlockBlobClient, tags?: Tags) => Promise<unknown>])[] = [
    ['Put Blob', (blob, tags) => blob.upload('new', 3, tags === undefined ? {} : { tags })],
    ['Put Block List', (blob, tags) => blob.commitBlockList([], tags === undefined ? {} : { tags })],
    [
      'Put Blob of an append blob',
      (blob, tags) => container.getAppendBlobClient(blob.name).create(tags === undefined ? {} : { tags }),
    ],
    [
      'Put Blob of a page blob',
      (blob, tags) => container.getPageBlobClient(blob.name).create(512, tags === undefined ? {} : { tags }),
    ],
  ];
  for (const [operation, write] of writes) {
    test(`go with ${operation}, and are those that it brings`, async () => {
      const blob = await freshBlob({ a: 'b' });
      await write(blob, { c: 'd' });
      assert.deepEqual(await tagsOf(blob), { c: 'd' });
      await write(blob);
      assert.deepEqual(await tagsOf(blob), {});
    });
  }

  test('stay through all that changes a blob in place', async () => {
    const blob = await freshBlob({ a: 'b' });
    await blob.setMetadata({ c: 'd' });
    await blob.setHTTPHeaders({ blobContentType: 'text/plain' });
    await blob.setAccessTier('Cool');
    await blob.stageBlock('YQ==', 'x', 1);
    await blob.getBlobLeaseClient().acquireLease(-1);
    assert.deepEqual(await tagsOf(blob), { a: 'b' });
  });

  test('are copied to a snapshot, and then each has its own', async () => {
    const blob = await freshBlob({ a: 'b' });
    const { snapshot = '' } = await blob.createSnapshot();
    const past = blob.withSnapshot(snapshot);
    await blob.setTags({ a: 'new' });
    assert.deepEqual(await tagsOf(past), { a: 'b' });
    assert.equal((await past.getProperties()).tagCount, 1);
    await past.setTags({ of: 'snapshot' });
    assert.deepEqual([await tagsOf(past), await tagsOf(blob)], [{ of: 'snapshot' }, { a: 'new' }]);
  });

  test('need t to be sent with a write', async () => {
    const blob = freshName();
    for (const [permissions, want] of [
      ['w', NOT_PERMITTED],
      ['wt', 'ok'],
    ] as const) {
      const options = { permissions: BlobSASPermissions.parse(permissions), expiresOn: inSeconds(60) };
      const guest = new BlobClient(await blob.generateSasUrl(options), undefined, NO_RETRIES).getBlockBlobClient();
      assert.equal(await outcome(guest.upload('x', 1, { tags: { a: 'b' } })), want);
      assert.equal(await outcome(guest.commitBlockList([], { tags: { a: 'b' } })), want);
    }
  });
});

describe('versions have tags of their own', () => {
  test('by their ids, the current one by its id too', async () => {
    const versioned = blobService(await startInProcess({ settings: { versioning: ['all'] } }));
    const blob = (await freshContainer(versioned)).getBlockBlobClient('blob');
    const { versionId: first = '' } = await blob.upload('one', 3, { tags: { n: '1' } });
    const { versionId: second = '' } = await blob.upload('two', 3, { tags: { n: '2' } });
    await blob.withVersion(first).setTags({ n: 'first' });
    assert.deepEqual(await tagsOf(blob.withVersion(first)), { n: 'first' });
    assert.deepEqual(await tagsOf(blob), { n: '2' });
    await blob.withVersion(second).setTags({ n: 'second' });
    assert.deepEqual(await tagsOf(blob), { n: 'second' });
    const items = [];
    for await (const item of versioned.findBlobsByTags("n >= ''")) items.push(item);
    assert.deepEqual(
      items.map(({ name, tags }) => [name, tags]),
      [['blob', { n: 'second' }]],
    );
  });

  test('and a snapshot taken at the time that is the version’s id is not the version', async () => {
    const own = await startInProcess({ settings: { versioning: ['all'] } });
    const blob = (await freshContainer(blobService(own))).getBlockBlobClient('blob');
    const { versionId } = await blob.upload('x', 1, { tags: { n: '1' } });
    const { snapshot = '' } = await blob.createSnapshot();
    assert.equal(snapshot, versionId, 'the clock stands still');
    await blob.withSnapshot(snapshot).setTags({ n: 'of the snapshot' });
    assert.deepEqual(await tagsOf(blob), { n: '1' });
  });
});

/** Resolves, or rejects as the client does. */
async function plain(blob: BlobClient, method: string, query: string, condition: string): Promise<unknown> {
  const { outcome: text, status } = await raw(blob, method, `?${query}`, { headers: { 'x-ms-if-tags': condition } });
  return status < 300 ? text : Promise.reject(new Error(text));
}

const outcomeOf = async (request: Promise<unknown>): Promise<string> =>
  outcome(request).catch((error: Error) => error.message);

describe('x-ms-if-tags', () => {
  /** Each on a blob of its own. */
  const operations: readonly (readonly [string, (blob: BlockBlobClient, tagConditions: string) => Promise<unknown>])[] =
    [
      ['Get Blob', (blob, tagConditions) => blob.download(0, undefined, { conditions: { tagConditions } })],
      ['Get Blob Properties', (blob, tagConditions) => blob.getProperties({ conditions: { tagConditions } })],
      ['Get Blob Metadata', (blob, tagConditions) => plain(blob, 'GET', 'comp=metadata', tagConditions)],
      ['Get Blob Tags', (blob, tagConditions) => blob.getTags({ conditions: { tagConditions } })],
      ['Set Blob Tags', (blob, tagConditions) => blob.setTags({ a: 'b' }, { conditions: { tagConditions } })],
      ['Get Block List', (blob, tagConditions) => blob.getBlockList('all', { conditions: { tagConditions } })],
      ['Put Blob', (blob, tagConditions) => blob.upload('x', 1, { conditions: { tagConditions } })],
      ['Put Block List', (blob, tagConditions) => blob.commitBlockList([], { conditions: { tagConditions } })],
      ['Set Blob Properties', (blob, tagConditions) => blob.setHTTPHeaders({}, { conditions: { tagConditions } })],
      ['Set Blob Metadata', (blob, tagConditions) => blob.setMetadata({}, { conditions: { tagConditions } })],
      ['Set Blob Tier', (blob, tagConditions) => blob.setAccessTier('Cool', { conditions: { tagConditions } })],
      ['Snapshot Blob', (blob, tagConditions) => blob.createSnapshot({ conditions: { tagConditions } })],
      ['Delete Blob', (blob, tagConditions) => blob.delete({ conditions: { tagConditions } })],
      [
        'Lease Blob',
        (blob, tagConditions) => blob.getBlobLeaseClient().acquireLease(15, { conditions: { tagConditions } }),
      ],
      [
        'Query Blob Contents',
        (blob, tagConditions) => blob.query('SELECT * from BlobStorage', { conditions: { tagConditions } }),
      ],
    ];

  for (const [operation, act] of operations) {
    test(`decides over ${operation}`, async () => {
      const blob = await freshBlob({ colour: 'red' });
      assert.equal(await outcomeOf(act(blob, "colour = 'blue'")), '412 ConditionNotMet');
      assert.equal(await outcomeOf(act(blob, "colour = 'red' AND size = '1'")), '412 ConditionNotMet');
      assert.deepEqual(await tagsOf(blob), { colour: 'red' });
      assert.equal(await outcomeOf(act(blob, "colour = 'red'")), 'ok');
    });

    test(`is an expression, or ${operation} is refused`, async () => {
      const blob = await freshBlob({ colour: 'red' });
      assert.equal(await outcomeOf(act(blob, 'colour = red')), '400 InvalidHeaderValue');
    });
  }

  test('decides over the operations on append blobs and page blobs', async () => {
    const log = container.getAppendBlobClient(randomUUID());
    await log.create({ tags: { colour: 'red' } });
    const disk = container.getPageBlobClient(randomUUID());
    await disk.create(512, { tags: { colour: 'red' } });
    const page = Buffer.alloc(512, 'x');
    for (const act of [
      (tagConditions: string) => log.appendBlock('x', 1, { conditions: { tagConditions } }),
      (tagConditions: string) => log.create({ tags: { colour: 'red' }, conditions: { tagConditions } }),
      (tagConditions: string) => disk.uploadPages(page, 0, 512, { conditions: { tagConditions } }),
      (tagConditions: string) => disk.clearPages(0, 512, { conditions: { tagConditions } }),
      (tagConditions: string) => disk.getPageRanges(0, 512, { conditions: { tagConditions } }),
      (tagConditions: string) => disk.resize(512, { conditions: { tagConditions } }),
      (tagConditions: string) => disk.updateSequenceNumber('update', 1, { conditions: { tagConditions } }),
    ]) {
      assert.equal(await refusal(act("colour = 'blue'")), '412 ConditionNotMet', String(act));
      assert.equal(await outcome(act("colour = 'red'")), 'ok', String(act));
    }
  });

  test('is about the snapshot that is asked for', async () => {
    const blob = await freshBlob({ colour: 'red' });
    const { snapshot = '' } = await blob.createSnapshot();
    await blob.setTags({ colour: 'blue' });
    const past = blob.withSnapshot(snapshot);
    assert.equal(await outcome(past.getProperties({ conditions: { tagConditions: "colour = 'red'" } })), 'ok');
    const wrong = past.getProperties({ conditions: { tagConditions: "colour = 'blue'" } });
    assert.equal(await refusal(wrong), '412 ConditionNotMet');
  });

  test('is not met by what is not there, and nothing to Put Block', async () => {
    const blob = freshName();
    const conditions = { tagConditions: "colour = 'red'" };
    assert.equal(await refusal(blob.upload('x', 1, { conditions })), '412 ConditionNotMet');
    assert.equal(await refusal(blob.download(0, 1, { conditions })), '404 BlobNotFound');
    const headers = { 'x-ms-if-tags': "colour = 'red'" };
    assert.equal((await raw(blob, 'PUT', '?comp=block&blockid=YQ%3D%3D', { headers, body: 'x' })).status, 201);
  });

  for (const [expression, want] of [
    ["a = '1' AND b = '2'", true],
    ["a = '1' OR b = 'x'", true],
    ["a = 'x' OR b = 'x'", false],
    ["a <> 'x'", true],
    ["a <> '1'", false],
    ["a > '0' AND a >= '1' AND a < '2' AND a <= '1'", true],
    ["(a = 'x' OR b = '2') AND a = '1'", true],
    ['"a tag" = \'with a space\'', true],
    ["none <> 'x'", false],
  ] as const) {
    test(`${expression} is ${want}`, async () => {
      const blob = await freshBlob({ a: '1', b: '2', 'a tag': 'with a space' });
      const met = await outcome(blob.getTags({ conditions: { tagConditions: expression } }));
      assert.equal(met, want ? 'ok' : '412 ConditionNotMet');
    });
  }

  test('says something about tags, so it takes t', async () => {
    const blob = await freshBlob({ a: 'b' });
    for (const [permissions, want] of [
      ['r', NOT_PERMITTED],
      ['rt', 'ok'],
    ] as const) {
      const options = { permissions: BlobSASPermissions.parse(permissions), expiresOn: inSeconds(60) };
      const guest = new BlobClient(await blob.generateSasUrl(options), undefined, NO_RETRIES);
      assert.equal(await outcome(guest.getProperties({ conditions: { tagConditions: "a = 'b'" } })), want);
    }
  });
});
