import assert from 'node:assert/strict';
import test from 'node:test';
import { formatHttpDate, parseHttpDate } from '../base/http-date.ts';
import {
  type Conditions,
  type ContainerConditions,
  type EtagCondition,
  NO_CONDITIONS,
  parseEtagCondition,
  type Refusal,
  refuseContainerConditions,
  refuseContainerHeaders,
  refuseMix,
  refuseRead,
  refuseWriteConditions,
} from './conditions.ts';
import type { ErrorCode } from './error-code.ts';

const ETAG = '0x8DC0123456789AB';
const MODIFIED_MS = Date.UTC(2024, 0, 1, 12, 0, 0, 750);
const TARGET = { etag: ETAG, lastModifiedMs: MODIFIED_MS };
const NEW = { version: '2024-11-04' };

/** A condition of each kind that is true of TARGET, and one that is false. */
const TRUE = {
  ifMatch: [ETAG],
  ifUnmodifiedSinceMs: MODIFIED_MS,
  ifNoneMatch: ['other'],
  ifModifiedSinceMs: MODIFIED_MS - 1_000,
} as const;
const FALSE = {
  ifMatch: ['other'],
  ifUnmodifiedSinceMs: MODIFIED_MS - 1_000,
  ifNoneMatch: [ETAG],
  ifModifiedSinceMs: MODIFIED_MS,
} as const;

const given = (conditions: Partial<Conditions>): Conditions => ({ ...NO_CONDITIONS, ...conditions });

type Answer = 'passes' | 304 | 412 | ErrorCode;

function answerOf(refusal: Refusal | null): Answer {
  if (refusal === null) return 'passes';
  if (refusal.code !== 'ConditionNotMet') return refusal.code;
  return refusal.notModified ? 304 : 412;
}

// ---- header texts

for (const [text, want] of [
  ['*', '*'],
  [' * ', '*'],
  ['"0x8DC"', ['0x8DC']],
  ['0x8DC', ['0x8DC']],
  ['"0x8DC", 0x8DD,"0x8DE"', ['0x8DC', '0x8DD', '0x8DE']],
  ['W/"0x8DC"', ['W/"0x8DC"']],
  ['""0x8DC""', ['"0x8DC"']],
  ['"', ['"']],
  ['""', ['']],
  ['"*"', ['*']],
  ['', ['']],
] as const) {
  test(`the ETag condition '${text}' is ${JSON.stringify(want)}`, () =>
    assert.deepEqual(parseEtagCondition(text), want));
}

test('odd text in If-Match matches nothing and is no error', () => {
  for (const text of ['', '""', 'W/"0x8DC0123456789AB"', '0x8dc0123456789ab', '"*"', '\u0001']) {
    const conditions = given({ ifMatch: parseEtagCondition(text) });
    assert.equal(answerOf(refuseWriteConditions(conditions, TARGET, { creates: true })), 412, text);
  }
});

// ---- a single condition

for (const [what, conditions, want] of [
  ['If-Match: the ETag', given({ ifMatch: [ETAG] }), true],
  ['If-Match: *', given({ ifMatch: '*' }), true],
  ['If-Match: another ETag', given({ ifMatch: ['other'] }), false],
  ['If-None-Match: another ETag', given({ ifNoneMatch: ['other'] }), true],
  ['If-None-Match: the ETag', given({ ifNoneMatch: [ETAG] }), false],
  ['If-Modified-Since: a second earlier', given({ ifModifiedSinceMs: MODIFIED_MS - 1_000 }), true],
  ['If-Modified-Since: the same second', given({ ifModifiedSinceMs: MODIFIED_MS - 750 }), false],
  ['If-Modified-Since: a second later', given({ ifModifiedSinceMs: MODIFIED_MS + 1_000 }), false],
  ['If-Unmodified-Since: a second earlier', given({ ifUnmodifiedSinceMs: MODIFIED_MS - 1_000 }), false],
  ['If-Unmodified-Since: the same second', given({ ifUnmodifiedSinceMs: MODIFIED_MS - 750 }), true],
  ['If-Unmodified-Since: a second later', given({ ifUnmodifiedSinceMs: MODIFIED_MS + 1_000 }), true],
] as const) {
  test(`${what} is ${want} of an existing blob`, () => {
    assert.equal(refuseRead(conditions, TARGET, NEW) === null, want);
    assert.equal(refuseWriteConditions(conditions, TARGET, { creates: false }) === null, want);
  });
}

