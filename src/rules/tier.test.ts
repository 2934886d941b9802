import assert from 'node:assert/strict';
import test from 'node:test';
import type { ErrorCode } from './error-code.ts';
import {
  archiveStatus,
  isArchived,
  parseRehydratePriority,
  parseTier,
  type RehydratePriority,
  type Rehydration,
  refuseTier,
  resolveSetTier,
  type SetTierRequest,
  type Tier,
  type TierState,
  tierAt,
  withTier,
} from './tier.ts';

const NOW_MS = 1_000_000;
const HOUR_MS = 3_600_000;

const at = (tier: Tier): TierState => ({ tier, changedMs: 5 });
const rehydratingTo = (
  to: Rehydration['to'],
  priority: RehydratePriority = 'Standard',
  doneMs = NOW_MS + HOUR_MS,
): TierState => ({
  ...at('Archive'),
  rehydrating: { to, priority, doneMs },
});

const setTier = (tier: Tier, changes: Partial<SetTierRequest> = {}): SetTierRequest => ({
  tier,
  priority: null,
  blobType: 'BlockBlob',
  lengthBytes: 100,
  isSnapshotOrVersion: false,
  nowMs: NOW_MS,
  rehydrationMs: HOUR_MS,
  ...changes,
});

// ---- the matrix of block blobs

type Cell = 200 | 202 | ErrorCode;
const being = 'BlobBeingRehydrated';
const TARGETS = ['Hot', 'Cool', 'Cold', 'Smart', 'Archive'] as const;
const MATRIX: readonly (readonly [what: string, stored: TierState, ...cells: [Cell, Cell, Cell, Cell, Cell]])[] = [
  ['of the account', {}, 200, 200, 200, 200, 200],
  ['Hot', at('Hot'), 200, 200, 200, 200, 200],
  ['Cool', at('Cool'), 200, 200, 200, 200, 200],
  ['Cold', at('Cold'), 200, 200, 200, 200, 200],
  ['Smart', at('Smart'), 200, 200, 200, 200, 200],
  ['Archive', at('Archive'), 202, 202, 202, 202, 200],
  ['on its way to Hot', rehydratingTo('Hot'), 202, being, being, being, being],
  ['on its way to Cool', rehydratingTo('Cool'), being, 202, being, being, being],
  ['on its way to Cold', rehydratingTo('Cold'), being, being, 202, being, being],
  ['on its way to Smart', rehydratingTo('Smart'), being, being, being, 202, being],
  ['just arrived at Hot', rehydratingTo('Hot', 'Standard', NOW_MS), 200, 200, 200, 200, 200],
];

for (const [what, stored, ...cells] of MATRIX) {
  for (const [index, tier] of TARGETS.entries()) {
    const want = cells[index] as Cell;
    test(`a blob whose tier is ${what}, set to ${tier}, gets ${want}`, () => {
      const result = resolveSetTier(stored, setTier(tier));
      if ('refusal' in result) return assert.equal(result.refusal, want);
      assert.equal(result.accepted ? 202 : 200, want);
      const done = result.state.rehydrating?.doneMs ?? NOW_MS;
      assert.equal(tierAt(result.state, done).tier, tier);
      assert.equal(isArchived(result.state, NOW_MS), result.accepted || tier === 'Archive');
    });
  }
}

const LONG = rehydratingTo('Hot', 'Standard', NOW_MS + 15 * HOUR_MS);
const LONG_HIGH = rehydratingTo('Hot', 'High', NOW_MS + 15 * HOUR_MS);

for (const [what, stored, request, want] of [
  ['a first tier', {}, setTier('Hot'), { tier: 'Hot', changedMs: NOW_MS }],
  ['another tier', at('Hot'), setTier('Cool'), { tier: 'Cool', changedMs: NOW_MS }],
  ['the tier it has', at('Cool'), setTier('Cool'), at('Cool')],
  ['the archive again', at('Archive'), setTier('Archive'), at('Archive')],
  ['a tier out of the archive', at('Archive'), setTier('Hot'), rehydratingTo('Hot')],
  ['a tier with high priority', at('Archive'), setTier('Hot', { priority: 'High' }), rehydratingTo('Hot', 'High')],
  ['the same again', rehydratingTo('Hot', 'High'), setTier('Hot'), rehydratingTo('Hot', 'High')],
  ['the same without a priority', LONG, setTier('Hot'), LONG],
  ['the same with its own priority', LONG, setTier('Hot', { priority: 'Standard' }), LONG],
  ['the same with high priority again', LONG_HIGH, setTier('Hot', { priority: 'High' }), LONG_HIGH],
  ['the same with high priority', LONG, setTier('Hot', { priority: 'High' }), rehydratingTo('Hot', 'High')],
  [
    'the same with high priority, when it is nearly done',
    rehydratingTo('Hot', 'Standard', NOW_MS + 1),
    setTier('Hot', { priority: 'High' }),
    rehydratingTo('Hot', 'High', NOW_MS + 1),
  ],
  [
    'the same with standard priority after high',
    rehydratingTo('Hot', 'High', NOW_MS + 7),
    setTier('Hot', { priority: 'Standard' }),
    rehydratingTo('Hot', 'High', NOW_MS + 7),
  ],
  [
    'the tier at which it has arrived',
    rehydratingTo('Hot', 'High', NOW_MS - 1),
    setTier('Hot'),
    { tier: 'Hot', changedMs: NOW_MS - 1 },
  ],
] as const) {
  test(`setting ${what} gives ${JSON.stringify(want)}`, () => {
    const result = resolveSetTier(stored, request);
    assert.deepEqual('state' in result ? result.state : result.refusal, want);
  });
}

