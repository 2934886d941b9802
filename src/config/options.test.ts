import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SERVE_OPTIONS } from './config.ts';
import { ConfigError } from './config-error.ts';
import { OPTIONS, type Option, type OptionName, type OptionTexts, readOptions, renderOptions } from './options.ts';

const KEY = 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldC0hIQ==';

const read = (args: readonly string[], environment: Record<string, string> = {}): OptionTexts =>
  readOptions(args, environment, SERVE_OPTIONS);

const messageOf = (args: readonly string[], accepted: readonly OptionName[] = SERVE_OPTIONS): string => {
  try {
    readOptions(args, {}, accepted);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  }
  return assert.fail('it was understood');
};

describe('every option', () => {
  for (const name of SERVE_OPTIONS) {
    const option: Option = OPTIONS[name];
    const value = option.value === null ? 'true' : 'value';
    for (const flag of [option.flag, ...(option.also ?? [])]) {
      test(`${flag} sets ${name}`, () => {
        assert.deepEqual(read(option.value === null ? [flag] : [flag, 'value']), { [name]: [value] });
      });
    }
    test(`${option.flag}= sets ${name}`, () => {
      assert.deepEqual(read([`${option.flag}=${value}`]), { [name]: [value] });
    });
    test(`${option.environment} sets ${name}, unless the command line does`, () => {
      const environment = { [option.environment]: value };
      assert.deepEqual(read([], environment), { [name]: [value] });
      assert.deepEqual(read([`${option.flag}=other`], environment), { [name]: ['other'] });
      assert.deepEqual(read([], { [option.environment]: '' }), {});
    });
    test(`${option.flag} stands in the help with its variable`, () => {
      const help = renderOptions(SERVE_OPTIONS);
      assert.ok(help.includes(option.flag) && help.includes(`(${option.environment})`));
    });
  }

  test('spelled in no way means two of them', () => {
    const flags = SERVE_OPTIONS.flatMap((name) => [OPTIONS[name].flag, ...((OPTIONS[name] as Option).also ?? [])]);
    assert.equal(new Set(flags).size, flags.length);
  });
});

describe('what is typed', () => {
  const understood: readonly (readonly [what: string, args: string, texts: OptionTexts])[] = [
    ['nothing', '', {}],
    [
      'several options',
      '--host 0.0.0.0 --blob-port 1 --memory',
      { host: ['0.0.0.0'], blobPort: ['1'], memory: ['true'] },
    ],
    ['two accounts', '--account a:b --account=c:d', { account: ['a:b', 'c:d'] }],
    ['a key with = at its end', `--account=team:${KEY}`, { account: [`team:${KEY}`] }],
    ['a switch turned off', '--memory=false', { memory: ['false'] }],
    ['Azurite’s folder', '-l /tmp/x', { data: ['/tmp/x'] }],
    ['Azurite’s long folder', '--location /tmp/x', { data: ['/tmp/x'] }],
    ['Azurite’s host and port', '--blobHost 0.0.0.0 --blobPort 9', { host: ['0.0.0.0'], blobPort: ['9'] }],
    ['Azurite’s port of queues', '--queuePort 8', { queuePort: ['8'] }],
    ['Azurite’s port of tables', '--tablePort 8', { tablePort: ['8'] }],
    ['Azurite’s memory', '--inMemoryPersistence', { memory: ['true'] }],
    ['Azurite’s silence', '--silent', { log: ['silent'] }],
    ['Azurite’s short silence', '-s', { log: ['silent'] }],
    ['what Azurite needs and Larimar does anyway', '--skipApiVersionCheck --loose -L --disableTelemetry', {}],
  ];
  for (const [what, args, texts] of understood) {
    test(`is understood: ${what}`, () => {
      assert.deepEqual(read(args.split(' ').filter((arg) => arg !== '')), texts);
    });
  }

  const refused: readonly (readonly [args: string, message: RegExp])[] = [
    ['--blob-prot 1', /no option --blob-prot\. Did you mean --blob-port\?/],
    ['--blobport 1', /Did you mean --blob-port\?/],
    ['--dat x', /Did you mean --data\?/],
    ['--engin=lmdb', /Did you mean --engine\?/],
    ['--adminport 1', /Did you mean --admin-port\?/],
    ['--engine', /--engine needs a value: --engine lmdb\|postgres:/],
    ['--acount=a:b', /no option --acount\. Did you mean --account\?/],
    ['--nothing-like-it', /no option --nothing-like-it\. See: larimar --help/],
    ['serve', /"serve" is not understood here/],
    ['--data', /--data needs a value: --data DIR/],
    ['--data --memory', /--data needs a value: --data DIR/],
    ['--location', /--location needs a value: --data DIR/],
    ['--data=', /--data needs a value: --data DIR/],
    ['--host=', /--host needs a value: --host ADDRESS/],
    ['--data x --data y', /--data is given twice/],
    ['--data x --location y', /--data is given twice/],
    ['--memory --memory', /--memory is given twice/],
    ['--log text --log json', /--log is given twice/],
  ];
  for (const [args, message] of refused) {
    test(`is refused in plain words: ${args}`, () => {
      assert.match(messageOf(args.split(' ')), message);
    });
  }

  for (const args of ['--silent --log json', '--log json --silent', '-s --log json']) {
    test(`is refused for what it says twice: ${args}`, () => {
      assert.match(messageOf(args.split(' ')), /--log is given twice|--silent/);
    });
  }

  test('is refused where the command does not take it', () => {
    assert.match(messageOf(['--host', 'x'], ['data']), /no option --host/);
  });

  for (const args of [
    ['--account', 'team', KEY],
    [`-account=team:${KEY}`],
    [`-a=team:${KEY}`],
    [`team:${KEY}`],
    [`--acount=team:${KEY}`],
    [`postgres://larimar:${KEY}@db/larimar`],
    [`--engin=postgres://larimar:${KEY}@db/larimar`],
    ['--engin', `postgres://larimar:${KEY}@db/larimar`],
    [`-engine=postgres://larimar:${KEY}@db/larimar`],
    ['--engine', 'lmdb', '--engine', `postgres://larimar:${KEY}@db/larimar`],
    ['--content', 'files', `s3://key:${KEY}@bucket`],
  ]) {
    test(`is refused without showing the key in it: ${args.join(' ').replace(KEY, 'KEY')}`, () => {
      assert.ok(!messageOf(args).includes(KEY), messageOf(args));
    });
  }
});

describe('the environment', () => {
  test('holds several accounts, separated by semicolons', () => {
    assert.deepEqual(read([], { LARIMAR_ACCOUNTS: 'a:b;c:d;' }), { account: ['a:b', 'c:d'] });
  });

  test('gives way to accounts on the command line, all of them', () => {
    assert.deepEqual(read(['--account', 'x:y'], { LARIMAR_ACCOUNTS: 'a:b;c:d' }), { account: ['x:y'] });
  });

  test('is read only for what the command takes', () => {
    assert.deepEqual(readOptions([], { LARIMAR_HOST: 'x', LARIMAR_DATA: 'y' }, ['data']), { data: ['y'] });
  });
});
