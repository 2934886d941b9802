import assert from 'node:assert/strict';
import test from 'node:test';
import type { ErrorCode } from './error-code.ts';
import {
  AVAILABLE,
  acquire,
  afterWrite,
  breakLease,
  change,
  type Lease,
  type LeaseAction,
  type LeaseId,
  leaseAt,
  leaseHeaders,
  parseLeaseId,
  refuseAbsentBlobWrite,
  refuseBlobRead,
  refuseBlobWrite,
  refuseBreakPeriod,
  refuseContainerDelete,
  refuseContainerUse,
  refuseLeaseDuration,
  refuseLeaseNumbers,
  release,
  renew,
  resolveLeaseAction,
} from './lease.ts';

const A: LeaseId = 'aaaaaaaa-0000-4000-8000-000000000001';
const B: LeaseId = 'bbbbbbbb-0000-4000-8000-000000000002';
const C: LeaseId = 'cccccccc-0000-4000-8000-000000000003';
/** The id that the server would make. */
const X: LeaseId = 'dddddddd-0000-4000-8000-000000000004';

const NOW_MS = 1_000_000;

const leased = (id: LeaseId, durationSeconds: number, expiresAtMs: number | null): Lease => ({
  state: 'leased',
  id,
  durationSeconds,
  expiresAtMs,
});

/** Every state with the id A, each with 20 seconds of 30 left where there is something left. */
const STATES = {
  available: AVAILABLE,
  leased: leased(A, 30, NOW_MS + 20_000),
  breaking: { state: 'breaking', id: A, durationSeconds: 30, breaksAtMs: NOW_MS + 20_000 },
  broken: { state: 'broken', id: A },
  expired: { state: 'expired', id: A, durationSeconds: 30 },
} as const satisfies Record<string, Lease>;

const COLUMNS = ['available', 'leased', 'breaking', 'broken', 'expired'] as const;

// ---- ids

for (const [text, want] of [
  ['1F812371A41D49E6B1231F4B542E851F', '1f812371-a41d-49e6-b123-1f4b542e851f'],
  ['1f812371-a41d-49e6-b123-1f4b542e851f', '1f812371-a41d-49e6-b123-1f4b542e851f'],
  ['{1F812371-A41D-49E6-B123-1F4B542E851F}', '1f812371-a41d-49e6-b123-1f4b542e851f'],
  ['(1f812371-a41d-49e6-b123-1f4b542e851f)', '1f812371-a41d-49e6-b123-1f4b542e851f'],
  ['{0x1f812371,0xa41d,0x49e6,{0xb1,0x23,0x1f,0x4b,0x54,0x2e,0x85,0x1f}}', '1f812371-a41d-49e6-b123-1f4b542e851f'],
  ['{0x1, 0x2, 0x3, {0x4, 0x5, 0x6, 0x7, 0x8, 0x9, 0xa, 0xB}}', '00000001-0002-0003-0405-060708090a0b'],
  [' 1f812371-a41d-49e6-b123-1f4b542e851f ', '1f812371-a41d-49e6-b123-1f4b542e851f'],
  ['{1f812371a41d49e6b1231f4b542e851f}', null],
  ['{1f812371-a41d-49e6-b123-1f4b542e851f)', null],
  ['{1f812371-a41d-49e6-b123-1f4b542e851f', null],
  ['1f812371-a41d-49e6-b1231f4b542e851f', null],
  ['1f812371-a41d-49e6-b123-1f4b542e851', null],
  ['1f812371-a41d-49e6-b123-1f4b542e851g', null],
  ['{0x1f812371,0xa41d,0x49e6,{0xb1,0x23,0x1f,0x4b,0x54,0x2e,0x85}}', null],
  ['{0x1f812371,0xa41d,0x49e6,0xb1,0x23,0x1f,0x4b,0x54,0x2e,0x85,0x1f}', null],
  ['my-lease', null],
  ['', null],
] as const) {
  test(`the lease id '${text}' is read as ${want}`, () => assert.equal(parseLeaseId(text), want));
}

// ---- numbers

