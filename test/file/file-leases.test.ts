/**
 * Leases of files: the table of the protocol, action by action and state by state, and what a lease asks of every other operation.
 * Who holds one is told by ids, never by a time: a file's lease has no end.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ShareFileClient } from '@azure/storage-file-share';
import { outcome, refusal } from '../harness/clients.ts';
import { freshShare } from '../harness/file-clients.ts';
import { type RawRequest, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { tally, together } from '../harness/parallel.ts';

const server = await startInProcess();
const raw = (request: RawRequest) => send(server.fileUrl, request);

const A = '11111111-1111-1111-1111-111111111111';
const B = '22222222-2222-2222-2222-222222222222';
const C = '33333333-3333-3333-3333-333333333333';

async function freshFile(): Promise<ShareFileClient> {
  const share = await freshShare(server);
  return (await share.createFile('file', 10)).fileClient;
}

async function leasedFile(): Promise<ShareFileClient> {
  const file = await freshFile();
  await file.getShareLeaseClient(A).acquireLease(-1);
  return file;
}

async function brokenFile(): Promise<ShareFileClient> {
  const file = await leasedFile();
  await file.getShareLeaseClient(A).breakLease();
  return file;
}

const STATES = { available: freshFile, leased: leasedFile, broken: brokenFile };

const pathOf = (file: ShareFileClient, query = ''): string => `/${file.shareName}/${file.path}${query}`;
const act = (file: ShareFileClient, headers: Readonly<Record<string, string>>) =>
  raw({ method: 'PUT', path: pathOf(file, '?comp=lease'), headers });

const acquire = (id: string | null) => ({
  'x-ms-lease-action': 'acquire',
  'x-ms-lease-duration': '-1',
  ...(id === null ? {} : { 'x-ms-proposed-lease-id': id }),
});
const change = (from: string, to: string) => ({
  'x-ms-lease-action': 'change',
  'x-ms-lease-id': from,
  'x-ms-proposed-lease-id': to,
});
const release = (id: string) => ({ 'x-ms-lease-action': 'release', 'x-ms-lease-id': id });
const BREAK = { 'x-ms-lease-action': 'break' };

describe('an action', () => {
  for (const [name, headers, available, leased, broken] of [
    ['acquire', acquire(null), '201 leased', '409 LeaseAlreadyPresent leased', '201 leased'],
    ['acquire A', acquire(A), '201 leased', '201 leased', '201 leased'],
    ['acquire B', acquire(B), '201 leased', '409 LeaseAlreadyPresent leased', '201 leased'],
    ['break', BREAK, '409 LeaseNotPresentWithLeaseOperation available', '202 broken', '202 broken'],
    ['change A to B', change(A, B), '409 LeaseNotPresentWithLeaseOperation available', '200 leased', '409 broken'],
    ['change B to A', change(B, A), '409 LeaseNotPresentWithLeaseOperation available', '200 leased', '409 broken'],
    [
      'change B to C',
      change(B, C),
      '409 LeaseNotPresentWithLeaseOperation available',
      '409 LeaseIdMismatchWithLeaseOperation leased',
      '409 broken',
    ],
    ['release A', release(A), '409 available', '200 available', '200 available'],
    ['release B', release(B), '409 available', '409 LeaseIdMismatchWithLeaseOperation leased', '409 broken'],
  ] as const) {
    for (const [state, want] of Object.entries({ available, leased, broken })) {
      test(`${name} of a file whose lease is ${state} gets ${want}`, async () => {
        const file = await STATES[state as keyof typeof STATES]();
        const before = await file.getProperties();
        const answer = await act(file, headers);
        const after = await file.getProperties();
        // Where the table names no code, the status is what counts.
        const [status = '', ...rest] = want.split(' ');
        const seen = rest.length === 2 ? answer.outcome : String(answer.status);
        assert.equal(`${seen} ${after.leaseState}`, rest.length === 2 ? want : `${status} ${rest[0]}`);
        assert.deepEqual([after.etag, after.lastModified], [before.etag, before.lastModified]);
      });
    }
  }

  test('answers with the id, the file’s ETag, and after a break that nothing remains', async () => {
    const file = await freshFile();
    const { etag } = await file.getProperties();
    const acquired = await act(file, acquire(null));
    const id = acquired.headers['x-ms-lease-id'] as string;
    assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.equal(acquired.headers.etag, etag);
    assert.equal((await act(file, change(id, B))).headers['x-ms-lease-id'], B);
    assert.equal((await act(file, BREAK)).headers['x-ms-lease-time'], '0');
  });

  for (const [why, headers, want] of [
    ['none', {}, '400 MissingRequiredHeader'],
    ['an unknown one', { 'x-ms-lease-action': 'borrow' }, '400 InvalidHeaderValue'],
    ['a renewal', { 'x-ms-lease-action': 'renew', 'x-ms-lease-id': A }, '400 InvalidHeaderValue'],
    ['an acquisition of no duration', { 'x-ms-lease-action': 'acquire' }, '400 MissingRequiredHeader'],
    ['one for 30 s', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '30' }, '400 InvalidHeaderValue'],
    ['one for 0 s', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '0' }, '400 InvalidHeaderValue'],
    ['one with an id that is none', { ...acquire('mine') }, '400 InvalidHeaderValue'],
    ['a release of nothing', { 'x-ms-lease-action': 'release' }, '400 MissingRequiredHeader'],
    ['a change to nothing', { 'x-ms-lease-action': 'change', 'x-ms-lease-id': A }, '400 MissingRequiredHeader'],
  ] as const) {
    test(`that is ${why} gets ${want}`, async () => {
      assert.equal((await act(await freshFile(), headers)).outcome, want);
    });
  }

  test('on a snapshot, and on what is no file, is refused', async () => {
    const share = await freshShare(server);
    await share.createFile('file', 0);
    await share.createDirectory('dir');
    const { snapshot } = await share.createSnapshot();
    const past = share.withSnapshot(snapshot as string).rootDirectoryClient.getFileClient('file');
    assert.equal(await refusal(past.getShareLeaseClient(A).acquireLease(-1)), '400 InvalidQueryParameterValue');
    const of = (name: string) => share.rootDirectoryClient.getFileClient(name).getShareLeaseClient(A);
    assert.equal(await refusal(of('dir').acquireLease(-1)), '409 ResourceTypeMismatch');
    assert.equal(await refusal(of('lost').acquireLease(-1)), '404 ResourceNotFound');
  });
});

test('of many who acquire at the same time one gets the lease', async () => {
  const file = await freshFile();
  const results = await together(16, () => outcome(file.getShareLeaseClient().acquireLease(-1)));
  const seen = results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)));
  assert.deepEqual(tally(seen), { ok: 1, '409 LeaseAlreadyPresent': 15 });
});

test('a lease lasts, however long nobody speaks of it', async () => {
  const file = await leasedFile();
  server.clock.advance({ seconds: 10 * 365 * 24 * 3600 });
  const { leaseState, leaseStatus, leaseDuration } = await file.getProperties();
  assert.deepEqual([leaseState, leaseStatus, leaseDuration], ['leased', 'locked', 'infinite']);
  assert.equal(await refusal(file.setMetadata({})), '412 LeaseIdMissing');
});

const WRITES = {
  'Create File': (file, leaseAccessConditions) => file.create(10, { leaseAccessConditions }),
  'Set File Properties': (file, leaseAccessConditions) => file.setHttpHeaders({}, { leaseAccessConditions }),
  'a resizing': (file, leaseAccessConditions) => file.resize(10, { leaseAccessConditions }),
  'Set File Metadata': (file, leaseAccessConditions) => file.setMetadata({}, { leaseAccessConditions }),
  'Put Range': (file, leaseAccessConditions) => file.uploadRange('x', 0, 1, { leaseAccessConditions }),
  'a clearing': (file, leaseAccessConditions) => file.clearRange(0, 1, { leaseAccessConditions }),
  'Delete File': (file, leaseAccessConditions) => file.delete({ leaseAccessConditions }),
} as const satisfies Readonly<Record<string, Call>>;

const READS = {
  'Get File': (file, leaseAccessConditions) => file.download(0, undefined, { leaseAccessConditions }),
  'Get File Properties': (file, leaseAccessConditions) => file.getProperties({ leaseAccessConditions }),
  'List Ranges': (file, leaseAccessConditions) => file.getRangeList({ leaseAccessConditions }),
} as const satisfies Readonly<Record<string, Call>>;

type Call = (file: ShareFileClient, lease: { leaseId?: string }) => Promise<unknown>;

const MISSING = '412 LeaseIdMissing';
const MISMATCH = '412 LeaseIdMismatchWithFileOperation';
const NOT_PRESENT = '412 LeaseNotPresentWithFileOperation';

for (const [name, call] of Object.entries(WRITES)) {
  test(`${name} needs the id of the lease while there is one, and is refused any other`, async () => {
    const leased = await leasedFile();
    assert.equal(await outcome(call(leased, {})), MISSING);
    assert.equal(await outcome(call(leased, { leaseId: B })), MISMATCH);
    assert.equal(await outcome(call(leased, { leaseId: A })), 'ok');
    const available = await freshFile();
    assert.equal(await outcome(call(available, { leaseId: A })), NOT_PRESENT);
    assert.equal(await outcome(call(available, {})), 'ok');
    const broken = await brokenFile();
    assert.match(await outcome(call(broken, { leaseId: A })), /^412 /);
    assert.equal(await outcome(call(broken, { leaseId: B })), NOT_PRESENT);
    assert.equal(await outcome(call(broken, {})), 'ok');
  });
}

for (const [name, call] of Object.entries(READS)) {
  test(`${name} needs no id, and is refused a wrong one`, async () => {
    const leased = await leasedFile();
    assert.equal(await outcome(call(leased, {})), 'ok');
    assert.equal(await outcome(call(leased, { leaseId: A })), 'ok');
    assert.equal(await outcome(call(leased, { leaseId: B })), MISMATCH);
    assert.equal(await outcome(call(await freshFile(), { leaseId: A })), NOT_PRESENT);
  });
}

test('a write ends the memory of a broken lease, and a new file in its place keeps a lease that stands', async () => {
  const broken = await brokenFile();
  await broken.setMetadata({});
  assert.equal((await broken.getProperties()).leaseState, 'available');
  const leased = await leasedFile();
  await leased.create(3, { leaseAccessConditions: { leaseId: A } });
  assert.equal((await leased.getProperties()).leaseState, 'leased');
});

test('a lease id on a file that is to be created is refused', async () => {
  const share = await freshShare(server);
  const file = share.rootDirectoryClient.getFileClient('new');
  assert.equal(await refusal(file.create(1, { leaseAccessConditions: { leaseId: A } })), NOT_PRESENT);
});

test('a snapshot of the share shows the file without its lease', async () => {
  const share = await freshShare(server);
  const { fileClient: file } = await share.createFile('file', 10);
  await file.getShareLeaseClient(A).acquireLease(-1);
  const { snapshot } = await share.createSnapshot();
  const then = share.withSnapshot(snapshot as string).rootDirectoryClient.getFileClient('file');
  assert.equal((await then.getProperties()).leaseState, undefined);
  assert.equal((await file.getProperties()).leaseState, 'leased');
  const withLease = { leaseAccessConditions: { leaseId: A } };
  assert.equal(await refusal(then.getProperties(withLease)), '412 LeaseNotPresentWithFileOperation');
  await file.uploadRange('x', 0, 1, withLease);
  assert.equal((await then.getProperties()).leaseState, undefined);
});
