/**
 * Every lease action in every lease state, and every use of a blob and a container in every lease state, over HTTP.
 * Requests are plain: the official client always proposes an id and always sends a break period.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess();

const A = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa';
const B = 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb';
const C = 'cccccccc-cccc-4ccc-8ccc-cccccccccccc';

type State = 'available' | 'leased' | 'breaking' | 'broken' | 'expired';
const STATES: readonly State[] = ['available', 'leased', 'breaking', 'broken', 'expired'];

function request(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<RawResponse> {
  return send(server.url, { method, path, headers, ...(body === undefined ? {} : { body }) });
}

interface Target {
  readonly kind: 'blob' | 'container';
  readonly path: string;
}

function uri({ kind, path }: Target, comp = ''): string {
  const words = [kind === 'container' ? 'restype=container' : '', comp].filter((word) => word !== '');
  return words.length === 0 ? path : `${path}?${words.join('&')}`;
}

const CONTAINER = `/leases-${randomUUID()}`;
await request('PUT', `${CONTAINER}?restype=container`);

async function makeTarget(kind: Target['kind']): Promise<Target> {
  if (kind === 'blob') {
    const path = `${CONTAINER}/${randomUUID()}`;
    assert.equal((await request('PUT', path, { 'x-ms-blob-type': 'BlockBlob' }, 'x')).status, 201);
    return { kind, path };
  }
  const path = `/leased-${randomUUID()}`;
  assert.equal((await request('PUT', `${path}?restype=container`)).status, 201);
  return { kind, path };
}

function lease(target: Target, action: string, headers: Record<string, string> = {}): Promise<RawResponse> {
  return request('PUT', uri(target, 'comp=lease'), { 'x-ms-lease-action': action, ...headers });
}

const LEASE_SECONDS = 30;
const acquireWith = (id: string | null, seconds = LEASE_SECONDS): Record<string, string> => ({
  'x-ms-lease-duration': String(seconds),
  ...(id === null ? {} : { 'x-ms-proposed-lease-id': id }),
});

async function bringTo(state: State, kind: Target['kind']): Promise<Target> {
  const target = await makeTarget(kind);
  if (state === 'available') return target;
  assert.equal((await lease(target, 'acquire', acquireWith(A))).status, 201);
  if (state === 'expired') server.clock.advance({ seconds: LEASE_SECONDS });
  if (state === 'breaking')
    assert.equal((await lease(target, 'break', { 'x-ms-lease-break-period': '20' })).status, 202);
  if (state === 'broken') assert.equal((await lease(target, 'break', { 'x-ms-lease-break-period': '0' })).status, 202);
  return target;
}

async function stateOf(target: Target): Promise<string> {
  const { headers } = await request('HEAD', uri(target));
  return headers['x-ms-lease-state'] as string;
}

const PRESENT = '409 LeaseAlreadyPresent';
const MISMATCH = '409 LeaseIdMismatchWithLeaseOperation';
const NOT_PRESENT = '409 LeaseNotPresentWithLeaseOperation';
const CANNOT_RENEW = '409 LeaseIsBrokenAndCannotBeRenewed';
const CANNOT_CHANGE = '409 LeaseIsBreakingAndCannotBeChanged';

const change = (from: string, to: string): Record<string, string> => ({
  'x-ms-lease-id': from,
  'x-ms-proposed-lease-id': to,
});

/** Each row: the action, then status and state afterwards (or the refusal), in the order of STATES. */
const ROWS: [name: string, action: string, headers: Record<string, string>, ...cells: string[]][] = [
  ['acquire, no id', 'acquire', acquireWith(null), '201 leased', PRESENT, PRESENT, '201 leased', '201 leased'],
  [
    'acquire A',
    'acquire',
    acquireWith(A),
    '201 leased',
    '201 leased',
    '409 LeaseIsBreakingAndCannotBeAcquired',
    '201 leased',
    '201 leased',
  ],
  ['acquire B', 'acquire', acquireWith(B), '201 leased', PRESENT, PRESENT, '201 leased', '201 leased'],
  ['renew A', 'renew', { 'x-ms-lease-id': A }, MISMATCH, '200 leased', CANNOT_RENEW, CANNOT_RENEW, '200 leased'],
  ['renew B', 'renew', { 'x-ms-lease-id': B }, MISMATCH, MISMATCH, MISMATCH, MISMATCH, MISMATCH],
  ['change A to B', 'change', change(A, B), NOT_PRESENT, '200 leased', CANNOT_CHANGE, NOT_PRESENT, NOT_PRESENT],
  ['change B to A', 'change', change(B, A), NOT_PRESENT, '200 leased', CANNOT_CHANGE, NOT_PRESENT, NOT_PRESENT],
  ['change B to C', 'change', change(B, C), NOT_PRESENT, MISMATCH, MISMATCH, NOT_PRESENT, NOT_PRESENT],
  [
    'release A',
    'release',
    { 'x-ms-lease-id': A },
    MISMATCH,
    '200 available',
    '200 available',
    '200 available',
    '200 available',
  ],
  ['release B', 'release', { 'x-ms-lease-id': B }, MISMATCH, MISMATCH, MISMATCH, MISMATCH, MISMATCH],
  [
    'break 0',
    'break',
    { 'x-ms-lease-break-period': '0' },
    NOT_PRESENT,
    '202 broken 0',
    '202 broken 0',
    '202 broken 0',
    '202 broken 0',
  ],
  [
    'break 10',
    'break',
    { 'x-ms-lease-break-period': '10' },
    NOT_PRESENT,
    '202 breaking 10',
    '202 breaking 10',
    '202 broken 0',
    '202 broken 0',
  ],
  [
    'break 60',
    'break',
    { 'x-ms-lease-break-period': '60' },
    NOT_PRESENT,
    '202 breaking 30',
    '202 breaking 20',
    '202 broken 0',
    '202 broken 0',
  ],
  ['break', 'break', {}, NOT_PRESENT, '202 breaking 30', '202 breaking 20', '202 broken 0', '202 broken 0'],
];

