import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Gate } from '../../test/harness/store.ts';
import { Known } from './known.ts';
import { DEFAULT_PROPERTIES, type ServiceProperties } from './service-properties.ts';

const versioned = (defaultServiceVersion: string): ServiceProperties => ({
  ...DEFAULT_PROPERTIES,
  defaultServiceVersion,
});

test('properties are loaded once in a few seconds, for each account and service', async () => {
  let nowMs = 0;
  const known = new Known(() => nowMs);
  let loadCount = 0;
  const ask = async (account: string): Promise<string | null> => {
    const loaded = await known.properties(account, 'b', async () => versioned(`${account} ${++loadCount}`));
    return loaded.defaultServiceVersion;
  };
  assert.equal(await ask('one'), 'one 1');
  nowMs = 4_999;
  assert.equal(await ask('one'), 'one 1');
  assert.equal(await ask('two'), 'two 2');
  nowMs = 5_000;
  assert.equal(await ask('one'), 'one 3');
});

test('after a change nobody gets what was loaded before it, not even what was on its way', async () => {
  const known = new Known();
  const gate = new Gate();
  const slow = known.properties('one', 'b', async () => {
    await gate.passed;
    return versioned('old');
  });
  known.forgetProperties();
  gate.open();
  assert.equal((await slow).defaultServiceVersion, 'old');
  const now = await known.properties('one', 'b', async () => versioned('new'));
  assert.equal(now.defaultServiceVersion, 'new');
});

test('container ids are kept by account and name, and only so many', () => {
  const known = new Known();
  known.containers.note('one', 'c', 'id 1');
  assert.equal(known.containers.idOf('one', 'c'), 'id 1');
  assert.equal(known.containers.idOf('two', 'c'), null);
  for (let index = 0; index < 20_000; index++) known.containers.note('many', `${index}`, 'id');
  assert.equal(known.containers.idOf('one', 'c'), null);
  assert.equal(known.containers.idOf('many', '19999'), 'id');
});

test('tables and containers of one name are known apart', () => {
  const known = new Known();
  known.tables.note('one', 'name', 'id 1');
  assert.equal(known.containers.idOf('one', 'name'), null);
  known.containers.note('one', 'name', 'id 2');
  assert.equal(known.tables.idOf('one', 'name'), 'id 1');
  assert.equal(known.tables.nameOf('one', 'id 2'), null);
});
