import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type InUse, NOT_IN_USE, type OpenUse, type Verdict } from './in-use.ts';
import type { Caching } from './oplock.ts';
import { judgeRest, REST_OPENS, type RestOperation } from './rest-open.ts';
import { type Access, ALL_ACCESS, DELETES, NO_ACCESS, READS, WRITES } from './share-mode.ts';

const OPERATIONS = Object.keys(REST_OPENS) as RestOperation[];

function openOf(open: Partial<OpenUse>): OpenUse {
  const { id = 'a' } = open;
  return {
    id,
    access: ALL_ACCESS,
    share: ALL_ACCESS,
    caching: '',
    style: 'lease',
    cacheKey: id,
    breakingTo: null,
    ...open,
  };
}

const usedBy = (...opens: Partial<OpenUse>[]): InUse => ({ ...NOT_IN_USE, opens: opens.map(openOf) });

/** A refusal's code; `waits` or `ok`, with what is asked for. */
function shortOf(verdict: Verdict): string {
  if (verdict.verdict === 'refused') return verdict.code;
  const asked = verdict.breaks.map(({ openId, to }) => ` ${openId} to ${to || 'none'}`).join(',');
  return `${verdict.verdict === 'waits' ? 'waits' : 'ok'}${asked}`;
}

test('what nobody uses is anybody’s', () => {
  for (const operation of OPERATIONS) assert.equal(shortOf(judgeRest(NOT_IN_USE, operation)), 'ok', operation);
});

describe('the matrix of share modes', () => {
  const columns: readonly RestOperation[] = [
    'overwrite',
    'get file',
    'set properties',
    'put range',
    'list ranges',
    'delete file',
    'acquire lease',
    'copy from',
    'rename file',
  ];
  for (const [shared, share, row] of [
    ['nothing', NO_ACCESS, 'X X X X X X X X X'],
    ['R', READS, 'X . X X . X X . X'],
    ['W', WRITES, 'X X . . X X X X X'],
    ['D', DELETES, 'X X X X X X X X .'],
    ['R+W', READS | WRITES, 'X . . . . X X . X'],
    ['R+D', READS | DELETES, 'X . X X . X X . .'],
    ['W+D', WRITES | DELETES, '. X . . X X X X .'],
    // Whether a lease can be acquired then is up to what the open does.
    ['R+W+D', ALL_ACCESS, '. . . . . X . . .'],
  ] as const) {
    test(`an open that shares ${shared}: ${row}`, () => {
      const verdicts = columns.map((operation) => judgeRest(usedBy({ access: READS, share }), operation));
      assert.equal(verdicts.map((verdict) => (shortOf(verdict) === 'ok' ? '.' : 'X')).join(' '), row);
      for (const verdict of verdicts) assert.match(shortOf(verdict), /^(ok|SharingViolation)$/);
    });
  }

  test('some operations are admitted whatever is shared', () => {
    for (const operation of ['get properties', 'other lease action', 'get directory properties'] as const) {
      assert.equal(shortOf(judgeRest(usedBy({ share: NO_ACCESS }), operation)), 'ok', operation);
    }
  });

  test('who only looks at attributes keeps from deleting and replacing, and from nothing else', () => {
    const refused = OPERATIONS.filter(
      (operation) => shortOf(judgeRest(usedBy({ access: NO_ACCESS, share: NO_ACCESS }), operation)) !== 'ok',
    );
    assert.deepEqual(refused, ['delete file', 'replace by rename', 'delete directory']);
  });

  test('of several opens only what all share is allowed', () => {
    const both = usedBy({ id: 'a', share: READS | WRITES }, { id: 'b', share: READS | DELETES });
    assert.equal(shortOf(judgeRest(both, 'get file')), 'ok');
    assert.equal(shortOf(judgeRest(both, 'put range')), 'SharingViolation');
    assert.equal(shortOf(judgeRest(both, 'rename file')), 'SharingViolation');
  });
});

describe('a lease is acquired beside an open that shares everything', () => {
  for (const [access, want] of [
    [NO_ACCESS, 'ok'],
    [READS, 'ok'],
    [WRITES, 'SharingViolation'],
    [DELETES, 'SharingViolation'],
    [READS | WRITES, 'SharingViolation'],
    [READS | DELETES, 'SharingViolation'],
    [WRITES | DELETES, 'SharingViolation'],
    [ALL_ACCESS, 'SharingViolation'],
  ] as readonly (readonly [Access, string])[]) {
    test(`and has access ${access}: ${want}`, () => {
      assert.equal(shortOf(judgeRest(usedBy({ access }), 'acquire lease')), want);
    });
  }
});

