/** Races over SMB, and of SMB with REST, against a server process with its data on disk. */
import { after, test } from 'node:test';
import { startServerProcess } from '../harness/server-process.ts';
import { Ground, RACES } from './wire-races.ts';

const server = await startServerProcess({ smb: 'optional' });
after(() => server.stop());

for (const [sentence, run] of RACES) {
  test(sentence, { timeout: 60_000 }, async () => {
    const ground = await Ground.open(() => [server]);
    await run(ground).finally(() => ground.close());
  });
}
