/**
 * Races over files: real parallel requests of the official client, each on a connection of its own, against a server
 * process with its data on disk. Each says what must hold whoever comes first.
 */
// tier: both
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { outcome, outcomes, refusal } from '../harness/clients.ts';
import { freshShare } from '../harness/file-clients.ts';
import { meanwhile, successes, tally, winnerOf } from '../harness/parallel.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { byTier } from '../harness/tier.ts';
import {
  CLIENTS,
  EXISTS,
  fileAt,
  LEASED,
  MISSING,
  NO_PARENT,
  NOT_EMPTY,
  namesIn,
  putFile,
  raceOn,
  textOf,
} from './racing.ts';

const server = await startServerProcess();
after(() => server.stop());
const race = raceOn(server);
const ROUNDS = byTier({ quick: 3, system: 8 });

describe('names', () => {
  test('of many who create a directory one succeeds, in whatever case they write it', async () => {
    const share = await freshShare(server);
    for (let round = 0; round < ROUNDS; round++) {
      const names = [`dir-${round}`, `DIR-${round}`, `Dir-${round}`] as const;
      const results = await race(share, (client, index) =>
        client.getDirectoryClient(names[index % 3] as string).create(),
      );
      assert.deepEqual(tally(outcomes(results)), { ok: 1, [EXISTS]: CLIENTS - 1 });
      assert.equal((await namesIn(share)).at(-1), names[winnerOf(results) % 3]);
    }
  });

  test('of many who create a file all succeed, and the last one’s is there, whole', async () => {
    const share = await freshShare(server);
    const results = await race(share, async (client, index) =>
      fileAt(client, index % 2 === 0 ? 'one' : 'ONE').create(index, { metadata: { writer: String(index) } }),
    );
    const created = successes(results);
    assert.equal(new Set(created.map(({ etag }) => etag)).size, CLIENTS);
    assert.equal(new Set(created.map(({ fileId }) => fileId)).size, 1, 'it is one file');
    const { etag, contentLength, metadata } = await fileAt(share, 'one').getProperties();
    const last = created.findIndex((one) => one.etag === etag);
    assert.deepEqual([contentLength, metadata], [last, { writer: String(last) }]);
    assert.equal((await namesIn(share)).length, 1);
  });

  test('of a file and a directory that want one name one comes to be', async () => {
    const share = await freshShare(server);
    for (let round = 0; round < ROUNDS; round++) {
      const name = `name-${round}`;
      const results = await race(
        share,
        (client, index) =>
          outcome(index % 2 === 0 ? client.getDirectoryClient(name).create() : fileAt(client, name).create(1)),
        8,
      );
      const answers = successes(results);
      const directories = answers.filter((answer, index) => index % 2 === 0 && answer === 'ok').length;
      const files = answers.filter((answer, index) => index % 2 === 1 && answer === 'ok').length;
      assert.ok(directories + files > 0 && directories <= 1, `${directories} and ${files}`);
      // Whoever creates a file where there is one overwrites it.
      assert.equal(directories === 1, files === 0, `${directories} and ${files}`);
    }
  });
});

