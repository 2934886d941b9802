/**
 * One file, two doors: programs reach it over REST, and people over SMB, on a mounted drive. A client that opens a file
 * over SMB says what others may do with it meanwhile, and that applies to REST as well. A file that is marked for deletion
 * cannot be used, but still exists.
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

console.log('\n1. Over REST, the last writer wins');

await report.uploadData(Buffer.from('draft 1'));
await succeeds('The nightly job writes "draft 2"', report.uploadRange('draft 2', 0, 7));
await succeeds('Another job writes "draft 3" without reading first', report.uploadRange('draft 3', 0, 7));

console.log('\n2. Ada opens the file on her drive and shares it with nobody');

const adas = await smb.open('report.txt', { isShared: false });
console.log('   Ada opens the file over SMB.');
const whyNot = 'The job lost: Ada has the file open and does not share it.';
await loses('The nightly job tries to write', report.uploadRange('draft 4', 0, 7), whyNot);
await loses('The nightly job tries to read', report.download(), whyNot);
await loses('The nightly job tries to delete the file', report.delete(), whyNot);
await succeeds('The nightly job gets the properties, which is allowed', report.getProperties());
await smb.close(adas);
console.log('   Ada closes the file.');
await succeeds('Now the nightly job writes "draft 4"', report.uploadRange('draft 4', 0, 7));

console.log('\n3. Ben deletes the file while Ada has it open again');

const again = await smb.open('report.txt', { isShared: true });
const bens = await smb.open('report.txt', { isShared: true });
await smb.markForDeletion(bens, true);
console.log('   Ben marks the file for deletion over SMB. Ada still has it open, so it stays.');
await loses(
  'The nightly job tries to read',
  report.download(),
  'The job lost, but not with a 404: Ben can still take the mark back.',
);
assert.deepEqual(await listed(), []);
console.log('   A listing of the folder leaves the file out.');
await smb.markForDeletion(bens, false);
console.log('   Ben takes the mark back.');
await succeeds('The nightly job reads', report.download());
await smb.markForDeletion(bens, true);
await smb.close(bens);
console.log('   Ben marks the file again, and closes it.');
await loses('The nightly job tries to read', report.download(), 'The job lost: Ada still has the file open.');
await smb.close(again);
console.log('   Ada closes the file.');
await loses('The nightly job tries to read', report.download(), 'The file is gone.');
smb.end();
await end();
