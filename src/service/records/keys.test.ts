import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { compareBytes } from '../../base/bytes.ts';
import { IdSource } from '../../base/ids.ts';
import { KEY_BYTES_MAX, type Key, type KeyRange } from '../../engine/engine.ts';
import { BLOCK_ID_BYTES_MAX } from '../../rules/block-list.ts';
import { BLOB_NAME_LENGTH_MAX, refuseBlobName } from '../../rules/names.ts';
import {
  blobKeys,
  blobNameEnd,
  blobNameStart,
  blobRange,
  containerKey,
  containerRange,
  extentKey,
  garbageKey,
  idOf,
  layoutKey,
  ownNameOf,
  parseBlobKey,
  servicePropertiesKey,
  stagedBlockIdOf,
  stagedBlockKey,
  stagedBlockRange,
  tableRange,
} from './keys.ts';

const ids = new IdSource();
const account = 'account1';
const containerId = ids.next();
const otherContainerId = ids.next();

const keysOf = (name: string) => blobKeys({ account, containerId, name });
const isIn = (range: KeyRange, key: Key): boolean =>
  compareBytes(range.from, key) <= 0 && compareBytes(key, range.to) < 0;
const utf8Order = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Names that are prefixes of each other, differ where the key's own bytes stand, or sort otherwise in UTF-16. */
const TRICKY_NAMES = [
  '\x01',
  '\x01\x01',
  '\x10',
  ' ',
  'a',
  'a\x01',
  'a\x0f',
  'a\x10',
  'a\x10b',
  'a\x11',
  'a b',
  'a/',
  'a/b',
  'aa',
  'b',
  '\u00e9',
  'e\u0301',
  '\x7f',
  '\x80',
  '\xff',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\u{10000}',
  '\u{10ffff}',
  'a\u{10ffff}',
  'a\uffff',
];

const blobNames = fc
  .array(
    fc.oneof(
      fc.constantFrom('a', 'b', '/', '\x01', '\x10', '\xff', '\u{1f600}', '\uffff'),
      fc.string({ unit: 'binary', maxLength: 4 }),
    ),
    {
      minLength: 1,
      maxLength: 12,
    },
  )
  .map((parts) => parts.join(''))
  .filter((name) => refuseBlobName(name, { container: 'container' }) === null);

describe('the keys of blobs', () => {
  test('stand in the byte order of their names, each staging head right before its blob', () => {
    const inOrder = TRICKY_NAMES.toSorted(utf8Order);
    const expected = inOrder.flatMap((name) => [`staging ${name}`, `blob ${name}`]);
    const keys = TRICKY_NAMES.toReversed().flatMap((name) => Object.values(keysOf(name)));
    const found = keys.sort(compareBytes).map((key) => {
      const { kind, name } = parseBlobKey(key);
      return `${kind} ${name}`;
    });
    assert.deepEqual(found, expected);
  });

  test('of any two names sort as the names do, with nothing between a head and its blob', () => {
    fc.assert(
      fc.property(blobNames, blobNames, (one, other) => {
        if (one === other) return;
        const [first, second] = utf8Order(one, other) < 0 ? [one, other] : [other, one];
        assert.ok(compareBytes(keysOf(first).staging, keysOf(first).blob) < 0);
        assert.ok(compareBytes(keysOf(first).blob, keysOf(second).staging) < 0);
      }),
      seeded,
    );
  });

  test('say whose they are', () => {
    fc.assert(
      fc.property(blobNames, fc.stringMatching(/^[a-z0-9]{3,24}$/), (name, someAccount) => {
        const id = ids.next();
        const keys = blobKeys({ account: someAccount, containerId: id, name });
        const address = { account: someAccount, containerId: id, name };
        assert.deepEqual(parseBlobKey(keys.blob), { ...address, kind: 'blob', moment: '' });
        assert.deepEqual(parseBlobKey(keys.staging), { ...address, kind: 'staging', moment: '' });
      }),
      seeded,
    );
  });

  test('say whose they are even where the ids of containers hold the bytes that end names', () => {
    for (const id of ['0'.repeat(24), 'f'.repeat(24), '00ff'.repeat(6), 'ff00'.repeat(6)]) {
      const { blob } = blobKeys({ account, containerId: id, name: 'n' });
      assert.deepEqual(parseBlobKey(blob), { account, containerId: id, name: 'n', kind: 'blob', moment: '' });
    }
  });

  test('are read alike as a view into a larger buffer, as an engine may give them', () => {
    const key = keysOf('name').blob;
    const around = Buffer.concat([Buffer.from('before\0'), key, Buffer.from('\0after')]);
    assert.equal(parseBlobKey(around.subarray(7, 7 + key.length)).name, 'name');
  });

  for (const [what, character] of [
    ['three-byte characters', '\uffff'],
    ['letters', 'a'],
    ['surrogate pairs', '\u{1f600}'],
  ] as const) {
    test(`of the longest name of ${what} fit into every engine`, () => {
      const name = character.repeat(BLOB_NAME_LENGTH_MAX / character.length);
      assert.equal(refuseBlobName(name, { container: 'c' }), null);
      const { blob, staging } = blobKeys({ account: 'a'.repeat(24), containerId, name });
      assert.ok(blob.length <= KEY_BYTES_MAX && staging.length <= KEY_BYTES_MAX, `${blob.length} bytes`);
      assert.equal(parseBlobKey(blob).name, name);
    });
  }
});

