import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AccountSettingOptions, chooseAccountSettings, readAccountSettings } from './account-settings.ts';
import { SERVE_OPTIONS } from './config.ts';
import { ConfigError } from './config-error.ts';
import { readOptions } from './options.ts';

const ACCOUNTS = ['devstoreaccount1', 'team', 'other'];

const read = (args: string, environment: Record<string, string> = {}): AccountSettingOptions =>
  readAccountSettings(
    readOptions(
      args.split(' ').filter((arg) => arg !== ''),
      environment,
      SERVE_OPTIONS,
    ),
  );

test('without any option no account keeps anything', () => {
  assert.deepEqual(read(''), {});
  const settings = { keepsVersions: false, containerRetentionDays: null, rehydrationMs: 5_000 };
  assert.deepEqual(chooseAccountSettings({}, ACCOUNTS)('team'), settings);
});

describe('versions are kept for the accounts that are named', () => {
  for (const [args, environment, keeps] of [
    ['--versioning team', {}, ['team']],
    ['--versioning team,other', {}, ['team', 'other']],
    ['--versioning team --versioning=other', {}, ['team', 'other']],
    ['--versioning all', {}, ACCOUNTS],
    ['', { LARIMAR_VERSIONING: 'team' }, ['team']],
    ['', { LARIMAR_VERSIONING: 'team;other' }, ['team', 'other']],
    ['', { LARIMAR_VERSIONING: 'team,other' }, ['team', 'other']],
    ['--versioning other', { LARIMAR_VERSIONING: 'all' }, ['other']],
  ] as const) {
    test(`${JSON.stringify(environment)} ${args}`, () => {
      const settings = chooseAccountSettings(read(args, environment), ACCOUNTS);
      assert.deepEqual(
        ACCOUNTS.filter((account) => settings(account).keepsVersions),
        keeps,
      );
    });
  }
});

test('days and seconds are the same for all accounts', () => {
  const settings = chooseAccountSettings(read('--container-retention-days 30 --rehydration-seconds 60'), ACCOUNTS);
  for (const account of ACCOUNTS) {
    assert.deepEqual(settings(account), {
      keepsVersions: false,
      containerRetentionDays: 30,
      rehydrationMs: 60_000,
    });
  }
});

describe('what cannot be meant is refused in plain words', () => {
  for (const [args, message] of [
    ['--container-retention-days 0', /--container-retention-days takes a number of days from 1 to 365, not "0"/],
    ['--container-retention-days 366', /--container-retention-days takes a number of days/],
    ['--container-retention-days=-1', /--container-retention-days takes a number of days/],
    ['--container-retention-days 1.5', /--container-retention-days takes a number of days/],
    ['--rehydration-seconds soon', /--rehydration-seconds takes a number of seconds from 0 to 86400, not "soon"/],
    ['--rehydration-seconds 86401', /--rehydration-seconds takes a number of seconds/],
    ['--versioning taem', /--versioning: there is no account "taem". Use devstoreaccount1, team, other or all/],
  ] as const) {
    test(args, () => {
      assert.throws(
        () => chooseAccountSettings(read(args), ACCOUNTS),
        (error) => error instanceof ConfigError && message.test(error.message),
      );
    });
  }

  for (const options of [
    { containerRetentionDays: 0 },
    { containerRetentionDays: Number.NaN },
    { rehydrationSeconds: -1 },
    { rehydrationSeconds: Number.POSITIVE_INFINITY },
    { versioning: ['nobody'] },
  ]) {
    test(`as a library, ${JSON.stringify(options)}`, () => {
      assert.throws(() => chooseAccountSettings(options, ACCOUNTS), ConfigError);
    });
  }
});
