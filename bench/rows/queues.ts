/**
 * Queues: messages put, got and deleted one by one, and got 32 at a time; in a short queue and in a long one, so that a
 * cost that grows with the queue shows. A round that has taken what was put for it ends early, so that what a row says
 * waits does so to the end. Azurite keeps all queues in one list: rows that leave much behind come after others.
 */

import type { Contestant } from '../contestants.ts';
import { type Answer, failureOf, type Lane, type LaneRequest, rateInLanes, wrk } from '../load.ts';
import { messageBody, messageHeaders, QueueStock } from './queue-stock.ts';
import type { Row, Scale } from './row.ts';

const shortQueueCount = 1000;
const getCountMax = 32;
const putTextBytes = 1024;
/** More than any answer takes: nobody else gets a message before it is deleted. */
const deleteHiddenSeconds = 600;
/** What a round may take for each of its seconds. To give Azurite more would slow it down: each Get looks at all. */
const deletedPerSecond = { azurite: 500, others: 8000 };
const gotPerSecond = { azurite: 2000, others: 40_000 };
/** About what answers have: the bare server gives as much. */
const putAnswerBytes = 400;
const messageAnswerBytes = 550;

interface Queue {
  name: string;
  /** So many are left when a round ends. */
  waitingCount: number;
}

export function queueRows(scale: Scale): Row[] {
  const short = { name: 'short', waitingCount: shortQueueCount };
  const long = { name: 'long', waitingCount: scale.longQueueCount };
  const deep = { name: 'deep', waitingCount: scale.deepQueueCount };
  const { connections, roundSeconds: seconds } = scale;
  const shared = { better: 'higher', stage: 'fresh', rounds: scale.rounds, warmsUp: true } as const;
  const azuriteCounts = new Map<string, number>();

  const stockUp = async (contestant: Contestant, queue: Queue, takeCount: number): Promise<QueueStock> => {
    const stock = await QueueStock.of(contestant, queue.name);
    const isAzurite = contestant.name === 'azurite';
    const fillSecondsMax = isAzurite ? scale.azuriteQueueFillSeconds : Number.POSITIVE_INFINITY;
    await stock.fillUp({ count: queue.waitingCount + takeCount, fillSecondsMax });
    if (isAzurite) azuriteCounts.set(queue.name, stock.waitingCount);
    return stock;
  };
  const takeCountOf = (contestant: Contestant, perSecond: typeof gotPerSecond): number =>
    Math.ceil(seconds * (contestant.name === 'azurite' ? perSecond.azurite : perSecond.others));
  const remarksOn = (queue: Queue) => (): string[] => {
    const heldCount = azuriteCounts.get(queue.name) ?? queue.waitingCount;
    const takes =
      'Queues hold the number of messages that the row names and, at the start, also those that a round takes out.';
    if (heldCount >= queue.waitingCount) return [takes];
    return [takes, `In rows with ${counted(queue.waitingCount)} waiting, Azurite held only ${counted(heldCount)}.`];
  };

  const getAndDelete = (name: string, queue: Queue): Row => {
    const ready = (contestant: Contestant): Promise<QueueStock> =>
      stockUp(contestant, queue, takeCountOf(contestant, deletedPerSecond));
    return {
      ...shared,
      name,
      title: `Get and Delete Message, 2 requests a cycle, ${counted(queue.waitingCount)} waiting`,
      unit: 'cycles/s',
      remarks: remarksOn(queue),
      prepare: async (contestant) => void (await ready(contestant)),
      round: async (contestant) => {
        const stock = await ready(contestant);
        const stepCountMax = stock.canGive(takeCountOf(contestant, deletedPerSecond));
        return rateInLanes({ ports: contestant.queuePorts, connections, seconds, stepCountMax }, async (lane) => {
          const words = `visibilitytimeout=${deleteHiddenSeconds}`;
          const answer = await lane.send(getRequest(contestant, queue, { words, messageCount: 1 }));
          const hold = holdIn(contestant, answer);
          if (hold === null) return failureOf(answer) ?? 'Get Messages returned no message';
          stock.take(1);
          return failureOf(await deleteMessage(contestant, lane, { queue, hold }));
        });
      },
    };
  };

  const getMany = (name: string, queue: Queue): Row => {
    // Nobody meets a message twice in a round, and by the next one most are back.
    const hiddenSeconds = Math.ceil(seconds * 2) + 1;
    const ready = (contestant: Contestant): Promise<QueueStock> =>
      stockUp(contestant, queue, takeCountOf(contestant, gotPerSecond));
    return {
      ...shared,
      name,
      title: `Get ${getCountMax} Messages, ${counted(queue.waitingCount)} waiting`,
      unit: 'messages/s',
      remarks: remarksOn(queue),
      prepare: async (contestant) => void (await ready(contestant)),
      round: async (contestant) => {
        const stock = await ready(contestant);
        const stepCountMax = Math.floor(stock.canGive(takeCountOf(contestant, gotPerSecond)) / getCountMax);
        const words = `numofmessages=${getCountMax}&visibilitytimeout=${hiddenSeconds}`;
        let stepCount = 0;
        let gotCount = 0;
        const outcome = await rateInLanes(
          { ports: contestant.queuePorts, connections, seconds, stepCountMax },
          async (lane) => {
            const answer = await lane.send(getRequest(contestant, queue, { words, messageCount: getCountMax }));
            const count = contestant.name === 'bare' ? getCountMax : messageCountIn(answer);
            stepCount += 1;
            gotCount += count;
            return failureOf(answer) ?? (count === 0 ? 'Get Messages returned no messages' : null);
          },
        );
        stock.hide(hiddenSeconds);
        return { ...outcome, value: (outcome.value * gotCount) / stepCount };
      },
    };
  };

  const put = (name: string, queue: Queue): Row => ({
    ...shared,
    name,
    title: `Put Message ${putTextBytes / 1024} KiB, ${counted(queue.waitingCount)} waiting`,
    unit: 'req/s',
    remarks: remarksOn(queue),
    prepare: async (contestant) => void (await stockUp(contestant, queue, 0)),
    round: (contestant) =>
      wrk({
        ports: contestant.queuePorts,
        seconds,
        connections,
        method: 'POST',
        path: messagesPath(contestant, queue),
        query: contestant.query('', { answerBytes: putAnswerBytes }),
        headers: messageHeaders,
        body: messageBody(putTextBytes),
      }),
  });

  return [
    getAndDelete('queue-get-delete', short),
    getMany('queue-get-32', short),
    put('queue-put', short),
    getAndDelete('queue-get-delete-long', long),
    getMany('queue-get-32-long', long),
    put('queue-put-long', long),
    { ...getAndDelete('queue-get-delete-deep', deep), without: ['azurite'] },
  ];
}

