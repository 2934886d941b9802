import assert from 'node:assert/strict';
import test from 'node:test';
import { type Conditions, NO_CONDITIONS } from './conditions.ts';
import type { ErrorCode } from './error-code.ts';
import { AVAILABLE, type Lease, type LeaseAction } from './lease.ts';
import {
  type BlobDelete,
  type BlobLease,
  type BlobRead,
  type BlobState,
  type BlobWrite,
  type ContainerDelete,
  type ContainerLease,
  type ContainerState,
  type ContainerUse,
  leaseAfterWrite,
  type Refusal,
  refuseBlobDeleteOperation,
  refuseBlobReadOperation,
  refuseBlobSideWriteOperation,
  refuseBlobWriteOperation,
  refuseContainerDeleteOperation,
  refuseContainerUseOperation,
  reportedLease,
  resolveBlobLeaseOperation,
  resolveContainerLeaseOperation,
} from './precedence.ts';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';
const ETAG = '0x8DC0123456789AB';
const NOW_MS = Date.UTC(2024, 0, 1);
const MODIFIED_MS = NOW_MS - 60_000;

const LEASED_BY_A: Lease = { state: 'leased', id: A, durationSeconds: 15, expiresAtMs: NOW_MS + 1 };

const BLOB: BlobState = {
  type: 'BlockBlob',
  etag: ETAG,
  lastModifiedMs: MODIFIED_MS,
  lease: LEASED_BY_A,
  committed: true,
};
const FREE_BLOB: BlobState = { ...BLOB, lease: AVAILABLE };
const STAGED_BLOB: BlobState = { ...FREE_BLOB, committed: false };
const CONTAINER: ContainerState = { etag: ETAG, lastModifiedMs: MODIFIED_MS, lease: LEASED_BY_A };

const given = (conditions: Partial<Conditions>): Conditions => ({ ...NO_CONDITIONS, ...conditions });
const STALE_MATCH = given({ ifMatch: ['stale'] });
const MATCH_ANY = given({ ifMatch: '*' });
const NONE_MATCH_ANY = given({ ifNoneMatch: '*' });

const OLD = '2012-02-12';
const NEW = '2024-11-04';

// Each of these goes through: it presents the right lease and asks for nothing else.
const WRITE: BlobWrite = {
  containerExists: true,
  blob: BLOB,
  conditions: NO_CONDITIONS,
  leaseId: A,
  creates: false,
  requiredType: null,
  nowMs: NOW_MS,
  version: NEW,
};
const READ: BlobRead = WRITE;
const DELETE: BlobDelete = { ...WRITE, hasSnapshots: false, deleteSnapshots: null };
const LEASE: BlobLease = { ...WRITE, action: { action: 'renew', id: A } };
const USE: ContainerUse = {
  container: CONTAINER,
  conditions: NO_CONDITIONS,
  takes: 'dates',
  leaseId: A,
  nowMs: NOW_MS,
};
const CONTAINER_DELETE: ContainerDelete = USE;
const CONTAINER_LEASE: ContainerLease = { ...USE, action: { action: 'renew', id: A } };

const resolveBlobLease = (request: BlobLease): Refusal | null => {
  const result = resolveBlobLeaseOperation(request);
  return 'refusal' in result ? result.refusal : null;
};
const resolveContainerLease = (request: ContainerLease): Refusal | null => {
  const result = resolveContainerLeaseOperation(request);
  return 'refusal' in result ? result.refusal : null;
};

// ---- each operation, wrong in two ways: the earlier fault is the answer

type Fault<Request> = readonly [what: string, code: ErrorCode, spoil: (request: Request) => Request];

function earlierFaultWins<Request>(
  operation: string,
  fine: Request,
  refuse: (request: Request) => Refusal | null,
  faults: readonly Fault<Request>[],
): void {
  test(`${operation} without fault goes through`, () => assert.equal(refuse(fine), null));
  for (const [index, [earlier, code, spoil]] of faults.entries()) {
    test(`${operation} with ${earlier} gets ${code}`, () => assert.equal(refuse(spoil(fine))?.code, code));
    for (const [later, , spoilLater] of faults.slice(index + 1)) {
      test(`${operation} with ${earlier} and ${later} gets ${code}`, () => {
        assert.equal(refuse(spoil(spoilLater(fine)))?.code, code);
        assert.equal(refuse(spoilLater(spoil(fine)))?.code, code);
      });
    }
  }
}

/** Adds conditions to those that are there. */
const adding =
  (added: Partial<Conditions>) =>
  <Request extends { readonly conditions: Conditions }>(request: Request): Request => ({
    ...request,
    conditions: { ...request.conditions, ...added },
  });

