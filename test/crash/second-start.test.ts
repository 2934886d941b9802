/**
 * One data folder, one server: a second start is refused in plain words, a crash leaves nothing in the way of the next
 * start, and a server told to end lets the upload under way finish first.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { completeHeaders, send } from '../harness/http.ts';
import { LARIMAR_COMMAND, type ServerProcess, startServerProcess } from '../harness/server-process.ts';

interface Ending {
  readonly exitCode: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

function serveOn(dataFolder: string): Promise<Ending> {
  const args = [
    LARIMAR_COMMAND,
    'serve',
    '--blob-port=0',
    '--queue-port=0',
    '--table-port=0',
    '--file-port=0',
    '--smb-port=off',
    `--data=${dataFolder}`,
    '--log=json',
  ];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: 30_000, killSignal: 'SIGKILL' }, (error, stdout, stderr) =>
      resolve({ exitCode: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}

describe('a data folder', () => {
  let server: ServerProcess;
  before(async () => {
    server = await startServerProcess();
    assert.equal((await send(server.url, { method: 'PUT', path: '/kept?restype=container' })).outcome, '201');
  });
  after(() => server.stop());

  const put = (path: string, body: string): Promise<string> =>
    send(server.url, { method: 'PUT', path, headers: { 'x-ms-blob-type': 'BlockBlob' }, body }).then(
      ({ outcome }) => outcome,
    );
  const get = async (path: string): Promise<string> =>
    (await send(server.url, { method: 'GET', path })).body.toString();

  test('that one server has open is refused to a second, which says so, and the first goes on', async () => {
    const { exitCode, stdout, stderr } = await serveOn(server.dataFolder);
    assert.ok(typeof exitCode === 'number' && exitCode !== 0, `exit code ${String(exitCode)}`);
    assert.doesNotMatch(stdout, /"event":"listening"/);
    assert.match(stdout + stderr, /in use|already|another|locked/i);
    assert.ok((stdout + stderr).includes(server.dataFolder), 'the message names the folder');
    assert.doesNotMatch(stdout + stderr, /^\s+at .*\(/m, 'a message, not a stack trace');
    assert.equal(await put('/kept/one', 'still here'), '201');
  });

  test('can be opened at once after kill -9, and holds what was acknowledged', async () => {
    assert.equal(await put('/kept/two', 'before the kill'), '201');
    await server.kill9();
    await server.start();
    assert.equal(await get('/kept/one'), 'still here');
    assert.equal(await get('/kept/two'), 'before the kill');
  });

  test('is left by SIGTERM only after the upload under way is stored and answered', async () => {
    const body = Buffer.alloc(3 * 1024 * 1024, 'upload ');
    const headers = { 'x-ms-blob-type': 'BlockBlob', 'content-length': String(body.length), expect: '100-continue' };
    const signed = completeHeaders(server.url, { method: 'PUT', path: '/kept/three', headers });
    const { hostname, port } = new URL(server.url);
    const sentHeaders = Object.fromEntries(signed.headers);
    const upload = request({ hostname, port, method: 'PUT', path: signed.target, headers: sentHeaders });
    const answered = once(upload, 'response');
    upload.flushHeaders();
    await once(upload, 'continue');
    upload.write(body.subarray(0, 1024));

    const ended = server.terminate();
    await untilRefused(Number(port));
    upload.end(body.subarray(1024));
    const [response] = (await answered) as [{ statusCode: number }];
    assert.equal(response.statusCode, 201);
    await ended;

    await server.start();
    assert.equal(await get('/kept/three'), body.toString());
  });
});

/** Resolves once nobody listens at the port: the server has begun to end. */
async function untilRefused(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const listening = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (!listening) return;
  }
}
