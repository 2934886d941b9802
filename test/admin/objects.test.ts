/** A node whose content is in an object store: keys from either place, refusals at once, waiting for what is not up yet. */
// engines: postgres
// tier: system
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { send } from '../harness/http.ts';
import { freshDatabase } from '../harness/postgres.ts';
import { freshBucket } from '../harness/s3.ts';
import { missingTool } from '../packages.ts';
import { Command, runCommand } from './command.ts';

const skip = missingTool('postgres') || missingTool('radosgw');
const SERVE = ['serve', '--blob-port=0', '--queue-port=0', '--table-port=0', '--file-port=0', '--admin-port=0'];

async function places(t: TestContext): Promise<{ engine: string; content: URL }> {
  const [database, bucket] = [await freshDatabase(), await freshBucket()];
  t.after(async () => {
    await database.drop();
    await bucket.drop();
  });
  return { engine: database.url, content: new URL(bucket.url) };
}

const environmentOf = (engine: string, content: URL): Record<string, string> => ({
  LARIMAR_ENGINE: engine,
  LARIMAR_CONTENT: content.href,
  // Not what the tester has.
  AWS_ACCESS_KEY_ID: '',
  AWS_SECRET_ACCESS_KEY: '',
});

function start(t: TestContext, env: Readonly<Record<string, string>>): Command {
  const command = new Command(SERVE, env);
  t.after(() => command.stop());
  return command;
}

const secretless = ({ hostname, search }: URL): string => `s3://${hostname}${decodeURIComponent(search)}`;

describe('a node with its content in an object store', { skip }, () => {
  test('says where that is without the secret, serves from it, and leaves a store that check finds clean', async (t) => {
    const { engine, content } = await places(t);
    const env = environmentOf(engine, content);
    const command = start(t, env);
    const [, url] = await command.printed(/^ {2}Blob {7}(http:\S+)$/m);
    await command.printed(/Stop with Ctrl-C\.\n/);
    assert.ok(command.output.includes(`  content    ${secretless(content)}\n`), command.output);
    assert.ok(!command.output.includes(content.password));
    assert.equal((await send(url as string, { method: 'PUT', path: '/box?restype=container' })).outcome, '201');
    const headers = { 'x-ms-blob-type': 'BlockBlob' };
    const body = Buffer.alloc(100_000, 'content');
    const put = { method: 'PUT', path: '/box/blob', headers, body };
    assert.equal((await send(url as string, put)).outcome, '201');
    assert.deepEqual((await send(url as string, { method: 'GET', path: '/box/blob' })).body, body);
    command.send('SIGTERM');
    assert.equal((await command.ending).ended, 0, command.output);
    const { ended, output } = await runCommand(['check'], env);
    assert.match(output, /1 container, 1 blob,.*\n.*1 extent, 100000 bytes\nclean\n$/);
    assert.equal(ended, 0);
  });

  test('takes its key from where other programs have it', async (t) => {
    const { engine, content } = await places(t);
    const { username, password } = content;
    content.username = '';
    content.password = '';
    const keys = { AWS_ACCESS_KEY_ID: username, AWS_SECRET_ACCESS_KEY: decodeURIComponent(password) };
    const command = start(t, { ...environmentOf(engine, content), ...keys });
    await command.printed(/Stop with Ctrl-C\.\n/);
  });

  const refused: readonly (readonly [what: string, change: (content: URL) => void, message: RegExp])[] = [
    [
      'a wrong secret',
      (content) => {
        content.password = 'hush-hush';
      },
      /^larimar: --content: .*refuses access to the bucket.*\n$/,
    ],
    [
      'an unknown key',
      (content) => {
        content.username = 'NOBODY';
      },
      /^larimar: --content: .*refuses access to the bucket.*\n$/,
    ],
    [
      'no key',
      (content) => {
        content.username = '';
        content.password = '';
      },
      /^larimar: --content: .*AWS_ACCESS_KEY_ID.*\n$/,
    ],
    [
      'a bucket that no bucket can be',
      (content) => (content.hostname = 'b'),
      /^larimar: --content: .*Name a bucket.*\n$/,
    ],
  ];
  for (const [what, change, message] of refused) {
    test(`is refused ${what} at once, with what to do`, async (t) => {
      const { engine, content } = await places(t);
      const { password } = content;
      change(content);
      const { ended, output } = await runCommand(SERVE, environmentOf(engine, content));
      assert.match(output, message);
      assert.ok(!output.includes('hush') && !output.includes(password), output);
      assert.equal(ended, 2);
    });
  }
});

test('a node waits for an object store that is out of reach', { skip: missingTool('postgres') }, async (t) => {
  const database = await freshDatabase();
  t.after(() => database.drop());
  const content = new URL('s3://KEY:hush-hush@bucket?endpoint=http://127.0.0.1:1');
  const command = start(t, environmentOf(database.url, content));
  await command.printed(
    /^waiting for the bucket s3:\/\/bucket\?endpoint=http:\/\/127\.0\.0\.1:1: connection refused\n/,
  );
  command.send('SIGTERM');
  const { ended, output } = await command.ending;
  assert.equal(ended, 1);
  assert.ok(!output.includes('hush'), output);
});
