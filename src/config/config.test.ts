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
    data: './larimar-data',
    accounts: [],
    allowDevelopmentAccount: false,
    tls: null,
    log: 'text',
  });
});

test('what is set is what counts', async () => {
  const config = await configOf(
    '--host 0.0.0.0 --blob-port 0 --account team:a2V5:a2V5Mg== --allow-development-account --log json --data x',
  );
  assert.deepEqual(config, {
    host: '0.0.0.0',
    blobPort: 0,
    data: 'x',
    accounts: [{ name: 'team', keys: ['a2V5', 'a2V5Mg=='] }],
    allowDevelopmentAccount: true,
    tls: null,
    log: 'json',
  });
});

test('nothing in it can be changed afterwards', async () => {
  assert.ok(Object.isFrozen(await configOf('')));
});

describe('what cannot be meant is refused in plain words', () => {
  const rows: readonly (readonly [args: string, message: RegExp])[] = [
    ['--blob-port 65536', /--blob-port takes a number from 0 to 65535, not "65536"/],
    ['--blob-port=-1', /--blob-port takes a number/],
    ['--blob-port 1e3', /--blob-port takes a number/],
    ['--blob-port 0x10', /--blob-port takes a number/],
    ['--blob-port=', /--blob-port/],
    ['--blob-port 80.5', /--blob-port takes a number/],
    ['--memory --data x', /--memory and --data exclude each other/],
    ['--memory=yes', /--memory is on \(true\) or off \(false\), not "yes"/],
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

  test('but --memory=false and --data go together', async () => {
    assert.equal((await configOf('--memory=false --data x')).data, 'x');
  });

  test('but --memory on the command line wins over a folder in the environment', async () => {
    assert.equal((await configOf('--memory', { LARIMAR_DATA: '/data' })).data, null);
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
