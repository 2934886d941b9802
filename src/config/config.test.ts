import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type Config, makeConfig, SERVE_OPTIONS } from './config.ts';
import { ConfigError } from './config-error.ts';
import { readOptions } from './options.ts';

const configOf = (args: string, environment: Record<string, string> = {}): Promise<Config> =>
  makeConfig(
    readOptions(
      args.split(' ').filter((arg) => arg !== ''),
      environment,
      SERVE_OPTIONS,
    ),
  );

test('without any option a server listens on this machine alone and stores in a folder', async () => {
  assert.deepEqual(await configOf(''), {
    host: '127.0.0.1',
    blobPort: 10_000,
    queuePort: 10_001,
    tablePort: 10_002,
    filePort: 10_003,
    smbPort: 10_445,
    smbEncryption: 'auto',
    adminPort: 10_004,
    webPort: 10_005,
    store: { kind: 'folder', path: './larimar-data' },
    accounts: [],
    allowDevelopmentAccount: false,
    oauth: null,
    accountSettings: {},
    outsideCopies: true,
    tls: null,
    drainSeconds: 0,
    log: 'text',
  });
});

test('what is set is what counts', async () => {
  const config = await configOf(
    '--host 0.0.0.0 --blob-port 0 --queue-port 0 --table-port 0 --file-port 0 --smb-port 0 --admin-port 0 --web-port 0 --account team:a2V5:a2V5Mg== --allow-development-account --log json ' +
      '--data x --drain-seconds 30 --versioning team --container-retention-days 7 --rehydration-seconds 0 ' +
      '--outside-copies off --smb-encryption required',
  );
  assert.deepEqual(config, {
    host: '0.0.0.0',
    blobPort: 0,
    queuePort: 0,
    tablePort: 0,
    filePort: 0,
    smbPort: 0,
    smbEncryption: 'required',
    adminPort: 0,
    webPort: 0,
    store: { kind: 'folder', path: 'x' },
    accounts: [{ name: 'team', keys: ['a2V5', 'a2V5Mg=='] }],
    allowDevelopmentAccount: true,
    oauth: null,
    accountSettings: { versioning: ['team'], containerRetentionDays: 7, rehydrationSeconds: 0 },
    outsideCopies: false,
    tls: null,
    drainSeconds: 30,
    log: 'json',
  });
});

test('nothing in it can be changed afterwards', async () => {
  assert.ok(Object.isFrozen(await configOf('')));
});