test('a client that echoes Last-Modified finds the blob unmodified', () => {
  const echoedMs = parseHttpDate(formatHttpDate(MODIFIED_MS));
  assert.equal(answerOf(refuseRead(given({ ifModifiedSinceMs: echoedMs }), TARGET, NEW)), 304);
  assert.equal(answerOf(refuseRead(given({ ifUnmodifiedSinceMs: echoedMs }), TARGET, NEW)), 'passes');
});

// ---- which mixes are taken

const HEADERS = ['ifMatch', 'ifNoneMatch', 'ifModifiedSinceMs', 'ifUnmodifiedSinceMs'] as const;
type Header = (typeof HEADERS)[number];

function mixOf(headers: readonly Header[], values: typeof TRUE | typeof FALSE): Conditions {
  return given(Object.fromEntries(headers.map((header) => [header, values[header]])));
}

const LEGAL_PAIRS = ['ifNoneMatch+ifModifiedSinceMs', 'ifMatch+ifUnmodifiedSinceMs'];

for (let mask = 0; mask < 16; mask++) {
  const headers = HEADERS.filter((_, bit) => (mask & (1 << bit)) !== 0);
  const name = headers.join('+');
  const legal = headers.length <= 1 || LEGAL_PAIRS.includes(name);
  test(`a write with ${name || 'no condition'} is ${legal ? 'judged' : 'refused for its mix'}`, () => {
    const want: Answer = legal ? 'passes' : 'MultipleConditionHeadersNotSupported';
    const conditions = mixOf(headers, TRUE);
    assert.equal(refuseMix(conditions), legal ? null : want);
    for (const creates of [true, false]) {
      assert.equal(answerOf(refuseWriteConditions(conditions, TARGET, { creates })), want);
    }
    assert.equal(answerOf(refuseRead(conditions, TARGET, { version: '2012-02-12' })), want);
    assert.equal(answerOf(refuseRead(conditions, TARGET, { version: '2013-08-15' })), 'passes');
  });
}

test('the mix of conditions is refused before the absence of the blob is noticed', () => {
  const mix = given({ ifMatch: [ETAG], ifNoneMatch: ['other'] });
  assert.equal(answerOf(refuseWriteConditions(mix, null, { creates: true })), 'MultipleConditionHeadersNotSupported');
});

for (const [what, conditions, want] of [
  ['If-None-Match true, If-Modified-Since false', { ...FALSE, ifNoneMatch: TRUE.ifNoneMatch }, 'passes'],
  ['If-None-Match false, If-Modified-Since true', { ...TRUE, ifNoneMatch: FALSE.ifNoneMatch }, 412],
] as const) {
  test(`of a write's pair only the ETag counts: ${what}: ${want}`, () => {
    const { ifNoneMatch, ifModifiedSinceMs } = conditions;
    const pair = given({ ifNoneMatch, ifModifiedSinceMs });
    assert.equal(answerOf(refuseWriteConditions(pair, TARGET, { creates: false })), want);
    assert.equal(answerOf(refuseRead(pair, TARGET, { version: '2012-02-12' })), want === 412 ? 304 : want);
  });
}

for (const [what, conditions, want] of [
  ['If-Match true, If-Unmodified-Since false', { ...FALSE, ifMatch: TRUE.ifMatch }, 'passes'],
  ['If-Match false, If-Unmodified-Since true', { ...TRUE, ifMatch: FALSE.ifMatch }, 412],
] as const) {
  test(`of a write's pair only the ETag counts: ${what}: ${want}`, () => {
    const { ifMatch, ifUnmodifiedSinceMs } = conditions;
    const pair = given({ ifMatch, ifUnmodifiedSinceMs });
    assert.equal(answerOf(refuseWriteConditions(pair, TARGET, { creates: false })), want);
    assert.equal(answerOf(refuseRead(pair, TARGET, { version: '2012-02-12' })), want);
  });
}