for (const [seconds, want] of [
  [-1, null],
  [15, null],
  [60, null],
  [0, 'InvalidHeaderValue'],
  [14, 'InvalidHeaderValue'],
  [61, 'InvalidHeaderValue'],
  [-2, 'InvalidHeaderValue'],
  [15.5, 'InvalidHeaderValue'],
  [Number.NaN, 'InvalidHeaderValue'],
] as const) {
  test(`a lease of ${seconds} seconds gets ${want}`, () => {
    assert.equal(refuseLeaseDuration(seconds), want);
    const action: LeaseAction = { action: 'acquire', proposedId: null, freshId: X, durationSeconds: seconds };
    assert.equal(refuseLeaseNumbers(action), want);
  });
}

for (const [seconds, want] of [
  [0, null],
  [60, null],
  [-1, 'InvalidHeaderValue'],
  [61, 'InvalidHeaderValue'],
  [0.5, 'InvalidHeaderValue'],
] as const) {
  test(`a break period of ${seconds} seconds gets ${want}`, () => {
    assert.equal(refuseBreakPeriod(seconds), want);
    assert.equal(refuseLeaseNumbers({ action: 'break', periodSeconds: seconds }), want);
  });
}

test('a break without a period has no number to refuse', () => {
  assert.equal(refuseLeaseNumbers({ action: 'break', periodSeconds: null }), null);
});

// ---- states and what is reported

for (const [lease, status, state, duration] of [
  [STATES.available, 'unlocked', 'available', null],
  [STATES.leased, 'locked', 'leased', 'fixed'],
  [leased(A, -1, null), 'locked', 'leased', 'infinite'],
  [STATES.expired, 'unlocked', 'expired', null],
  [STATES.breaking, 'locked', 'breaking', null],
  [STATES.broken, 'unlocked', 'broken', null],
] as const) {
  test(`a lease that is ${state} (${duration}) is reported as ${status}`, () =>
    assert.deepEqual(leaseHeaders(lease), { status, state, duration }));
}

for (const [what, stored, nowMs, want] of [
  ['a finite lease before its deadline', leased(A, 15, 15_000), 14_999, leased(A, 15, 15_000)],
  ['a finite lease at its deadline', leased(A, 15, 15_000), 15_000, { state: 'expired', id: A, durationSeconds: 15 }],
  ['a finite lease long after', leased(A, 15, 15_000), 9e15, { state: 'expired', id: A, durationSeconds: 15 }],
  ['an infinite lease long after', leased(A, -1, null), 9e15, leased(A, -1, null)],
  [
    'a breaking lease before its deadline',
    { state: 'breaking', id: A, durationSeconds: -1, breaksAtMs: 5_000 },
    4_999,
    { state: 'breaking', id: A, durationSeconds: -1, breaksAtMs: 5_000 },
  ],
  [
    'a breaking lease at its deadline',
    { state: 'breaking', id: A, durationSeconds: -1, breaksAtMs: 5_000 },
    5_000,
    { state: 'broken', id: A },
  ],
  ['no lease', AVAILABLE, 9e15, AVAILABLE],
  ['a broken lease', STATES.broken, 9e15, STATES.broken],
  ['an expired lease', STATES.expired, 9e15, STATES.expired],
] as const) {
  test(`${what} is ${want.state}`, () => assert.deepEqual(leaseAt(stored, nowMs), want));
}

test('a lease survives being stored as JSON in every state', () => {
  for (const lease of [...Object.values(STATES), leased(A, -1, null)]) {
    assert.deepEqual(JSON.parse(JSON.stringify(lease)), lease);
  }
});

// ---- lease actions by state

const freshly = (id: LeaseId, durationSeconds = 40): Lease =>
  leased(id, durationSeconds, NOW_MS + durationSeconds * 1000);
const acquiring = (proposedId: LeaseId | null): LeaseAction => ({
  action: 'acquire',
  proposedId,
  freshId: X,
  durationSeconds: 40,
});
const breaking = (periodSeconds: number | null): LeaseAction => ({ action: 'break', periodSeconds });
const breakingFor = (seconds: number): Lease => ({
  state: 'breaking',
  id: A,
  durationSeconds: 30,
  breaksAtMs: NOW_MS + seconds * 1000,
});

