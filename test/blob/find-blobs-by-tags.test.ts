/** Find Blobs by Tags, in an account and in one container: what is found, in which pages, and by whom. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  AccountSASPermissions,
  BlobServiceClient,
  type BlockBlobClient,
  ContainerClient,
  ContainerSASPermissions,
} from '@azure/storage-blob';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService, freshContainer, NO_RETRIES, outcome } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT], onDisk: true });
const service = blobService(server);
const container = await freshContainer(service);

const NOT_PERMITTED = '403 AuthorizationPermissionMismatch';

/** The names of what is found, in the whole account unless a container is given. */
async function found(where: string, within: ContainerClient | BlobServiceClient = service): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of within.findBlobsByTags(where)) names.push(name);
  return names;
}

const findRaw = (query: string, path = '/'): Promise<RawResponse> =>
  send(server.url, { method: 'GET', path: `${path}?${path === '/' ? '' : 'restype=container&'}comp=blobs${query}` });

const markerOf = async (own: ContainerClient): Promise<string> => {
  await own.getBlockBlobClient('more').upload('x', 1, { tags: { k: 'v' } });
  const { body } = await findRaw("&where=k%3D'v'&maxresults=1", `/${own.containerName}`);
  return /<NextMarker>(.*)<\/NextMarker>/.exec(body.toString())?.[1] as string;
};

const at = (value: string): Promise<string[]> => found(`follows = '${value}'`);

