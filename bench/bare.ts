/**
 * The limit: a bare `node:http` server that stores nothing. It reads the whole request, then answers 201 to a PUT and
 * 200 to anything else, with as many bytes as the query's `size` asks for. Its headers are the ones that the
 * benchmark's own steps need: an ETag to send back and a lease id.
 */

import { createServer } from 'node:http';

const port = Number(process.argv[2]);
const bodies = new Map<number, Buffer>();

function bodyOf(sizeBytes: number): Buffer {
  const known = bodies.get(sizeBytes);
  if (known !== undefined) return known;
  const made = Buffer.alloc(sizeBytes, 'x');
  bodies.set(sizeBytes, made);
  return made;
}

const server = createServer((request, response) => {
  request.on('data', () => {});
  request.on('end', () => {
    const asked = /[?&]size=(\d+)/.exec(request.url ?? '');
    const sizeBytes = asked === null ? 0 : Number(asked[1]);
    response.writeHead(request.method === 'PUT' ? 201 : 200, {
      'content-length': sizeBytes,
      etag: '"0x8DC0FFEE0000000"',
      'x-ms-lease-id': '00000000-0000-4000-8000-000000000000',
    });
    response.end(request.method === 'HEAD' ? undefined : bodyOf(sizeBytes));
  });
});

server.listen(port, '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