type Cell = ErrorCode | Lease | { lease: Lease; remainingSeconds: number };
const toBroken: Cell = { lease: STATES.broken, remainingSeconds: 0 };

const ACTIONS: readonly (readonly [what: string, action: LeaseAction, ...cells: [Cell, Cell, Cell, Cell, Cell]])[] = [
  [
    'Acquire without a proposed id',
    acquiring(null),
    freshly(X),
    'LeaseAlreadyPresent',
    'LeaseAlreadyPresent',
    freshly(X),
    freshly(X),
  ],
  ['Acquire (A)', acquiring(A), freshly(A), freshly(A), 'LeaseIsBreakingAndCannotBeAcquired', freshly(A), freshly(A)],
  ['Acquire (B)', acquiring(B), freshly(B), 'LeaseAlreadyPresent', 'LeaseAlreadyPresent', freshly(B), freshly(B)],
  [
    'Renew (A)',
    { action: 'renew', id: A },
    'LeaseIdMismatchWithLeaseOperation',
    freshly(A, 30),
    'LeaseIsBrokenAndCannotBeRenewed',
    'LeaseIsBrokenAndCannotBeRenewed',
    freshly(A, 30),
  ],
  [
    'Renew (B)',
    { action: 'renew', id: B },
    'LeaseIdMismatchWithLeaseOperation',
    'LeaseIdMismatchWithLeaseOperation',
    'LeaseIdMismatchWithLeaseOperation',
    'LeaseIdMismatchWithLeaseOperation',
    'LeaseIdMismatchWithLeaseOperation',
  ],
  [
    'Change (A to B)',
    { action: 'change', id: A, proposedId: B },
    'LeaseNotPresentWithLeaseOperation',
    leased(B, 30, NOW_MS + 20_000),
    'LeaseIsBreakingAndCannotBeChanged',
    'LeaseNotPresentWithLeaseOperation',
    'LeaseNotPresentWithLeaseOperation',
  ],
  [
    'Change (B to A)',
    { action: 'change', id: B, proposedId: A },
    'LeaseNotPresentWithLeaseOperation',
    STATES.leased,
    'LeaseIsBreakingAndCannotBeChanged',
    'LeaseNotPresentWithLeaseOperation',
    'LeaseNotPresentWithLeaseOperation',
  ],
  [
    'Change (B to C)',
    { action: 'change', id: B, proposedId: C },
    'LeaseNotPresentWithLeaseOperation',
    'LeaseIdMismatchWithLeaseOperation',
    'LeaseIdMismatchWithLeaseOperation',
    'LeaseNotPresentWithLeaseOperation',
    'LeaseNotPresentWithLeaseOperation',
  ],
  [
    'Release (A)',
    { action: 'release', id: A },
    'LeaseIdMismatchWithLeaseOperation',
    AVAILABLE,
    AVAILABLE,
    AVAILABLE,
    AVAILABLE,
  ],
  [
    'Release (B)',
    { action: 'release', id: B },
    'LeaseIdMismatchWithLeaseOperation',
    'LeaseIdMismatchWithLeaseOperation',
    'LeaseIdMismatchWithLeaseOperation',
    'LeaseIdMismatchWithLeaseOperation',
    'LeaseIdMismatchWithLeaseOperation',
  ],
  ['Break with period 0', breaking(0), 'LeaseNotPresentWithLeaseOperation', toBroken, toBroken, toBroken, toBroken],
  [
    'Break with a shorter period',
    breaking(5),
    'LeaseNotPresentWithLeaseOperation',
    { lease: breakingFor(5), remainingSeconds: 5 },
    { lease: breakingFor(5), remainingSeconds: 5 },
    toBroken,
    toBroken,
  ],
  [
    'Break with a longer period',
    breaking(60),
    'LeaseNotPresentWithLeaseOperation',
    { lease: breakingFor(20), remainingSeconds: 20 },
    { lease: breakingFor(20), remainingSeconds: 20 },
    toBroken,
    toBroken,
  ],
  [
    'Break without a period',
    breaking(null),
    'LeaseNotPresentWithLeaseOperation',
    { lease: breakingFor(20), remainingSeconds: 20 },
    { lease: breakingFor(20), remainingSeconds: 20 },
    toBroken,
    toBroken,
  ],
];