for (const kind of ['blob', 'container'] as const) {
  describe(`a ${kind}'s lease`, () => {
    for (const [name, action, headers, ...cells] of ROWS) {
      for (const [index, state] of STATES.entries()) {
        const want = cells[index] as string;
        test(`${name} when ${state}: ${want}`, async () => {
          const target = await bringTo(state, kind);
          const before = (await request('HEAD', uri(target))).headers;
          const answer = await lease(target, action, headers);
          const after = await stateOf(target);
          if (answer.status >= 400) {
            assert.equal(answer.outcome, want);
            assert.equal(after, state, 'a refusal changes nothing');
            return;
          }
          const seconds = answer.headers['x-ms-lease-time'];
          assert.equal(`${answer.status} ${after}${seconds === undefined ? '' : ` ${seconds as string}`}`, want);
          assert.equal(answer.headers.etag, before.etag);
          assert.equal(answer.headers['last-modified'], before['last-modified']);
          const gives = action === 'release' || action === 'break' ? undefined : answer.headers['x-ms-lease-id'];
          assert.equal(answer.headers['x-ms-lease-id'], gives);
          if (action === 'change') assert.equal(gives, headers['x-ms-proposed-lease-id']);
        });
      }
    }

    test('reports its state, status and duration', async () => {
      const seen: Record<string, unknown> = {};
      for (const state of STATES) {
        const target = await bringTo(state, kind);
        const { headers } = await request('HEAD', uri(target));
        seen[state] = [headers['x-ms-lease-state'], headers['x-ms-lease-status'], headers['x-ms-lease-duration']];
      }
      assert.deepEqual(seen, {
        available: ['available', 'unlocked', undefined],
        leased: ['leased', 'locked', 'fixed'],
        breaking: ['breaking', 'locked', undefined],
        broken: ['broken', 'unlocked', undefined],
        expired: ['expired', 'unlocked', undefined],
      });
    });

    test('that is breaking is broken when its time is over', async () => {
      const target = await bringTo('breaking', kind);
      server.clock.advance({ seconds: 19.999 });
      assert.equal(await stateOf(target), 'breaking');
      server.clock.advance({ seconds: 0.001 });
      assert.equal(await stateOf(target), 'broken');
    });

    test('that is infinite breaks at once without a period, and after one that is given', async () => {
      const atOnce = await makeTarget(kind);
      await lease(atOnce, 'acquire', acquireWith(A, -1));
      assert.equal((await lease(atOnce, 'break')).headers['x-ms-lease-time'], '0');
      assert.equal(await stateOf(atOnce), 'broken');
      const later = await makeTarget(kind);
      await lease(later, 'acquire', acquireWith(A, -1));
      const { headers } = await lease(later, 'break', { 'x-ms-lease-break-period': '60' });
      assert.equal(headers['x-ms-lease-time'], '60');
      assert.equal(await stateOf(later), 'breaking');
    });

    test('is never lengthened by a second break', async () => {
      const target = await makeTarget(kind);
      await lease(target, 'acquire', acquireWith(A, -1));
      await lease(target, 'break', { 'x-ms-lease-break-period': '5' });
      const { headers } = await lease(target, 'break', { 'x-ms-lease-break-period': '60' });
      assert.equal(headers['x-ms-lease-time'], '5');
    });

    test('acquired again by its holder starts anew with the new duration', async () => {
      const target = await makeTarget(kind);
      await lease(target, 'acquire', acquireWith(A, 15));
      server.clock.advance({ seconds: 10 });
      assert.equal((await lease(target, 'acquire', acquireWith(A, 40))).status, 201);
      server.clock.advance({ seconds: 39 });
      assert.equal(await stateOf(target), 'leased');
      server.clock.advance({ seconds: 1 });
      assert.equal(await stateOf(target), 'expired');
    });

    test('keeps its end when its id changes, and a repeated change succeeds', async () => {
      const target = await makeTarget(kind);
      await lease(target, 'acquire', acquireWith(A, 20));
      server.clock.advance({ seconds: 15 });
      assert.equal((await lease(target, 'change', change(A, B))).status, 200);
      assert.equal((await lease(target, 'change', change(A, B))).status, 200);
      server.clock.advance({ seconds: 5 });
      assert.equal(await stateOf(target), 'expired');
    });

    test('is forgotten once released', async () => {
      const target = await bringTo('leased', kind);
      await lease(target, 'release', { 'x-ms-lease-id': A });
      assert.equal((await lease(target, 'renew', { 'x-ms-lease-id': A })).outcome, MISMATCH);
      assert.equal((await lease(target, 'release', { 'x-ms-lease-id': A })).outcome, MISMATCH);
      assert.equal((await lease(target, 'break')).outcome, NOT_PRESENT);
    });

    test('takes ids in any case', async () => {
      const target = await bringTo('leased', kind);
      assert.equal((await lease(target, 'renew', { 'x-ms-lease-id': A.toUpperCase() })).status, 200);
    });

    for (const [what, action, headers, want] of [
      ['no action', '', {}, /^400 (MissingRequiredHeader|InvalidHeaderValue)$/],
      ['an unknown action', 'borrow', {}, /^400 InvalidHeaderValue$/],
      ['no duration', 'acquire', {}, /^400 MissingRequiredHeader$/],
      ['a duration of 14', 'acquire', { 'x-ms-lease-duration': '14' }, /^400 InvalidHeaderValue$/],
      ['a duration of 61', 'acquire', { 'x-ms-lease-duration': '61' }, /^400 InvalidHeaderValue$/],
      ['a duration in words', 'acquire', { 'x-ms-lease-duration': 'long' }, /^400 InvalidHeaderValue$/],
      ['a break period of 61', 'break', { 'x-ms-lease-break-period': '61' }, /^400 InvalidHeaderValue$/],
      ['a break period of -1', 'break', { 'x-ms-lease-break-period': '-1' }, /^400 InvalidHeaderValue$/],
      ['a proposed id that is none', 'acquire', acquireWith('nobody'), /^400 InvalidHeaderValue$/],
      ['a renewal without an id', 'renew', {}, /^400 MissingRequiredHeader$/],
      ['a release without an id', 'release', {}, /^400 MissingRequiredHeader$/],
      ['a change without an id', 'change', { 'x-ms-proposed-lease-id': B }, /^400 MissingRequiredHeader$/],
      ['a change without a proposed id', 'change', { 'x-ms-lease-id': A }, /^400 MissingRequiredHeader$/],
    ] as const) {
      test(`refuses ${what}`, async () => {
        const target = await bringTo('leased', kind);
        assert.match((await lease(target, action, headers)).outcome, want);
      });
    }
  });
}