type AnyBlobRequest = {
  readonly containerExists: boolean;
  readonly blob: BlobState | null;
  readonly conditions: Conditions;
};

function mixOfConditions<Request extends AnyBlobRequest>(): Fault<Request> {
  const spoil = adding({ ifMatch: [ETAG], ifNoneMatch: ['other'] });
  return ['an illegal mix of conditions', 'MultipleConditionHeadersNotSupported', spoil];
}
function missingContainer<Request extends AnyBlobRequest>(): Fault<Request> {
  return ['a missing container', 'ContainerNotFound', (request) => ({ ...request, containerExists: false })];
}
function missingBlob<Request extends AnyBlobRequest>(): Fault<Request> {
  return ['a missing blob', 'BlobNotFound', (request) => ({ ...request, blob: null })];
}
function otherType<Request>(): Fault<Request> {
  return ['a blob of another type', 'InvalidBlobType', (request) => ({ ...request, requiredType: 'PageBlob' })];
}
function falseDate<Request extends { readonly conditions: Conditions }>(): Fault<Request> {
  return ['a false date', 'ConditionNotMet', adding({ ifUnmodifiedSinceMs: MODIFIED_MS - 1_000 })];
}
function otherLease<Request>(code: ErrorCode): Fault<Request> {
  return ["another's lease id", code, (request) => ({ ...request, leaseId: B })];
}

earlierFaultWins('a blob write', WRITE, refuseBlobWriteOperation, [
  mixOfConditions(),
  missingContainer(),
  missingBlob(),
  otherType(),
  falseDate(),
  otherLease('LeaseIdMismatchWithBlobOperation'),
]);

earlierFaultWins('a creating blob write', { ...WRITE, creates: true }, refuseBlobWriteOperation, [
  mixOfConditions(),
  missingContainer(),
  otherType(),
  falseDate(),
  ['no lease id', 'LeaseIdMissing', (write) => ({ ...write, leaseId: null })],
]);

earlierFaultWins('a snapshot', { ...WRITE, effect: 'stages' as const }, refuseBlobSideWriteOperation, [
  mixOfConditions(),
  missingContainer(),
  missingBlob(),
  otherType(),
  falseDate(),
  otherLease('LeaseIdMismatchWithBlobOperation'),
]);

earlierFaultWins('a blob read', READ, refuseBlobReadOperation, [
  missingContainer(),
  missingBlob(),
  otherType(),
  falseDate(),
  otherLease('LeaseIdMismatchWithBlobOperation'),
]);

earlierFaultWins('an old blob read', { ...READ, version: OLD }, refuseBlobReadOperation, [
  mixOfConditions(),
  missingContainer(),
  missingBlob(),
  otherType(),
  falseDate(),
  otherLease('LeaseIdMismatchWithBlobOperation'),
]);

earlierFaultWins('a blob delete', DELETE, refuseBlobDeleteOperation, [
  mixOfConditions(),
  missingContainer(),
  missingBlob(),
  falseDate(),
  otherLease('LeaseIdMismatchWithBlobOperation'),
  ['snapshots', 'SnapshotsPresent', (deletion) => ({ ...deletion, hasSnapshots: true })],
]);

const renewByB: LeaseAction = { action: 'renew', id: B };
const badDuration: LeaseAction = { action: 'acquire', proposedId: B, freshId: B, durationSeconds: 14 };

earlierFaultWins('a blob lease action', LEASE, resolveBlobLease, [
  mixOfConditions(),
  missingContainer(),
  missingBlob(),
  falseDate(),
  ["another's lease id", 'LeaseIdMismatchWithLeaseOperation', (request) => ({ ...request, action: renewByB })],
]);

test('a lease duration out of range is refused before the container is looked for', () => {
  const request: BlobLease = { ...LEASE, action: badDuration, containerExists: false, conditions: STALE_MATCH };
  assert.equal(resolveBlobLease(request)?.code, 'InvalidHeaderValue');
  assert.equal(
    resolveContainerLease({ ...CONTAINER_LEASE, action: badDuration, container: null })?.code,
    'InvalidHeaderValue',
  );
});

type AnyContainerRequest = { readonly container: ContainerState | null; readonly conditions: Conditions };

function etagCondition<Request extends AnyContainerRequest>(): Fault<Request> {
  return ['an ETag condition', 'ConditionHeadersNotSupported', adding({ ifMatch: [ETAG] })];
}
function noContainer<Request extends AnyContainerRequest>(): Fault<Request> {
  return ['no container', 'ContainerNotFound', (request) => ({ ...request, container: null })];
}