describe('caches of an open that is in nobody’s way', () => {
  const HELD: readonly Caching[] = ['RWH', 'RH', 'RW', 'R'];
  for (const [operation, want] of [
    ['get file', ['waits a to RH', 'ok', 'waits a to R', 'ok']],
    ['get properties', ['waits a to RH', 'ok', 'waits a to R', 'ok']],
    ['list ranges', ['waits a to RH', 'ok', 'waits a to R', 'ok']],
    ['copy from', ['waits a to RH', 'ok', 'waits a to R', 'ok']],
    ['put range', ['waits a to none', 'ok a to none', 'waits a to none', 'ok a to none']],
    ['set properties', ['waits a to none', 'ok a to none', 'waits a to none', 'ok a to none']],
    ['resize', ['waits a to none', 'ok a to none', 'waits a to none', 'ok a to none']],
    ['overwrite', ['waits a to none', 'ok a to none', 'waits a to none', 'ok a to none']],
    ['abort copy', ['waits a to none', 'ok a to none', 'waits a to none', 'ok a to none']],
    ['rename file', ['waits a to RW', 'waits a to R', 'ok', 'ok']],
    ['acquire lease', ['waits a to RW', 'waits a to R', 'waits a to R', 'ok']],
    ['other lease action', ['ok', 'ok', 'ok', 'ok']],
    // Any handle is in the way of these.
    ['delete file', ['waits a to RW', 'waits a to R', 'SharingViolation', 'SharingViolation']],
    ['replace by rename', ['waits a to RW', 'waits a to R', 'SharingViolation', 'SharingViolation']],
  ] as const) {
    test(`${operation}, from RWH, RH, RW and R: ${want.join('; ')}`, () => {
      const verdicts = HELD.map((caching) => shortOf(judgeRest(usedBy({ access: READS, caching }), operation)));
      assert.deepEqual(verdicts, want);
    });
  }

  test('an open that is in the way and caches its handle is asked for that first, and whoever has the handle is refused', () => {
    assert.deepEqual(
      HELD.map((caching) => shortOf(judgeRest(usedBy({ share: NO_ACCESS, caching }), 'get file'))),
      ['waits a to RW', 'waits a to R', 'SharingViolation', 'SharingViolation'],
    );
  });

  test('nobody is asked if one of those in the way is there for sure', () => {
    const both = usedBy({ id: 'a', share: READS, caching: 'RH' }, { id: 'b', share: READS });
    assert.equal(shortOf(judgeRest(both, 'put range')), 'SharingViolation');
  });

  test('of several all are asked at once', () => {
    const both = usedBy({ id: 'a', caching: 'RH' }, { id: 'b', caching: 'R' });
    assert.equal(shortOf(judgeRest(both, 'put range')), 'ok a to none, b to none');
  });

  test('a client that has not answered yet is waited for and not asked again', () => {
    const asked = usedBy({ caching: 'RWH', breakingTo: 'RH' });
    assert.equal(shortOf(judgeRest(asked, 'get file')), 'waits');
    assert.equal(shortOf(judgeRest(asked, 'put range')), 'waits');
    assert.equal(shortOf(judgeRest(asked, 'delete file')), 'waits');
  });

  test('a client that gives up less than a writer needs is asked for the rest, and one that gives up as much is not', () => {
    assert.equal(shortOf(judgeRest(usedBy({ caching: 'RH', breakingTo: 'R' }), 'put range')), 'ok a to none');
    assert.equal(shortOf(judgeRest(usedBy({ caching: 'RH', breakingTo: '' }), 'put range')), 'ok');
  });
});

describe('byte-range locks', () => {
  const lock = { owner: 'a', offsetBytes: 100n, lengthBytes: 10n };
  const shared: InUse = { ...usedBy({}), locks: [{ ...lock, isExclusive: false }] };
  const exclusive: InUse = { ...usedBy({}), locks: [{ ...lock, isExclusive: true }] };
  const conflict = 'FileLockConflict';

  for (const [operation, ofShared, ofExclusive] of [
    ['put range', conflict, conflict],
    ['resize', conflict, conflict],
    ['overwrite', conflict, conflict],
    ['get file', 'ok', conflict],
    ['copy from', 'ok', conflict],
    ['set properties', 'ok', 'ok'],
    ['get properties', 'ok', 'ok'],
    ['list ranges', 'ok', 'ok'],
    ['rename file', 'ok', 'ok'],
  ] as const) {
    test(`${operation}: ${ofShared} beside a shared one, ${ofExclusive} beside an exclusive one`, () => {
      assert.equal(shortOf(judgeRest(shared, operation)), ofShared);
      assert.equal(shortOf(judgeRest(exclusive, operation)), ofExclusive);
    });
  }

  test('a read is refused for what it reads and not for the rest', () => {
    assert.equal(shortOf(judgeRest(exclusive, 'get file', { offsetBytes: 0, lengthBytes: 100 })), 'ok');
    assert.equal(shortOf(judgeRest(exclusive, 'get file', { offsetBytes: 0, lengthBytes: 101 })), conflict);
    assert.equal(shortOf(judgeRest(exclusive, 'get file', { offsetBytes: 109, lengthBytes: 1 })), conflict);
    assert.equal(shortOf(judgeRest(exclusive, 'get file', { offsetBytes: 110, lengthBytes: 1 })), 'ok');
  });

  test('opens that are in the way come first, then caches', () => {
    const sharesNothing: InUse = { ...exclusive, opens: [openOf({ share: NO_ACCESS })] };
    assert.equal(shortOf(judgeRest(sharesNothing, 'put range')), 'SharingViolation');
    const caches: InUse = { ...exclusive, opens: [openOf({ caching: 'RW' })] };
    assert.equal(shortOf(judgeRest(caches, 'put range')), 'waits a to none');
  });
});
