/**
 * Random requests over the whole request surface, signed and unsigned, well-formed and not. Whatever comes, the server
 * answers, never with a 5xx (but 501), and lives. Seeded and bounded; LARIMAR_SEED replays a run, request by request.
 */
// tier: both
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService } from '../harness/clients.ts';
import {
  closingBytes,
  damaged,
  fuzz,
  isFramedBySender,
  type Lane,
  problemOf,
  SIGNERS,
  withHeaders,
} from '../harness/fuzz.ts';
import type { RawRequest } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { Random } from '../harness/random.ts';
import { byTier } from '../harness/tier.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const { seed } = new Random();

const REQUESTS_MAX = byTier({ quick: 3_000, system: 12_000 });
const RUN_SECONDS = 20;

const METHODS = ['GET', 'GET', 'PUT', 'PUT', 'PUT', 'HEAD', 'DELETE', 'POST', 'OPTIONS', 'PATCH', 'MERGE', 'TRACE'];
const CONTAINERS = ['fuzz-a', 'fuzz-b', '$root', '$logs', 'UPPER', 'x', 'a--b', '%00', '%ff', '..', '%2e%2e', ''];
const BLOBS = [
  'a',
  'b',
  'a/b',
  'a%2Fb',
  '%20',
  '%',
  '%zz',
  '+',
  '%F0%9F%AA%A8',
  'x'.repeat(1100),
  '%EF%BF%BF',
  '.',
  '..',
  '?',
  '#',
];
const WORDS: [string, readonly string[]][] = [
  ['restype', ['container', 'service', 'account', 'Container', 'x', '']],
  [
    'comp',
    [
      'list',
      'metadata',
      'properties',
      'acl',
      'lease',
      'block',
      'blocklist',
      'stats',
      'batch',
      'tags',
      'tier',
      'snapshot',
      'copy',
      'page',
      'appendblock',
      'pagelist',
      'undelete',
      'query',
      'seal',
      'expiry',
      'userdelegationkey',
      'blobs',
      'x',
      '',
    ],
  ],
  ['blockid', ['YQ%3D%3D', 'YQ==', '!!', '', 'A'.repeat(200)]],
  ['blocklisttype', ['all', 'committed', 'uncommitted', 'x']],
  ['include', ['metadata', 'uncommittedblobs', 'snapshots,metadata', 'deleted', 'x', '']],
  ['maxresults', ['1', '0', '-1', '5000', '99999999999999999999', 'x', '1.5']],
  ['prefix', ['a', '%00', '%ff', 'x'.repeat(500), '']],
  ['delimiter', ['/', '%2F', 'ab', '', '%F0%9F%AA%A8']],
  ['marker', ['a', '!', 'MQ==', '%ff', 'x'.repeat(300), '']],
  ['timeout', ['1', '0', '-1', 'x', '99999999999']],
  ['snapshot', ['2024-01-01T00:00:00.0000000Z', 'x', '']],
  ['versionid', ['2024-01-01T00:00:00.0000000Z', 'x']],
  ['sv', ['2024-11-04', '2015-04-05', 'x', '']],
  ['sr', ['b', 'c', 'x']],
  ['sp', ['r', 'rw', 'wr', '', 'racwdxyltfmeopi']],
  ['se', ['2099-01-01', 'x', '2000-01-01T00:00Z', '']],
  ['sig', ['x', 'AAAA', '%00', Buffer.alloc(32).toString('base64')]],
  ['ss', ['b', 'q', 'x']],
  ['srt', ['sco', 'x']],
  ['si', ['p', '']],
  ['where', ['a=b', "a = 'b'"]],
  ['copyid', ['x']],
  ['%ff', ['%ff']],
];
const HEADERS: [string, readonly string[]][] = [
  ['x-ms-blob-type', ['BlockBlob', 'BlockBlob', 'PageBlob', 'AppendBlob', 'x', '']],
  ['x-ms-version', ['2024-11-04', '2009-09-19', '2015-02-21', '2026-06-06', '2099-01-01', 'x', '']],
  ['x-ms-date', ['x', '', 'Thu, 01 Jan 1970 00:00:00 GMT']],
  ['x-ms-lease-action', ['acquire', 'renew', 'change', 'release', 'break', 'x', '']],
  ['x-ms-lease-duration', ['15', '-1', '0', '61', 'x', '']],
  ['x-ms-lease-break-period', ['0', '60', '61', '-1', 'x']],
  ['x-ms-lease-id', ['aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', '{aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa}', 'x', '']],
  ['x-ms-proposed-lease-id', ['aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb', 'x']],
  ['if-match', ['*', '"0x8D"', 'x', '', '"a", "b"']],
  ['if-none-match', ['*', '"0x8D"', 'x', '']],
  ['if-modified-since', ['Thu, 01 Jan 2015 00:00:00 GMT', 'x', 'Thu, 01 Jan 2099 00:00:00 GMT']],
  ['if-unmodified-since', ['Thu, 01 Jan 2015 00:00:00 GMT', 'x', 'Thu, 01 Jan 2099 00:00:00 GMT']],
  ['range', ['bytes=0-1', 'bytes=5-', 'bytes=-1', 'bytes=9-1', 'x', 'bytes=0-99999999999999999999']],
  ['x-ms-range', ['bytes=0-1', 'bytes=5-', 'x', '']],
  ['x-ms-range-get-content-md5', ['true', 'false', 'x']],
  ['x-ms-range-get-content-crc64', ['true', 'x']],
  ['content-md5', ['x', 'AAAAAAAAAAAAAAAAAAAAAA==', '']],
  ['x-ms-content-crc64', ['x', 'AAAAAAAAAAA=', '']],
  ['x-ms-blob-content-md5', ['x', 'AAAAAAAAAAAAAAAAAAAAAA==']],
  ['content-type', ['text/plain', 'application/xml', '', '\u00e9']],
  ['x-ms-blob-content-type', ['text/plain', '', 'x'.repeat(3000)]],
  ['x-ms-meta-a', ['b', '', '\u00e9', 'x'.repeat(9000)]],
  ['x-ms-meta-1', ['b']],
  ['x-ms-meta-', ['b']],
  ['x-ms-blob-public-access', ['blob', 'container', 'x', '']],
  ['x-ms-delete-snapshots', ['include', 'only', 'x']],
  ['x-ms-copy-source', ['http://127.0.0.1:1/x', 'x', '']],
  ['x-ms-requires-sync', ['true', 'x']],
  ['x-ms-access-tier', ['Hot', 'Archive', 'x']],
  ['x-ms-tags', ['a=b', '=', '%']],
  ['x-ms-client-request-id', ['x', 'x'.repeat(2000), '\u00e9']],
  ['x-ms-encryption-key', ['x', Buffer.alloc(32).toString('base64')]],
  ['x-ms-encryption-algorithm', ['AES256', 'x']],
  ['origin', ['http://a.example', 'x', '']],
  ['access-control-request-method', ['GET', 'x', '']],
  ['access-control-request-headers', ['x-ms-meta-a', '', '*']],
  ['expect', ['100-continue', 'x']],
  [
    'authorization',
    ['x', 'SharedKey x', 'SharedKey devstoreaccount1:x', 'SharedKeyLite devstoreaccount1:AAAA', 'Bearer x', ''],
  ],
  ['content-length', ['0', '3', '1000']],
  ['transfer-encoding', ['chunked']],
  ['host', ['devstoreaccount1.blob.localhost', 'x', '', '[::1]']],
];
const BODIES = [
  '',
  'x',
  'some content',
  '<BlockList><Latest>YQ==</Latest></BlockList>',
  '<BlockList/>',
  '<BlockList><Latest>!</Latest>',
  '<SignedIdentifiers/>',
  '<SignedIdentifiers><SignedIdentifier><Id>p</Id></SignedIdentifier></SignedIdentifiers>',
  '<StorageServiceProperties/>',
  '<StorageServiceProperties><Cors/></StorageServiceProperties>',
  '<StorageServiceProperties><DefaultServiceVersion>x</DefaultServiceVersion></StorageServiceProperties>',
  '3\r\nabc\r\n0\r\n\r\n',
  '\0\0\0',
];

