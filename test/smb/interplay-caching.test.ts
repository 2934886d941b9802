/**
 * What SMB clients cache under leases and oplocks, and what each REST operation makes them give up: whether it waits for them,
 * what they write before they answer, and what becomes of a request whose client does not answer.
 */
// tier: system
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { textOf } from '../file/racing.ts';
import { send } from '../harness/http.ts';
import type { LeaseState, OplockLevel, SmbFile, SmbOpenOptions } from '../harness/impacket-client.ts';
import { smbOutcome } from '../harness/smb-refusal.ts';
import { until } from '../harness/until.ts';
import { missingTool } from '../packages.ts';
import {
  ACQUIRE,
  DELETE,
  GET,
  GET_PROPERTIES,
  LIST,
  MATRIX_COLUMNS,
  READERS,
  type RestOperation,
  WRITERS,
} from './rest-operations.ts';
import { DELAY, openStage, resultOf, type Scene, TEXT, VIOLATION } from './stage.ts';

const stage = await openStage();

const skip = missingTool('impacket');

/** What a client has, how it asks for it, and how it is called. */
interface Cache {
  readonly name: string;
  readonly options: SmbOpenOptions;
  readonly keeps: (file: SmbFile) => string | null;
}

const lease = (state: LeaseState): Cache => ({
  name: `lease ${state}`,
  options: { lease: state },
  keeps: (file) => file.lease,
});
const oplock = (level: OplockLevel): Cache => ({
  name: `${level} oplock`,
  options: { oplock: level },
  keeps: (file) => file.oplock,
});

const CACHES = {
  RWH: lease('RWH'),
  RH: lease('RH'),
  RW: lease('RW'),
  R: lease('R'),
  batch: oplock('batch'),
  exclusive: oplock('exclusive'),
  II: oplock('II'),
} as const;

type CacheName = keyof typeof CACHES;

const operationOf = (name: string): RestOperation => MATRIX_COLUMNS.find(([each]) => each === name) as RestOperation;

async function openWith(scene: Scene, cache: CacheName, options: SmbOpenOptions = {}): Promise<SmbFile> {
  const smb = await stage.smb();
  const open = await smb.open(scene.path, { ...options, ...CACHES[cache].options });
  assert.equal(CACHES[cache].keeps(open), cache, 'it is granted what it asks for');
  return open;
}

/** What a write asks for. */
const TAKEN: Readonly<Record<CacheName, string>> = {
  RWH: 'RWH to none',
  RH: 'RH to none',
  RW: 'RW to none',
  R: 'R to none, unanswered',
  batch: 'batch to none',
  exclusive: 'exclusive to none',
  II: 'II to none',
};

/** That what was asked for is all that was: whoever takes what is left is the next one heard of. */
async function assertNothingElse(scene: Scene, open: SmbFile, left: CacheName | null): Promise<void> {
  const smb = await stage.smb();
  if (left !== null) {
    const writing = resultOf(scene.file.setMetadata({ a: 'b' }));
    const asked = await open.nextBreak();
    assert.equal(asked.what, TAKEN[left]);
    if (left !== 'R' && left !== 'II') await open.answer(asked.to);
    assert.equal(await writing, 'ok');
  }
  await smb.echo();
  assert.deepEqual(open.unheard, []);
}

