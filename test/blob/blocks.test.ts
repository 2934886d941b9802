/** Put Block, Put Block List and Get Block List: staging, the three kinds of look-up, and what a commit replaces. */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { BlockBlobClient } from '@azure/storage-blob';
import { blobService, freshContainer, outcome, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess();
const service = blobService(server);
const container = await freshContainer(service);

const md5 = (text: string): Buffer => createHash('md5').update(text).digest();

const freshName = (): BlockBlobClient => container.getBlockBlobClient(randomUUID());
const blockId = (text: string): string => Buffer.from(text).toString('base64');
const stage = (blob: BlockBlobClient, id: string, content: string): Promise<unknown> =>
  blob.stageBlock(blockId(id), content, Buffer.byteLength(content));
const textOf = async (blob: BlockBlobClient): Promise<string> => (await blob.downloadToBuffer()).toString();

type ListEntry = readonly ['Committed' | 'Uncommitted' | 'Latest', string];

/** A block list with chosen look-ups, which the official client does not offer. */
function commit(blob: BlockBlobClient, entries: readonly ListEntry[], headers = {}): Promise<RawResponse> {
  const elements = entries.map(([kind, id]) => `<${kind}>${blockId(id)}</${kind}>`).join('');
  return send(server.url, {
    method: 'PUT',
    path: `/${container.containerName}/${blob.name}?comp=blocklist`,
    headers,
    body: `<?xml version="1.0" encoding="utf-8"?>\n<BlockList>${elements}</BlockList>`,
  });
}

const print = ({ name, size }: { name: string; size: number }): string =>
  `${Buffer.from(name, 'base64').toString()}:${size}`;

async function blocksOf(blob: BlockBlobClient): Promise<{ committed: string[]; uncommitted: string[] }> {
  const { committedBlocks = [], uncommittedBlocks = [] } = await blob.getBlockList('all');
  return { committed: committedBlocks.map(print), uncommitted: uncommittedBlocks.map(print) };
}

describe('Put Block', () => {
  test('stages without changing what readers see', async () => {
    const blob = freshName();
    const { etag } = await blob.upload('before', 6);
    await stage(blob, 'a', 'staged');
    assert.equal(await textOf(blob), 'before');
    assert.equal((await blob.getProperties()).etag, etag);
    assert.deepEqual(await blocksOf(blob), { committed: [], uncommitted: ['a:6'] });
  });

  test('makes an uncommitted blob that is not there for readers', async () => {
    const blob = freshName();
    await stage(blob, 'a', 'staged');
    assert.equal(await refusal(blob.download()), '404 BlobNotFound');
    assert.equal(await refusal(blob.getProperties()), '404 BlobNotFound');
    const { etag, committedBlocks, uncommittedBlocks } = await blob.getBlockList('all');
    assert.equal(etag, undefined);
    assert.deepEqual([committedBlocks?.length ?? 0, uncommittedBlocks?.length], [0, 1]);
  });

  test('with the same id replaces the staged block', async () => {
    const blob = freshName();
    await stage(blob, 'a', 'first');
    await stage(blob, 'a', 'second!');
    assert.deepEqual((await blocksOf(blob)).uncommitted, ['a:7']);
    await blob.commitBlockList([blockId('a')]);
    assert.equal(await textOf(blob), 'second!');
  });

  test('wants ids of one length, staged and committed', async () => {
    const blob = freshName();
    await stage(blob, 'aa', 'x');
    assert.equal(await refusal(stage(blob, 'b', 'x')), '400 InvalidBlobOrBlock');
    await blob.commitBlockList([blockId('aa')]);
    assert.equal(await refusal(stage(blob, 'bbb', 'x')), '400 InvalidBlobOrBlock');
    assert.equal(await outcome(stage(blob, 'bb', 'x')), 'ok');
  });

  test('takes ids of up to 64 bytes, in Base64', async () => {
    assert.equal(await outcome(stage(freshName(), 'x'.repeat(64), 'x')), 'ok');
    assert.equal(await refusal(stage(freshName(), 'x'.repeat(65), 'x')), '400 InvalidQueryParameterValue');
    assert.equal(await refusal(freshName().stageBlock('not base64!', 'x', 1)), '400 InvalidQueryParameterValue');
  });

  test('refuses an empty block, and a missing id', async () => {
    const path = `/${container.containerName}/${randomUUID()}?comp=block`;
    const empty = await send(server.url, { method: 'PUT', path: `${path}&blockid=YQ%3D%3D`, headers: {} });
    assert.equal(empty.outcome, '400 InvalidHeaderValue');
    const unnamed = await send(server.url, { method: 'PUT', path, body: 'x' });
    assert.match(unnamed.outcome, /^400 (MissingRequiredQueryParameter|InvalidQueryParameterValue)$/);
  });

  test('checks the MD5 and the CRC64 of the block', async () => {
    const blob = freshName();
    const right = { transactionalContentMD5: md5('x') };
    const answer = await blob.stageBlock(blockId('a'), 'x', 1, right);
    assert.deepEqual(Buffer.from(answer.contentMD5 as Uint8Array), md5('x'));
    const wrong = { transactionalContentMD5: md5('y') };
    assert.equal(await refusal(blob.stageBlock(blockId('b'), 'x', 1, wrong)), '400 Md5Mismatch');
    const plain = await blob.stageBlock(blockId('c'), 'x', 1);
    const crc64 = plain.xMsContentCrc64 as Uint8Array;
    assert.equal(crc64.length, 8);
    assert.equal(await outcome(blob.stageBlock(blockId('d'), 'x', 1, { transactionalContentCrc64: crc64 })), 'ok');
    const mismatch = blob.stageBlock(blockId('e'), 'y', 1, { transactionalContentCrc64: crc64 });
    assert.equal(await refusal(mismatch), '400 Crc64Mismatch');
    assert.deepEqual((await blocksOf(blob)).uncommitted, ['a:1', 'c:1', 'd:1']);
  });

  test('staged blocks go with Put Blob and with Delete Blob', async () => {
    const blob = freshName();
    await stage(blob, 'a', 'x');
    await blob.upload('put', 3);
    assert.deepEqual((await blocksOf(blob)).uncommitted, []);
    await stage(blob, 'a', 'x');
    await blob.delete();
    assert.equal(await refusal(blob.getBlockList('all')), '404 BlobNotFound');
    await stage(blob, 'longer id now', 'x');
    await blob.delete();
    assert.equal(await refusal(blob.commitBlockList([blockId('longer id now')])), '400 InvalidBlockList');
  });

  test('staged blocks go after a week without another', async () => {
    const own = await startInProcess();
    const name = `/blocks/${randomUUID()}`;
    const request = (method: string, path: string, body?: string): Promise<RawResponse> =>
      send(own.url, { method, path, ...(body === undefined ? {} : { body }) });
    await request('PUT', '/blocks?restype=container');
    assert.equal((await request('PUT', `${name}?comp=block&blockid=YQ%3D%3D`, 'x')).status, 201);
    own.clock.advance({ seconds: 7 * 24 * 3600 - 1 });
    assert.match((await request('GET', `${name}?comp=blocklist&blocklisttype=all`)).body.toString(), /<Name>YQ==</);
    own.clock.advance({ seconds: 2 });
    const list = '<BlockList><Latest>YQ==</Latest></BlockList>';
    assert.equal((await request('PUT', `${name}?comp=blocklist`, list)).outcome, '400 InvalidBlockList');
  });
});

describe('Put Block List', () => {
  test('puts the blocks together in the order of the list, repeats included', async () => {
    const blob = freshName();
    for (const id of ['a', 'b', 'c']) await stage(blob, id, id.repeat(3));
    const { etag } = await blob.commitBlockList(['c', 'a', 'c'].map(blockId));
    assert.equal(await textOf(blob), 'cccaaaccc');
    assert.equal((await blob.getProperties()).etag, etag);
    assert.deepEqual(await blocksOf(blob), { committed: ['c:3', 'a:3', 'c:3'], uncommitted: [] });
  });

  test('finds Committed among the committed, Uncommitted among the staged, Latest staged first', async () => {
    const blob = freshName();
    await stage(blob, 'a', 'old');
    await blob.commitBlockList([blockId('a')]);
    await stage(blob, 'a', 'new');
    assert.equal((await commit(blob, [['Committed', 'a']])).status, 201);
    assert.equal(await textOf(blob), 'old');
    await stage(blob, 'a', 'new');
    assert.equal((await commit(blob, [['Uncommitted', 'a']])).status, 201);
    assert.equal(await textOf(blob), 'new');
    assert.equal((await commit(blob, [['Latest', 'a']])).status, 201);
    assert.equal(await textOf(blob), 'new');
    await stage(blob, 'a', 'newest');
    assert.equal((await commit(blob, [['Latest', 'a']])).status, 201);
    assert.equal(await textOf(blob), 'newest');
    assert.equal((await commit(blob, [['Uncommitted', 'a']])).outcome, '400 InvalidBlockList');
    await stage(blob, 'b', 'b');
    assert.equal((await commit(blob, [['Committed', 'b']])).outcome, '400 InvalidBlockList');
    assert.equal(await textOf(blob), 'newest');
  });

  test('mixes committed and staged blocks', async () => {
    const blob = freshName();
    for (const id of ['a', 'b']) await stage(blob, id, id);
    await blob.commitBlockList(['a', 'b'].map(blockId));
    await stage(blob, 'c', 'c');
    const entries = [
      ['Uncommitted', 'c'],
      ['Committed', 'b'],
      ['Committed', 'a'],
    ] as const;
    assert.equal((await commit(blob, entries)).status, 201);
    assert.equal(await textOf(blob), 'cba');
  });

  test('commits nothing when one block is unknown', async () => {
    const blob = freshName();
    await blob.upload('before', 6);
    await stage(blob, 'a', 'x');
    assert.equal(await refusal(blob.commitBlockList(['a', 'z'].map(blockId))), '400 InvalidBlockList');
    assert.equal(await textOf(blob), 'before');
    assert.deepEqual((await blocksOf(blob)).uncommitted, ['a:1'], 'a refused list discards nothing');
  });

  test('discards every block that it does not name', async () => {
    const blob = freshName();
    for (const id of ['a', 'b']) await stage(blob, id, id);
    await blob.commitBlockList([blockId('a')]);
    assert.deepEqual(await blocksOf(blob), { committed: ['a:1'], uncommitted: [] });
    assert.equal(await refusal(blob.commitBlockList([blockId('b')])), '400 InvalidBlockList');
  });

  test('that is empty makes an empty blob', async () => {
    const blob = freshName();
    await blob.commitBlockList([]);
    assert.equal((await blob.getProperties()).contentLength, 0);
    assert.equal(await textOf(blob), '');
  });

  test('replaces headers and metadata, and keeps no MD5 but the one it is given', async () => {
    const blob = freshName();
    await blob.upload('x', 1, { metadata: { a: 'b' }, blobHTTPHeaders: { blobContentType: 'text/plain' } });
    await stage(blob, 'a', 'x');
    const plain = await commit(blob, [['Latest', 'a']], { 'content-type': 'text/xml' });
    assert.equal(plain.status, 201);
    const cleared = await blob.getProperties();
    assert.deepEqual(cleared.metadata, {});
    assert.equal(cleared.contentType, 'application/octet-stream', 'the type of the list is not the type of the blob');
    assert.equal(cleared.contentMD5, undefined);
    const blobContentMD5 = md5('unchecked');
    const blobHTTPHeaders = { blobContentType: 'image/png', blobContentMD5 };
    await blob.commitBlockList([blockId('a')], { blobHTTPHeaders, metadata: { c: 'd' } });
    const given = await blob.getProperties();
    assert.deepEqual(given.metadata, { c: 'd' });
    assert.equal(given.contentType, 'image/png');
    assert.deepEqual(Buffer.from(given.contentMD5 as Uint8Array), blobContentMD5);
  });

  test('checks the MD5 of the list itself', async () => {
    const blob = freshName();
    const other = md5('another list').toString('base64');
    assert.equal((await commit(blob, [], { 'content-md5': other })).outcome, '400 Md5Mismatch');
    assert.equal(await blob.exists(), false);
  });

  test('keeps a lease', async () => {
    const blob = freshName();
    await blob.upload('x', 1);
    const { leaseId = '' } = await blob.getBlobLeaseClient().acquireLease(60);
    const conditions = { leaseId };
    await blob.stageBlock(blockId('a'), 'y', 1, { conditions });
    await blob.commitBlockList([blockId('a')], { conditions });
    assert.equal((await blob.getProperties()).leaseState, 'leased');
  });

  for (const [what, body, want] of [
    ['no XML', 'plain text', '400 InvalidXmlDocument'],
    ['an open element', '<BlockList><Latest>YQ==</BlockList>', '400 InvalidXmlDocument'],
    ['an unknown root', '<Blocks/>', '400 InvalidXmlDocument'],
    ['an unknown element', '<BlockList><Newest>YQ==</Newest></BlockList>', '400 InvalidXmlDocument'],
  ] as const) {
    test(`with ${what} is refused`, async () => {
      const path = `/${container.containerName}/${randomUUID()}?comp=blocklist`;
      assert.equal((await send(server.url, { method: 'PUT', path, body })).outcome, want);
    });
  }

  test('holds 50,000 blocks and not one more', async () => {
    const blob = freshName();
    await stage(blob, 'a', 'x');
    const entries = Array.from({ length: 50_000 }, () => ['Latest', 'a'] as const);
    assert.equal((await commit(blob, [...entries, ['Latest', 'a']])).outcome, '400 BlockListTooLong');
    assert.equal((await commit(blob, entries)).status, 201);
    assert.equal((await blob.getProperties()).contentLength, 50_000);
  });
});

describe('Get Block List', () => {
  test('gives the committed ones by default, and what it is asked for', async () => {
    const blob = freshName();
    for (const id of ['a', 'b']) await stage(blob, id, id);
    await blob.commitBlockList(['b', 'a'].map(blockId));
    await stage(blob, 'c', 'cc');
    const path = `/${container.containerName}/${blob.name}?comp=blocklist`;
    const { body, headers } = await send(server.url, { method: 'GET', path });
    assert.match(body.toString(), /<CommittedBlocks>.*<Name>Yg==<\/Name><Size>1<\/Size>.*<Name>YQ==<\/Name>/s);
    assert.doesNotMatch(body.toString(), /Yw==/);
    assert.equal(headers['x-ms-blob-content-length'], '2');
    assert.match(headers['content-type'] ?? '', /^application\/xml/);
    const committed = await blob.getBlockList('committed');
    assert.deepEqual([committed.committedBlocks?.length, committed.uncommittedBlocks?.length ?? 0], [2, 0]);
    const uncommitted = await blob.getBlockList('uncommitted');
    assert.deepEqual([uncommitted.committedBlocks?.length ?? 0, uncommitted.uncommittedBlocks?.length], [0, 1]);
    assert.deepEqual(await blocksOf(blob), { committed: ['b:1', 'a:1'], uncommitted: ['c:2'] });
  });

  test('of a blob made by Put Blob is empty', async () => {
    const blob = freshName();
    await blob.upload('x', 1);
    assert.deepEqual(await blocksOf(blob), { committed: [], uncommitted: [] });
  });

  test('refuses an unknown kind, and a blob that is not there', async () => {
    const blob = freshName();
    assert.equal(await refusal(blob.getBlockList('all')), '404 BlobNotFound');
    await blob.upload('x', 1);
    const path = `/${container.containerName}/${blob.name}?comp=blocklist&blocklisttype=some`;
    assert.equal((await send(server.url, { method: 'GET', path })).outcome, '400 InvalidQueryParameterValue');
  });
});
