import assert from 'node:assert/strict';
import test from 'node:test';
import { type BlockListEntry, blockIdLengthBytes, refuseBlockId, resolveBlockList } from './block-list.ts';

const block = (extentId: string, lengthBytes = 1) => ({ extentId, lengthBytes });

const committed = new Map([
  ['YQ==', block('a committed')],
  ['Yg==', block('b committed')],
]);
const staged = new Map([
  ['Yg==', block('b staged')],
  ['Yw==', block('c staged')],
]);

const entry = (kind: BlockListEntry['kind'], id: string): BlockListEntry => ({ kind, id });

for (const [what, entries, want] of [
  ['committed blocks only', [entry('committed', 'Yg=='), entry('committed', 'YQ==')], ['b committed', 'a committed']],
  ['staged blocks only', [entry('uncommitted', 'Yw=='), entry('uncommitted', 'Yg==')], ['c staged', 'b staged']],
  ['latest: staged where there is one', [entry('latest', 'Yg=='), entry('latest', 'Yw==')], ['b staged', 'c staged']],
  ['latest: else committed', [entry('latest', 'YQ==')], ['a committed']],
  ['kinds mixed', [entry('uncommitted', 'Yw=='), entry('committed', 'YQ==')], ['c staged', 'a committed']],
  ['an id twice in one kind', [entry('latest', 'YQ=='), entry('latest', 'YQ==')], ['a committed', 'a committed']],
  ['nothing', [], []],
  ['an id twice in two kinds', [entry('committed', 'Yg=='), entry('uncommitted', 'Yg==')], null],
  ['a committed block that is staged only', [entry('committed', 'Yw==')], null],
  ['a staged block that is committed only', [entry('uncommitted', 'YQ==')], null],
  ['an unknown block', [entry('latest', 'ZA==')], null],
  ['an unknown block behind known ones', [entry('latest', 'YQ=='), entry('latest', 'ZA==')], null],
] as const) {
  test(`a block list of ${what} is ${want === null ? 'refused' : 'resolved'}`, () => {
    const blocks = want?.map((extentId) => block(extentId));
    assert.deepEqual(
      resolveBlockList(entries, { committed, staged }),
      blocks === undefined ? { refusal: 'InvalidBlockList' } : { blocks },
    );
  });
}

test('a list of 50,000 blocks is resolved, each looked up once; one more is too long and looks up none', () => {
  let lookups = 0;
  const counting = { get: (id: string) => (lookups++, block(id)) };
  const none = new Map<string, ReturnType<typeof block>>();
  const entries = Array.from({ length: 50_000 }, (_, index) => entry('uncommitted', String(index)));
  const result = resolveBlockList(entries, { committed: none, staged: counting });
  assert.ok('blocks' in result);
  assert.equal(result.blocks.length, 50_000);
  assert.equal(result.blocks[49_999]?.extentId, '49999');
  assert.equal(lookups, 50_000);
  const longer = resolveBlockList([...entries, entry('latest', 'x')], { committed: none, staged: counting });
  assert.deepEqual(longer, { refusal: 'BlockListTooLong' });
  assert.equal(lookups, 50_000);
});

test('an unknown block in a list that is too long does not matter', () => {
  const entries = Array.from({ length: 50_001 }, () => entry('latest', 'ZA=='));
  assert.deepEqual(resolveBlockList(entries, { committed, staged }), { refusal: 'BlockListTooLong' });
});

const bytes64 = Buffer.alloc(64, 0xff).toString('base64');
const bytes65 = Buffer.alloc(65, 0xff).toString('base64');

for (const [id, existing, want] of [
  ['not base64', 99, 'InvalidQueryParameterValue'],
  ['YQ', null, 'InvalidQueryParameterValue'],
  ['YQ=', null, 'InvalidQueryParameterValue'],
  ['Y===', null, 'InvalidQueryParameterValue'],
  ['YQ==YQ==', null, 'InvalidQueryParameterValue'],
  ['_-==', null, 'InvalidQueryParameterValue'],
  ['', null, 'InvalidQueryParameterValue'],
  [bytes65, 64, 'InvalidQueryParameterValue'],
  [bytes64, 63, 'InvalidBlobOrBlock'],
  ['YWI=', 1, 'InvalidBlobOrBlock'],
  ['YWI=', 3, 'InvalidBlobOrBlock'],
  ['YWI=', 2, null],
  ['YWI=', null, null],
  ['YWJj', 3, null],
  [bytes64, 64, null],
  [bytes64, null, null],
] as const) {
  test(`block id '${id.slice(0, 12)}' of ${id.length} characters beside ids of ${existing} bytes gets ${want}`, () =>
    assert.equal(refuseBlockId(id, existing), want));
}

test('the length of a block id is that of its bytes', () => {
  for (let length = 0; length <= 64; length++) {
    assert.equal(blockIdLengthBytes(Buffer.alloc(length, 0x5a).toString('base64')), length);
  }
});
