/** `larimar serve` and its doors: what it announces, what it refuses, and how it stops. */
// engines: embedded
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { freePort } from '../harness/free-port.ts';
import { send } from '../harness/http.ts';
import { until } from '../harness/until.ts';
import { Command, runCommand } from './command.ts';

const SECRET = 'hush-hush-hush';
const ENGINE = `postgres://larimar:${SECRET}@127.0.0.1:1/store`;

function start(t: TestContext, args: readonly string[], env: Readonly<Record<string, string>> = {}): Command {
  const command = new Command(
    ['serve', '--blob-port=0', '--queue-port=0', '--table-port=0', '--file-port=0', ...args],
    env,
  );
  t.after(() => command.stop());
  return command;
}

async function doorsOf(command: Command): Promise<{ admin: string; blob: string }> {
  await command.printed(/"service":"blob".*\n/);
  const lines = command.output.trimEnd().split('\n');
  const doors = lines.map((line) => JSON.parse(line) as { event: string; service: string; url: string });
  assert.deepEqual(
    doors.map(({ event, service }) => [event, service]),
    [
      ['listening', 'admin'],
      ['listening', 'queue'],
      ['listening', 'table'],
      ['listening', 'file'],
      ['listening', 'blob'],
    ],
  );
  return { admin: doors[0]?.url as string, blob: doors[4]?.url as string };
}

async function readyReason(admin: string): Promise<string | null> {
  const response = await fetch(`${admin}/ready`);
  const { reason } = (await response.json()) as { reason?: string };
  assert.equal(response.status, reason === undefined ? 200 : 503);
  return reason ?? null;
}

/** How the answer to an SMB client begins that offers version 2.1. */
async function smbAnswerAt(port: number): Promise<string> {
  const negotiate = Buffer.alloc(4 + 64 + 38);
  negotiate.writeUInt32BE(negotiate.length - 4, 0);
  negotiate.write('\u00feSMB', 4, 'latin1');
  negotiate.writeUInt16LE(64, 8);
  negotiate.writeUInt16LE(1, 18);
  negotiate.set([36, 0, 1, 0, 1], 68);
  negotiate.writeUInt16LE(0x0210, 104);
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  socket.write(negotiate);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return answer.toString('latin1', 4, 8);
}

const untilStopping = (admin: string): Promise<boolean> =>
  until({ what: 'readiness is gone', limitSeconds: 30 }, async () => (await readyReason(admin)) === 'stopping');

describe('the announcement', () => {
  test('names every door once all are open, the blob service last', async (t) => {
    const command = start(t, ['--memory', '--admin-port=0', '--log=json']);
    const { admin } = await doorsOf(command);
    assert.equal(await readyReason(admin), null);
  });

  test('names the admin door for people', async (t) => {
    const command = start(t, ['--memory', '--admin-port=0']);
    const [, admin] = await command.printed(/^ {2}admin {6}(http:\/\/127\.0\.0\.1:\d+)$/m);
    await command.printed(/Stop with Ctrl-C\.\n/);
    assert.equal(await readyReason(admin as string), null);
  });

  test('names the web door, for people and for programs', async (t) => {
    const spoken = start(t, ['--memory', '--admin-port=off', '--web-port=0']);
    const [, web] = await spoken.printed(/^ {2}web {8}(http:\/\/127\.0\.0\.1:\d+)$/m);
    assert.equal((await fetch(`${web}/devstoreaccount1/`)).headers.get('x-ms-error-code'), 'WebsiteNotEnabled');
    const written = start(t, ['--memory', '--admin-port=off', '--web-port=0', '--log=json']);
    await written.printed(/"event":"listening","service":"web","url":"http:\/\/127\.0\.0\.1:\d+"}\n/);
  });

  test('names the SMB door, for people and for programs, which then speaks SMB', async (t) => {
    const spoken = start(t, ['--memory', '--admin-port=off', '--smb-port=0']);
    const [, port] = await spoken.printed(/^ {2}SMB {8}smb:\/\/127\.0\.0\.1:(\d+)$/m);
    assert.equal(await smbAnswerAt(Number(port)), '\u00feSMB');
    const written = start(t, ['--memory', '--admin-port=off', '--smb-port=0', '--log=json']);
    await written.printed(/"event":"listening","service":"smb","url":"smb:\/\/127\.0\.0\.1:\d+"}\n.*"service":"blob"/);
  });

  test('names the Queue, the Table and the File service, for people and in the connection string', async (t) => {
    const command = start(t, ['--memory', '--admin-port=off']);
    const [, queue] = await command.printed(/^ {2}Queue {6}(http:\/\/127\.0\.0\.1:\d+)$/m);
    const [, table] = await command.printed(/^ {2}Table {6}(http:\/\/127\.0\.0\.1:\d+)$/m);
    const [, file] = await command.printed(/^ {2}File {7}(http:\/\/127\.0\.0\.1:\d+)$/m);
    await command.printed(/Stop with Ctrl-C\.\n/);
    const doors = [
      ['Queue', queue],
      ['Table', table],
      ['File', file],
    ] as const;
    const endpoints = `;${doors.map(([name, url]) => `${name}Endpoint=${url}/devstoreaccount1;`).join('')}\n`;
    assert.ok(command.output.includes(endpoints));
  });

  test('names no admin door where there is none', async (t) => {
    const command = start(t, ['--memory', '--admin-port=off']);
    await command.printed(/Stop with Ctrl-C\.\n/);
    assert.doesNotMatch(command.output, /admin/);
  });
});

