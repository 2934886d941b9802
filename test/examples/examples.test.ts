/**
 * The examples as a newcomer runs them, each a program of its own: what they print is true, and says who won and which
 * answer the loser got.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Tool, type ToolRun, tool } from '../clients/tool.ts';
import { blobService } from '../harness/clients.ts';
import { shareService } from '../harness/file-clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import { queueService } from '../harness/queue-clients.ts';
import { tableService } from '../harness/table-clients.ts';

const PROGRAM = fileURLToPath(new URL('../../examples/run.js', import.meta.url));

const NAMES = [
  'optimistic',
  'pessimistic',
  'container-lease',
  'leader-election',
  'table-optimistic',
  'table-lock',
  'competing-consumers',
  'poison-messages',
  'extend-the-hold',
  'file-lease',
  'share-snapshot',
  'two-doors',
];

const node = (env: Record<string, string> = {}): Tool => tool(process.execPath, { env, cwd: process.cwd() });
const run = (...args: string[]): Promise<ToolRun> => node().run('--enable-source-maps', PROGRAM, ...args);

async function linesOf(name: string): Promise<string[]> {
  const output = await node().succeed('--enable-source-maps', PROGRAM, name);
  return output.split('\n').map((line) => line.trim());
}

/** Every expected line is there, in this order; others may stand between them. */
function assertTold(lines: readonly string[], expected: readonly (string | RegExp)[]): void {
  let at = 0;
  for (const one of expected) {
    const found = lines.findIndex(
      (line, index) => index >= at && (typeof one === 'string' ? line === one : one.test(line)),
    );
    assert.notEqual(found, -1, `"${one}" is not told after line ${at} of:\n${lines.join('\n')}`);
    at = found + 1;
  }
}

test('optimistic: a stale ETag gets 412 and the retry wins; a second create gets 409; no addition is lost', async () => {
  const lines = await linesOf('optimistic');
  assertTold(lines, [
    /^Ada writes "bread, milk" with If-Match "0x\w+": accepted\.$/,
    /^Ben tries to write "bread, eggs" with If-Match "0x\w+": 412 ConditionNotMet\.$/,
    /^Ben lost: /,
    /^Ben reads again: "bread, milk", ETag "0x\w+"\.$/,
    /^Ben writes "bread, milk, eggs" with If-Match "0x\w+": accepted\.$/,
    'The blob contains "bread, milk, eggs".',
    /^The counter is at 40: /,
  ]);
  const [first, second] = lines.flatMap(
    (line) => /^(?:Ada writes|Ben tries to write) .* If-Match ("0x\w+")/.exec(line)?.[1] ?? [],
  );
  assert.equal(first, second, 'both writers had read the same version');
  const creations = lines.flatMap(
    (line) => /^(\w+) tries to create it with If-None-Match \*: (.*)\.$/.exec(line) ?? [],
  );
  const winner = creations[creations.indexOf('accepted') - 1];
  assert.deepEqual(creations.filter((word) => /accepted$|^\d/.test(word)).sort(), [
    '409 BlobAlreadyExists',
    '409 BlobAlreadyExists',
    'accepted',
  ]);
  assert.ok(lines.some((line) => line.startsWith(`The job is ${winner}'s.`)));
});

test('pessimistic: without the lease id 412, with it accepted; what ended or breaks is not renewed', async () => {
  assertTold(await linesOf('pessimistic'), [
    'Ada acquires a lease for 15 seconds: accepted.',
    'Ben tries to acquire a lease: 409 LeaseAlreadyPresent.',
    'Ben tries to write without a lease id: 412 LeaseIdMissing.',
    'Ben tries to write with a lease id of his own: 412 LeaseIdMismatchWithBlobOperation.',
    'Ada writes with her lease id: accepted.',
    'Ben reads without a lease id: "90".',
    'Ada renews her lease, which gives her another 15 seconds: accepted.',
    '20 seconds after Ada acquired the lease, its state is "leased".',
    '16 seconds after she renewed it, its state is "expired".',
    'Ben acquires a lease: accepted.',
    'Ada, who has not noticed, tries to write with her old lease id: 412 LeaseIdMismatchWithBlobOperation.',
    'Ada tries to renew her lease: 409 LeaseIdMismatchWithLeaseOperation.',
    /Ben has 5 seconds left\.$/,
    'Ben tries to renew his lease: 409 LeaseIsBrokenAndCannotBeRenewed.',
    'Ben finishes his work with his lease id: accepted.',
    'The state of the lease is "broken".',
    'Ada acquires a lease: accepted.',
    'Ada releases her lease: accepted.',
    'The state of the lease is "available".',
    'Ben writes without a lease id: accepted.',
  ]);
});