describe('renames', () => {
  test('of many that want one name one succeeds, and the others’ files stay where they were', async () => {
    const share = await freshShare(server);
    for (let index = 0; index < CLIENTS; index++) await putFile(share, `from-${index}`, String(index));
    const results = await race(share, async (client, index) => fileAt(client, `from-${index}`).rename('to'));
    assert.deepEqual(tally(outcomes(results)), { ok: 1, [EXISTS]: CLIENTS - 1 });
    const winner = winnerOf(results);
    assert.equal(await textOf(fileAt(share, 'to')), String(winner));
    assert.equal((await namesIn(share)).length, CLIENTS);
    assert.equal(await refusal(fileAt(share, `from-${winner}`).getProperties()), MISSING);
  });

  test('of many of one file one succeeds', async () => {
    const share = await freshShare(server);
    for (let round = 0; round < ROUNDS; round++) {
      await putFile(share, 'from', 'x');
      const results = await race(share, (client, index) => fileAt(client, 'from').rename(`to-${round}-${index}`));
      assert.deepEqual(tally(outcomes(results)), { ok: 1, [MISSING]: CLIENTS - 1 });
    }
    assert.equal((await namesIn(share)).length, ROUNDS);
  });

  test('that cross never put two directories into each other', async () => {
    const share = await freshShare(server);
    for (let round = 0; round < ROUNDS; round++) {
      const [a, b] = [`a-${round}`, `b-${round}`];
      await share.createDirectory(a);
      await share.createDirectory(b);
      const answers = successes(
        await race(
          share,
          (client, index) =>
            outcome(
              index % 2 === 0
                ? client.getDirectoryClient(a).rename(`${b}/${a}`)
                : client.getDirectoryClient(b).rename(`${a}/${b}`),
            ),
          6,
        ),
      );
      assert.equal(answers.filter((answer) => answer === 'ok').length, 1, JSON.stringify(answers));
      const [top] = (await namesIn(share)).filter((name) => name === a || name === b);
      assert.deepEqual(await namesIn(share, top), [top === a ? b : a], 'the other is in it');
    }
  });

  test('of a directory lose nothing that was written below it meanwhile', async () => {
    const share = await freshShare(server);
    const [names, ranges] = [['here', 'there'] as const, 40];
    await share.createDirectory('here');
    await fileAt(share, 'here/file').create(CLIENTS * ranges);
    let place = 0;
    const writing = race(share, async (client, index) => {
      const seen: string[] = [];
      for (let at = 0; at < ranges; ) {
        const offset = index * ranges + at;
        const answer = await outcome(
          fileAt(client, `${names[(place + at) % 2]}/file`).uploadRange(String.fromCharCode(65 + index), offset, 1),
        );
        if (answer === 'ok') at += 1;
        else seen.push(answer);
      }
      return seen;
    });
    let renames = 0;
    await meanwhile(writing, async () => {
      await share.getDirectoryClient(names[place] as string).rename(names[1 - place] as string);
      place = 1 - place;
      renames += 1;
    });
    assert.deepEqual(
      [...new Set(successes(await writing).flat())].filter((answer) => answer !== NO_PARENT),
      [],
    );
    const expected = Array.from({ length: CLIENTS }, (_, index) => String.fromCharCode(65 + index).repeat(ranges));
    assert.equal(await textOf(fileAt(share, `${names[place]}/file`)), expected.join(''));
    assert.ok(renames > 0);
  });
});