earlierFaultWins('a container use', USE, refuseContainerUseOperation, [
  etagCondition(),
  noContainer(),
  falseDate(),
  otherLease('LeaseIdMismatchWithContainerOperation'),
]);

earlierFaultWins('a container delete', CONTAINER_DELETE, refuseContainerDeleteOperation, [
  etagCondition(),
  noContainer(),
  falseDate(),
  ['no lease id', 'LeaseIdMissing', (deletion) => ({ ...deletion, leaseId: null })],
]);

earlierFaultWins('a container lease action', CONTAINER_LEASE, resolveContainerLease, [
  etagCondition(),
  noContainer(),
  falseDate(),
  ["another's lease id", 'LeaseIdMismatchWithLeaseOperation', (request) => ({ ...request, action: renewByB })],
]);

// ---- pairs whose order depends on what the blob is

const anyWrite: readonly (readonly [what: string, write: BlobWrite, want: ErrorCode | null])[] = [
  ['a missing blob with If-Match', { ...WRITE, blob: null, conditions: STALE_MATCH }, 'ConditionNotMet'],
  ['a missing blob with If-None-Match: *', { ...WRITE, blob: null, conditions: NONE_MATCH_ANY }, 'BlobNotFound'],
  ['an existing blob with If-None-Match: *', { ...WRITE, conditions: NONE_MATCH_ANY }, 'ConditionNotMet'],
  ['a stale ETag and no lease id', { ...WRITE, conditions: STALE_MATCH, leaseId: null }, 'ConditionNotMet'],
  ['staged blocks only', { ...WRITE, blob: STAGED_BLOB, leaseId: null }, 'BlobNotFound'],
  ['staged blocks only and If-Match: *', { ...WRITE, blob: STAGED_BLOB, conditions: MATCH_ANY }, 'ConditionNotMet'],
  [
    'staged blocks only and If-Match: * before 2017-04-17',
    { ...WRITE, blob: STAGED_BLOB, conditions: MATCH_ANY, version: '2016-05-31' },
    'BlobNotFound',
  ],
];

const creating: BlobWrite = { ...WRITE, creates: true, leaseId: null };
const creatingWrite: readonly (readonly [what: string, write: BlobWrite, want: ErrorCode | null])[] = [
  [
    'If-None-Match: * on an existing blob and no lease id',
    { ...creating, blob: BLOB, conditions: NONE_MATCH_ANY },
    'BlobAlreadyExists',
  ],
  [
    'If-None-Match: * on an existing blob and the right lease id',
    { ...creating, blob: BLOB, conditions: NONE_MATCH_ANY, leaseId: A },
    'BlobAlreadyExists',
  ],
  ['If-None-Match: * on a missing blob', { ...creating, blob: null, conditions: NONE_MATCH_ANY }, null],
  ['If-Match on a missing blob', { ...creating, blob: null, conditions: MATCH_ANY }, 'ConditionNotMet'],
  [
    'If-Match and a lease id on a missing blob',
    { ...creating, blob: null, conditions: MATCH_ANY, leaseId: A },
    'ConditionNotMet',
  ],
  ['a lease id on a missing blob', { ...creating, blob: null, leaseId: A }, 'LeaseNotPresentWithBlobOperation'],
  ['a lease id on a missing blob before 2013-08-15', { ...creating, blob: null, leaseId: A, version: OLD }, null],
  ['nothing there and nothing asked', { ...creating, blob: null }, null],
  ['staged blocks and If-None-Match: *', { ...creating, blob: STAGED_BLOB, conditions: NONE_MATCH_ANY }, null],
  ['staged blocks and If-Match: *', { ...creating, blob: STAGED_BLOB, conditions: MATCH_ANY }, 'ConditionNotMet'],
  [
    'staged blocks and If-Match: * before 2017-04-17',
    { ...creating, blob: STAGED_BLOB, conditions: MATCH_ANY, version: '2016-05-31' },
    null,
  ],
  [
    'leased staged blocks and no lease id',
    { ...creating, blob: { ...STAGED_BLOB, lease: LEASED_BY_A } },
    'LeaseIdMissing',
  ],
  [
    'leased staged blocks and the lease id',
    { ...creating, blob: { ...STAGED_BLOB, lease: LEASED_BY_A }, leaseId: A },
    null,
  ],
  ['a leased blob and no lease id', { ...creating, blob: BLOB }, 'LeaseIdMissing'],
  [
    'a page blob where a block blob must be',
    { ...creating, blob: { ...FREE_BLOB, type: 'PageBlob' }, requiredType: 'BlockBlob' },
    'InvalidBlobType',
  ],
  ['a page blob where any will do', { ...creating, blob: { ...FREE_BLOB, type: 'PageBlob' } }, null],
];