describe('the renewal of an expired lease', () => {
  test('of a container succeeds even after its metadata changed', async () => {
    const target = await bringTo('expired', 'container');
    assert.equal((await request('PUT', uri(target, 'comp=metadata'), { 'x-ms-meta-a': 'b' })).status, 200);
    assert.equal((await lease(target, 'renew', { 'x-ms-lease-id': A })).status, 200);
  });

  test('of a blob fails after a write', async () => {
    const target = await bringTo('expired', 'blob');
    assert.equal((await request('PUT', `${target.path}?comp=metadata`)).status, 200);
    assert.equal(await stateOf(target), 'available');
    assert.equal((await lease(target, 'renew', { 'x-ms-lease-id': A })).outcome, MISMATCH);
  });
});

/** Uses by state, in the order of STATES; several codes are documented for an id that names no lease any more. */
const ok = /^20\d$/;
const lost = /^412 (LeaseLost|LeaseNotPresentWithBlobOperation)$/;
const lostContainer = /^412 (LeaseLost|LeaseNotPresentWithContainerOperation)$/;

const BLOB_USES: [string, string | null, 'read' | 'write', ...RegExp[]][] = [
  ['a write with A', A, 'write', /^412 LeaseNotPresentWithBlobOperation$/, ok, ok, lost, /^412 LeaseLost$/],
  [
    'a write with B',
    B,
    'write',
    /^412 LeaseNotPresentWithBlobOperation$/,
    /^412 LeaseIdMismatchWithBlobOperation$/,
    /^412 LeaseIdMismatchWithBlobOperation$/,
    /^412 /,
    /^412 /,
  ],
  ['a write without', null, 'write', ok, /^412 LeaseIdMissing$/, /^412 LeaseIdMissing$/, ok, ok],
  ['a read with A', A, 'read', /^412 LeaseNotPresentWithBlobOperation$/, ok, ok, lost, lost],
  [
    'a read with B',
    B,
    'read',
    /^412 LeaseNotPresentWithBlobOperation$/,
    /^412 LeaseIdMismatchWithBlobOperation$/,
    /^412 LeaseIdMismatchWithBlobOperation$/,
    /^412 /,
    /^412 /,
  ],
  ['a read without', null, 'read', ok, ok, ok, ok, ok],
];

