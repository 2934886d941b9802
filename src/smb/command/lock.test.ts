import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { turns } from '../../../test/harness/parallel.ts';
import { type MadeContext, makeContext, statusNameOf } from '../../../test/harness/smb-context.ts';
import { openFor } from '../../../test/harness/smb-opens.ts';
import type { FileOpen } from '../session/open.ts';
import { EXECUTE, READ_ATTRIBUTES, READ_DATA, WRITE_DATA } from '../wire/access.ts';
import {
  LOCK_EXCLUSIVE,
  LOCK_FAIL_IMMEDIATELY,
  LOCK_SHARED,
  LOCK_UNLOCK,
  type LockElement,
  type LockRequest,
} from '../wire/lock.ts';
import { lock } from './lock.ts';

const EXCLUSIVE = LOCK_EXCLUSIVE | LOCK_FAIL_IMMEDIATELY;
const SHARED = LOCK_SHARED | LOCK_FAIL_IMMEDIATELY;
const UINT64_MAX = 2n ** 64n - 1n;

let made: MadeContext;
let h1: FileOpen;
let h2: FileOpen;

beforeEach(async () => {
  made = await makeContext();
  await made.share.createFile('f', 200);
  h1 = await openFor(made.client, 'f');
  h2 = await openFor(made.client, 'f');
});

const elementOf = (offset: number | bigint, length: number | bigint, flags: number): LockElement => ({
  offset: BigInt(offset),
  length: BigInt(length),
  flags,
});

type Row = readonly [offset: number | bigint, length: number | bigint, flags: number];

interface Options {
  readonly sequence?: number;
  readonly context?: Parameters<MadeContext['client']['context']>[0];
}

function send(open: FileOpen, rows: readonly Row[], { sequence = 0, context = {} }: Options = {}): Promise<string> {
  const request: LockRequest = {
    fileId: open.fileId,
    sequenceIndex: sequence >>> 4,
    sequenceNumber: sequence & 0xf,
    elements: rows.map((row) => elementOf(...row)),
  };
  return statusNameOf(() => lock.handle(made.client.context(context), request));
}

describe('flags of a range that is locked', () => {
  for (const [flags, status] of [
    [LOCK_SHARED, 'SUCCESS'],
    [LOCK_EXCLUSIVE, 'SUCCESS'],
    [SHARED, 'SUCCESS'],
    [EXCLUSIVE, 'SUCCESS'],
    [0, 'INVALID_PARAMETER'],
    [LOCK_FAIL_IMMEDIATELY, 'INVALID_PARAMETER'],
    [LOCK_SHARED | LOCK_EXCLUSIVE, 'INVALID_PARAMETER'],
    [LOCK_UNLOCK, 'RANGE_NOT_LOCKED'],
    [LOCK_UNLOCK | LOCK_EXCLUSIVE, 'INVALID_PARAMETER'],
    [LOCK_UNLOCK | LOCK_SHARED, 'INVALID_PARAMETER'],
    [LOCK_UNLOCK | LOCK_FAIL_IMMEDIATELY, 'INVALID_PARAMETER'],
    [0xffff_ffe8, 'INVALID_PARAMETER'],
    [0x8000_0001, 'INVALID_PARAMETER'],
  ] as const) {
    test(`${flags.toString(16)}: ${status}`, async () => assert.equal(await send(h1, [[1, 1, flags]]), status));
  }
});

