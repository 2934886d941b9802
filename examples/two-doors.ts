/**
 * One file, two doors: programs reach it over REST, people over SMB, from a mounted drive. Whoever opens a file over SMB says what
 * others may do meanwhile, and that holds for REST too; and a file that is marked for deletion is neither there nor gone.
 */
import assert from 'node:assert/strict';
import { loses, succeeds } from './answers.ts';
import { connect } from './server.ts';
import { connectSmb } from './smb-files.ts';

const { createShare, connectionString, smbPort, end } = await connect('two-doors');
const share = await createShare();
const [, account = ''] = /AccountName=([^;]+)/.exec(connectionString) ?? [];
const [, key = ''] = /AccountKey=([^;]+)/.exec(connectionString) ?? [];
const smb = await connectSmb({ share: share.name, port: smbPort, account, key });
const report = share.rootDirectoryClient.getFileClient('report.txt');
const listed = async (): Promise<string[]> => {
  const names: string[] = [];
  for await (const { name } of share.rootDirectoryClient.listFilesAndDirectories()) names.push(name);
  return names;
};

console.log('\n1. Over REST whoever writes last wins');

await report.uploadData(Buffer.from('draft 1'));
await succeeds('The nightly job writes "draft 2"', report.uploadRange('draft 2', 0, 7));
await succeeds('The other job writes "draft 3", without having read', report.uploadRange('draft 3', 0, 7));

console.log('\n2. Ada opens it on her drive, and shares it with nobody');

const adas = await smb.open('report.txt', { isShared: false });
console.log('   Ada opens the file over SMB: opened.');
const whyNot = 'The job lost: the file is open, and whoever opened it does not share it.';
await loses('The nightly job writes', report.uploadRange('draft 4', 0, 7), whyNot);
await loses('The nightly job reads', report.download(), whyNot);
await loses('The nightly job deletes it', report.delete(), whyNot);
await succeeds('It may look at the properties', report.getProperties());
await smb.close(adas);
console.log('   Ada closes the file.');
await succeeds('Now the job writes "draft 4"', report.uploadRange('draft 4', 0, 7));

console.log('\n3. Ben deletes it while Ada has it open again');

const again = await smb.open('report.txt', { isShared: true });
const bens = await smb.open('report.txt', { isShared: true });
await smb.markForDeletion(bens, true);
console.log('   Ben marks it for deletion over SMB. Ada still has it open, so it stays.');
await loses('The job reads it', report.download(), 'It lost, and not with 404: Ben may yet take the mark back.');
assert.deepEqual(await listed(), []);
console.log('   A listing of the folder leaves it out: [].');
await smb.markForDeletion(bens, false);
console.log('   Ben takes the mark back.');
await succeeds('The job reads it', report.download());
await smb.markForDeletion(bens, true);
await smb.close(bens);
console.log('   Ben marks it once more, and closes it.');
await loses('The job reads it', report.download(), 'Ada has it open still.');
await smb.close(again);
console.log('   Ada closes it.');
await loses('The job reads it', report.download(), 'It is gone.');
smb.end();
await end();