function wantedResult(cell: Cell) {
  if (typeof cell === 'string') return { refusal: cell };
  return 'lease' in cell ? cell : { lease: cell, remainingSeconds: null };
}

for (const [what, action, ...cells] of ACTIONS) {
  for (const [index, column] of COLUMNS.entries()) {
    const want = wantedResult(cells[index] as Cell);
    const words = 'refusal' in want ? want.refusal : want.lease.state;
    test(`${what} on a lease that is ${column} gives ${words}`, () =>
      assert.deepEqual(resolveLeaseAction(STATES[column], action, NOW_MS), want));
  }
}

test('each action by its own name gives what resolveLeaseAction gives', () => {
  const acquired = acquire(STATES.available, { proposedId: null, freshId: X, durationSeconds: 40, nowMs: NOW_MS });
  assert.deepEqual(acquired, { lease: freshly(X) });
  assert.deepEqual(renew(STATES.expired, { id: A, nowMs: NOW_MS }), { lease: freshly(A, 30) });
  assert.deepEqual(change(STATES.leased, { id: A, proposedId: B }), { lease: leased(B, 30, NOW_MS + 20_000) });
  assert.deepEqual(release(STATES.broken, { id: A }), { lease: AVAILABLE });
  assert.deepEqual(breakLease(STATES.leased, { periodSeconds: 0, nowMs: NOW_MS }), toBroken);
});

const INFINITE = leased(A, -1, null);

for (const [period, want] of [
  [0, toBroken],
  [5, { lease: { ...breakingFor(5), durationSeconds: -1 }, remainingSeconds: 5 }],
  [60, { lease: { ...breakingFor(60), durationSeconds: -1 }, remainingSeconds: 60 }],
  [null, toBroken],
] as const) {
  test(`an infinite lease broken with period ${period} is ${(want as { lease: Lease }).lease.state}`, () =>
    assert.deepEqual(breakLease(INFINITE, { periodSeconds: period, nowMs: NOW_MS }), want));
}

test('an infinite lease is renewed, changed and acquired again without end', () => {
  assert.deepEqual(renew(INFINITE, { id: A, nowMs: NOW_MS }), { lease: INFINITE });
  assert.deepEqual(change(INFINITE, { id: A, proposedId: B }), { lease: leased(B, -1, null) });
  const again = acquire(INFINITE, { proposedId: A, freshId: X, durationSeconds: -1, nowMs: NOW_MS });
  assert.deepEqual(again, { lease: INFINITE });
});

for (const [remainingMs, want] of [
  [1, 1],
  [999, 1],
  [1_000, 1],
  [1_001, 2],
] as const) {
  test(`a lease with ${remainingMs} ms left is broken in ${want} s`, () => {
    const lease = leased(A, 15, NOW_MS + remainingMs);
    const result = breakLease(lease, { periodSeconds: null, nowMs: NOW_MS });
    assert.deepEqual(result, {
      lease: { state: 'breaking', id: A, durationSeconds: 15, breaksAtMs: NOW_MS + remainingMs },
      remainingSeconds: want,
    });
  });
}

// ---- use of a blob and of a container by state

type Verdict = ErrorCode | null;
type UseRow = readonly [
  attempt: string,
  rule: (lease: Lease, presented: LeaseId | null) => Verdict,
  presented: LeaseId | null,
  ...cells: [Verdict, Verdict, Verdict, Verdict, Verdict],
];

const noBlobLease = 'LeaseNotPresentWithBlobOperation';
const otherBlobLease = 'LeaseIdMismatchWithBlobOperation';
const noContainerLease = 'LeaseNotPresentWithContainerOperation';
const otherContainerLease = 'LeaseIdMismatchWithContainerOperation';

