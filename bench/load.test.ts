// tier: both
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { missingTool } from '../test/packages.ts';
import { divide, expectSuccess, failureOf, headerOf, inLanes, Lane, rateInLanes, sumOf, wrk } from './load.ts';

/** A server that answers the n-th request of a connection with the n-th list of pieces, each written by itself. */
async function listen(context: TestContext, answers: readonly (readonly string[])[]): Promise<number> {
  const server = createServer((socket) => {
    let request = 0;
    socket.setNoDelay(true);
    socket.on('data', () => {
      void writeInPieces(socket, answers[request % answers.length] ?? []);
      request += 1;
    });
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  context.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function writeInPieces(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) await new Promise((resolve) => socket.write(piece, resolve));
}

async function open(context: TestContext, answers: readonly (readonly string[])[]): Promise<Lane> {
  const lane = await Lane.open({ port: await listen(context, answers), bufferBytes: 1024 });
  context.after(() => lane.close());
  return lane;
}

test('an answer that comes in pieces is one answer, and the next request gets the next one', async (context) => {
  const lane = await open(context, [
    ['HTTP/1.1 201 Cre', 'ated\r\nETag: "1"\r', '\nContent-Length: 5\r\n\r', '\nab', 'cde'],
    ['HTTP/1.1 200 OK\r\netag: "2"\r\ncontent-length: 0\r\n\r\n'],
  ]);
  const first = await lane.send({ method: 'PUT', path: '/', body: Buffer.from('x') });
  assert.deepEqual([first.status, first.bodyBytes, headerOf(first, 'etag')], [201, 5, '"1"']);
  const second = await lane.send({ method: 'GET', path: '/' });
  assert.deepEqual([second.status, second.bodyBytes, headerOf(second, 'etag')], [200, 0, '"2"']);
});

test('a body larger than the buffer is counted to its end', async (context) => {
  const body = 'x'.repeat(100_000);
  const lane = await open(context, [[`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`, body]]);
  for (let round = 0; round < 3; round += 1) {
    assert.equal((await lane.send({ method: 'GET', path: '/' })).bodyBytes, body.length);
  }
});

test('the length in the answer to a HEAD announces no body', async (context) => {
  const lane = await open(context, [['HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n']]);
  assert.equal((await lane.send({ method: 'HEAD', path: '/' })).bodyBytes, 0);
});

test('a chunked answer is read to its last chunk, however it comes', async (context) => {
  const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
  const next = ['HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n'];
  for (const pieces of [
    [`${head}3\r\nabc\r\n0\r\n\r\n`],
    [head, '3\r\nabc\r\n', '0\r\n\r\n'],
    [head, '3\r\nabc\r\n0\r', '\n\r', '\n'],
    [`${head}0\r\n\r\n`],
    [head, '0\r\n', '\r\n'],
  ]) {
    const lane = await open(context, [pieces, next]);
    assert.equal((await lane.send({ method: 'GET', path: '/' })).status, 200, pieces.join('|'));
    assert.equal((await lane.send({ method: 'GET', path: '/' })).status, 201, pieces.join('|'));
  }
});

test('a body that was asked for is kept, without the frames of chunks, however it comes', async (context) => {
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
  for (const pieces of [
    ['HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n<a>hello</a>'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r', '\n<a>he', 'llo</a>'],
    [`${chunked}c\r\n<a>hello</a>\r\n0\r\n\r\n`],
    [chunked, '5\r\n<a>', 'he\r\n7\r\nllo</a>', '\r\n0\r\n', '\r\n'],
  ]) {
    const lane = await open(context, [pieces]);
    for (const keepsBody of [true, false, true]) {
      const { body } = await lane.send({ method: 'GET', path: '/', keepsBody });
      assert.equal(body, keepsBody ? '<a>hello</a>' : null, pieces.join('|'));
    }
  }
});

test('an answer that does not say where it ends is refused by name', async (context) => {
  const lane = await open(context, [['HTTP/1.1 200 OK\r\n\r\nabc']]);
  await assert.rejects(lane.send({ method: 'GET', path: '/' }), /has no length/);
});

test('a refusal is told by its status line and error code', async (context) => {
  const lane = await open(context, [
    ['HTTP/1.1 412 Precondition Failed\r\nx-ms-error-code: ConditionNotMet\r\nContent-Length: 0\r\n\r\n'],
  ]);
  const answer = await lane.send({ method: 'PUT', path: '/' });
  assert.equal(failureOf(answer), 'HTTP/1.1 412 Precondition Failed (ConditionNotMet)');
  assert.throws(() => expectSuccess(answer), /ConditionNotMet/);
});

test('failed steps are counted beside the rate', async (context) => {
  const port = await listen(context, [
    ['HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n'],
  ]);
  let steps = 0;
  const result = await rateInLanes({ ports: [port], connections: 1, seconds: 0.05 }, async (lane) => {
    steps += 1;
    return failureOf(await lane.send({ method: 'PUT', path: '/' }));
  });
  assert.equal(result.failureCount, Math.floor(steps / 2));
  assert.ok(result.value > 0);
});

test('a load ends early when its steps are used up, all connections together', async (context) => {
  const port = await listen(context, [['HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n']]);
  let steps = 0;
  await rateInLanes({ ports: [port], connections: 4, seconds: 600, stepCountMax: 10 }, async (lane) => {
    steps += 1;
    return failureOf(await lane.send({ method: 'GET', path: '/' }));
  });
  assert.equal(steps, 10);
});

test('lanes are dealt out to the ports in turn', async (context) => {
  const ports = await Promise.all(
    ['a', 'b', 'c'].map((name) => listen(context, [[`HTTP/1.1 200 OK\r\nETag: ${name}\r\nContent-Length: 0\r\n\r\n`]])),
  );
  const answeredBy: (string | null)[] = [];
  await inLanes({ ports, connections: 5 }, async (lane, index) => {
    answeredBy[index] = headerOf(await lane.send({ method: 'GET', path: '/' }), 'etag');
  });
  assert.deepEqual(answeredBy, ['a', 'b', 'c', 'a', 'b']);
});

test('connections are divided as evenly as it goes, and a port for which none is left gets none', () => {
  assert.deepEqual(
    divide(64, [1, 2, 3]).map(({ count }) => count),
    [22, 21, 21],
  );
  assert.deepEqual(divide(2, [10, 20, 30]), [
    { port: 10, count: 1 },
    { port: 20, count: 1 },
  ]);
});

test('what several loads reached is added up, and the first failure is told', () => {
  const parts = [
    { value: 100, failureCount: 0, failure: null },
    { value: 20, failureCount: 2, failure: 'refused' },
    { value: 3, failureCount: 1, failure: 'broken' },
  ];
  assert.deepEqual(sumOf(parts), { value: 123, failureCount: 3, failure: 'refused' });
});

test('wrk loads every port, each from another name on', {
  skip: missingTool('wrk'),
}, async (context) => {
  const firstNames: number[] = [];
  const ports = await Promise.all(
    [0, 1, 2].map(async (index) => {
      const server = createHttpServer((request, response) => {
        firstNames[index] ??= Number(/^\/blob-(\d{6})\?q$/.exec(request.url ?? '')?.[1]);
        response.writeHead(201).end();
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      context.after(() => server.close());
      return (server.address() as AddressInfo).port;
    }),
  );
  const load = { ports, seconds: 1, connections: 3, method: 'PUT', path: '/blob-', query: 'q', nameCount: 90 } as const;
  const result = await wrk(load);
  const [first = Number.NaN] = firstNames;
  assert.deepEqual(firstNames, [first, first + 30, first + 60]);
  assert.equal(result.failure, null);
  assert.ok(result.value > 0);
});