for (const [what, conditions, read, write] of [
  [
    'If-Match with the ETag in a list',
    given({ ifMatch: ['a', ETAG] }),
    'passes',
    'MultipleConditionHeadersNotSupported',
  ],
  ['If-Match with a list of others', given({ ifMatch: ['a', 'b'] }), 412, 'MultipleConditionHeadersNotSupported'],
  [
    'If-None-Match with the ETag in a list',
    given({ ifNoneMatch: ['a', ETAG] }),
    304,
    'MultipleConditionHeadersNotSupported',
  ],
  [
    'If-None-Match with a list of others',
    given({ ifNoneMatch: ['a', 'b'] }),
    'passes',
    'MultipleConditionHeadersNotSupported',
  ],
] as const) {
  test(`${what}: a read ${read}, a write ${write}`, () => {
    assert.equal(answerOf(refuseRead(conditions, TARGET, NEW)), read);
    assert.equal(answerOf(refuseRead(conditions, TARGET, { version: '2012-02-12' })), write);
    assert.equal(answerOf(refuseWriteConditions(conditions, TARGET, { creates: true })), write);
  });
}

// ---- what a false condition answers

for (const [header, read, write] of [
  ['ifMatch', 412, 412],
  ['ifUnmodifiedSinceMs', 412, 412],
  ['ifNoneMatch', 304, 412],
  ['ifModifiedSinceMs', 304, 412],
] as const) {
  test(`a false ${header} answers a read with ${read} and a write with ${write}`, () => {
    const conditions = mixOf([header], FALSE);
    assert.equal(answerOf(refuseRead(conditions, TARGET, NEW)), read);
    assert.equal(answerOf(refuseWriteConditions(conditions, TARGET, { creates: true })), write);
    assert.equal(answerOf(refuseWriteConditions(conditions, TARGET, { creates: false })), write);
  });
}

type Mark = 'true' | 'false' | '-' | 'any';
const MARKS = { any: ['true', 'false', '-'], true: ['true'], false: ['false'], '-': ['-'] } as const;

function marked(header: Header, mark: 'true' | 'false' | '-'): Partial<Conditions> {
  if (mark === '-') return {};
  return { [header]: (mark === 'true' ? TRUE : FALSE)[header] };
}

const READ_MATRIX: readonly (readonly [im: Mark, ius: Mark, inm: Mark, ims: Mark, want: Answer])[] = [
  ['-', '-', 'false', '-', 304],
  ['-', '-', '-', 'false', 304],
  ['-', '-', 'false', 'true', 'passes'],
  ['-', '-', 'true', 'false', 'passes'],
  ['-', '-', 'false', 'false', 304],
  ['true', '-', '-', 'false', 304],
  ['false', '-', 'any', 'any', 412],
  ['true', 'false', 'any', 'any', 412],
  ['true', 'true', 'false', 'true', 'passes'],
  ['true', 'true', 'true', 'false', 'passes'],
  ['true', 'true', 'false', 'false', 304],
];

for (const [im, ius, inm, ims, want] of READ_MATRIX) {
  test(`a read with IM ${im}, IUS ${ius}, INM ${inm}, IMS ${ims}: ${want}`, () => {
    for (const match of MARKS[im])
      for (const unmodified of MARKS[ius])
        for (const noneMatch of MARKS[inm])
          for (const modified of MARKS[ims]) {
            const conditions = given({
              ...marked('ifMatch', match),
              ...marked('ifUnmodifiedSinceMs', unmodified),
              ...marked('ifNoneMatch', noneMatch),
              ...marked('ifModifiedSinceMs', modified),
            });
            assert.equal(answerOf(refuseRead(conditions, TARGET, NEW)), want);
          }
  });
}

// ---- what does not exist, and wildcards

const noneMatch = (ifNoneMatch: EtagCondition) => given({ ifNoneMatch });
const match = (ifMatch: EtagCondition) => given({ ifMatch });
const EVER = '9999-12-31';
const IMS = given({ ifModifiedSinceMs: Date.parse(EVER) });
const IUS = given({ ifUnmodifiedSinceMs: 0 });

for (const [operation, creates, target, conditions, want] of [
  ['a creating write', true, 'exists', noneMatch('*'), 'BlobAlreadyExists'],
  ['a creating write', true, 'missing', noneMatch('*'), 'passes'],
  ['a creating write', true, 'missing', noneMatch([ETAG]), 'passes'],
  ['a creating write', true, 'missing', IMS, 'passes'],
  ['a creating write', true, 'missing', IUS, 'passes'],
  ['a creating write', true, 'missing', match([ETAG]), 412],
  ['a creating write', true, 'missing', match('*'), 412],
  ['a creating write', true, 'exists', match('*'), 'passes'],
  ['a creating write', true, 'exists', noneMatch([ETAG]), 412],
  ['another write', false, 'missing', NO_CONDITIONS, 'passes'],
  ['another write', false, 'missing', noneMatch('*'), 'passes'],
  ['another write', false, 'missing', noneMatch([ETAG]), 'passes'],
  ['another write', false, 'missing', match([ETAG]), 412],
  ['another write', false, 'missing', match('*'), 412],
  ['another write', false, 'exists', noneMatch('*'), 412],
] as const) {
  test(`${operation} on a blob that is ${target} with ${JSON.stringify(conditions)}: ${want}`, () =>
    assert.equal(answerOf(refuseWriteConditions(conditions, target === 'exists' ? TARGET : null, { creates })), want));
}