describe('the use of a blob', () => {
  const writes: [string, (path: string, headers: Record<string, string>) => Promise<RawResponse>][] = [
    ['Put Blob', (path, headers) => request('PUT', path, { 'x-ms-blob-type': 'BlockBlob', ...headers }, 'y')],
    ['Put Block', (path, headers) => request('PUT', `${path}?comp=block&blockid=YQ%3D%3D`, headers, 'y')],
    ['Put Block List', (path, headers) => request('PUT', `${path}?comp=blocklist`, headers, '<BlockList/>')],
    ['Set Blob Metadata', (path, headers) => request('PUT', `${path}?comp=metadata`, headers)],
    ['Set Blob Properties', (path, headers) => request('PUT', `${path}?comp=properties`, headers)],
    ['Delete Blob', (path, headers) => request('DELETE', path, headers)],
  ];
  const reads: typeof writes = [
    ['Get Blob', (path, headers) => request('GET', path, headers)],
    ['Get Blob Properties', (path, headers) => request('HEAD', path, headers)],
    ['Get Blob Metadata', (path, headers) => request('GET', `${path}?comp=metadata`, headers)],
    ['Get Block List', (path, headers) => request('GET', `${path}?comp=blocklist`, headers)],
  ];
  for (const [name, id, way, ...cells] of BLOB_USES) {
    test(`${name} by lease state`, async () => {
      for (const [index, state] of STATES.entries()) {
        for (const [operation, use] of way === 'read' ? reads : writes) {
          const target = await bringTo(state, 'blob');
          const { outcome } = await use(target.path, id === null ? {} : { 'x-ms-lease-id': id });
          assert.match(outcome, cells[index] as RegExp, `${operation} when ${state}`);
        }
      }
    });
  }

  test('with an id on a name that has no blob', async () => {
    const path = `${CONTAINER}/${randomUUID()}`;
    for (const [operation, use] of writes) {
      const { outcome } = await use(path, { 'x-ms-lease-id': A });
      const creates = operation.startsWith('Put');
      assert.equal(outcome, creates ? '412 LeaseNotPresentWithBlobOperation' : '404 BlobNotFound', operation);
    }
  });

  test('with an id that is no id', async () => {
    const target = await bringTo('leased', 'blob');
    for (const [operation, use] of [...writes, ...reads]) {
      const { outcome } = await use(target.path, { 'x-ms-lease-id': 'mine' });
      assert.equal(outcome, '400 InvalidHeaderValue', operation);
    }
  });

  test('keeps the lease over an overwrite by its holder', async () => {
    const target = await bringTo('leased', 'blob');
    server.clock.advance({ seconds: 10 });
    const headers = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-lease-id': A };
    assert.equal((await request('PUT', target.path, headers, 'y')).status, 201);
    server.clock.advance({ seconds: LEASE_SECONDS - 10 - 1 });
    assert.equal(await stateOf(target), 'leased');
    server.clock.advance({ seconds: 1 });
    assert.equal(await stateOf(target), 'expired', 'the write did not lengthen it');
  });

  test('a name with only staged blocks can be leased, and keeps the lease through the commit', async () => {
    const path = `${CONTAINER}/${randomUUID()}`;
    await request('PUT', `${path}?comp=block&blockid=YQ%3D%3D`, {}, 'x');
    const target: Target = { kind: 'blob', path };
    assert.equal((await lease(target, 'acquire', acquireWith(A))).status, 201);
    const put = `${path}?comp=block&blockid=Yg%3D%3D`;
    assert.equal((await request('PUT', put, {}, 'x')).outcome, '412 LeaseIdMissing');
    const list = '<BlockList><Latest>YQ==</Latest></BlockList>';
    assert.equal((await request('PUT', `${path}?comp=blocklist`, {}, list)).outcome, '412 LeaseIdMissing');
    assert.equal((await request('PUT', `${path}?comp=blocklist`, { 'x-ms-lease-id': A }, list)).status, 201);
    assert.equal(await stateOf(target), 'leased');
  });
});