describe('REST beside a client that caches, where nothing is in the way', { skip }, () => {
  /** `leaves`: what is left, which shows by what a write then asks for. */
  const reading: readonly (readonly [cache: CacheName, breaks: string | null, leaves: CacheName])[] = [
    ['RWH', 'RWH to RH', 'RH'],
    ['RH', null, 'RH'],
    ['RW', 'RW to R', 'R'],
    ['R', null, 'R'],
    ['batch', 'batch to II', 'II'],
    ['exclusive', 'exclusive to II', 'II'],
    ['II', null, 'II'],
  ];
  for (const [cache, breaks, leaves] of reading) {
    for (const [name, act] of READERS) {
      const does = breaks === null ? 'asks for nothing' : `waits for ${breaks}, and the next asks for nothing`;
      test(`${CACHES[cache].name}: ${name} ${does}`, async () => {
        const scene = await stage.scene();
        const open = await openWith(scene, cache);
        const acting = resultOf(act(scene));
        if (breaks !== null) {
          const asked = await open.nextBreak();
          assert.equal(asked.what, breaks);
          // What is written now is what the request must see.
          await open.write('FLUSH');
          await open.answer(asked.to);
        }
        assert.equal(await acting, 'ok');
        assert.equal(await textOf(scene.file), breaks === null ? TEXT : `FLUSH${TEXT.slice(5)}`);
        await assertNothingElse(scene, open, leaves);
        await open.close();
      });
    }

    test(`${CACHES[cache].name}: ${LIST[0]} asks for nothing`, async () => {
      const scene = await stage.scene();
      const open = await openWith(scene, cache);
      assert.equal(await resultOf(LIST[1](scene)), 'ok');
      await assertNothingElse(scene, open, cache);
      await open.close();
    });
  }

  for (const cache of Object.keys(CACHES) as CacheName[]) {
    const isWaitedFor = cache !== 'RH' && cache !== 'R' && cache !== 'II';
    const breaks = TAKEN[cache];
    for (const [name, act] of WRITERS) {
      const does = isWaitedFor ? 'waits for' : 'asks for, and does not wait for,';
      test(`${CACHES[cache].name}: ${name} ${does} ${breaks}`, async () => {
        const scene = await stage.scene();
        const open = await openWith(scene, cache);
        const acting = resultOf(act(scene));
        if (!isWaitedFor) assert.equal(await acting, 'ok');
        const asked = await open.nextBreak();
        assert.equal(asked.what, breaks);
        if (cache !== 'R' && cache !== 'II') await open.answer(asked.to);
        assert.equal(await acting, 'ok');
        await assertNothingElse(scene, open, null);
        await open.close();
      });
    }
  }

  for (const name of ['Delete File', 'Rename File']) {
    const [, act] = operationOf(name);
    for (const [cache, breaks] of [
      ['RWH', 'RWH to RW'],
      ['RH', 'RH to R'],
      ['RW', null],
      ['R', null],
      ['batch', 'batch to II'],
      ['exclusive', null],
      ['II', null],
    ] as const) {
      const want = name === 'Delete File' ? VIOLATION : 'ok';
      test(`${CACHES[cache].name}, open: ${name} ${breaks === null ? 'asks for nothing' : `waits for ${breaks}`}, and then: ${want}`, async () => {
        const scene = await stage.scene();
        const open = await openWith(scene, cache);
        const smb = await stage.smb();
        const acting = resultOf(act(scene));
        if (breaks !== null) {
          const asked = await open.nextBreak();
          assert.equal(asked.what, breaks);
          await open.answer(asked.to);
        }
        assert.equal(await acting, want);
        await smb.echo();
        assert.deepEqual(open.unheard, []);
        await open.close();
      });

      if (breaks === null) continue;
      test(`${CACHES[cache].name}, closed long ago: ${name} waits for ${breaks}, hears that it is closed, and goes on`, async () => {
        const scene = await stage.scene();
        const open = await openWith(scene, cache);
        const acting = resultOf(act(scene));
        assert.equal((await open.nextBreak()).what, breaks);
        await open.close();
        assert.equal(await acting, 'ok');
      });
    }
  }

  for (const [cache, breaks] of [
    ['RWH', ['RWH to RW', 'RW to R']],
    ['RH', ['RH to R']],
    ['RW', ['RW to R']],
    ['R', []],
  ] as const) {
    test(`${CACHES[cache].name} of a reader: ${ACQUIRE[0]} waits for ${breaks.join(', then ') || 'nothing'}`, async () => {
      const scene = await stage.scene();
      const open = await openWith(scene, cache, { access: 'R' });
      const acting = resultOf(ACQUIRE[1](scene));
      for (const each of breaks) {
        const asked = await open.nextBreak();
        assert.equal(asked.what, each);
        await open.answer(asked.to);
      }
      assert.equal(await acting, 'ok');
      await open.close();
    });
  }
});

