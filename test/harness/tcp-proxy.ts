/** A way to a server that a test can break: connections are cut when and where the test says. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export interface Break {
  /** Called with what a client sends; true: it does not arrive, and the connection is cut. */
  beforeRequest?(bytes: Buffer): boolean;
  /** Called with what the server answers; true: it does not arrive, and the connection is cut. */
  beforeAnswer?(bytes: Buffer): boolean;
}

export class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  breaks: Break = {};

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(target: { host: string; port: number }): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server);
    server.on('connection', (client) => proxy.#pass(client, connect(target)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The same URL by way of this proxy. */
  through(url: string): string {
    const rewritten = new URL(url);
    rewritten.hostname = '127.0.0.1';
    rewritten.port = String(this.port);
    return rewritten.href;
  }

  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cutAll();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #pass(client: Socket, server: Socket): void {
    const cut = (): void => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        cut();
      });
    }
    client.on('data', (bytes) => (this.breaks.beforeRequest?.(bytes) ? cut() : server.write(bytes)));
    server.on('data', (bytes) => (this.breaks.beforeAnswer?.(bytes) ? cut() : client.write(bytes)));
  }
}