test('container-lease: the delete needs the id and gets 412 without; nothing else needs it', async () => {
  assertTold(await linesOf('container-lease'), [
    'The backup acquires a lease for 60 seconds: accepted.',
    'Another backup tries to acquire a lease: 409 LeaseAlreadyPresent.',
    'A clean-up job tries to delete the container: 412 LeaseIdMissing.',
    'It tries again with a lease id of its own: 412 LeaseIdMismatchWithContainerOperation.',
    'A user overwrites a blob: accepted.',
    'A user adds a blob: accepted.',
    'A user lists the blobs: letter, photo.',
    'A user deletes a blob: accepted.',
    "An administrator sets the container's metadata: accepted.",
    "An administrator sets the container's access policies: accepted.",
    'The other backup tries to set metadata with a lease id of its own: 412 LeaseIdMismatchWithContainerOperation.',
    'The state of the lease is "expired".',
    'The backup renews its lease, a little late: accepted.',
    'The backup deletes it with the lease id: accepted.',
    'Does the container still exist? No.',
  ]);
});

describe('leader-election', () => {
  test('there are never two leaders at once, as its output tells', async () => {
    const lines = await linesOf('leader-election');
    let nowSeconds = 0;
    let term: { holder: string; endsAtSeconds: number } | null = null;
    const writers: string[] = [];
    const counts = { elections: 0, lostCampaigns: 0, fencedWrites: 0 };
    for (const line of lines) {
      nowSeconds += Number(/^\(The server's clock moves forward by (\d+) seconds\.\)$/.exec(line)?.[1] ?? 0);
      const [, name = '', deed = '', answer = ''] =
        /^(\w+) (asks|renews|writes).*: (accepted|\d{3} \w+)\.$/.exec(line) ?? [];
      const leader: string | null = term !== null && nowSeconds < term.endsAtSeconds ? term.holder : null;
      switch (`${deed} ${answer}`) {
        case 'asks accepted':
          assert.equal(leader, null, `${name} leads though ${leader} does: ${line}`);
          term = { holder: name, endsAtSeconds: nowSeconds + 15 };
          counts.elections++;
          break;
        case 'asks 409 LeaseAlreadyPresent':
          counts.lostCampaigns++;
          break;
        case 'renews accepted':
          assert.equal(name, leader, line);
          term = { holder: name, endsAtSeconds: nowSeconds + 15 };
          break;
        case 'writes accepted':
          assert.equal(name, leader, line);
          writers.push(name);
          break;
        case 'writes 412 LeaseIdMismatchWithBlobOperation':
          assert.notEqual(name, leader, line);
          counts.fencedWrites++;
          break;
        default:
          assert.equal(deed, '', `unexpected: ${line}`);
      }
    }
    // Losers: 2 at first, 2 at each of two renewals, 1 when the leader hangs, 2 after the kill, 1 at the last election.
    assert.deepEqual(counts, { elections: 3, lostCampaigns: 10, fencedWrites: 1 });
    assert.ok(lines.includes(writers.join(', ')), `the journal holds what was accepted, ${writers.join(', ')}`);
  });
});

test('table-optimistic: a stale ETag gets 412 and nothing is lost; without one, 35 of 40 changes are', async () => {
  const lines = await linesOf('table-optimistic');
  assertTold(lines, [
    /^Ada and Ben both read 10 apples, ETag W\/"datetime'.+'"\.$/,
    'Ada sells three apples and writes 7 with If-Match: accepted.',
    'Ben sells one apple and tries to write 9 with If-Match: 412 UpdateConditionNotSatisfied.',
    /^Ben lost: /,
    /^Ben reads again: 7 apples, ETag W\/"datetime'.+'"\.$/,
    'Ben writes 6 with If-Match: accepted.',
    'The shelf has 6 apples.',
    'All 40 writes are accepted, but the shelf has only 5 apples.',
    /^35 apples are lost: /,
    /^The shelf has 40 apples: /,
    /^Along the way, [1-9]\d* writes lost /,
  ]);
  const [stale, fresh] = lines.flatMap((line) => /ETag (W\/.*)\.$/.exec(line)?.[1] ?? []);
  assert.notEqual(stale, fresh, 'the accepted write has changed the ETag');
});

test('table-lock: the second waits, a silent holder loses the lock by itself, and no crate is lost', async () => {
  assertTold(await linesOf('table-lock'), [
    'The warehouses in the north and in the south have 60 + 40 = 100 crates.',
    'Ben counts 50 + 40 = 90. Ten crates are missing.',
    'Ada acquires the lock for 15 seconds: accepted.',
    'Ben tries to acquire the lock: 409 LeaseAlreadyPresent.',
    'Ada needs more time, and renews the lock: accepted.',
    'Ben tries to acquire the lock: 409 LeaseAlreadyPresent.',
    'Ada releases the lock: accepted.',
    'Ben acquires the lock: accepted.',
    'Ben counts 40 + 60 = 100.',
    'Cho acquires the lock: accepted.',
    'Cho writes a note that there should be 30 + 70 = 100: accepted.',
    'Ada tries to acquire the lock: 409 LeaseAlreadyPresent.',
    'Ada acquires the lock: accepted.',
    'Ada finds the note and finishes what Cho began: accepted.',
    'Ada counts 30 + 70 = 100.',
    'Cho tries to add 10 crates in the south, with the ETag that she read: 412 UpdateConditionNotSatisfied.',
    'Cho tries to clear her note: 412 LeaseNotPresentWithBlobOperation.',
    'Cho tries to renew the lock: 409 LeaseIdMismatchWithLeaseOperation.',
    'Every count under the lock came to 100. In the end, there are 12 + 88 = 100 crates.',
    /^It took (?:1[89]|[2-9]\d|\d{3,}) attempts to get the lock for 18 moves\. /,
  ]);
});

test('competing-consumers: three workers share twelve orders, nobody gets what another has, and a slow one holds nobody up', async () => {
  const lines = await linesOf('competing-consumers');
  assertTold(lines, [
    'Cho gets order 1, which is large and will take her a while.',
    /^Ada packed \d+ orders and Ben \d+\. That makes 11, and they find no more\.$/,
    /^Yet the queue counts 1 message: /,
    'Somebody tries to delete order 1 with the receipt of another order: 404 MessageNotFound.',
    'Cho deletes order 1 with her receipt: accepted.',
    'Cho tries to delete it again: 404 MessageNotFound.',
    /^12 orders are packed, all of them different: /,
  ]);
  const packed = lines.flatMap((line) => /^(?:Ada|Ben) packs order (\d+)\.$/.exec(line)?.[1] ?? []).map(Number);
  assert.deepEqual(
    packed.sort((a, b) => a - b),
    Array.from({ length: 11 }, (_, index) => index + 2),
  );
});

test('file-lease: without a lease a price is lost, with one whoever else writes gets 412, until it is broken', async () => {
  const lines = await linesOf('file-lease');
  assertTold(lines, [
    'The file contains "bread 2, milk 1". Ada\'s price is lost, and nobody was told.',
    'Ben tries to acquire one too: 409 LeaseAlreadyPresent.',
    'Ben tries to write "bread 1": 412 LeaseIdMissing.',
    'Ben tries to delete the file: 412 LeaseIdMissing.',
    'Ben tries to rename the file: 412 LeaseIdMissing.',
    'Ben reads the file: accepted.',
    'The file contains "bread 4, milk 1".',
    /^Ada comes back and tries to write with her lease id: 412 Lease/,
    'Ben writes "bread 2": accepted.',
  ]);
});

test('share-snapshot: a backup shows both files of one moment, and stays though they are renamed and deleted', async () => {
  const lines = await linesOf('share-snapshot');
  assertTold(lines, [
    'Afterwards, the files contain 960 and 40.',
    /^In the snapshot of .*Z, they contain \d+ and \d+\.$/,
    'The folder "books" is renamed to "archive": accepted.',
    /^The snapshot still contains books\/give\.txt, with \d+ in it\.$/,
    'The file is copied from the snapshot back into the share: accepted.',
    /^It contains archive and restored\.txt; /,
  ]);
});

test('two-doors: what a client holds open over SMB, and has marked for deletion, holds against REST', async () => {
  const lines = await linesOf('two-doors');
  assertTold(lines, [
    'Another job writes "draft 3" without reading first: accepted.',
    'Ada opens the file over SMB.',
    'The nightly job tries to write: 409 SharingViolation.',
    'The nightly job tries to read: 409 SharingViolation.',
    'The nightly job tries to delete the file: 409 SharingViolation.',
    'Now the nightly job writes "draft 4": accepted.',
    'The nightly job tries to read: 409 SMBDeletePending.',
    'A listing of the folder leaves the file out.',
    'The nightly job reads: accepted.',
    'The nightly job tries to read: 409 SMBDeletePending.',
    'The nightly job tries to read: 404 ResourceNotFound.',
    'The file is gone.',
  ]);
});

test('poison-messages: what failed three times is moved to another queue, and everything else is done', async () => {
  const lines = await linesOf('poison-messages');
  assertTold(lines, [
    /^Delivery 1 of 'add 5 and 6': this is not JSON\. /,
    `Delivery 1 of '{"add":[7,8]}': the sum is 15. The message is deleted.`,
    /^Delivery 2 of 'add 5 and 6': this is not JSON\. /,
    /^Delivery 3 of 'add 5 and 6': this is not JSON\. /,
    `Delivery 4 of 'add 5 and 6': not tried again, but moved to the poison queue.`,
    `It contains one message: 'add 5 and 6'. The job queue contains 0.`,
    `Delivery 1 of '{"add":[5,6]}': the sum is 11. The message is deleted.`,
    'All four jobs are done: the sums are 3, 7, 15, 11. Both queues are empty.',
  ]);
  assert.equal(lines.filter((line) => line.startsWith('Delivery')).length, 8);
});

test('extend-the-hold: who extends in time keeps the message, and who takes over goes on where the other stopped', async () => {
  assertTold(await linesOf('extend-the-hold'), [
    'Ada gets the book (delivery 1). Chapters printed so far: 0.',
    'Ben gets the book (delivery 2). Chapters printed so far: 0.',
    'Ada finishes and tries to delete the message: 404 MessageNotFound.',
    'Ben puts it back for the next worker: accepted.',
    'Ada has printed chapter 3, saves the progress and extends the hold: accepted.',
    'Ben asks for work, but there is none.',
    'Ada kept the book for 30 seconds with a hold of only 15 seconds.',
    'Ben gets the book (delivery 4). Chapters printed so far: 3.',
    'Ada tries to extend her hold: 404 MessageNotFound.',
    'Ben deletes the message: accepted.',
    'Every chapter was printed exactly once: 1 Ada, 2 Ada, 3 Ada, 4 Ben, 5 Ben.',
  ]);
});

test('with AZURE_STORAGE_CONNECTION_STRING an example runs against that server and leaves nothing there', async () => {
  const server = await startInProcess();
  const service = blobService(server);
  const env = { AZURE_STORAGE_CONNECTION_STRING: server.connectionString() };
  for (const [name, lost] of [
    ['optimistic', '412 ConditionNotMet'],
    ['table-optimistic', '412 UpdateConditionNotSatisfied'],
    ['competing-consumers', '404 MessageNotFound'],
    ['file-lease', '412 LeaseIdMissing'],
  ] as const) {
    const output = await node(env).succeed('--enable-source-maps', PROGRAM, name);
    assert.match(output, /^Server: the one in AZURE_STORAGE_CONNECTION_STRING\./);
    assert.ok(output.includes(lost), output);
  }
  const left: (string | undefined)[] = [];
  for await (const { name } of service.listContainers()) left.push(name);
  for await (const { name } of tableService(server).listTables()) left.push(name);
  for await (const { name } of queueService(server).listQueues()) left.push(name);
  for await (const { name } of shareService(server).listShares()) left.push(name);
  assert.deepEqual(left, []);
});

test('without a name, or with an unknown one, the examples are listed', async () => {
  for (const args of [[], ['nonsense']]) {
    const { exitCode, stderr } = await run(...args);
    assert.equal(exitCode, 2);
    for (const name of NAMES) {
      assert.ok(stderr.includes(`npm run example -- ${name}\n`), stderr);
    }
  }
});
