/**
 * Leader election: there are three processes, and only one at a time should do the work. The process that holds the
 * lease on a certain blob is the leader, and renews the lease while it is alive. Nobody has to detect that a leader died:
 * its lease expires by itself. The candidates run candidate.ts; this program tells them when to act.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Command, Report } from './candidate.ts';
import { connect } from './server.ts';

const { connectionString, container, letTimePass, end } = await connect('leader-election');
const journal = container.getBlockBlobClient('journal');
await journal.upload('', 0);

const program = fileURLToPath(new URL('candidate.js', import.meta.url));
const env = { ...process.env, AZURE_STORAGE_CONNECTION_STRING: connectionString };
const candidates = new Map<string, ChildProcess>(
  ['Ada', 'Ben', 'Cho'].map((name) => [name, fork(program, [name, container.containerName], { env })]),
);

async function tell(name: string, command: Command): Promise<Report> {
  const candidate = candidates.get(name) as ChildProcess;
  candidate.send(command);
  const [report] = (await once(candidate, 'message')) as [Report];
  return report;
}

/** Lets all of them ask for the lease at the same time. Returns the name of the one that succeeded. */
async function campaign(names: readonly string[]): Promise<string | undefined> {
  const reports = await Promise.all(names.map((name) => tell(name, 'campaign')));
  for (const { said } of reports) console.log(`   ${said}`);
  return names.find((_, index) => reports[index]?.accepted);
}

const work = async (name: string): Promise<void> => console.log(`   ${(await tell(name, 'work')).said}`);
const allBut = (...names: readonly string[]): string[] => [...candidates.keys()].filter((one) => !names.includes(one));

console.log('\n1. The election');
const first = (await campaign(allBut())) as string;
console.log(`   ${first} is the leader. The others lost: a blob can have only one lease at a time.`);
await work(first);

console.log('\n2. The leader renews its lease in time, so it remains the leader');
for (let renewal = 0; renewal < 2; renewal++) {
  await letTimePass({ seconds: 10 });
  await campaign(allBut());
  await work(first);
}

console.log(`\n3. The leader hangs: ${first} renews its lease, and then freezes for longer than the lease lasts`);
await campaign([first]);
await letTimePass({ seconds: 16 });
const second = (await campaign(allBut(first))) as string;
console.log(`   ${second} is the leader now.`);
await work(second);
console.log(`   ${first} wakes up, still believes that it is the leader, and carries on:`);
await work(first);
console.log(
  `   ${first} lost: its lease has expired, and ${second} has a new one. Two believed that they were the leader,`,
);
console.log('   but only one of them could write.');

console.log(`\n4. The leader dies: ${second} is killed and cannot release its lease`);
const victim = candidates.get(second) as ChildProcess;
victim.kill('SIGKILL');
await once(victim, 'exit');
candidates.delete(second);
await campaign(allBut());
console.log('   Both lost: the lease outlives its holder, and has to expire first.');
await letTimePass({ seconds: 16 });
const third = (await campaign(allBut())) as string;
console.log(`   ${third} is the leader now.`);
await work(third);

console.log('\n5. The journal: every write that was accepted, in order');
const writers = (await journal.downloadToBuffer()).toString().trimEnd().split('\n');
console.log(`   ${writers.join(', ')}`);
const terms = writers.filter((name, index) => name !== writers[index - 1]);
assert.deepEqual(terms, [first, second, third]);
console.log(`   The terms followed one another: ${terms.join(', ')}. Nobody wrote during the term of another leader.`);

for (const candidate of candidates.values()) candidate.disconnect();
await end();
