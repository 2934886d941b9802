/**
 * A consumer in a process of its own, to be killed: `consumer-process JOBS RESULTS`. For each message of the one queue it
 * puts one into the other and then deletes it. Prints `got COUNT TEXT` and later `deleted COUNT TEXT` or `taken COUNT TEXT`, with
 * no buffer in between: what was printed has happened. Ends when its standard input does.
 */
import { writeSync } from 'node:fs';
import { outcome } from '../harness/clients.ts';
import { queueClient } from '../harness/queue-clients.ts';
import { until } from '../harness/until.ts';
import { type Got, get, remove } from './racing.ts';

const BATCH = 8;
const SHORT_HOLD_SECONDS = 2;

const [jobsName = '', resultsName = ''] = process.argv.slice(2);
const server = { connectionString: () => process.env['AZURE_STORAGE_CONNECTION_STRING'] as string };
const jobs = queueClient(server, jobsName);
const results = queueClient(server, resultsName);

const say = (what: string, { dequeueCount, messageText }: Got): void => {
  writeSync(1, `${what} ${dequeueCount} ${messageText}\n`);
};

const input = { hasEnded: false };
process.stdin.resume().once('end', () => {
  input.hasEnded = true;
});

while (!input.hasEnded) {
  const messages = await until({ what: 'there is work, or no more to come', limitSeconds: 120 }, async () => {
    const got = await get(jobs, { count: BATCH, seconds: SHORT_HOLD_SECONDS });
    return got.length > 0 || input.hasEnded ? got : null;
  });
  for (const message of messages) say('got', message);
  for (const message of messages) {
    await results.sendMessage(message.messageText);
    const answer = await outcome(remove(jobs, message));
    if (answer !== 'ok' && answer !== '404 MessageNotFound') throw new Error(answer);
    say(answer === 'ok' ? 'deleted' : 'taken', message);
  }
}