describe('several ranges', () => {
  for (const [what, first, second, status] of [
    ['two that do not wait', EXCLUSIVE, SHARED, 'SUCCESS'],
    ['two that would wait', LOCK_EXCLUSIVE, LOCK_EXCLUSIVE, 'INVALID_PARAMETER'],
    ['one that would wait, and one that does not', LOCK_EXCLUSIVE, EXCLUSIVE, 'INVALID_PARAMETER'],
    ['one that does not, and one that would', EXCLUSIVE, LOCK_EXCLUSIVE, 'INVALID_PARAMETER'],
    ['one to lock, one to unlock', EXCLUSIVE, LOCK_UNLOCK, 'INVALID_PARAMETER'],
    ['one to unlock that is not locked, one to lock', LOCK_UNLOCK, EXCLUSIVE, 'RANGE_NOT_LOCKED'],
  ] as const) {
    test(`${what}: ${status}`, async () => {
      assert.equal(
        await send(h1, [
          [0, 1, first],
          [10, 1, second],
        ]),
        status,
      );
    });
  }

  test('are all locked or none', async () => {
    await send(h2, [[100, 1, EXCLUSIVE]]);
    const rows: Row[] = [
      [0, 10, EXCLUSIVE],
      [100, 1, SHARED],
    ];
    assert.equal(await send(h1, rows), 'LOCK_NOT_GRANTED');
    assert.equal(await send(h2, [[0, 10, EXCLUSIVE]]), 'SUCCESS');
  });

  test('are unlocked one after the other, up to one that is not locked', async () => {
    const both: Row[] = [
      [0, 10, LOCK_UNLOCK],
      [10, 10, LOCK_UNLOCK],
    ];
    await send(h1, [[10, 10, EXCLUSIVE]]);
    assert.equal(await send(h1, both), 'RANGE_NOT_LOCKED');
    assert.equal(await send(h1, [[10, 10, EXCLUSIVE]]), 'LOCK_NOT_GRANTED');
    assert.equal(await send(h1, [[10, 10, LOCK_UNLOCK]]), 'SUCCESS');
    await send(h1, [[0, 10, EXCLUSIVE]]);
    assert.equal(await send(h1, both), 'RANGE_NOT_LOCKED');
    assert.equal(await send(h1, [[0, 10, EXCLUSIVE]]), 'SUCCESS');
    assert.equal(
      await send(h1, [
        [0, 10, LOCK_UNLOCK],
        [0, 10, EXCLUSIVE],
      ]),
      'INVALID_PARAMETER',
    );
    assert.equal(await send(h1, [[0, 10, LOCK_UNLOCK]]), 'RANGE_NOT_LOCKED');
  });

  test('are not so many that it takes long', async () => {
    const rows = Array.from({ length: 1_025 }, (_, index): Row => [index, 1, SHARED]);
    assert.equal(await send(h1, rows), 'INVALID_PARAMETER');
    assert.equal(await send(h1, rows.slice(0, 170)), 'SUCCESS');
  });
});

describe('ranges at the end of what can be counted', () => {
  for (const [offset, length, status] of [
    [UINT64_MAX, 0n, 'SUCCESS'],
    [UINT64_MAX, 1n, 'SUCCESS'],
    [UINT64_MAX, 2n, 'INVALID_LOCK_RANGE'],
    [UINT64_MAX, UINT64_MAX, 'INVALID_LOCK_RANGE'],
    [2n ** 63n, 1n, 'SUCCESS'],
    [0n, UINT64_MAX, 'SUCCESS'],
  ] as const) {
    test(`${length} at ${offset}: ${status}`, async () => {
      assert.equal(await send(h1, [[offset, length, EXCLUSIVE]]), status);
    });
  }
});

test('locks are an open’s own, stand upon each other as they may, and are taken away one by one', async () => {
  assert.equal(await send(h1, [[0, 10, EXCLUSIVE]]), 'SUCCESS');
  assert.equal(await send(h1, [[0, 10, SHARED]]), 'SUCCESS');
  assert.equal(await send(h1, [[0, 10, EXCLUSIVE]]), 'LOCK_NOT_GRANTED');
  assert.equal(await send(h2, [[5, 10, SHARED]]), 'LOCK_NOT_GRANTED');
  assert.equal(await send(h2, [[0, 10, LOCK_UNLOCK]]), 'RANGE_NOT_LOCKED');
  // The exclusive one goes first.
  assert.equal(await send(h1, [[0, 10, LOCK_UNLOCK]]), 'SUCCESS');
  assert.equal(await send(h2, [[5, 10, SHARED]]), 'SUCCESS');
  assert.equal(await send(h1, [[0, 9, LOCK_UNLOCK]]), 'RANGE_NOT_LOCKED');
  assert.equal(await send(h1, [[0, 10, LOCK_UNLOCK]]), 'SUCCESS');
  assert.equal(await send(h1, [[0, 10, LOCK_UNLOCK]]), 'RANGE_NOT_LOCKED');
});

test('whoever locks needs the right to read or to write, and a file', async () => {
  await made.share.createDirectory('d');
  for (const [path, access, status] of [
    ['f', READ_DATA, 'SUCCESS'],
    ['f', WRITE_DATA, 'SUCCESS'],
    ['f', READ_ATTRIBUTES | EXECUTE, 'ACCESS_DENIED'],
    ['d', READ_DATA, 'INVALID_PARAMETER'],
  ] as const) {
    const open = await openFor(made.client, path, { access });
    assert.equal(await send(open, [[0, 1, SHARED]]), status, `${path} ${access}`);
  }
});

test('in a snapshot nothing changes, and nobody is locked out', async () => {
  const snapshot = await made.share.snapshot();
  const [one, other] = [await openFor(made.client, 'f', { snapshot }), await openFor(made.client, 'f', { snapshot })];
  assert.equal(await send(one, [[0, 1, EXCLUSIVE]]), 'SUCCESS');
  assert.equal(await send(other, [[0, 1, EXCLUSIVE]]), 'SUCCESS');
  assert.equal(await send(one, [[0, 1, LOCK_UNLOCK]]), 'SUCCESS');
});