const counted = (count: number): string => count.toLocaleString('en');

const messagesPath = (contestant: Contestant, queue: Queue): string => contestant.queuePath(`${queue.name}/messages`);

function getRequest(
  contestant: Contestant,
  queue: Queue,
  { words, messageCount }: { words: string; messageCount: number },
): LaneRequest {
  const query = contestant.query(words, { answerBytes: messageCount * messageAnswerBytes });
  return { method: 'GET', path: `${messagesPath(contestant, queue)}?${query}`, keepsBody: true };
}

/** What it takes to delete a message. */
interface Hold {
  messageId: string;
  popReceipt: string;
}

const bareHold: Hold = { messageId: '00000000-0000-4000-8000-000000000000', popReceipt: 'x'.repeat(32) };

function holdIn(contestant: Contestant, answer: Answer): Hold | null {
  if (contestant.name === 'bare') return bareHold;
  const messageId = /<MessageId>([^<]+)</.exec(answer.body ?? '')?.[1];
  const popReceipt = /<PopReceipt>([^<]+)</.exec(answer.body ?? '')?.[1];
  return messageId === undefined || popReceipt === undefined ? null : { messageId, popReceipt };
}

function messageCountIn(answer: Answer): number {
  return (answer.body ?? '').split('<MessageId>').length - 1;
}

function deleteMessage(
  contestant: Contestant,
  lane: Lane,
  { queue, hold }: { queue: Queue; hold: Hold },
): Promise<Answer> {
  const query = contestant.query(`popreceipt=${encodeURIComponent(hold.popReceipt)}`);
  return lane.send({ method: 'DELETE', path: `${messagesPath(contestant, queue)}/${hold.messageId}?${query}` });
}