const page = (lengthBytes: number): Partial<SetTierRequest> => ({ blobType: 'PageBlob', lengthBytes });
const GIB = 2 ** 30;

for (const [what, stored, request, want] of [
  ['P10 on a block blob', at('Hot'), setTier('P10'), 'AccessTierNotSupportedForBlobType'],
  ['P10 on an append blob', {}, setTier('P10', { blobType: 'AppendBlob' }), 'AccessTierNotSupportedForBlobType'],
  ['Hot on an append blob', {}, setTier('Hot', { blobType: 'AppendBlob' }), 'AccessTierNotSupportedForBlobType'],
  ['Hot on a page blob', at('P10'), setTier('Hot', page(0)), 'AccessTierNotSupportedForBlobType'],
  ['P6 on a page blob at P10', at('P10'), setTier('P6', page(99 * GIB)), 'CannotChangeToLowerTier'],
  ['P4 for 32 GiB', {}, setTier('P4', page(32 * GIB)), null],
  ['P4 for a page more', {}, setTier('P4', page(32 * GIB + 512)), 'BlobTierInadequateForContentLength'],
  ['P6 for 65 GiB at P4', at('P4'), setTier('P6', page(65 * GIB)), 'BlobTierInadequateForContentLength'],
  ['P15 for 256 GiB at P10', at('P10'), setTier('P15', page(256 * GIB)), null],
  ['P50 for 8 TiB', {}, setTier('P50', page(8192 * GIB)), 'BlobTierInadequateForContentLength'],
  ['P60 for 8 TiB', {}, setTier('P60', page(8192 * GIB)), null],
  ['P80 at P70', at('P70'), setTier('P80', page(0)), null],
  ['P10 at P10', at('P10'), setTier('P10', page(0)), null],
  ['P4 at P80', at('P80'), setTier('P4', page(0)), 'CannotChangeToLowerTier'],
  ['Hot on an archived snapshot', at('Archive'), setTier('Hot', { isSnapshotOrVersion: true }), 'BlobArchived'],
  ['Archive on an archived snapshot', at('Archive'), setTier('Archive', { isSnapshotOrVersion: true }), null],
  ['Archive on a snapshot', at('Hot'), setTier('Archive', { isSnapshotOrVersion: true }), null],
] as const) {
  test(`setting ${what} gets ${want ?? 'through'}`, () => {
    const result = resolveSetTier(stored, request);
    assert.equal('refusal' in result ? result.refusal : null, want);
  });
}

test('a tier given with a new blob is judged by its type and length', () => {
  assert.equal(refuseTier('Cool', { blobType: 'BlockBlob', lengthBytes: 0 }), null);
  assert.equal(refuseTier('P4', { blobType: 'PageBlob', lengthBytes: 512 }), null);
  assert.equal(refuseTier('Cool', { blobType: 'PageBlob', lengthBytes: 0 }), 'AccessTierNotSupportedForBlobType');
});

// ---- time

for (const [nowMs, tier, changedMs, status] of [
  [0, 'Archive', 5, 'rehydrate-pending-to-cool'],
  [99, 'Archive', 5, 'rehydrate-pending-to-cool'],
  [100, 'Cool', 100, null],
  [101, 'Cool', 100, null],
] as const) {
  test(`at ${nowMs} a rehydration to Cool that is done at 100 is at ${tier}`, () => {
    const state = tierAt(rehydratingTo('Cool', 'High', 100), nowMs);
    assert.equal(state.tier, tier);
    assert.equal(state.changedMs, changedMs);
    assert.equal(archiveStatus(state), status);
    assert.equal(isArchived(rehydratingTo('Cool', 'High', 100), nowMs), tier === 'Archive');
  });
}

test('a tier that nobody set is none, and not archived', () => {
  assert.deepEqual(tierAt({}, NOW_MS), {});
  assert.equal(isArchived({}, NOW_MS), false);
  assert.equal(archiveStatus({}), null);
});

test('a record takes a new state whole and keeps its other fields', () => {
  const record = { name: 'a', ...rehydratingTo('Hot') };
  assert.deepEqual(tierAt(record, 0), rehydratingTo('Hot'), 'the state of a record has nothing else of it');
  assert.deepEqual(withTier(record, { tier: 'Hot' }), { name: 'a', tier: 'Hot' });
  assert.deepEqual(withTier(record, {}), { name: 'a' });
});

// ---- text

for (const [text, want] of [
  ['Hot', 'Hot'],
  ['archive', 'Archive'],
  ['SMART', 'Smart'],
  ['p80', 'P80'],
  ['P5', null],
  ['Premium', null],
  ['constructor', null],
  ['', null],
] as const) {
  test(`the tier '${text}' is ${want}`, () => assert.equal(parseTier(text), want));
}

for (const [text, want] of [
  ['High', 'High'],
  ['standard', 'Standard'],
  ['Low', null],
] as const) {
  test(`the priority '${text}' is ${want}`, () => assert.equal(parseRehydratePriority(text), want));
}