describe('REST beside a client that caches, and does not share what is needed', { skip }, () => {
  const needs = ['Create File', 'Get File', 'Set File Properties', 'Set File Metadata', 'Put Range', 'List Ranges'];
  const columns = [...needs.map(operationOf), DELETE, ACQUIRE];

  for (const [cache, breaks] of [
    ['RWH', 'RWH to RW'],
    ['RH', 'RH to R'],
    ['batch', 'batch to II'],
  ] as const) {
    for (const [name, act] of columns) {
      test(`${CACHES[cache].name}, open: ${name} waits for ${breaks}, and is refused`, async () => {
        const scene = await stage.scene();
        const open = await openWith(scene, cache, { share: '' });
        const acting = resultOf(act(scene));
        const asked = await open.nextBreak();
        assert.equal(asked.what, breaks);
        await open.answer(asked.to);
        assert.equal(await acting, VIOLATION);
        await open.close();
      });

      test(`${CACHES[cache].name}, closed long ago: ${name} waits for ${breaks}, hears that it is closed, and goes on`, async () => {
        const scene = await stage.scene();
        const open = await openWith(scene, cache, { share: '' });
        const acting = resultOf(act(scene));
        assert.equal((await open.nextBreak()).what, breaks);
        await open.close();
        assert.equal(await acting, 'ok');
      });
    }
  }

  for (const cache of ['RW', 'R', 'exclusive', 'II'] as const) {
    for (const [name, act] of columns) {
      test(`${CACHES[cache].name}: ${name} is refused at once, and nothing is asked for`, async () => {
        const scene = await stage.scene();
        const open = await openWith(scene, cache, { share: '' });
        const smb = await stage.smb();
        assert.equal(await resultOf(act(scene)), VIOLATION);
        if (cache === 'RW' || cache === 'exclusive') {
          const acting = resultOf(GET_PROPERTIES[1](scene));
          const asked = await open.nextBreak();
          assert.equal(asked.what, cache === 'RW' ? 'RW to R' : 'exclusive to II', 'it is the first that is asked for');
          await open.answer(asked.to);
          assert.equal(await acting, 'ok');
        }
        await smb.echo();
        assert.deepEqual(open.unheard, []);
        await open.close();
      });
    }
  }
});

describe('a client that does not answer', { skip }, () => {
  for (const [query, seconds] of [
    ['?timeout=1', 1],
    ['?timeout=20', 20],
    ['', 30],
    ['?timeout=60', 30],
  ] as const) {
    test(`ends a request ${query || 'without a timeout'} after ${seconds} s, and the retry goes on once it has answered`, async () => {
      const scene = await stage.scene();
      const open = await openWith(scene, 'RWH');
      const path = `/${stage.share.name}/${scene.path}${query}`;
      const reading = send(stage.server.fileUrl, { method: 'GET', path });
      assert.equal((await open.nextBreak()).what, 'RWH to RH');
      stage.server.clock.advance({ seconds });
      assert.equal((await reading).outcome, DELAY);
      await open.answer('RH');
      assert.equal((await send(stage.server.fileUrl, { method: 'GET', path })).body.toString(), TEXT);
      assert.deepEqual(open.unheard, []);
      await open.close();
    });
  }

  test('has its cache taken from it after 35 s, and nobody waits for it any more', async () => {
    const scene = await stage.scene();
    const open = await openWith(scene, 'RW');
    const reading = resultOf(GET[1](scene));
    assert.equal((await open.nextBreak()).what, 'RW to R');
    stage.server.clock.advance({ seconds: 30 });
    assert.equal(await reading, DELAY);
    stage.server.clock.advance({ seconds: 6 });
    const what = 'the cache is taken from the client';
    await until({ what, limitSeconds: 30 }, async () => (await resultOf(GET[1](scene))) === 'ok');
    await open.close();
  });
});