const USES: readonly UseRow[] = [
  ['a blob write with id A', refuseBlobWrite, A, noBlobLease, null, null, 'LeaseLost', 'LeaseLost'],
  ['a blob write with id B', refuseBlobWrite, B, noBlobLease, otherBlobLease, otherBlobLease, noBlobLease, noBlobLease],
  ['a blob write without id', refuseBlobWrite, null, null, 'LeaseIdMissing', 'LeaseIdMissing', null, null],
  ['a blob read with id A', refuseBlobRead, A, noBlobLease, null, null, 'LeaseLost', 'LeaseLost'],
  ['a blob read with id B', refuseBlobRead, B, noBlobLease, otherBlobLease, otherBlobLease, noBlobLease, noBlobLease],
  ['a blob read without id', refuseBlobRead, null, null, null, null, null, null],
  ['a container delete with id A', refuseContainerDelete, A, noContainerLease, null, null, 'LeaseLost', 'LeaseLost'],
  [
    'a container delete with id B',
    refuseContainerDelete,
    B,
    noContainerLease,
    otherContainerLease,
    otherContainerLease,
    noContainerLease,
    noContainerLease,
  ],
  ['a container delete without id', refuseContainerDelete, null, null, 'LeaseIdMissing', 'LeaseIdMissing', null, null],
  ['a container use with id A', refuseContainerUse, A, noContainerLease, null, null, 'LeaseLost', 'LeaseLost'],
  [
    'a container use with id B',
    refuseContainerUse,
    B,
    noContainerLease,
    otherContainerLease,
    otherContainerLease,
    noContainerLease,
    noContainerLease,
  ],
  ['a container use without id', refuseContainerUse, null, null, null, null, null, null],
];

for (const [attempt, rule, presented, ...cells] of USES) {
  for (const [index, column] of COLUMNS.entries()) {
    const want = cells[index] as Verdict;
    test(`${attempt} on a lease that is ${column} gets ${want ?? 'through'}`, () =>
      assert.equal(rule(STATES[column], presented), want));
  }
}

for (const [index, column] of COLUMNS.entries()) {
  const want = [AVAILABLE, STATES.leased, STATES.breaking, AVAILABLE, AVAILABLE][index];
  test(`after a write a lease that was ${column} is ${want?.state}`, () =>
    assert.deepEqual(afterWrite(STATES[column]), want));
}

test('a lease id on a write that would create the blob is refused', () => {
  assert.equal(refuseAbsentBlobWrite(A), 'LeaseNotPresentWithBlobOperation');
  assert.equal(refuseAbsentBlobWrite(null), null);
});

// ---- stories

/** One blob: its lease, and a clock that only the story moves. */
class Story {
  stored: Lease = AVAILABLE;
  nowMs = 0;

  act(action: LeaseAction): ErrorCode | number | null {
    const result = resolveLeaseAction(leaseAt(this.stored, this.nowMs), action, this.nowMs);
    if ('refusal' in result) return result.refusal;
    this.stored = result.lease;
    return result.remainingSeconds;
  }

  acquire(durationSeconds: number, proposedId: LeaseId = A) {
    return this.act({ action: 'acquire', proposedId, freshId: X, durationSeconds });
  }

  write(presented: LeaseId | null): ErrorCode | null {
    const lease = leaseAt(this.stored, this.nowMs);
    const refusal = refuseBlobWrite(lease, presented);
    if (refusal === null) this.stored = afterWrite(lease);
    return refusal;
  }

  wait(seconds: number): void {
    this.nowMs += seconds * 1000;
  }

  get state(): string {
    return leaseAt(this.stored, this.nowMs).state;
  }
}

test('an expired lease can be renewed', () => {
  const story = new Story();
  story.acquire(15);
  story.wait(16);
  assert.equal(story.act({ action: 'renew', id: A }), null);
  assert.equal(story.state, 'leased');
});

test('an expired lease cannot be renewed after a write without it', () => {
  const story = new Story();
  story.acquire(15);
  story.wait(16);
  assert.equal(story.write(null), null);
  assert.equal(story.act({ action: 'renew', id: A }), 'LeaseIdMismatchWithLeaseOperation');
});

test('an expired lease cannot be renewed after another acquired it, nor after the other let go', () => {
  const story = new Story();
  story.acquire(15);
  story.wait(15);
  assert.equal(story.acquire(15, B), null);
  assert.equal(story.act({ action: 'renew', id: A }), 'LeaseIdMismatchWithLeaseOperation');
  story.wait(15);
  assert.equal(story.act({ action: 'renew', id: A }), 'LeaseIdMismatchWithLeaseOperation');
});

