/** Ports for programs that cannot say which one they took, or that must get the same one again after a restart. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below what Linux and others give to outgoing connections: nobody gets it while its owner is down. */
const PORT_MIN = 20_000;
const PORT_COUNT = 12_000;
const ATTEMPTS_MAX = 100;

/** `3/8`: the runner gives each of its lanes a part of all ports, so that nobody takes the port of a server that is down. */
export const PORTS_VARIABLE = 'LARIMAR_TEST_PORTS';

const [part = 0, parts = 1] = (process.env[PORTS_VARIABLE] ?? '0/1').split('/').map(Number);
const count = Math.floor(PORT_COUNT / parts);
const first = PORT_MIN + part * count;

/** A port is given once in a process, for the same reason. */
const given = new Set<number>();

export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const port = first + Math.floor(Math.random() * count);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error(`none of ${ATTEMPTS_MAX} ports tried is free`);
}
