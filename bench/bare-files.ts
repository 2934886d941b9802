/**
 * The limit for files: a bare `node:http` server over a folder, in which every file is a file. It creates them at a length,
 * writes and reads ranges and lists names, checks nothing, and leaves to the system when bytes reach the disk.
 */

import { mkdirSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';

const port = Number(process.argv[2]);
const folder = process.argv[3] as string;
mkdirSync(folder, { recursive: true });

/** Any path becomes one name. */
const fileOf = (path: string): string => join(folder, encodeURIComponent(path));

const server = createServer((request, response) => {
  serve(request, response).catch((error: Error) => response.writeHead(500).end(error.message));
});

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const body: Buffer[] = [];
  for await (const piece of request) body.push(piece as Buffer);
  if (request.method === 'GET' && url.searchParams.get('comp') === 'list') return list(url, response);
  if (request.method === 'GET') return read(url.pathname, request, response);
  if (url.searchParams.get('restype') === null) await write(url, request, Buffer.concat(body));
  response.writeHead(201, { 'content-length': 0 }).end();
}

async function write(url: URL, request: IncomingMessage, body: Buffer): Promise<void> {
  const isRange = url.searchParams.get('comp') === 'range';
  const file = await open(fileOf(url.pathname), isRange ? 'r+' : 'w');
  try {
    if (isRange) await file.write(body, 0, body.length, rangeOf(request).first);
    else await file.truncate(Number(request.headers['x-ms-content-length'] ?? 0));
  } finally {
    await file.close();
  }
}

async function read(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const file = await open(fileOf(path), 'r');
  try {
    const { first, last } = rangeOf(request);
    const end = Math.min(last + 1, (await file.stat()).size);
    response.writeHead(200, { 'content-length': end - first });
    for (let at = first; at < end; ) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.min(1_048_576, end - at)), {
        position: at,
      });
      if (!response.write(buffer.subarray(0, bytesRead)))
        await new Promise((resolve) => response.once('drain', resolve));
      at += bytesRead;
    }
    response.end();
  } finally {
    await file.close();
  }
}

function rangeOf(request: IncomingMessage): { first: number; last: number } {
  const match = /^bytes=(\d+)-(\d+)$/.exec(String(request.headers['x-ms-range'] ?? ''));
  return match === null
    ? { first: 0, last: Number.POSITIVE_INFINITY }
    : { first: Number(match[1]), last: Number(match[2]) };
}

/** Names alone, in their order: nobody asks how long the files are. */
async function list({ searchParams, pathname }: URL, response: ServerResponse): Promise<void> {
  const prefix = encodeURIComponent(`${pathname}/`);
  const names = (await readdir(folder)).filter((name) => name.startsWith(prefix)).sort();
  const from = searchParams.get('marker') ?? '';
  const count = Number(searchParams.get('maxresults'));
  const rest = names.map((name) => name.slice(prefix.length)).filter((name) => name >= from);
  const entries = rest.slice(0, count).map((name) => `<File><Name>${name}</Name></File>`);
  const body = Buffer.from(`<Entries>${entries.join('')}</Entries><NextMarker>${rest[count] ?? ''}</NextMarker>`);
  response.writeHead(200, { 'content-length': body.length }).end(body);
}

server.listen(port, '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
