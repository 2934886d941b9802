/** What a server costs before it is asked anything: the time to its first answer, and the memory it sits in. */

import type { Contestant } from '../contestants.ts';
import { expectSuccess, inLanes, outcome } from '../load.ts';
import type { Row, Scale } from './row.ts';

/** Long enough for the first collections after a start or a fill to be over. */
const settleMs = 2000;

export function footprintRows(scale: Scale): { empty: Row[]; filled: Row[]; restarted: Row[] } {
  const blobs = `${scale.blobCount.toLocaleString('en')} blobs`;
  const startUp = (row: Pick<Row, 'name' | 'title' | 'stage'>): Row => ({
    ...row,
    unit: 'ms',
    better: 'lower',
    rounds: scale.longRounds,
    warmsUp: false,
    round: async (contestant) => {
      await contestant.stop();
      const startUpMs = await contestant.start();
      if (row.stage === 'filled') await expectFilled(contestant);
      return outcome(startUpMs);
    },
  });
  const memory = (row: Pick<Row, 'name' | 'title' | 'stage'>, read: typeof residentMiB): Row => ({
    ...row,
    unit: 'MiB',
    better: 'lower',
    rounds: 1,
    warmsUp: false,
    round: async (contestant) => outcome(await read(contestant)),
  });

  return {
    empty: [
      startUp({ name: 'start', title: 'Start-up, empty', stage: 'fresh' }),
      memory({ name: 'memory', title: 'Memory at rest, empty', stage: 'fresh' }, residentMiB),
    ],
    filled: [
      memory({ name: 'memory-filled', title: `Memory after writing ${blobs}`, stage: 'filled' }, residentMiB),
      memory({ name: 'memory-anonymous', title: '  without mapped files', stage: 'filled' }, anonymousMiB),
    ],
    restarted: [
      startUp({ name: 'start-filled', title: `Start-up with ${blobs}`, stage: 'filled' }),
      memory({ name: 'memory-restarted', title: `Memory restarted with ${blobs}`, stage: 'filled' }, restartedMiB),
    ],
  };
}

/** A server that forgot its blobs would start up quickly. */
async function expectFilled(contestant: Contestant): Promise<void> {
  await inLanes({ ports: contestant.ports, connections: 1 }, async (lane) => {
    const path = `${contestant.path('000000')}?${contestant.query()}`;
    expectSuccess(await lane.send({ method: 'HEAD', path }));
  });
}

async function residentMiB(contestant: Contestant): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  return (await contestant.memory()).residentMiB;
}

async function restartedMiB(contestant: Contestant): Promise<number> {
  await contestant.stop();
  await contestant.start();
  await expectFilled(contestant);
  return residentMiB(contestant);
}

async function anonymousMiB(contestant: Contestant): Promise<number> {
  const memory = await contestant.memory();
  return memory.anonymousMiB ?? memory.residentMiB;
}
