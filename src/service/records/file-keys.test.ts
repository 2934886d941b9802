import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { compareBytes } from '../../base/bytes.ts';
import { IdSource } from '../../base/ids.ts';
import { isVolatile, KEY_BYTES_MAX, type Key, type KeyRange } from '../../engine/engine.ts';
import { foldName, refuseFileName } from '../../rules/file-names.ts';
import { formatMoment } from '../../rules/moment.ts';
import {
  deletedShareKey,
  deletedSharesRange,
  endedNodeKey,
  endedNodesRange,
  entriesRange,
  nodeKey,
  nodePlaceOf,
  nodesRange,
  parseDeletedShareKey,
  parseEndedNodeKey,
  parsePastNodeKey,
  parseUseKey,
  pastEntriesRange,
  pastNodeKey,
  pastNodeRange,
  pastNodesRange,
  permissionKey,
  permissionOf,
  permissionsRange,
  placedIdOf,
  placeKey,
  placesRange,
  rootKey,
  shareKey,
  sharesRange,
  shareUsesRange,
  snapshotKey,
  snapshotMomentOf,
  snapshotsRange,
  type TreeAddress,
  treeOfKey,
  type UseKind,
  usageKey,
  usagesRange,
  useKey,
  usesRange,
} from './file-keys.ts';
import { ROOT_ID } from './node-record.ts';

const ids = new IdSource();
const TREE: TreeAddress = { account: 'account1', shareId: ids.next() };

const bytes = (text: string): Buffer => Buffer.from(text);

const isIn = ({ from, to }: KeyRange, key: Key): boolean => compareBytes(from, key) <= 0 && compareBytes(key, to) < 0;

/** With bytes of every kind in it: 00 and FF too. */
const idTexts = fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('hex'));
const nodeIds = fc.oneof(
  fc.constantFrom(ROOT_ID, 'f'.repeat(16)),
  fc.uint8Array({ minLength: 8, maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString('hex')),
);
const accounts = fc.stringMatching(/^[a-z0-9]{3,24}$/);
const trees = fc.record({ account: accounts, shareId: idTexts }, { noNullPrototype: true });
/** Few letters, so that one is often the start of another. */
const names = fc
  .oneof(
    fc.string({
      unit: fc.constantFrom('a', 'B', ' ', '!', '\x7f', 'ß', '字', '\uffff', '😀'),
      minLength: 1,
      maxLength: 4,
    }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }),
  )
  .filter((name) => refuseFileName(name) === null)
  .map(foldName);
const epochs = fc.oneof(fc.constantFrom(0, 1, 255, 256, 2 ** 48 - 2), fc.integer({ min: 0, max: 300 }));

describe('a key tells what it was made of', () => {
  test('of a node, an earlier state of one, and the index of those', () => {
    fc.assert(
      fc.property(trees, nodeIds, names, epochs, epochs, (tree, parentId, name, epoch, since) => {
        const place = { parentId, name };
        assert.deepEqual(nodePlaceOf(nodeKey(tree, place)), place);
        assert.deepEqual(parsePastNodeKey(pastNodeKey(tree, place, epoch)), { ...place, epoch });
        assert.deepEqual(parseEndedNodeKey(endedNodeKey(tree, { ...place, epoch, since })), { ...place, epoch, since });
        assert.equal(placedIdOf(placeKey(tree, parentId)), parentId);
        for (const key of [
          nodeKey(tree, place),
          pastNodeKey(tree, place, epoch),
          endedNodeKey(tree, { ...place, epoch, since }),
          placeKey(tree, parentId),
          usageKey(tree, 255),
          permissionKey(tree, '1*2'),
          snapshotKey(tree, formatMoment(0n)),
        ]) {
          assert.deepEqual(treeOfKey(key), tree);
        }
      }),
      { numRuns: 1_000, ...seeded },
    );
  });

  test('of a deleted share, a snapshot and a permission', () => {
    const id = ids.next();
    assert.deepEqual(parseDeletedShareKey(deletedShareKey('account1', 'a-share', id)), { share: 'a-share', id });
    const moment = formatMoment(17_000_000_000_000_001n);
    assert.equal(snapshotMomentOf(snapshotKey(TREE, moment)), moment);
    assert.equal(permissionOf(permissionKey(TREE, '144*115')), '144*115');
  });

  test('of something in use', () => {
    const uses = fc.constantFrom<UseKind>('open', 'lock', 'pending', 'break');
    fc.assert(
      fc.property(idTexts, nodeIds, uses, fc.array(idTexts, { maxLength: 2 }), (shareId, nodeId, kind, of) => {
        const key = useKey(shareId, nodeId, kind, ...of);
        assert.deepEqual(parseUseKey(key), { shareId, nodeId, kind, ids: of });
        assert.ok(isVolatile(key));
        assert.ok(isIn(usesRange(shareId, nodeId), key));
        assert.ok(isIn(shareUsesRange(shareId), key));
      }),
      seeded,
    );
  });
});

