import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, makeAccounts, parseAccountSetting } from './accounts.ts';
import { ConfigError } from './config-error.ts';

const KEY = Buffer.alloc(64, 'key').toString('base64');
const KEY2 = Buffer.alloc(16, '2').toString('base64');
const local = { allowDevelopmentAccount: false };

const messageOf = (make: () => unknown): string => {
  try {
    make();
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  }
  return assert.fail('it was taken');
};

test('an account is written with one key or two', () => {
  assert.deepEqual(parseAccountSetting(`team:${KEY}`), { name: 'team', keys: [KEY] });
  assert.deepEqual(parseAccountSetting(`team:${KEY}:${KEY2}`), { name: 'team', keys: [KEY, KEY2] });
});

test('the development account is always there, for this machine alone', () => {
  const accounts = makeAccounts([], local);
  assert.deepEqual([...accounts.keys()], [DEVELOPMENT_ACCOUNT]);
  assert.deepEqual(accounts.get(DEVELOPMENT_ACCOUNT), {
    name: DEVELOPMENT_ACCOUNT,
    keys: [Buffer.from(DEVELOPMENT_KEY, 'base64')],
    loopbackOnly: true,
  });
});

test('the development account is served to all when that is allowed', () => {
  assert.equal(makeAccounts([], { allowDevelopmentAccount: true }).get(DEVELOPMENT_ACCOUNT)?.loopbackOnly, false);
});

test('the development account with a key of one’s own is an account like any other', () => {
  const account = makeAccounts([{ name: DEVELOPMENT_ACCOUNT, keys: [KEY] }], local).get(DEVELOPMENT_ACCOUNT);
  assert.deepEqual(account, { name: DEVELOPMENT_ACCOUNT, keys: [Buffer.from(KEY, 'base64')], loopbackOnly: false });
});

test('an account with the public key is for this machine alone, whatever its name and its other key', () => {
  const accounts = makeAccounts([{ name: 'team', keys: [KEY, DEVELOPMENT_KEY] }], local);
  assert.equal(accounts.get('team')?.loopbackOnly, true);
});

test('each account has its keys, in their order', () => {
  const accounts = makeAccounts(
    [
      { name: 'team', keys: [KEY, KEY2] },
      { name: 'other', keys: [KEY2] },
    ],
    local,
  );
  assert.deepEqual([...accounts.keys()], [DEVELOPMENT_ACCOUNT, 'team', 'other']);
  assert.deepEqual(accounts.get('team')?.keys, [Buffer.from(KEY, 'base64'), Buffer.from(KEY2, 'base64')]);
});

describe('what is wrong with an account is said without its key', () => {
  const notCanonical = `${KEY.slice(0, -3)}B==`;
  const rows: readonly (readonly [what: string, text: string, secret: string, message: RegExp])[] = [
    ['a key that is no Base64', 'team:!!secret!!', '!!secret!!', /key of account team is not Base64/],
    ['a key that is too short', 'team:c2VjcmV0', 'c2VjcmV0', /at least 16 bytes/],
    ['a key without its padding', `team:${KEY.slice(0, -2)}`, KEY.slice(0, -2), /not Base64/],
    ['a key with stray bits in its end', `team:${notCanonical}`, notCanonical, /not Base64/],
    ['a second key that is wrong', `team:${KEY}:short`, 'short', /key of account team/],
    ['a key in the alphabet of URLs', `team:${'-_'.repeat(12)}`, '-_-_', /not Base64/],
    ['an empty key', 'team:', 'nothing', /key of account team/],
    ['a name with capitals', `Team:${KEY}`, KEY, /"Team" is not an account name/],
    ['a name that is too short', `ab:${KEY}`, KEY, /"ab" is not an account name/],
    ['no name', `:${KEY}`, KEY, /is not an account name/],
    ['no colon', KEY, KEY, /NAME:KEY/],
    ['key and name the wrong way round', `${KEY}:team`, KEY, /account name/],
  ];
  for (const [what, text, secret, message] of rows) {
    test(what, () => {
      const said = messageOf(() => makeAccounts([parseAccountSetting(text)], local));
      assert.match(said, message);
      assert.ok(!said.includes(secret), said);
    });
  }
});

test('an account that is given twice is refused', () => {
  const twice = [
    { name: 'team', keys: [KEY] },
    { name: 'team', keys: [KEY2] },
  ];
  assert.match(
    messageOf(() => makeAccounts(twice, local)),
    /team/,
  );
});

test('an account without any key is refused', () => {
  assert.match(
    messageOf(() => makeAccounts([{ name: 'team', keys: [] }], local)),
    /team/,
  );
});