for (const [target, version, conditions, want] of [
  ['exists', '2016-05-31', noneMatch('*'), 'UnsatisfiableCondition'],
  ['exists', '2024-11-04', { ...FALSE, ifNoneMatch: '*' }, 'UnsatisfiableCondition'],
  ['exists', '2015-12-11', noneMatch('*'), 'passes'],
  ['exists', '2012-02-12', noneMatch('*'), 'passes'],
  ['exists', '2015-12-11', given({ ifNoneMatch: '*', ifModifiedSinceMs: MODIFIED_MS }), 304],
  ['missing', '2024-11-04', noneMatch('*'), 'passes'],
  ['missing', '2024-11-04', noneMatch([ETAG]), 'passes'],
  ['missing', '2024-11-04', IMS, 'passes'],
  ['missing', '2024-11-04', IUS, 'passes'],
  ['missing', '2024-11-04', match([ETAG]), 412],
  ['missing', '2024-11-04', match('*'), 412],
  ['missing', '2012-02-12', match('*'), 412],
] as const) {
  test(`a read (${version}) of a blob that is ${target} with ${JSON.stringify(conditions)}: ${want}`, () =>
    assert.equal(answerOf(refuseRead(conditions, target === 'exists' ? TARGET : null, { version })), want));
}

// ---- containers

const CONTAINER_ROWS: readonly (readonly [ContainerConditions, Conditions, Answer])[] = [
  ['none', NO_CONDITIONS, 'passes'],
  ['none', mixOf(['ifModifiedSinceMs'], TRUE), 'ConditionHeadersNotSupported'],
  ['none', mixOf(['ifUnmodifiedSinceMs'], TRUE), 'ConditionHeadersNotSupported'],
  ['none', match('*'), 'ConditionHeadersNotSupported'],
  ['ifModifiedSince', mixOf(['ifModifiedSinceMs'], TRUE), 'passes'],
  ['ifModifiedSince', mixOf(['ifModifiedSinceMs'], FALSE), 412],
  ['ifModifiedSince', mixOf(['ifUnmodifiedSinceMs'], TRUE), 'ConditionHeadersNotSupported'],
  ['ifModifiedSince', match([ETAG]), 'ConditionHeadersNotSupported'],
  ['ifModifiedSince', noneMatch('*'), 'ConditionHeadersNotSupported'],
  ['dates', mixOf(['ifModifiedSinceMs'], TRUE), 'passes'],
  ['dates', mixOf(['ifModifiedSinceMs'], FALSE), 412],
  ['dates', mixOf(['ifUnmodifiedSinceMs'], TRUE), 'passes'],
  ['dates', mixOf(['ifUnmodifiedSinceMs'], FALSE), 412],
  ['dates', mixOf(['ifModifiedSinceMs', 'ifUnmodifiedSinceMs'], TRUE), 'passes'],
  ['dates', given({ ifModifiedSinceMs: TRUE.ifModifiedSinceMs, ifUnmodifiedSinceMs: FALSE.ifUnmodifiedSinceMs }), 412],
  ['dates', given({ ifModifiedSinceMs: FALSE.ifModifiedSinceMs, ifUnmodifiedSinceMs: TRUE.ifUnmodifiedSinceMs }), 412],
  ['dates', match([ETAG]), 'ConditionHeadersNotSupported'],
  ['dates', noneMatch([ETAG]), 'ConditionHeadersNotSupported'],
];

for (const [takes, conditions, want] of CONTAINER_ROWS) {
  test(`a container operation that takes ${takes} with ${JSON.stringify(conditions)}: ${want}`, () => {
    assert.equal(answerOf(refuseContainerConditions(conditions, TARGET, { takes })), want);
    const headers = refuseContainerHeaders(conditions, takes);
    assert.equal(headers, want === 'ConditionHeadersNotSupported' ? want : null);
  });
}