describe('the range of a directory', () => {
  test('has the names with the prefix from the first one on, and nothing of other directories or trees', () => {
    fc.assert(
      fc.property(
        trees,
        nodeIds,
        nodeIds,
        names,
        fc.oneof(fc.constant(''), names),
        fc.oneof(fc.constant(''), names),
        (...of) => {
          const [tree, parentId, other, name, prefix, from] = of;
          const key = nodeKey(tree, { parentId, name });
          const isMeant =
            bytes(name).subarray(0, bytes(prefix).length).equals(bytes(prefix)) &&
            compareBytes(bytes(name), bytes(from)) >= 0;
          assert.equal(isIn(entriesRange(tree, parentId, { prefix, from }), key), isMeant);
          if (other !== parentId) assert.ok(!isIn(entriesRange(tree, other), key));
          assert.ok(isIn(nodesRange(tree), key));
          assert.ok(!isIn(nodesRange({ ...tree, account: `${tree.account}0` }), key));
        },
      ),
      { numRuns: 2_000, ...seeded },
    );
  });

  test('of the root leaves the root itself out', () => {
    assert.ok(!isIn(entriesRange(TREE, ROOT_ID), rootKey(TREE)));
    assert.ok(isIn(nodesRange(TREE), rootKey(TREE)));
    assert.ok(!isIn(pastEntriesRange(TREE, ROOT_ID), pastNodeKey(TREE, { parentId: ROOT_ID, name: '' }, 2 ** 48 - 2)));
  });

  test('as it was begins with the states of the first name that last to the epoch', () => {
    fc.assert(
      fc.property(nodeIds, names, epochs, names, epochs, (parentId, name, epoch, from, fromEpoch) => {
        const key = pastNodeKey(TREE, { parentId, name }, epoch);
        const order = compareBytes(Buffer.from(name), Buffer.from(from));
        const isMeant = order > 0 || (order === 0 && epoch >= fromEpoch);
        assert.equal(isIn(pastEntriesRange(TREE, parentId, { from, epoch: fromEpoch }), key), isMeant);
        const isOfPrefix = name.startsWith(from);
        assert.equal(isIn(pastEntriesRange(TREE, parentId, { prefix: from }), key), isOfPrefix);
      }),
      { numRuns: 2_000, ...seeded },
    );
  });
});

describe('the range of earlier states', () => {
  test('of one name has those that last to the epoch or longer, the first to end first', () => {
    fc.assert(
      fc.property(nodeIds, names, epochs, names, epochs, (parentId, name, epoch, other, fromEpoch) => {
        const place = { parentId, name };
        const key = pastNodeKey(TREE, { parentId, name: other }, epoch);
        assert.equal(isIn(pastNodeRange(TREE, place, fromEpoch), key), other === name && epoch >= fromEpoch);
        assert.ok(isIn(pastNodesRange(TREE), key));
        const later = pastNodeKey(TREE, place, epoch + 1);
        assert.ok(compareBytes(pastNodeKey(TREE, place, epoch), later) < 0);
      }),
      { numRuns: 2_000, ...seeded },
    );
  });

  test('of a tree by their last and first epochs', () => {
    fc.assert(
      fc.property(
        nodeIds,
        names,
        epochs,
        epochs,
        epochs,
        epochs,
        (parentId, name, epoch, since, fromEpoch, fromSince) => {
          const key = endedNodeKey(TREE, { parentId, name, epoch, since });
          const isMeant = epoch > fromEpoch || (epoch === fromEpoch && since >= fromSince);
          assert.equal(isIn(endedNodesRange(TREE, fromEpoch, fromSince), key), isMeant);
          assert.equal(isIn(endedNodesRange(TREE, 0, 0, fromEpoch), key), epoch < fromEpoch);
        },
      ),
      { numRuns: 1_000, ...seeded },
    );
  });
});

describe('of shares', () => {
  test('a listing walks those with the prefix, from the first one on', () => {
    const key = shareKey('account1', 'beta');
    for (const [prefix, from, isMeant] of [
      ['', '', true],
      ['be', '', true],
      ['beta', 'beta', true],
      ['beta-', '', false],
      ['', 'beta0', false],
      ['a', '', false],
      ['b', 'alpha', true],
    ] as const) {
      assert.equal(isIn(sharesRange('account1', prefix, from), key), isMeant, `${prefix} ${from}`);
    }
    assert.ok(!isIn(sharesRange('account', '', ''), key));
  });

  test('deleted ones stand in the order of their names, then of their ids', () => {
    const [id, later] = [ids.next(), ids.next()];
    const key = deletedShareKey('account1', 'beta', later);
    assert.ok(isIn(deletedSharesRange('account1', '', { share: 'beta', id }), key));
    assert.ok(isIn(deletedSharesRange('account1', 'bet', { share: 'beta', id: later }), key));
    assert.ok(!isIn(deletedSharesRange('account1', '', { share: 'beta-0', id }), key));
    assert.ok(!isIn(deletedSharesRange('account1', 'a', { share: '', id: '' }), key));
    // A name is not taken for another that it is the start of.
    assert.ok(compareBytes(key, deletedShareKey('account1', 'beta-0', id)) < 0);
  });

  test('what belongs to a tree is found in its ranges, and not in those of another', () => {
    const other = { ...TREE, shareId: ids.next() };
    for (const [range, key] of [
      [snapshotsRange, snapshotKey(TREE, formatMoment(1n))],
      [placesRange, placeKey(TREE, 'f'.repeat(16))],
      [usagesRange, usageKey(TREE, 255)],
      [permissionsRange, permissionKey(TREE, '1*1')],
    ] as const) {
      assert.ok(isIn(range(TREE), key));
      assert.ok(!isIn(range(other), key));
    }
  });
});

test('the longest names make keys that an engine takes', () => {
  const name = '字'.repeat(255);
  const place = { parentId: ROOT_ID, name };
  const tree = { ...TREE, account: 'a'.repeat(24) };
  const key = endedNodeKey(tree, { ...place, epoch: 1, since: 1 });
  for (const each of [key, nodeKey(tree, place), pastNodeKey(tree, place, 1)]) assert.ok(each.length <= KEY_BYTES_MAX);
});