test('a write with the id of an expired lease learns that the lease is lost', () => {
  const story = new Story();
  story.acquire(15);
  story.wait(16);
  assert.equal(story.write(A), 'LeaseLost');
  assert.equal(story.state, 'expired');
});

test('an infinite lease that was broken at once lets anyone write', () => {
  const story = new Story();
  story.acquire(-1);
  assert.equal(story.act(breaking(null)), 0);
  assert.equal(story.write(null), null);
  assert.equal(story.state, 'available');
});

test('the holder of a breaking lease still writes', () => {
  const story = new Story();
  story.acquire(-1);
  assert.equal(story.act(breaking(10)), 10);
  story.wait(9);
  assert.equal(story.write(A), null);
  assert.equal(story.state, 'breaking');
  story.wait(1);
  assert.equal(story.write(A), 'LeaseLost');
  assert.equal(story.state, 'broken');
});

for (const [first, second] of [
  [60, 5],
  [5, 60],
] as const) {
  test(`a break of ${first} s and then of ${second} s ends after 5 s`, () => {
    const story = new Story();
    story.acquire(-1);
    story.act(breaking(first));
    assert.equal(story.act(breaking(second)), 5);
  });
}

test('the holder acquires again with another duration and gets a new deadline', () => {
  const story = new Story();
  assert.equal(story.acquire(15), null);
  story.wait(10);
  assert.equal(story.acquire(60), null);
  story.wait(59);
  assert.equal(story.state, 'leased');
  story.wait(1);
  assert.equal(story.state, 'expired');
});

test('a change sent twice succeeds twice', () => {
  const story = new Story();
  story.acquire(15);
  assert.equal(story.act({ action: 'change', id: A, proposedId: B }), null);
  assert.equal(story.act({ action: 'change', id: A, proposedId: B }), null);
  assert.equal(story.write(B), null);
  assert.equal(story.write(A), 'LeaseIdMismatchWithBlobOperation');
});

test('an expired lease is released once', () => {
  const story = new Story();
  story.acquire(15);
  story.wait(16);
  assert.equal(story.act({ action: 'release', id: A }), null);
  assert.equal(story.act({ action: 'release', id: A }), 'LeaseIdMismatchWithLeaseOperation');
});

test('a released id is forgotten', () => {
  const story = new Story();
  story.acquire(15);
  story.act({ action: 'release', id: A });
  assert.equal(story.act({ action: 'renew', id: A }), 'LeaseIdMismatchWithLeaseOperation');
  assert.equal(story.act(breaking(0)), 'LeaseNotPresentWithLeaseOperation');
});

// ---- every sequence of steps

const IDS: readonly LeaseId[] = [A, B, X];
const DEPTH = 5;

type Step =
  | { readonly kind: 'act'; readonly action: LeaseAction }
  | { readonly kind: 'write'; readonly presented: LeaseId | null }
  | { readonly kind: 'wait'; readonly ms: number };

const act = (action: LeaseAction): Step => ({ kind: 'act', action });
const acquireStep = (proposedId: LeaseId | null, durationSeconds: number): Step =>
  act({ action: 'acquire', proposedId, freshId: X, durationSeconds });

const STEPS: readonly Step[] = [
  acquireStep(null, 15),
  acquireStep(A, 15),
  acquireStep(A, -1),
  acquireStep(B, 60),
  act({ action: 'renew', id: A }),
  act({ action: 'renew', id: B }),
  act({ action: 'change', id: A, proposedId: B }),
  act({ action: 'change', id: B, proposedId: A }),
  act({ action: 'release', id: A }),
  act({ action: 'release', id: B }),
  act(breaking(null)),
  act(breaking(0)),
  act(breaking(7)),
  act(breaking(60)),
  { kind: 'write', presented: null },
  { kind: 'write', presented: A },
  { kind: 'write', presented: B },
  { kind: 'wait', ms: 1 },
  { kind: 'wait', ms: 6_999 },
  { kind: 'wait', ms: 15_000 },
];

type World = { readonly stored: Lease; readonly nowMs: number };