const CONTAINER_USES: [string, string | null, 'delete' | 'other', ...RegExp[]][] = [
  ['a delete with A', A, 'delete', /^412 LeaseNotPresentWithContainerOperation$/, ok, ok, lostContainer, lostContainer],
  [
    'a delete with B',
    B,
    'delete',
    /^412 LeaseNotPresentWithContainerOperation$/,
    /^412 LeaseIdMismatchWithContainerOperation$/,
    /^412 LeaseIdMismatchWithContainerOperation$/,
    /^412 /,
    /^412 /,
  ],
  ['a delete without', null, 'delete', ok, /^412 LeaseIdMissing$/, /^412 LeaseIdMissing$/, ok, ok],
  [
    'another use with A',
    A,
    'other',
    /^412 LeaseNotPresentWithContainerOperation$/,
    ok,
    ok,
    lostContainer,
    lostContainer,
  ],
  [
    'another use with B',
    B,
    'other',
    /^412 LeaseNotPresentWithContainerOperation$/,
    /^412 LeaseIdMismatchWithContainerOperation$/,
    /^412 LeaseIdMismatchWithContainerOperation$/,
    /^412 /,
    /^412 /,
  ],
  ['another use without', null, 'other', ok, ok, ok, ok, ok],
];

describe('the use of a container', () => {
  const others: [string, string, string][] = [
    ['Get Container Properties', 'GET', ''],
    ['Get Container Metadata', 'GET', 'comp=metadata'],
    ['Set Container Metadata', 'PUT', 'comp=metadata'],
    ['Get Container ACL', 'GET', 'comp=acl'],
    ['Set Container ACL', 'PUT', 'comp=acl'],
  ];
  for (const [name, id, way, ...cells] of CONTAINER_USES) {
    test(`${name} by lease state`, async () => {
      for (const [index, state] of STATES.entries()) {
        for (const [operation, method, query] of way === 'delete'
          ? [['Delete Container', 'DELETE', ''] as const]
          : others) {
          const target = await bringTo(state, 'container');
          const headers: Record<string, string> = id === null ? {} : { 'x-ms-lease-id': id };
          const { outcome } = await request(method, uri(target, query), headers);
          assert.match(outcome, cells[index] as RegExp, `${operation} when ${state}`);
          if (way === 'other') assert.equal(await stateOf(target), state, 'no use but a delete changes the lease');
        }
      }
    });
  }

  test('a container made anew has no lease', async () => {
    const target = await bringTo('leased', 'container');
    await request('DELETE', `${target.path}?restype=container`, { 'x-ms-lease-id': A });
    await request('PUT', `${target.path}?restype=container`);
    assert.equal(await stateOf(target), 'available');
  });
});