describe('a stop', () => {
  test('ends the process in good order when the time to drain is over', async (t) => {
    const command = start(t, ['--memory', '--admin-port=0', '--log=json', '--drain-seconds=1']);
    await doorsOf(command);
    command.send('SIGTERM');
    assert.equal((await command.ending).ended, 0);
  });

  test('ends readiness at once, goes on serving while it drains, and a second signal ends it at once', async (t) => {
    const command = start(t, ['--memory', '--admin-port=0', '--log=json', '--drain-seconds=3600']);
    const { admin, blob } = await doorsOf(command);
    assert.equal(await readyReason(admin), null);
    command.send('SIGTERM');
    await untilStopping(admin);
    assert.equal((await fetch(`${admin}/health`)).status, 200);
    assert.equal((await send(blob, { method: 'PUT', path: '/drained?restype=container' })).outcome, '201');
    command.send('SIGTERM');
    assert.equal((await command.ending).ended, 1);
  });

  test('without time to drain ends it as soon as it can', async (t) => {
    const command = start(t, ['--memory', '--admin-port=0', '--log=json']);
    await doorsOf(command);
    command.send('SIGINT');
    assert.equal((await command.ending).ended, 0);
  });
});

describe('a start that cannot be', () => {
  for (const [flag, ...more] of [
    ['--admin-port'],
    ['--web-port', '--admin-port=off'],
    ['--smb-port', '--admin-port=off'],
  ] as const) {
    test(`for a port of ${flag} that is in use names both`, async (t) => {
      const other = createServer().listen({ host: '127.0.0.1', port: 0 });
      await new Promise((resolve) => other.once('listening', resolve));
      t.after(() => other.close());
      const { port } = other.address() as AddressInfo;
      const { ended, output } = await runCommand([
        '--memory',
        '--blob-port=0',
        '--queue-port=0',
        '--table-port=0',
        '--file-port=0',
        `${flag}=${port}`,
        ...more,
      ]);
      const sentence = `larimar: 127.0.0.1:${port} is in use already. Choose another port with ${flag}`;
      assert.deepEqual([ended, output], [2, `${sentence} (0 picks a free one, off opens none).\n`]);
    });
  }

  const refused: readonly (readonly [args: readonly string[], env: Record<string, string>, message: RegExp])[] = [
    [['--engine', ENGINE, '--data', 'x'], {}, /leave --data out/],
    [['--engine', ENGINE, '--content', 'files'], {}, /write --content postgres or --content s3:/],
    [['--engine', ENGINE, '--content', `s3://KEY:${SECRET}/x@bucket`], {}, /not the URL of a bucket/],
    [['--engine', `postgres://larimar:1/${SECRET}@db/store`], {}, /not the URL of a database/],
    [['--engine', `mysql://larimar:${SECRET}@db/store`], {}, /takes lmdb or a URL/],
    [['--content', `s3://KEY:${SECRET}@bucket`], {}, /leave --content out/],
    [['--memory', '--engine', ENGINE], {}, /exclude each other/],
    [[ENGINE], {}, /no such command/],
    [['serve', ENGINE], {}, /belongs to no option/],
    [[], { LARIMAR_ENGINE: ENGINE, LARIMAR_DATA: 'x' }, /LARIMAR_DATA unset/],
    [
      ['check', '--engine', ENGINE],
      {},
      /postgres:\/\/larimar@127\.0\.0\.1:1\/store cannot be reached: connection refused/,
    ],
    [['check', '--memory'], {}, /no option --memory/],
  ];
  for (const [args, env, message] of refused) {
    const shown = JSON.stringify([...Object.keys(env), ...args]);
    test(`is refused in one line, without the password: ${shown.replaceAll(SECRET, 'SECRET')}`, async () => {
      const { ended, output } = await runCommand(args, env);
      assert.match(output, message);
      assert.match(output, /^larimar: .*\n$/);
      assert.ok(!output.includes('hush'), output);
      assert.equal(ended, 2);
    });
  }
});

describe('a server whose database is not there yet', () => {
  for (const [log, form] of [
    ['text', /^waiting for the database at postgres:\/\/larimar@127\.0\.0\.1:1\/store: connection refused\n/],
    ['json', /^\{"event":"waiting","message":"waiting for the database at .*: connection refused"\}\n/],
  ] as const) {
    test(`says what it waits for (${log}), shows no password, and hears a signal`, async (t) => {
      const command = start(t, ['--admin-port=0', `--log=${log}`], { LARIMAR_ENGINE: ENGINE });
      await command.printed(form);
      command.send('SIGTERM');
      const { ended, output } = await command.ending;
      assert.equal(ended, 1);
      assert.ok(!output.includes('hush'), output);
    });
  }

  test('is alive and not ready', async (t) => {
    const port = await freePort();
    const command = start(t, [`--admin-port=${port}`], { LARIMAR_ENGINE: ENGINE });
    await command.printed(/^waiting for/);
    const admin = `http://127.0.0.1:${port}`;
    assert.equal((await fetch(`${admin}/health`)).status, 200);
    assert.equal(await readyReason(admin), 'starting');
  });
});