function pathAndQuery(random: Random): string {
  const levels = random.below(3);
  const path = ['', ...(levels > 0 ? [random.pick(CONTAINERS)] : []), ...(levels > 1 ? [random.pick(BLOBS)] : [])].join(
    '/',
  );
  const words = Array.from({ length: random.below(5) }, () => random.pick(WORDS)).map(
    ([name, values]) => `${random.chance(0.05) ? name.toUpperCase() : name}=${random.pick(values)}`,
  );
  return `${path === '' ? '/' : path}${words.length === 0 ? '' : `?${words.join('&')}`}`;
}

/** Requests that mean something come often enough to bring the server into states where the odd ones matter. */
const SENSIBLE: ((random: Random) => RawRequest)[] = [
  (random) => ({ method: 'PUT', path: `/${random.pick(['fuzz-a', 'fuzz-b'])}?restype=container` }),
  () => ({ method: 'DELETE', path: '/fuzz-b?restype=container' }),
  (random) => ({
    method: 'PUT',
    path: `/fuzz-a/${random.pick(['a', 'b'])}`,
    headers: { 'x-ms-blob-type': 'BlockBlob' },
    body: 'content',
  }),
  () => ({ method: 'PUT', path: '/fuzz-a/a?comp=block&blockid=YQ%3D%3D', body: 'block' }),
  () => ({ method: 'PUT', path: '/fuzz-a/a?comp=blocklist', body: BODIES[3] as string }),
  (random) => ({
    method: 'PUT',
    path: '/fuzz-a/a?comp=lease',
    headers: { 'x-ms-lease-action': random.pick(['acquire', 'break']), 'x-ms-lease-duration': '15' },
  }),
  () => ({ method: 'GET', path: '/fuzz-a?restype=container&comp=list&include=metadata,uncommittedblobs' }),
];

function randomRequest(random: Random): RawRequest {
  const account = random.pick(SIGNERS);
  if (random.chance(0.4)) {
    const sensible = random.pick(SENSIBLE)(random);
    return random.chance(0.5) ? sensible : withHeaders(random, { ...sensible, account }, HEADERS);
  }
  const odd = {
    method: random.pick(METHODS),
    path: pathAndQuery(random),
    body: random.pick(BODIES),
    account,
  };
  return withHeaders(random, odd, HEADERS);
}

test('random requests are answered, never with a 5xx but 501, and the server lives', async (t) => {
  const openLane = (random: Random): Lane => ({
    next() {
      const request = randomRequest(random);
      const sent = damaged(random, closingBytes(server.url, request), { changedMax: 200, cutChance: 0.03 });
      const complete = sent.complete && !isFramedBySender(request);
      return { ...sent, complete, problemOf: (answer) => problemOf(answer, complete) };
    },
  });
  const { url } = server;
  await fuzz(t, { url, seed, requestsMax: REQUESTS_MAX, seconds: RUN_SECONDS, openLane, statuses: [200, 201] });
  const container = blobService(server).getContainerClient('afterwards');
  await container.create();
  await container.uploadBlockBlob('alive', 'yes', 3);
  assert.equal((await container.getBlobClient('alive').downloadToBuffer()).toString(), 'yes');
});