describe('Find Blobs by Tags', () => {
  test('tells container, name and the tags that the query names', async () => {
    const own = await freshContainer(service);
    const [first, second] = ['a blob', 'ü/<&>"'].map((name) => own.getBlockBlobClient(name)) as [
      BlockBlobClient,
      BlockBlobClient,
    ];
    await first.upload('x', 1, { tags: { told: 'yes', kind: 'x', size: '1' } });
    await second.upload('x', 1, { tags: { told: 'yes', kind: 'x' } });
    for (const within of [service, own]) {
      const items = [];
      for await (const item of within.findBlobsByTags("told = 'yes' AND kind > 'a'")) items.push(item);
      const tags = { told: 'yes', kind: 'x' };
      assert.deepEqual(
        items.map(({ name, containerName, tags: matched }) => ({ name, containerName, matched })),
        [first, second].map(({ name }) => ({ name, containerName: own.containerName, matched: tags })),
      );
    }
    assert.deepEqual(await found(`@container = '${own.containerName}' AND size = '1'`), ['a blob']);
    assert.deepEqual(await found(`@container = '${container.containerName}' AND size = '1'`), []);
    assert.deepEqual(await found("@container = 'nowhere' AND size = '1'"), []);
  });

  test('compares texts, and takes several bounds', async () => {
    const own = await freshContainer(service);
    for (const value of ['', '1', '10', '2', 'a']) {
      await own.getBlockBlobClient(`[${value}]`).upload('x', 1, { tags: { n: value, other: 'x' } });
    }
    for (const [where, names] of [
      ["n = '1'", ['[1]']],
      ["n = ''", ['[]']],
      ["n > '1'", ['[10]', '[2]', '[a]']],
      ["n >= '1' AND n < '2'", ['[1]', '[10]']],
      ["n <= '10'", ['[]', '[1]', '[10]']],
      ["n > '1' AND n > '10'", ['[2]', '[a]']],
      ["n > '2' AND n < '1'", []],
      ["n >= '' AND other = 'x'", ['[]', '[1]', '[10]', '[2]', '[a]']],
      ["n >= '' AND other = 'y'", []],
      ['"n" = \'a\'', ['[a]']],
      ["N = '1'", []],
    ] as const) {
      assert.deepEqual((await found(where, own)).toSorted(), names.toSorted(), where);
    }
  });

  test('follows every change at once', async () => {
    const own = await freshContainer(service);
    const blob = own.getBlockBlobClient('blob');
    await blob.upload('x', 1, { tags: { follows: '1' } });
    assert.deepEqual(await at('1'), ['blob']);
    await blob.setTags({ follows: '2' });
    assert.deepEqual([await at('1'), await at('2')], [[], ['blob']]);
    await blob.commitBlockList([], { tags: { follows: '3' } });
    assert.deepEqual([await at('2'), await at('3')], [[], ['blob']]);
    await own.getAppendBlobClient('blob').create({ tags: { follows: '4' } });
    assert.deepEqual([await at('3'), await at('4')], [[], ['blob']]);
    await blob.delete();
    assert.deepEqual(await at('4'), []);
    await blob.upload('x', 1, { tags: { follows: '5' } });
    await blob.upload('x', 1);
    assert.deepEqual(await at('5'), []);
    await blob.setTags({ follows: '6' });
    await own.delete();
    assert.deepEqual(await at('6'), []);
  });

  test('finds neither snapshots nor blobs without committed blocks', async () => {
    const own = await freshContainer(service);
    const blob = own.getBlockBlobClient('blob');
    await blob.upload('x', 1, { tags: { once: 'yes' } });
    const { snapshot = '' } = await blob.createSnapshot();
    await own.getBlockBlobClient('staged').stageBlock('YQ==', 'x', 1);
    assert.deepEqual(await found("once = 'yes'"), ['blob']);
    await blob.setTags({});
    await blob.withSnapshot(snapshot).setTags({ once: 'yes', more: 'yes' });
    assert.deepEqual(await found("once = 'yes'"), []);
  });

  test('finds nothing of another account', async () => {
    const other = await freshContainer(blobService(server, SECOND_ACCOUNT));
    await other.getBlockBlobClient('blob').upload('x', 1, { tags: { theirs: 'yes' } });
    assert.deepEqual(await found("theirs = 'yes'"), []);
    assert.deepEqual(await found("theirs = 'yes'", other), ['blob']);
  });

  test('comes in pages', async () => {
    const own = await freshContainer(service);
    const names = Array.from({ length: 7 }, (_, index) => `blob-${index}`);
    for (const name of names) await own.getBlockBlobClient(name).upload('x', 1, { tags: { paged: 'yes' } });
    const sizes: number[] = [];
    const listed: string[] = [];
    for await (const { blobs } of service.findBlobsByTags("paged = 'yes'").byPage({ maxPageSize: 3 })) {
      sizes.push(blobs.length);
      listed.push(...blobs.map(({ name }) => name));
    }
    assert.deepEqual([sizes, listed], [[3, 3, 1], names]);
    const all = await findRaw("&where=paged%20%3D%20'yes'&maxresults=9999");
    assert.equal(all.body.toString().match(/<Blob>/g)?.length, 7);
    assert.match(all.body.toString(), /<Where>paged = 'yes'<\/Where>.*<NextMarker ?\/>|<NextMarker><\/NextMarker>/);
  });

  test('gives no blob of another container for a marker made by hand', async () => {
    const [one, two] = [await freshContainer(service), await freshContainer(service)];
    for (const own of [one, two]) await own.getBlockBlobClient('blob').upload('x', 1, { tags: { k: 'v' } });
    for (const [own, foreign] of [
      [one, two],
      [two, one],
    ] as const) {
      const marker = encodeURIComponent(await markerOf(foreign));
      const { outcome: text } = await findRaw(`&where=k%3D'v'&marker=${marker}`, `/${own.containerName}`);
      assert.equal(text, '400 InvalidQueryParameterValue');
    }
  });

  for (const [query, want] of [
    ['', '400 MissingRequiredQueryParameter'],
    ['&where=', '400 InvalidQueryParameterValue'],
    ['&where=a', '400 InvalidQueryParameterValue'],
    ['&where=a%3Db', '400 InvalidQueryParameterValue'],
    ["&where=a%3C%3E'b'", '400 InvalidQueryParameterValue'],
    ["&where=a%3D'b'%20OR%20a%3D'c'", '400 InvalidQueryParameterValue'],
    ["&where=(a%3D'b')", '400 InvalidQueryParameterValue'],
    ["&where=%40container%3D'b'", '400 InvalidQueryParameterValue'],
    ["&where=a%3D'b'%20AND", '400 InvalidQueryParameterValue'],
    ["&where=a%3D'b'&maxresults=0", '400 OutOfRangeQueryParameterValue'],
    ["&where=a%3D'b'&maxresults=x", '400 InvalidQueryParameterValue'],
    ["&where=a%3D'b'&marker=x", '400 InvalidQueryParameterValue'],
    ["&where=a%3D'b'&marker=2!QUFB", '400 InvalidQueryParameterValue'],
  ] as const) {
    test(`comp=blobs${decodeURIComponent(query)}: ${want}`, async () => {
      assert.equal((await findRaw(query)).outcome, want);
      assert.equal((await findRaw(query, `/${container.containerName}`)).outcome, want);
    });
  }

  test('in a container takes no other one, and needs one that is there', async () => {
    const where = `&where=%40container%3D'${container.containerName}'%20AND%20a%3D'b'`;
    const { outcome: text } = await findRaw(where, `/${container.containerName}`);
    assert.equal(text, '400 InvalidQueryParameterValue');
    assert.equal((await findRaw("&where=a%3D'b'", '/nowhere')).outcome, '404 ContainerNotFound');
  });

  test('is open to a token with f', async () => {
    const expiresOn = new Date(server.clock.nowMs() + 60_000);
    for (const [permissions, want] of [
      ['f', 'ok'],
      ['rlt', NOT_PERMITTED],
    ] as const) {
      const ofAccount = AccountSASPermissions.parse(permissions);
      const guestUrl = service.generateAccountSasUrl(expiresOn, ofAccount, 'sco');
      const guest = new BlobServiceClient(guestUrl, undefined, NO_RETRIES);
      assert.equal(await outcome(found("a = 'b'", guest)), want);
      const ofContainer = ContainerSASPermissions.parse(permissions);
      const url = await container.generateSasUrl({ permissions: ofContainer, expiresOn });
      assert.equal(await outcome(found("a = 'b'", new ContainerClient(url, undefined, NO_RETRIES))), want);
    }
  });
});

test('the longest names with the longest tags are found', async () => {
  const own = await freshContainer(service);
  const name = 'ü'.repeat(1024);
  const tags = { ['n'.repeat(128)]: 'v'.repeat(256) };
  await own.getBlockBlobClient(name).upload('x', 1, { tags });
  assert.deepEqual(await found(`"${'n'.repeat(128)}" = '${'v'.repeat(256)}'`), [name]);
});
