/**
 * What the balancers that we ship do with a request on its way: nothing. Against nodes that note what reaches them, since
 * it is the balancer's part that is looked at here.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { after, afterEach, before, describe, test } from 'node:test';
import { findProgram } from '../find-program.ts';
import { until } from '../harness/until.ts';
import { missingTool } from '../packages.ts';
import { type Balancer, HAPROXY_FILE, startHaproxy, startNginx, type Upstream } from './balancer.ts';
import { gate, RecordingNode } from './recording-node.ts';

const BALANCERS = [
  { name: 'haproxy', start: startHaproxy, skip: missingTool('haproxy'), triesElsewhere: 'PUT' },
  { name: 'nginx', start: startNginx, skip: missingTool('nginx'), triesElsewhere: 'GET' },
] as const satisfies readonly {
  name: string;
  start: (nodes: readonly Upstream[]) => Promise<Balancer>;
  skip: false | string;
  triesElsewhere: string;
}[];

/** A body that is held back would keep a test waiting for ever. */
const LIMIT_MS = 60_000;

/** Between the client and the balancer, and anew between the balancer and the node. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding']);

type Headers = readonly (readonly [name: string, value: string])[];

const comparable = (headers: Headers): Headers =>
  headers.filter(([name]) => !HOP_BY_HOP.has(name)).toSorted(([a], [b]) => (a < b ? -1 : 1));

interface Asked {
  readonly method: string;
  readonly target?: string;
  readonly headers?: OutgoingHttpHeaders | readonly string[];
  readonly body?: Uint8Array;
}

function open(url: string, { method, target = '/team/letters/a', headers = {} }: Asked): ClientRequest {
  const { hostname, port } = new URL(url);
  return httpRequest({ hostname, port, method, path: target, headers, agent: false });
}

async function answerOf(sent: ClientRequest): Promise<{ status: number; body: Buffer }> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode as number, body: Buffer.concat(chunks) };
}

async function ask(url: string, asked: Asked): Promise<number> {
  const sent = open(url, asked);
  sent.end(asked.body);
  return (await answerOf(sent)).status;
}

test('the file for HAProxy is valid as it is', { skip: missingTool('haproxy') }, () => {
  const { status, stderr } = spawnSync(findProgram('haproxy') as string, ['-c', '-f', HAPROXY_FILE], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
});

for (const { name, start, skip, triesElsewhere } of BALANCERS) {
  describe(name, { skip, timeout: LIMIT_MS }, () => {
    let nodes: RecordingNode[] = [];
    let balancer: Balancer;

    before(async () => {
      nodes = await Promise.all([RecordingNode.start(), RecordingNode.start(), RecordingNode.start()]);
      balancer = await start(nodes);
    });
    after(async () => {
      await balancer.stop();
      for (const node of nodes) await node.stop();
    });
    afterEach(() => {
      for (const node of nodes) {
        node.recorded.length = 0;
        node.behave = null;
      }
    });

    const recorded = () => nodes.flatMap((node) => node.recorded);

    test('a request reaches the node as it was sent', async () => {
      const target = '/team/letters//a%2Fb%20c+d/./e%C3%A9~(1)?comp=block&blockid=QUE%3D&x=%2f&sv=2024-11-04&empty=';
      const body = Buffer.from(Array.from({ length: 1000 }, (_, at) => at % 256));
      const headers: [string, string][] = [
        ['host', 'storage.example:10000'],
        ['authorization', 'SharedKey team:c2lnbmF0dXJl'],
        ['date', 'Sun, 15 Nov 2026 23:07:06 GMT'],
        ['content-length', String(body.length)],
        ['content-md5', 'Q2hlY2sgSW50ZWdyaXR5IQ=='],
        ['content-encoding', 'gzip'],
        ['accept-encoding', 'gzip, br'],
        ['if-match', '"0x8D4BCC2E4835CD0"'],
        ['range', 'bytes=0-'],
        ['x-ms-meta-my_name', 'one  two'],
        ['x-ms-meta-dotted.name', 'ä in latin1: \xe4'],
        ['x-ms-meta-empty', ''],
        ['x-ms-copy-source', 'https://other.example/c/b?sig=a%2Bb'],
      ];
      assert.equal(await ask(balancer.url, { method: 'PUT', target, headers: headers.flat(), body }), 200);
      const [only, ...more] = recorded();
      assert.ok(only !== undefined && more.length === 0);
      assert.deepEqual({ method: only.method, target: only.target }, { method: 'PUT', target });
      assert.deepEqual(comparable(only.headers), comparable(headers));
      assert.deepEqual(only.body, body);
    });

    test('a merge of an entity reaches the node as it was sent', async () => {
      const target = "/team/people(PartitionKey='a%20%C3%A9',RowKey='it''s')?$select=Name";
      const body = Buffer.from('{"Name":"\u00e9"}');
      const headers = { 'if-match': 'W/"datetime\'2024-05-01T12%3A34%3A56.1234567Z\'"', 'content-length': body.length };
      assert.equal(await ask(balancer.tableUrl, { method: 'MERGE', target, headers, body }), 200);
      const [only, ...more] = recorded();
      assert.ok(only !== undefined && more.length === 0);
      assert.deepEqual({ method: only.method, target: only.target }, { method: 'MERGE', target });
      assert.equal(new Map(only.headers).get('if-match'), headers['if-match']);
      assert.deepEqual(only.body, body);
    });

    test('a head of 60 KiB in 300 headers is passed on', async () => {
      const headers = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`x-ms-meta-n${at}`, 'v'.repeat(180)]));
      assert.equal(await ask(balancer.url, { method: 'PUT', headers: { ...headers, 'content-length': 0 } }), 200);
      const names = new Set(recorded()[0]?.headers.map(([header]) => header));
      assert.deepEqual(
        Object.keys(headers).filter((header) => !names.has(header)),
        [],
      );
    });

    test('the node reads the start of a body before its end is sent', async () => {
      const started = gate<string>();
      for (const node of nodes) {
        node.behave = async (request, response) => {
          request.once('data', (chunk: Buffer) => started.open(chunk.toString()));
          await once(request, 'end');
          response.end();
        };
      }
      const sent = open(balancer.url, { method: 'PUT', headers: { 'content-length': 10 } });
      sent.write('start');
      assert.equal(await started.passed, 'start');
      sent.end('-end.');
      assert.equal((await answerOf(sent)).status, 200);
    });

    test('the client reads the start of an answer before its end is sent', async () => {
      const finish = gate<void>();
      for (const node of nodes) {
        node.behave = async (_, response) => {
          response.writeHead(200, { 'content-length': 10 }).write('start');
          await finish.passed;
          response.end('-end.');
        };
      }
      const sent = open(balancer.url, { method: 'GET' });
      sent.end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      const [first] = (await once(response, 'data')) as [Buffer];
      assert.equal(first.toString(), 'start');
      finish.open();
      await once(response, 'end');
    });

    for (const [what, asked] of [
      ['a PUT with a body', { method: 'PUT', headers: { 'content-length': 4 }, body: Buffer.from('body') }],
      ['a PUT without one, such as Lease Blob', { method: 'PUT', headers: { 'content-length': 0 } }],
      ['a DELETE', { method: 'DELETE' }],
      ['a POST', { method: 'POST', headers: { 'content-length': 0 } }],
    ] as const satisfies readonly (readonly [string, Asked])[]) {
      test(`${what} that a node has read is not sent to another when that node dies`, async () => {
        for (const node of nodes) {
          node.behave = async (request) => {
            await node.record(request);
            request.socket.destroy();
          };
        }
        assert.equal(await ask(balancer.url, asked), 502);
        assert.equal(recorded().length, 1);
      });
    }

    test('a GET of messages that a node has read is not sent to another when that node dies', async () => {
      for (const node of nodes) {
        node.behave = async (request) => {
          await node.record(request);
          request.socket.destroy();
        };
      }
      assert.equal(await ask(balancer.queueUrl, { method: 'GET', target: '/team/jobs/messages' }), 502);
      assert.equal(recorded().length, 1);
    });

    test('a 503 of a node is the answer, and no reason to ask another', async () => {
      for (const node of nodes) {
        node.behave = async (request, response) => {
          await node.record(request);
          response.writeHead(503, { 'retry-after': '1' }).end('busy');
        };
      }
      assert.equal(await ask(balancer.url, { method: 'PUT', headers: { 'content-length': 0 } }), 503);
      assert.equal(recorded().length, 1);
    });

    if (name === 'haproxy') {
      test('SMB goes through byte for byte, each client always to the same node, and not all to one', async () => {
        const port = balancer.smbPort as number;
        const hello = Buffer.from('\u00feSMB\0 no HTTP at all');
        const nodesOf = async (client: string): Promise<number[]> => {
          const told: number[] = [];
          for (let time = 0; time < 3; time++) {
            const socket = connect({ port, host: '127.0.0.1', localAddress: client });
            socket.write(hello);
            const [answer] = (await once(socket, 'data')) as [Buffer];
            socket.destroy();
            assert.deepEqual(answer.subarray(2), hello);
            told.push(answer.readUInt16LE(0));
          }
          return told;
        };
        const clients = Array.from({ length: 12 }, (_, at) => `127.0.0.${at + 2}`);
        const chosen = await Promise.all(clients.map(nodesOf));
        for (const [first, ...others] of chosen) assert.deepEqual(others, [first, first]);
        assert.ok(new Set(chosen.flat()).size > 1, 'one node has all');
      });

      test('a node that is not ready gets no more requests, and finishes those it has', async () => {
        const leaving = nodes[0] as RecordingNode;
        const [begun, finish] = [gate<void>(), gate<void>()];
        leaving.behave = async (_, response) => {
          response.writeHead(200, { 'content-length': 4 });
          response.flushHeaders();
          begun.open();
          await finish.passed;
          response.end('done');
        };
        const slow: Promise<{ status: number; body: Buffer }>[] = [];
        for (let turn = 0; turn < nodes.length; turn++) {
          const sent = open(balancer.url, { method: 'GET' });
          sent.end();
          slow.push(answerOf(sent));
        }
        await begun.passed;
        leaving.isReady = false;
        leaving.behave = null;
        await until({ what: 'the node is left out', limitSeconds: 20 }, async () => {
          leaving.recorded.length = 0;
          for (let turn = 0; turn < 2 * nodes.length; turn++) await ask(balancer.url, { method: 'GET' });
          return leaving.recorded.length === 0;
        });
        finish.open();
        const answers = await Promise.all(slow);
        assert.deepEqual(
          answers.map(({ status }) => status),
          [200, 200, 200],
        );
        assert.equal(answers.filter(({ body }) => body.toString() === 'done').length, 1);
        leaving.isReady = true;
        await until({ what: 'the node is back', limitSeconds: 20 }, async () => {
          await ask(balancer.url, { method: 'GET' });
          return leaving.recorded.length > 0;
        });
      });
    }

    // The last one: its node does not come back.
    test(`a ${triesElsewhere} that finds no node at an address is answered by the next`, async () => {
      await (nodes[0] as RecordingNode).vanish();
      for (let turn = 0; turn < 4 * nodes.length; turn++) {
        const headers = triesElsewhere === 'PUT' ? { 'content-length': 4 } : {};
        const body = triesElsewhere === 'PUT' ? { body: Buffer.from('body') } : {};
        assert.equal(await ask(balancer.url, { method: triesElsewhere, headers, ...body }), 200);
      }
    });
  });
}
