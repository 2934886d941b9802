/**
 * Leader election: three processes, of which one at a time shall do the work. Whoever holds the lease of a certain blob
 * leads, and renews it while it is alive. Nobody else has to notice that a leader died: its lease ends by itself. The
 * candidates are in candidate.ts; this program tells them when to act, so that the story has an order.
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

/** All of them at the same time; gives the name of the one that succeeded. */
async function campaign(names: readonly string[]): Promise<string | undefined> {
  const reports = await Promise.all(names.map((name) => tell(name, 'campaign')));
  for (const { said } of reports) console.log(`   ${said}`);
  return names.find((_, index) => reports[index]?.accepted);
}

const work = async (name: string): Promise<void> => console.log(`   ${(await tell(name, 'work')).said}`);
const allBut = (...names: readonly string[]): string[] => [...candidates.keys()].filter((one) => !names.includes(one));

console.log('\n1. The election');
const first = (await campaign(allBut())) as string;
console.log(`   ${first} leads. The others lost: a blob has one lease at a time.`);
await work(first);

console.log('\n2. The leader renews in time, so it stays');
for (let renewal = 0; renewal < 2; renewal++) {
  await letTimePass({ seconds: 10 });
  await campaign(allBut());
  await work(first);
}

console.log(`\n3. The leader hangs: ${first} renews, and then stands still for longer than its lease lasts`);
await campaign([first]);
await letTimePass({ seconds: 16 });
const second = (await campaign(allBut(first))) as string;
console.log(`   ${second} leads.`);
await work(second);
console.log(`   ${first} wakes up, still believes that it leads, and goes on where it stood:`);
await work(first);
console.log(`   ${first} lost: its lease has ended and ${second} has a new one. Two believed, only one could write.`);

console.log(`\n4. The leader dies: ${second} is killed and cannot release its lease`);
const victim = candidates.get(second) as ChildProcess;
victim.kill('SIGKILL');
await once(victim, 'exit');
candidates.delete(second);
await campaign(allBut());
console.log('   Both lost: the lease outlives its holder, and its seconds have to pass first.');
await letTimePass({ seconds: 16 });
const third = (await campaign(allBut())) as string;
console.log(`   ${third} leads.`);
await work(third);

console.log('\n5. What the journal says: every write that was accepted, in order');
const writers = (await journal.downloadToBuffer()).toString().trimEnd().split('\n');
console.log(`   ${writers.join(', ')}`);
const terms = writers.filter((name, index) => name !== writers[index - 1]);
assert.deepEqual(terms, [first, second, third]);
console.log(`   One term after the other: ${terms.join(', ')}. Nobody wrote in the term of another.`);

for (const candidate of candidates.values()) candidate.disconnect();
await end();
