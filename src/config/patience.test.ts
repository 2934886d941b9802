import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError } from './config-error.ts';
import { Patience } from './patience.ts';
import { StoreUnreachable } from './store-failure.ts';

const unreachable = (): StoreUnreachable =>
  new StoreUnreachable({ place: 'the database at postgres://db', reason: 'connection refused', advice: 'Start it.' });

/** Time passes only while somebody waits. */
class StillTime {
  #nowMs = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  async delay(ms: number): Promise<void> {
    this.#nowMs += ms;
  }
}

function patient(limitSeconds: number): { patience: Patience; time: StillTime; told: [atMs: number, what: string][] } {
  const time = new StillTime();
  const told: [atMs: number, what: string][] = [];
  const onWaiting = (what: string): unknown => told.push([time.nowMs(), what]);
  return { patience: new Patience({ limitSeconds, onWaiting, time }), time, told };
}

describe('whoever opens a store patiently', () => {
  test('says nothing where it is there', async () => {
    const { patience, told } = patient(60);
    assert.equal(await patience.open(async () => 'open'), 'open');
    assert.deepEqual(told, []);
  });

  test('says what is waited for at once and then every ten seconds, and goes on when it is there', async () => {
    const { patience, time, told } = patient(60);
    const opened = patience.open(async () => {
      if (time.nowMs() < 25_000) throw unreachable();
      return 'open';
    });
    assert.equal(await opened, 'open');
    const what = 'waiting for the database at postgres://db: connection refused';
    assert.deepEqual(told, [
      [0, what],
      [10_000, what],
      [20_000, what],
    ]);
  });

  test('gives up when the time is over, and says how long it was', async () => {
    const { patience, time } = patient(60);
    await assert.rejects(
      patience.open(() => Promise.reject(unreachable())),
      (error) =>
        error instanceof StoreUnreachable &&
        /^The database at postgres:\/\/db could not be reached within 60 s: connection refused\. Start it\.$/.test(
          error.message,
        ),
    );
    assert.equal(time.nowMs(), 60_000);
  });

  test('has one time for everything that it opens', async () => {
    const { patience, time } = patient(60);
    await patience.open(async () => {
      if (time.nowMs() < 50_000) throw unreachable();
    });
    await assert.rejects(patience.open(() => Promise.reject(unreachable())));
    assert.equal(time.nowMs(), 60_000);
  });

  test('tries once where no time is given', async () => {
    const { patience, told } = patient(0);
    let tries = 0;
    const opened = patience.open(async () => {
      tries++;
      throw unreachable();
    });
    await assert.rejects(opened, /cannot be reached: connection refused/);
    assert.deepEqual([tries, told], [1, []]);
  });

  test('does not wait for what somebody must set right', async () => {
    const { patience, told } = patient(60);
    await assert.rejects(
      patience.open(() => Promise.reject(new ConfigError('wrong password'))),
      ConfigError,
    );
    assert.deepEqual(told, []);
  });
});
