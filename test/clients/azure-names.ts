/**
 * For programs that know Azure only by its own names (https://ACCOUNT.blob.core.windows.net): a proxy on loopback
 * that leads every tunnel to our server, whatever name was asked for. A program is pointed at it with HTTPS_PROXY, and at a
 * certificate for that name with SSL_CERT_FILE.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export const azureBlobHost = (account: string): string => `${account}.blob.core.windows.net`;

export interface TunnelProxy {
  readonly url: string;
  /** The names that were asked for, each once. */
  readonly hostsAsked: ReadonlySet<string>;
  close(): Promise<void>;
}

export async function startTunnelProxy(serverPort: number): Promise<TunnelProxy> {
  const hostsAsked = new Set<string>();
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const proxy = createServer((_request, response) => response.writeHead(405).end());
  proxy.on('connect', (request, client: Socket, head) => {
    hostsAsked.add(request.url ?? '');
    const upstream = connect(serverPort, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(client).pipe(upstream);
    });
    keep(client);
    keep(upstream);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    hostsAsked,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}