for (const [what, write, want] of [...anyWrite, ...creatingWrite]) {
  test(`${write.creates ? 'a creating write' : 'a write'} with ${what} gets ${want ?? 'through'}`, () =>
    assert.equal(refuseBlobWriteOperation(write)?.code ?? null, want));
}

const reads: readonly (readonly [what: string, read: BlobRead, want: Refusal | null])[] = [
  [
    'a missing blob and If-Match',
    { ...READ, blob: null, conditions: STALE_MATCH },
    { code: 'ConditionNotMet', notModified: false },
  ],
  [
    'a missing blob and conditions that only a read may mix',
    { ...READ, blob: null, conditions: given({ ifNoneMatch: [ETAG], ifUnmodifiedSinceMs: 0 }) },
    { code: 'BlobNotFound', notModified: false },
  ],
  [
    'a missing blob and If-None-Match: *',
    { ...READ, blob: null, conditions: NONE_MATCH_ANY },
    { code: 'BlobNotFound', notModified: false },
  ],
  ['If-None-Match: *', { ...READ, conditions: NONE_MATCH_ANY }, { code: 'UnsatisfiableCondition', notModified: false }],
  [
    'the ETag it already has and a wrong lease id',
    { ...READ, conditions: given({ ifNoneMatch: [ETAG] }), leaseId: B },
    { code: 'ConditionNotMet', notModified: true },
  ],
  ['no lease id on a leased blob', { ...READ, leaseId: null }, null],
  ['staged blocks only', { ...READ, blob: STAGED_BLOB, leaseId: null }, { code: 'BlobNotFound', notModified: false }],
  ['staged blocks, where those will do', { ...READ, blob: STAGED_BLOB, leaseId: null, acceptsUncommitted: true }, null],
  [
    'staged blocks, where those will do, and a lease id',
    { ...READ, blob: STAGED_BLOB, acceptsUncommitted: true },
    { code: 'LeaseNotPresentWithBlobOperation', notModified: false },
  ],
];

for (const [what, read, want] of reads) {
  test(`a read with ${what} gets ${want?.code ?? 'through'}`, () =>
    assert.deepEqual(refuseBlobReadOperation(read), want));
}

test('a snapshot of a leased blob needs no lease id', () => {
  assert.equal(refuseBlobSideWriteOperation({ ...WRITE, effect: 'stages', leaseId: null }), null);
});

const deletes: readonly (readonly [what: string, deletion: BlobDelete, want: ErrorCode | null])[] = [
  ['no lease id on a leased blob', { ...DELETE, leaseId: null }, 'LeaseIdMissing'],
  ['no lease id on a leased blob with snapshots', { ...DELETE, leaseId: null, hasSnapshots: true }, 'LeaseIdMissing'],
  [
    'no lease id and its snapshots included',
    { ...DELETE, leaseId: null, hasSnapshots: true, deleteSnapshots: 'include' },
    'LeaseIdMissing',
  ],
  [
    'no lease id and its snapshots only',
    { ...DELETE, leaseId: null, hasSnapshots: true, deleteSnapshots: 'only' },
    null,
  ],
  [
    'a wrong lease id and its snapshots only',
    { ...DELETE, leaseId: B, hasSnapshots: true, deleteSnapshots: 'only' },
    'LeaseIdMismatchWithBlobOperation',
  ],
  ['its snapshots included', { ...DELETE, hasSnapshots: true, deleteSnapshots: 'include' }, null],
  ['staged blocks only', { ...DELETE, blob: STAGED_BLOB, leaseId: null }, null],
  [
    'staged blocks only before 2013-08-15',
    { ...DELETE, blob: STAGED_BLOB, leaseId: null, version: OLD },
    'BlobNotFound',
  ],
];

for (const [what, deletion, want] of deletes) {
  test(`a delete with ${what} gets ${want ?? 'through'}`, () =>
    assert.equal(refuseBlobDeleteOperation(deletion)?.code ?? null, want));
}

// ---- the very versions that switch