describe('deletions', () => {
  test('of a directory, against files that are created in it: it goes empty, or not at all', async () => {
    const share = await freshShare(server);
    const seen = new Set<string>();
    for (let round = 0; round < 3 * ROUNDS; round++) {
      const name = `dir-${round}`;
      await share.createDirectory(name);
      const [deleted, ...created] = successes(
        await race(
          share,
          (client, index) =>
            outcome(
              index === 0 ? client.getDirectoryClient(name).delete() : fileAt(client, `${name}/f${index}`).create(0),
            ),
          1 + (round % 4),
        ),
      );
      seen.add(deleted as string);
      if (deleted === 'ok') {
        assert.ok(
          created.every((answer) => answer === NO_PARENT),
          created.join(),
        );
        assert.equal(await refusal(share.getDirectoryClient(name).getProperties()), MISSING);
      } else {
        assert.equal(deleted, NOT_EMPTY);
        assert.ok(created.includes('ok'));
        assert.deepEqual(
          await namesIn(share, name),
          created.flatMap((answer, at) => (answer === 'ok' ? [`f${at + 1}`] : [])),
        );
      }
    }
    assert.ok(seen.has('ok'), 'some were deleted');
  });

  test('of a file: one succeeds', async () => {
    const share = await freshShare(server);
    for (let round = 0; round < ROUNDS; round++) {
      await putFile(share, 'file', 'x');
      const results = await race(share, (client) => fileAt(client, 'file').delete());
      assert.deepEqual(tally(outcomes(results)), { ok: 1, [MISSING]: CLIENTS - 1 });
    }
  });

  test('of a share, against everything in it: afterwards nothing answers', async () => {
    const share = await freshShare(server);
    await share.createDirectory('d');
    await putFile(share, 'd/file', 'text');
    const answers = successes(
      await race(share, (client, index) => {
        if (index === CLIENTS / 2) return outcome(client.delete());
        if (index % 3 === 0) return outcome(fileAt(client, 'd/file').uploadRange('x', 0, 1));
        return outcome(index % 3 === 1 ? fileAt(client, `d/${index}`).create(1) : client.createDirectory(`d${index}`));
      }),
    );
    assert.deepEqual(
      [...new Set(answers)].filter((answer) => answer !== 'ok' && answer !== '404 ShareNotFound'),
      [],
    );
    assert.equal(await refusal(fileAt(share, 'd/file').getProperties()), '404 ShareNotFound');
    await share.create();
    assert.deepEqual(await namesIn(share), []);
  });
});

describe('writers of one file', () => {
  test('each of another byte of one page: all of them are there', async () => {
    const share = await freshShare(server);
    const count = 64;
    const file = fileAt(share, 'page');
    await file.create(count);
    const results = await race(
      share,
      (client, index) => fileAt(client, 'page').uploadRange(String.fromCharCode(48 + index), index, 1),
      count,
    );
    assert.equal(new Set(successes(results).map(({ etag }) => etag)).size, count);
    const expected = Array.from({ length: count }, (_, index) => String.fromCharCode(48 + index)).join('');
    assert.equal(await textOf(file), expected);
  });

  for (const [what, bytes] of [
    ['small', 700],
    ['large', 300_000],
  ] as const) {
    test(`whoever reads sees ${what} writes whole, never a mixture`, async () => {
      const share = await freshShare(server);
      const file = fileAt(share, 'file');
      await file.create(bytes);
      await file.uploadRange('-'.repeat(bytes), 0, bytes);
      const writing = race(
        share,
        async (client, index) => {
          const letter = String.fromCharCode(65 + index).repeat(bytes);
          for (let round = 0; round < 4; round++) await fileAt(client, 'file').uploadRange(letter, 0, bytes);
        },
        8,
      );
      await meanwhile(writing, async () => {
        const text = await textOf(file);
        assert.equal(text.length, bytes);
        assert.equal(text, (text[0] as string).repeat(bytes));
      });
      successes(await writing);
    });
  }

  test('never get past the quota together', async () => {
    const share = await freshShare(server);
    await share.setQuota(1);
    const third = 300 * 1024 * 1024;
    const results = await race(share, (client, index) => fileAt(client, `big-${index}`).create(third));
    assert.deepEqual(tally(outcomes(results)), { ok: 3, '409 ShareSizeLimitReached': CLIENTS - 3 });
    assert.equal((await share.getStatistics()).shareUsageBytes, 3 * third);
  });
});