describe('the range of a prefix', () => {
  test('holds exactly the blobs whose names start with it', () => {
    fc.assert(
      fc.property(fc.array(blobNames, { maxLength: 30 }), blobNames, (names, some) => {
        for (const prefix of ['', some, some.slice(0, 1), ...names.slice(0, 5)]) {
          if (prefix !== '' && refuseBlobName(prefix, { container: 'c' }) !== null) continue;
          const range = blobRange(account, containerId, prefix);
          for (const name of [...names, some]) {
            const { blob, staging } = keysOf(name);
            assert.equal(isIn(range, blob), name.startsWith(prefix), `${name} under ${prefix}`);
            assert.equal(isIn(range, staging), name.startsWith(prefix), `${name} under ${prefix}`);
          }
        }
      }),
      seeded,
    );
  });

  test('holds nothing of another container or account', () => {
    const range = blobRange(account, containerId, '');
    for (const [otherAccount, id] of [
      [account, otherContainerId],
      ['account', containerId],
      ['account11', containerId],
      ['account2', containerId],
    ] as const) {
      const keys = blobKeys({ account: otherAccount, containerId: id, name: 'n' });
      assert.equal(isIn(range, keys.blob) || isIn(range, keys.staging), false, `${otherAccount} ${id}`);
    }
  });

  test('ends also where the container’s id is all ones', () => {
    const id = 'f'.repeat(24);
    const range = blobRange(account, id, '');
    assert.ok(isIn(range, blobKeys({ account, containerId: id, name: '\u{10ffff}' }).blob));
    assert.ok(!isIn(range, blobKeys({ account: 'account2', containerId: '0'.repeat(24), name: 'a' }).blob));
  });

  test('starts and ends where a listing that jumps over a prefix starts and ends', () => {
    const before = keysOf('a').blob;
    const within = keysOf('a/\u{10ffff}').blob;
    const behind = keysOf('a0').staging;
    const start = blobNameStart(account, containerId, 'a/');
    const end = blobNameEnd(account, containerId, 'a/');
    assert.deepEqual([before, start, within, end, behind].toSorted(compareBytes), [before, start, within, end, behind]);
  });
});

describe('the keys of everything else', () => {
  test('of containers stand in name order, and a range holds those with the prefix from the marker on', () => {
    const names = ['$root', 'a-b', 'aaa', 'aab', 'ab', 'b'];
    const inRange = (prefix: string, from: string) => {
      const range = containerRange(account, prefix, from);
      return names.filter((name) => isIn(range, containerKey(account, name)));
    };
    assert.deepEqual(
      names
        .map((name) => containerKey(account, name))
        .toSorted(compareBytes)
        .map(ownNameOf),
      names,
    );
    assert.deepEqual(inRange('', ''), names);
    assert.deepEqual(inRange('a', ''), ['a-b', 'aaa', 'aab', 'ab']);
    assert.deepEqual(inRange('a', 'aab'), ['aab', 'ab']);
    assert.deepEqual(inRange('aa', 'a'), ['aaa', 'aab']);
    assert.deepEqual(inRange('a', 'b'), []);
    assert.deepEqual(inRange('a', 'c'), []);
  });

  test('of another account are in no range of this one', () => {
    const range = containerRange('acc', '', '');
    assert.equal(isIn(range, containerKey('acc1', 'name')), false);
    assert.equal(isIn(range, containerKey('ac', 'name')), false);
    assert.equal(isIn(range, containerKey('acc', 'name')), true);
  });

  test('of staged blocks say their id as it was sent, within the range of their staging alone', () => {
    const [one, other] = [ids.next(), ids.next()];
    const longest = Buffer.alloc(BLOCK_ID_BYTES_MAX, 0xff).toString('base64');
    for (const blockId of ['AA==', 'AB==', '////', longest]) {
      const key = stagedBlockKey(one, blockId);
      assert.equal(stagedBlockIdOf(key), blockId);
      assert.equal(idOf(key), one);
      assert.ok(isIn(stagedBlockRange(one), key));
      assert.ok(!isIn(stagedBlockRange(other), key));
    }
  });

  test('each stand in the range of their own table, and in no other', () => {
    const id = ids.next();
    const tables: readonly (readonly [string, Key])[] = [
      ['B', keysOf('n').blob],
      ['B', keysOf('n').staging],
      ['C', containerKey(account, 'c')],
      ['G', garbageKey(id)],
      ['I', extentKey({ id, inline: true })],
      ['K', stagedBlockKey(id, 'AA==')],
      ['L', layoutKey(id)],
      ['P', servicePropertiesKey(account, 'b')],
      ['X', extentKey({ id, inline: false })],
    ];
    for (const [table, key] of tables) {
      for (const [other] of tables) assert.equal(isIn(tableRange(other), key), other === table, `${table} in ${other}`);
    }
  });

  test('that are made of an id give it back, and sort as ids grow', () => {
    const grown = Array.from({ length: 100 }, () => ids.next());
    assert.deepEqual(grown.map(garbageKey).toSorted(compareBytes).map(idOf), grown);
  });
});
