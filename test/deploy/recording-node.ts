/**
 * What stands behind a balancer in tests of the balancer itself: it notes what reaches it, byte for byte as far as HTTP
 * has bytes, and answers as the test says. Its admin port answers /ready. What comes to its port for SMB it gives back, with
 * the port before it.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';

export interface Recorded {
  readonly method: string;
  readonly target: string;
  /** Names in lower case, values as they came, in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

export type Behaviour = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

export class RecordingNode {
  readonly recorded: Recorded[] = [];
  isReady = true;
  behave: Behaviour | null = null;
  readonly #door: Server;
  readonly #admin: Server;
  readonly #smb: TcpServer;

  private constructor() {
    this.#door = createServer({ maxHeaderSize: 128 * 1024 }, (request, response) => {
      void this.#take(request, response);
    });
    this.#door.maxHeadersCount = 0;
    this.#admin = createServer((request, response) => {
      const isRight = request.url === '/ready' && request.method === 'GET';
      response.writeHead(isRight ? (this.isReady ? 200 : 503) : 404).end();
    });
    this.#smb = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (bytes) => socket.write(Buffer.concat([this.#smbName(), bytes])));
    });
  }

  static async start(): Promise<RecordingNode> {
    const node = new RecordingNode();
    for (const server of [node.#door, node.#admin, node.#smb]) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }
    return node;
  }

  get port(): number {
    return (this.#door.address() as AddressInfo).port;
  }

  /** One door for all services: what reaches it is noted in the same way. */
  get queuePort(): number {
    return this.port;
  }

  get tablePort(): number {
    return this.port;
  }

  get filePort(): number {
    return this.port;
  }

  get smbPort(): number {
    return (this.#smb.address() as AddressInfo).port;
  }

  get adminPort(): number {
    return (this.#admin.address() as AddressInfo).port;
  }

  #smbName(): Buffer {
    const name = Buffer.alloc(2);
    name.writeUInt16LE(this.smbPort);
    return name;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.behave !== null) return this.behave(request, response);
    await this.record(request);
    response.end(`${request.method} ${request.url}`);
  }

  /** Reads the request to its end. */
  async record(request: IncomingMessage): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { rawHeaders: raw } = request;
    this.recorded.push({
      method: request.method ?? '',
      target: request.url ?? '',
      headers: raw.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] as string] as const] : [])),
      body: Buffer.concat(chunks),
    });
  }

  /** As a process that died: nothing listens any more, while the last answer of its admin port still counts. */
  async vanish(): Promise<void> {
    await this.#close(this.#door);
  }

  async stop(): Promise<void> {
    await this.#close(this.#door);
    await this.#close(this.#admin);
    this.#smb.close();
  }

  async #close(server: Server): Promise<void> {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }
}

/** Somebody waits until somebody else opens it. */
export function gate<T>(): { readonly passed: Promise<T>; open(value: T): void } {
  let open!: (value: T) => void;
  const passed = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}