describe('snapshots', () => {
  test('show one moment of the whole tree while it is written to', async () => {
    const share = await freshShare(server);
    await share.createDirectory('d');
    // Whoever writes changes the first, then the second: no moment has more in the second than in the first.
    const [first, second] = [await putFile(share, 'first', '000'), await putFile(share, 'd/second', '000')];
    const snapshots: string[] = [];
    const writing = (async () => {
      for (let count = 1; snapshots.length < 3; count++) {
        const text = String(count).padStart(3, '0');
        await first.uploadRange(text, 0, 3);
        await second.uploadRange(text, 0, 3);
      }
    })();
    await meanwhile(writing, async () => {
      snapshots.push((await share.createSnapshot()).snapshot as string);
    });
    await writing;
    for (const snapshot of snapshots) {
      const then = share.withSnapshot(snapshot);
      const [one, two] = [Number(await textOf(fileAt(then, 'first'))), Number(await textOf(fileAt(then, 'd/second')))];
      assert.ok(one === two || one === two + 1, `${one} and ${two}`);
      // It stays what it was.
      assert.equal(Number(await textOf(fileAt(then, 'first'))), one);
    }
  });

  test('keep what is renamed, overwritten and deleted while they are read', async () => {
    const share = await freshShare(server);
    await share.createDirectory('d');
    const names = Array.from({ length: 12 }, (_, index) => `f${String(index).padStart(2, '0')}`);
    for (const name of names) await putFile(share, `d/${name}`, `was ${name}`);
    const { snapshot } = await share.createSnapshot();
    const then = share.withSnapshot(snapshot as string);
    const changing = race(
      share,
      async (client, index) => {
        const file = fileAt(client, `d/${names[index]}`);
        if (index % 3 === 0) await file.delete();
        else if (index % 3 === 1) await file.rename(`d/moved-${index}`);
        else await file.create(1);
      },
      names.length,
    );
    await meanwhile(changing, async () => {
      assert.deepEqual(await namesIn(then, 'd'), names);
      for (const name of names) assert.equal(await textOf(fileAt(then, `d/${name}`)), `was ${name}`);
    });
    successes(await changing);
    assert.equal((await namesIn(share, 'd')).length, 8);
  });
});

describe('leases', () => {
  test('of many who acquire one, one succeeds', async () => {
    const share = await freshShare(server);
    await putFile(share, 'file', 'x');
    const results = await race(share, (client) => fileAt(client, 'file').getShareLeaseClient().acquireLease());
    assert.deepEqual(tally(outcomes(results)), { ok: 1, '409 LeaseAlreadyPresent': CLIENTS - 1 });
  });

  test('once acquired, no write without its id gets through', async () => {
    const share = await freshShare(server);
    for (let round = 0; round < ROUNDS; round++) {
      const file = await putFile(share, `file-${round}`, '0'.repeat(CLIENTS));
      let isLeased = false;
      const late: string[] = [];
      const results = await race(share, async (client, index) => {
        const own = fileAt(client, file.name);
        if (index === CLIENTS / 2) {
          const { leaseId } = await own.getShareLeaseClient().acquireLease();
          isLeased = true;
          return leaseId;
        }
        for (let write = 0; write < 5; write++) {
          const wasLeased = isLeased;
          const answer = await outcome(own.uploadRange('1', index, 1));
          if (wasLeased) late.push(answer);
          assert.ok(answer === 'ok' || answer === LEASED, answer);
        }
        return undefined;
      });
      const leaseId = successes(results).find((id) => id !== undefined) as string;
      assert.deepEqual(
        [...new Set(late)].filter((answer) => answer !== LEASED),
        [],
      );
      const before = await textOf(file);
      assert.equal(await refusal(file.uploadRange('2', 0, 1)), LEASED);
      await file.uploadRange('3', 0, 1, { leaseAccessConditions: { leaseId } });
      assert.equal(await textOf(file), `3${before.slice(1)}`);
    }
  });

  test('that were broken: of many who wait, one gets the next', async () => {
    const share = await freshShare(server);
    const file = await putFile(share, 'file', 'x');
    await file.getShareLeaseClient().acquireLease();
    for (let round = 0; round < ROUNDS; round++) {
      await file.getShareLeaseClient().breakLease();
      const results = await race(share, (client) => fileAt(client, 'file').getShareLeaseClient().acquireLease());
      assert.deepEqual(tally(outcomes(results)), { ok: 1, '409 LeaseAlreadyPresent': CLIENTS - 1 });
    }
  });
});