describe('a lock that waits', () => {
  let pendCount: number;
  let controller: AbortController;
  let waiting: Promise<string>;

  beforeEach(async () => {
    await send(h1, [[100, 10, LOCK_EXCLUSIVE]]);
    pendCount = 0;
    controller = new AbortController();
    const pending = new Promise<void>((resolve) => {
      const onPend = (): void => {
        pendCount++;
        resolve();
      };
      waiting = send(h2, [[100, 10, LOCK_EXCLUSIVE]], { context: { onPend, cancelled: controller.signal } });
    });
    await pending;
  });

  test('says so once, and is granted when others unlock', async () => {
    await turns(5);
    assert.equal(await send(h1, [[100, 10, LOCK_UNLOCK]]), 'SUCCESS');
    assert.equal(await waiting, 'SUCCESS');
    assert.equal(pendCount, 1);
    assert.equal(await send(h1, [[100, 10, EXCLUSIVE]]), 'LOCK_NOT_GRANTED');
  });

  test('is granted when others close', async () => {
    await made.storage.opens.close(h1.openId);
    assert.equal(await waiting, 'SUCCESS');
  });

  test('can be called off', async () => {
    assert.equal(await send(h2, [[100, 10, LOCK_UNLOCK]]), 'RANGE_NOT_LOCKED');
    controller.abort();
    assert.equal(await waiting, 'CANCELLED');
    assert.equal(await send(h1, [[100, 10, LOCK_UNLOCK]]), 'SUCCESS');
    assert.equal(await send(h1, [[100, 10, EXCLUSIVE]]), 'SUCCESS');
  });

  test('ends when its own file is closed', async () => {
    await made.storage.opens.close(h2.openId);
    assert.equal(await waiting, 'RANGE_NOT_LOCKED');
  });

  test('ends with its tree and with its session', async () => {
    made.client.session.trees.delete(made.client.tree.id);
    controller.abort();
    assert.equal(await waiting, 'RANGE_NOT_LOCKED');
  });
});

describe('a request that is sent again', () => {
  const row: Row = [100, 100, EXCLUSIVE];
  const unlocked: Row = [100, 100, LOCK_UNLOCK];

  beforeEach(() => {
    h1.durability = {
      version: 1,
      createGuid: null,
      clientGuid: '',
      timeoutMs: 60_000,
      isBreaking: false,
      timer: null,
    };
  });

  test('is not done twice, whatever it asks for', async () => {
    assert.equal(await send(h1, [row], { sequence: 0x11 }), 'SUCCESS');
    for (const again of [row, unlocked, row]) assert.equal(await send(h1, [again], { sequence: 0x11 }), 'SUCCESS');
    assert.equal(await send(h1, [row], { sequence: 0x12 }), 'LOCK_NOT_GRANTED');
    assert.equal(await send(h1, [row], { sequence: 0x12 }), 'LOCK_NOT_GRANTED');
    // What came in between has made the first one old.
    assert.equal(await send(h1, [row], { sequence: 0x11 }), 'LOCK_NOT_GRANTED');
    assert.equal(await send(h1, [row], { sequence: 0x21 }), 'LOCK_NOT_GRANTED');
    assert.equal(await send(h1, [unlocked], { sequence: 0x402 }), 'SUCCESS');
    assert.equal(await send(h1, [unlocked], { sequence: 0x402 }), 'SUCCESS');
    assert.equal(await send(h1, [row], { sequence: 0x402 }), 'SUCCESS');
    assert.equal(await send(h1, [unlocked], { sequence: 0x403 }), 'RANGE_NOT_LOCKED');
  });

  for (const [what, sequence] of [
    ['without a bucket', 0x001],
    ['with one that there is not', 0x411],
  ] as const) {
    test(`${what} is another one`, async () => {
      assert.equal(await send(h1, [row], { sequence }), 'SUCCESS');
      assert.equal(await send(h1, [row], { sequence }), 'LOCK_NOT_GRANTED');
      assert.equal(await send(h1, [unlocked], { sequence }), 'SUCCESS');
      assert.equal(await send(h1, [unlocked], { sequence }), 'RANGE_NOT_LOCKED');
    });
  }

  test('is another one where the client does not come back', async () => {
    assert.equal(await send(h2, [row], { sequence: 0x11 }), 'SUCCESS');
    assert.equal(await send(h2, [row], { sequence: 0x11 }), 'LOCK_NOT_GRANTED');
  });
});
