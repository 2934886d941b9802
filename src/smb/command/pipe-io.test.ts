import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { type MadeContext, makeContext, statusNameOf, type TestClient } from '../../../test/harness/smb-context.ts';
import { openPipe } from '../pipe/open-pipe.ts';
import { closeOpen } from '../session/close-open.ts';
import type { PipeOpen } from '../session/open.ts';
import { statusName } from '../statuses.ts';
import type { Context } from './command.ts';
import { readPipe, transceivePipe, writePipe } from './pipe-io.ts';

/** To the Server Service, in the ordinary way to write arguments; its answer has 68 bytes. */
const BIND = Buffer.from(
  '05000b03100000004800000001000000b810b810000000000100000000000100c84f324b7016d30112785a47bf6ee18803000000' +
    '045d888aeb1cc9119fe808002b10486002000000',
  'hex',
);
const ACK_BYTES = 68;

describe('a pipe', () => {
  let made: MadeContext;
  let client: TestClient;
  let context: Context;

  beforeEach(async () => {
    made = await makeContext();
    ({ client } = made);
    context = client.context({ tree: { ...client.tree, share: null } });
  });

  const open = (name = 'srvsvc'): PipeOpen => {
    const { body } = openPipe(context, { name });
    const volatile = Buffer.from(body[0] as Uint8Array).readBigUInt64LE(72);
    const opened = client.session.opens.get(volatile);
    assert.ok(opened?.kind === 'pipe');
    return opened;
  };

  test('is among what the session has open until it is closed', async () => {
    const opened = open('\\PIPE\\srvsvc');
    assert.equal(opened.pipe.name, 'srvsvc');
    assert.equal(context.anyOpen(opened.fileId), opened);
    assert.equal(await closeOpen(made.door, opened), null);
    assert.deepEqual([opened.isClosed, client.session.opens.size], [true, 0]);
  });

  test('that is not there cannot be opened', async () => {
    assert.equal(await statusNameOf(() => openPipe(context, { name: 'spoolss' })), 'OBJECT_NAME_NOT_FOUND');
    assert.equal(client.session.opens.size, 0);
  });

  test('is one of 64 at most, in each session', async () => {
    for (let count = 0; count < 64; count++) open();
    assert.equal(await statusNameOf(() => openPipe(context, { name: 'srvsvc' })), 'TOO_MANY_OPENED_FILES');
    await closeOpen(made.door, [...client.session.opens.values()][0] as PipeOpen);
    open();
  });

  test('is written and read, in parts if the reader likes', async () => {
    const opened = open();
    assert.equal(await statusNameOf(() => readPipe(context, opened, { length: 1024 })), 'PIPE_EMPTY');
    const written = await writePipe(context, opened, { data: BIND });
    assert.equal(Buffer.from(written.body[0] as Uint8Array).readUInt32LE(4), BIND.length);
    const first = await readPipe(context, opened, { length: 60 });
    assert.equal(statusName(first.status), 'BUFFER_OVERFLOW');
    assert.deepEqual([Buffer.from(first.body[0] as Uint8Array).readUInt32LE(4), first.body[1]?.length], [60, 60]);
    const rest = await readPipe(context, opened, { length: 60 });
    assert.deepEqual([statusName(rest.status), rest.body[1]?.length], ['SUCCESS', ACK_BYTES - 60]);
  });

  test('is asked and answers at once, also if only the beginning is wanted', async () => {
    const whole = await transceivePipe(context, open(), BIND, 1024);
    assert.deepEqual([statusName(whole.status), whole.bytes.length], ['SUCCESS', ACK_BYTES]);
    const opened = open();
    const part = await transceivePipe(context, opened, BIND, 16);
    assert.deepEqual([statusName(part.status), part.bytes.length], ['BUFFER_OVERFLOW', 16]);
    assert.equal((await readPipe(context, opened, { length: 1024 })).body[1]?.length, ACK_BYTES - 16);
  });

  test('is read in the turn in which it is asked for, though what was written before is still being answered', async () => {
    const opened = open();
    const [, answer] = await Promise.all([
      writePipe(context, opened, { data: BIND }),
      readPipe(context, opened, { length: 1024 }),
    ]);
    assert.equal(answer.body[1]?.length, ACK_BYTES);
  });
});