describe('what cannot be meant is refused in plain words', () => {
  const rows: readonly (readonly [args: string, message: RegExp])[] = [
    ['--outside-copies maybe', /--outside-copies takes on or off, not "maybe"/],
    ['--blob-port 65536', /--blob-port takes a number from 0 to 65535, not "65536"/],
    ['--blob-port=-1', /--blob-port takes a number/],
    ['--blob-port 1e3', /--blob-port takes a number/],
    ['--blob-port 0x10', /--blob-port takes a number/],
    ['--blob-port=', /--blob-port/],
    ['--blob-port 80.5', /--blob-port takes a number/],
    ['--admin-port 65536', /--admin-port takes a number from 0 to 65535, or off, not "65536"/],
    ['--admin-port no', /--admin-port takes a number from 0 to 65535, or off, not "no"/],
    ['--blob-port 9 --admin-port 9', /--blob-port and --admin-port are both 9: choose another port for one of them/],
    ['--blob-port 10004', /--blob-port and --admin-port are both 10004/],
    ['--web-port no', /--web-port takes a number from 0 to 65535, or off, not "no"/],
    ['--admin-port 10005', /--admin-port and --web-port are both 10005/],
    ['--blob-port 10005', /--blob-port and --web-port are both 10005/],
    ['--smb-port no', /--smb-port takes a number from 0 to 65535, or off, not "no"/],
    ['--file-port 10445', /--file-port and --smb-port are both 10445/],
    ['--smb-encryption no', /--smb-encryption takes auto, required or optional, not "no"/],
    ['--drain-seconds 1.5', /--drain-seconds takes a number of seconds from 0 to 3600, not "1\.5"/],
    ['--drain-seconds 3601', /--drain-seconds takes a number of seconds/],
    ['--drain-seconds=-1', /--drain-seconds takes a number of seconds/],
    ['--memory --data x', /--memory and --data exclude each other/],
    ['--memory=yes', /--memory takes true or false, not "yes"/],
    ['--log loud', /--log takes text, json or silent, not "loud"/],
    ['--cert x', /--cert and --key go together/],
    ['--key x', /--cert and --key go together/],
    ['--cert /no/such/file --key /no/such/file', /--cert: \/no\/such\/file cannot be read \(ENOENT\)/],
    ['--account team', /An account is written NAME:KEY or NAME:KEY:KEY2/],
    ['--account a:b:c:d', /An account is written NAME:KEY or NAME:KEY:KEY2/],
  ];
  for (const [args, message] of rows) {
    test(args, async () => {
      await assert.rejects(
        async () => configOf(args),
        (error) => {
          assert.ok(error instanceof ConfigError, String(error));
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }
});

test('off opens no admin door, no web door, and none for SMB', async () => {
  assert.equal((await configOf('--admin-port off')).adminPort, null);
  assert.equal((await configOf('', { LARIMAR_ADMIN_PORT: 'off' })).adminPort, null);
  assert.equal((await configOf('--web-port off')).webPort, null);
  assert.equal((await configOf('', { LARIMAR_WEB_PORT: 'off' })).webPort, null);
  assert.equal((await configOf('--smb-port off')).smbPort, null);
  assert.equal((await configOf('', { LARIMAR_SMB_PORT: 'off' })).smbPort, null);
});

describe('what the command line says counts before what the environment says of the same thing', () => {
  const POSTGRES = 'postgres://larimar@db/larimar';
  const FOLDER = { kind: 'folder', path: './larimar-data' };
  const DATABASE = { kind: 'database', url: POSTGRES, objectsUrl: null };
  const rows: readonly (readonly [args: string, environment: Record<string, string>, store: object])[] = [
    ['--memory=false --data x', {}, { kind: 'folder', path: 'x' }],
    ['--memory', { LARIMAR_DATA: '/data' }, { kind: 'memory' }],
    ['--memory', { LARIMAR_ENGINE: POSTGRES, LARIMAR_CONTENT: 's3://b' }, { kind: 'memory' }],
    ['--memory=false', { LARIMAR_DATA: '/data' }, { kind: 'folder', path: '/data' }],
    ['--memory=false', { LARIMAR_ENGINE: POSTGRES }, DATABASE],
    ['--data x', { LARIMAR_MEMORY: 'true' }, { kind: 'folder', path: 'x' }],
    ['--data x', { LARIMAR_ENGINE: POSTGRES, LARIMAR_CONTENT: 's3://b' }, { kind: 'folder', path: 'x' }],
    [`--engine ${POSTGRES}`, { LARIMAR_DATA: '/data' }, DATABASE],
    [`--engine ${POSTGRES}`, { LARIMAR_MEMORY: 'true' }, DATABASE],
    [`--engine ${POSTGRES}`, { LARIMAR_CONTENT: 's3://b' }, { ...DATABASE, objectsUrl: 's3://b' }],
    ['--engine lmdb', { LARIMAR_DATA: '/data' }, { kind: 'folder', path: '/data' }],
    ['--engine lmdb', { LARIMAR_ENGINE: POSTGRES }, FOLDER],
    ['', { LARIMAR_ENGINE: POSTGRES }, DATABASE],
    ['', { LARIMAR_ENGINE: POSTGRES, LARIMAR_DATA: '' }, DATABASE],
    ['--content postgres', { LARIMAR_ENGINE: POSTGRES }, DATABASE],
  ];
  for (const [args, environment, store] of rows) {
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    test(`${variables.join(' ')} larimar ${args}`, async () => {
      assert.deepEqual((await configOf(args, environment)).store, store);
    });
  }

  test('but a folder and a database, both in the environment, are refused', async () => {
    const environment = { LARIMAR_ENGINE: POSTGRES, LARIMAR_DATA: '/data' };
    await assert.rejects(
      async () => configOf('', environment),
      (error) => error instanceof ConfigError && /leave --data out \(and LARIMAR_DATA unset\)/.test(error.message),
    );
  });
});

test('a certificate and its key are read from their files', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-config-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  await writeFile(cert, 'certificate');
  await assert.rejects(configOf(`--cert ${cert} --key ${key}`), /--key: .*key\.pem cannot be read \(ENOENT\)/);
  await writeFile(key, 'private');
  const { tls } = await configOf(`--cert ${cert} --key ${key}`);
  assert.deepEqual(tls, { cert: Buffer.from('certificate'), key: Buffer.from('private') });
});