const SWITCHES: readonly (readonly [
  what: string,
  code: (version: string) => ErrorCode | null,
  before: [string, ErrorCode | null],
  since: [string, ErrorCode | null],
])[] = [
  [
    'a read with a mix of conditions',
    (version) =>
      refuseBlobReadOperation({ ...READ, version, conditions: given({ ifMatch: [ETAG], ifNoneMatch: ['x'] }) })?.code ??
      null,
    ['2012-02-12', 'MultipleConditionHeadersNotSupported'],
    ['2013-08-15', null],
  ],
  [
    'a creating write with a lease id and no blob',
    (version) => refuseBlobWriteOperation({ ...creating, version, blob: null, leaseId: A })?.code ?? null,
    ['2012-02-12', null],
    ['2013-08-15', 'LeaseNotPresentWithBlobOperation'],
  ],
  [
    'a delete of staged blocks',
    (version) => refuseBlobDeleteOperation({ ...DELETE, version, blob: STAGED_BLOB, leaseId: null })?.code ?? null,
    ['2012-02-12', 'BlobNotFound'],
    ['2013-08-15', null],
  ],
  [
    'a creating write with If-Match: * on staged blocks',
    (version) =>
      refuseBlobWriteOperation({ ...creating, version, blob: STAGED_BLOB, conditions: MATCH_ANY })?.code ?? null,
    ['2016-05-31', null],
    ['2017-04-17', 'ConditionNotMet'],
  ],
];

for (const [what, codeAt, before, since] of SWITCHES) {
  for (const [version, want] of [before, since]) {
    test(`${what} in version ${version} gets ${want ?? 'through'}`, () => assert.equal(codeAt(version), want));
  }
}

// ---- time

for (const [nowMs, leaseId, want] of [
  [NOW_MS, null, 'LeaseIdMissing'],
  [NOW_MS, B, 'LeaseIdMismatchWithBlobOperation'],
  [NOW_MS, A, null],
  [NOW_MS + 1, A, 'LeaseLost'],
  [NOW_MS + 1, null, null],
] as const) {
  test(`a write ${nowMs - NOW_MS} ms on presenting ${leaseId ?? 'no id'} gets ${want ?? 'through'}`, () =>
    assert.equal(refuseBlobWriteOperation({ ...WRITE, nowMs, leaseId })?.code ?? null, want));
}

test('a lease that has expired does not keep a container from deletion', () => {
  assert.equal(refuseContainerDeleteOperation({ ...CONTAINER_DELETE, leaseId: null, nowMs: NOW_MS + 1 }), null);
});

test('a container is used without its lease id while it is leased', () => {
  assert.equal(refuseContainerUseOperation({ ...USE, leaseId: null }), null);
});

test('a write keeps a lease that stands and forgets one whose time is over', () => {
  assert.deepEqual(leaseAfterWrite(LEASED_BY_A, NOW_MS), LEASED_BY_A);
  assert.deepEqual(leaseAfterWrite(LEASED_BY_A, NOW_MS + 1), AVAILABLE);
});

test('a lease is reported as of now, not as stored', () => {
  assert.deepEqual(reportedLease(LEASED_BY_A, NOW_MS), { status: 'locked', state: 'leased', duration: 'fixed' });
  assert.deepEqual(reportedLease(LEASED_BY_A, NOW_MS + 1), { status: 'unlocked', state: 'expired', duration: null });
});

// ---- lease actions

const acquiring: LeaseAction = { action: 'acquire', proposedId: B, freshId: B, durationSeconds: 60 };

test('an acquired lease is given to be stored', () => {
  const want = {
    lease: { state: 'leased', id: B, durationSeconds: 60, expiresAtMs: NOW_MS + 60_000 },
    remainingSeconds: null,
  };
  assert.deepEqual(resolveBlobLeaseOperation({ ...LEASE, blob: FREE_BLOB, action: acquiring }), want);
  const container = { ...CONTAINER, lease: AVAILABLE };
  assert.deepEqual(resolveContainerLeaseOperation({ ...CONTAINER_LEASE, container, action: acquiring }), want);
});

test('staged blocks can be leased', () => {
  assert.equal(resolveBlobLease({ ...LEASE, blob: STAGED_BLOB, action: acquiring }), null);
});

test('an acquire meets the lease as of now, not as stored', () => {
  assert.equal(resolveBlobLease({ ...LEASE, action: acquiring })?.code, 'LeaseAlreadyPresent');
  assert.equal(resolveBlobLease({ ...LEASE, action: acquiring, nowMs: NOW_MS + 1 }), null);
});

test('a break says how many seconds are left', () => {
  const result = resolveBlobLeaseOperation({ ...LEASE, action: { action: 'break', periodSeconds: null } });
  assert.equal('remainingSeconds' in result && result.remainingSeconds, 1);
});

test('If-Match on a missing blob is refused before the blob is missed, for a lease action too', () => {
  assert.equal(resolveBlobLease({ ...LEASE, blob: null, conditions: STALE_MATCH })?.code, 'ConditionNotMet');
  assert.equal(resolveBlobLease({ ...LEASE, blob: null })?.code, 'BlobNotFound');
});