function takeStep(world: World, step: Step): World {
  const lease = leaseAt(world.stored, world.nowMs);
  if (step.kind === 'wait') return { ...world, nowMs: world.nowMs + step.ms };
  if (step.kind === 'write') {
    return refuseBlobWrite(lease, step.presented) === null ? { ...world, stored: afterWrite(lease) } : world;
  }
  const result = resolveLeaseAction(lease, step.action, world.nowMs);
  return 'refusal' in result ? world : { ...world, stored: result.lease };
}

function holders({ stored, nowMs }: World): readonly LeaseId[] {
  return IDS.filter((id) => refuseBlobWrite(leaseAt(stored, nowMs), id) === null);
}

/** When the lock ends by itself; never is later than every time. */
function lockEndsAtMs({ stored, nowMs }: World): number {
  const lease = leaseAt(stored, nowMs);
  if (lease.state === 'leased') return lease.expiresAtMs ?? Number.POSITIVE_INFINITY;
  return lease.state === 'breaking' ? lease.breaksAtMs : nowMs;
}

function idsNamedBy(step: Step): readonly (LeaseId | null)[] {
  if (step.kind !== 'act') return [];
  const { action } = step;
  if (action.action === 'acquire') return [action.proposedId];
  return action.action === 'break' ? [] : [action.id];
}

function checkWorld(world: World): void {
  const { stored, nowMs } = world;
  const lease = leaseAt(stored, nowMs);
  const locked = leaseHeaders(lease).status === 'locked';
  assert.equal(holders(world).length, locked ? 1 : 0, 'a locked lease has one holder, an unlocked one has none');
  assert.equal(refuseBlobWrite(lease, null), locked ? 'LeaseIdMissing' : null, 'a write without id is locked out');
  assert.equal(refuseBlobRead(lease, null), null, 'a read without id is never locked out');
  assert.deepEqual(leaseAt(lease, nowMs), lease, 'a lease as of now is what it is');
  const endsAtMs = lockEndsAtMs(world);
  if (endsAtMs !== Number.POSITIVE_INFINITY) {
    assert.equal(leaseHeaders(leaseAt(stored, endsAtMs)).status, 'unlocked', 'a lock ends at its deadline');
    if (locked) assert.equal(leaseHeaders(leaseAt(stored, endsAtMs - 1)).status, 'locked', 'and not before');
  }
}

function checkStep(before: World, step: Step, after: World): void {
  const [holder] = holders(before);
  const [next] = holders(after);
  if (holder !== undefined && !idsNamedBy(step).includes(holder)) {
    assert.ok(next === undefined || next === holder, 'nobody else takes a lease that is held');
    assert.ok(lockEndsAtMs(after) <= Math.max(lockEndsAtMs(before), after.nowMs), 'nobody else lengthens it');
  }
  if (step.kind === 'act' && step.action.action === 'break') {
    assert.ok(lockEndsAtMs(after) <= lockEndsAtMs(before), 'a break never lengthens');
    assert.ok(next === undefined || next === holder, 'a break gives the lease to nobody');
  }
  if (step.kind !== 'act') assert.ok(next === undefined || next === holder, 'only an action makes a holder');
}

/** Deadlines as distances, so that worlds which differ in their clock only are met once. */
function fingerprint({ stored, nowMs }: World): string {
  return JSON.stringify(stored, (key, value: unknown) =>
    key.endsWith('AtMs') && typeof value === 'number' ? value - nowMs : value,
  );
}

for (const [name, start] of Object.entries({ ...STATES, infinite: INFINITE })) {
  test(`no sequence of ${DEPTH} steps from a lease that is ${name} breaks a promise`, () => {
    let frontier: World[] = [{ stored: start, nowMs: NOW_MS }];
    const seen = new Set(frontier.map(fingerprint));
    for (let depth = 0; depth < DEPTH; depth++) {
      const reached: World[] = [];
      for (const world of frontier) {
        checkWorld(world);
        for (const step of STEPS) {
          const next = takeStep(world, step);
          checkStep(world, step, next);
          const print = fingerprint(next);
          if (!seen.has(print)) {
            seen.add(print);
            reached.push(next);
          }
        }
      }
      frontier = reached;
    }
    for (const world of frontier) checkWorld(world);
    assert.ok(seen.size > 100, `only ${seen.size} states were reached`);
  });
}