describe('a client that is asked', { skip }, () => {
  test('writes a megabyte before it answers, and the request sees all of it', async () => {
    const scene = await stage.scene('');
    const open = await openWith(scene, 'RWH');
    const bytes = Buffer.alloc(1024 * 1024, 'flushed ');
    const reading = scene.file.downloadToBuffer();
    assert.equal((await open.nextBreak()).what, 'RWH to RH');
    await open.write(bytes);
    await open.answer('RH');
    assert.ok((await reading).equals(bytes));
    await open.close();
  });

  test('tells the length with what it writes: properties show it, a listing does not wait for it', async () => {
    const scene = await stage.scene();
    const open = await openWith(scene, 'RWH');
    const lengthListed = async (): Promise<number | undefined> => {
      for await (const entry of stage.share.rootDirectoryClient.listFilesAndDirectories({ prefix: scene.path })) {
        if (entry.kind === 'file' && entry.name === scene.path) return entry.properties.contentLength;
      }
      return undefined;
    };
    assert.equal(await lengthListed(), TEXT.length);
    const looking = scene.file.getProperties();
    assert.equal((await open.nextBreak()).what, 'RWH to RH');
    await open.write('!'.repeat(100), TEXT.length);
    await open.answer('RH');
    assert.equal((await looking).contentLength, TEXT.length + 100);
    assert.equal(await lengthListed(), TEXT.length + 100);
    await open.close();
  });

  test('may keep less than it could, and not more', async () => {
    const scene = await stage.scene();
    const open = await openWith(scene, 'RWH');
    const reading = resultOf(GET[1](scene));
    assert.equal((await open.nextBreak()).what, 'RWH to RH');
    assert.equal(await smbOutcome(open.answer('RWH')), 'REQUEST_NOT_ACCEPTED');
    await open.answer('R');
    assert.equal(await reading, 'ok');
    assert.equal(await smbOutcome(open.answer('R')), 'UNSUCCESSFUL');
    await assertNothingElse(scene, open, 'R');
    await open.close();
  });

  test('can tell a newer request from an older one, by its epoch', async () => {
    const scene = await stage.scene();
    const open = await openWith(scene, 'RWH');
    const reading = resultOf(GET[1](scene));
    const first = await open.nextBreak();
    await open.answer(first.to);
    assert.equal(await reading, 'ok');
    await scene.file.setMetadata({ a: 'b' });
    const second = await open.nextBreak();
    await open.answer(second.to);
    const granted = open.opened.epoch as number;
    assert.deepEqual([first.epoch, second.epoch], [granted + 1, granted + 2]);
    await open.close();
  });

  test('by two requests at once answers once', async () => {
    const scene = await stage.scene();
    const open = await openWith(scene, 'RWH');
    const both = [resultOf(GET[1](scene)), resultOf(GET_PROPERTIES[1](scene))];
    assert.equal((await open.nextBreak()).what, 'RWH to RH');
    await open.answer('RH');
    assert.deepEqual(await Promise.all(both), ['ok', 'ok']);
    await assertNothingElse(scene, open, 'RH');
    await open.close();
  });

  test('answers with the end of its connection, too', async () => {
    const scene = await stage.scene();
    const smb = await stage.freshSmb();
    const open = await smb.open(scene.path, { oplock: 'exclusive', share: 'RWD' });
    assert.equal(open.oplock, 'exclusive');
    const writing = resultOf(scene.file.uploadRange('other', 0, 5));
    assert.equal((await open.nextBreak()).what, 'exclusive to none');
    await smb.disconnect();
    assert.equal(await writing, 'ok');
  });
});
