/** What becomes of commits whose connection breaks before or after the database has them, and of a database that stays away. */
// tier: system
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { increment, put, valueOf } from '../../../test/harness/engine-steps.ts';
import { freshDatabase, startPostgresServer } from '../../../test/harness/postgres.ts';
import { Random } from '../../../test/harness/random.ts';
import { TcpProxy } from '../../../test/harness/tcp-proxy.ts';
import { until } from '../../../test/harness/until.ts';
import { missingTool } from '../../../test/packages.ts';
import { bytes, volatile } from '../contract.ts';
import { EngineUnavailable } from '../engine.ts';
import { openPostgresEngine, type PostgresEngine } from './postgres-engine.ts';

const skip = missingTool('postgres');

/** A node behind a proxy whose commits lose their connection now and then; another looks on undisturbed. */
async function withBrokenPath(run: (node: PostgresEngine, proxy: TcpProxy, onlooker: PostgresEngine) => Promise<void>) {
  const { url, drop } = await freshDatabase();
  const { hostname, port } = new URL(url);
  const proxy = await TcpProxy.open({ host: hostname, port: Number(port) });
  const onlooker = await openPostgresEngine({ url });
  const node = await openPostgresEngine({ url: proxy.through(url) });
  try {
    await run(node, proxy, onlooker);
  } finally {
    proxy.breaks = {};
    await node.close();
    await onlooker.close();
    await proxy.close();
    await drop();
  }
}

describe('a database that cannot always be reached', { skip }, () => {
  for (const [what, side, kind] of [
    ['answers that are lost after the database has committed', 'beforeAnswer', 'durable'],
    ['groups that are lost before they reach the database', 'beforeRequest', 'durable'],
    ['answers to volatile groups that are lost', 'beforeAnswer', 'volatile'],
  ] as const) {
    test(`${what} lead to no double effect and no loss`, async (t) => {
      const counter = kind === 'durable' ? bytes('n') : volatile('n');
      const random = new Random();
      t.diagnostic(`LARIMAR_SEED=${random.seed}`);
      await withBrokenPath(async (node, proxy, onlooker) => {
        let brokenCount = 0;
        const isCommit = (sent: Buffer): boolean =>
          side === 'beforeRequest' ? sent.includes('larimar_') || sent.includes('check ') : sent.includes('COMMIT');
        proxy.breaks = {
          [side]: (sent: Buffer) => {
            const breaks = isCommit(sent) && random.chance(0.3);
            if (breaks) brokenCount++;
            return breaks;
          },
        };
        // A busy machine sends few groups, so the work goes on until some of them were broken.
        const isTooWhole = (): boolean => brokenCount <= 3;
        let doneCount = 0;
        const worker = async (): Promise<void> => {
          for (let done = 0; done < 15 || isTooWhole(); ) {
            try {
              await increment(node, counter);
              done++;
              doneCount++;
            } catch (error) {
              // A read that lost its connection: nothing was sent, so the client asks again.
              if (!(error instanceof EngineUnavailable)) throw error;
            }
          }
        };
        await Promise.all(Array.from({ length: 6 }, worker));
        assert.ok(doneCount >= 90 && !isTooWhole(), `${doneCount} increments, ${brokenCount} breaks`);
        assert.equal(await valueOf(onlooker, counter), String(doneCount));
      });
    });
  }

  test('commits wait for a database that restarts, and are refused once it stays away', async () => {
    const server = await startPostgresServer();
    const { url } = await freshDatabase(server.url);
    const node = await openPostgresEngine({ url });
    try {
      await put(node, bytes('a'), '1');
      await server.stop('immediate');
      const waiting = put(node, bytes('a'), '2');
      await server.start();
      assert.equal(await waiting, 'committed');
      assert.equal(await valueOf(node, bytes('a')), '2');
      await server.stop('fast');
      await assert.rejects(put(node, bytes('a'), '3'), EngineUnavailable);
      await assert.rejects(put(node, bytes('a'), '4'), EngineUnavailable);
      await assert.rejects(valueOf(node, bytes('a')), EngineUnavailable);
      await server.start();
      await until({ what: 'the node takes commits again', limitSeconds: 30 }, () =>
        put(node, bytes('a'), '5').catch(() => null),
      );
      assert.equal(await valueOf(node, bytes('a')), '5');
    } finally {
      await node.close();
      await server.remove();
    }
  });
});
