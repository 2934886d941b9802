/** One client that lists a large container, page after page, and begins again at its end. */

import { Agent, get } from 'node:http';
import type { Contestant } from '../contestants.ts';
import { type Outcome, outcome } from '../load.ts';
import type { Row, Scale } from './row.ts';

const pageBlobCount = 5000;

export function listRows(scale: Scale): Row[] {
  const markers = new Map<Contestant, string>();
  // The bare server answers as much as a real page was: it is measured last in each round.
  let pageBytes = 600 * pageBlobCount;

  const round = async (contestant: Contestant): Promise<Outcome> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const total = outcome(0);
    let blobCount = 0;
    const startedAtMs = performance.now();
    while (performance.now() - startedAtMs < scale.roundSeconds * 1000) {
      const page = await getPage(contestant, { agent, pageBytes, marker: markers.get(contestant) ?? '' });
      const listed = contestant.name === 'bare' ? pageBlobCount : countOf(page.body, '<Blob>');
      if (page.status !== 200 || listed === 0) {
        total.failureCount += 1;
        total.failure ??= `status ${page.status}, ${listed} blobs: ${page.body.toString('latin1', 0, 300)}`;
        break;
      }
      blobCount += listed;
      if (listed === pageBlobCount) pageBytes = page.body.length;
      markers.set(contestant, nextMarkerOf(page.body));
    }
    agent.destroy();
    return { ...total, value: blobCount / ((performance.now() - startedAtMs) / 1000) };
  };

  return [
    {
      name: 'list',
      title: `List Blobs, ${pageBlobCount.toLocaleString('en')} a page of ${scale.blobCount.toLocaleString('en')}`,
      unit: 'blobs/s',
      better: 'higher',
      stage: 'filled',
      rounds: scale.rounds,
      warmsUp: true,
      round,
    },
  ];
}

interface Page {
  status: number;
  body: Buffer;
}

function getPage(contestant: Contestant, options: { agent: Agent; pageBytes: number; marker: string }): Promise<Page> {
  const words = `restype=container&comp=list&maxresults=${pageBlobCount}`;
  const marker = options.marker === '' ? '' : `&marker=${encodeURIComponent(options.marker)}`;
  const query = contestant.query(`${words}${marker}`, { answerBytes: options.pageBytes });
  // A container's path is a blob's without its last part.
  const path = `${contestant.path('').slice(0, -1)}?${query}`;
  const [port] = contestant.ports;
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path, agent: options.agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }));
      response.on('error', reject);
    });
    request.on('error', reject);
  });
}

export function countOf(body: Buffer, word: string): number {
  let count = 0;
  for (let at = body.indexOf(word); at !== -1; at = body.indexOf(word, at + word.length)) count += 1;
  return count;
}

/** Empty after the last page: the next request then starts from the beginning. */
export function nextMarkerOf(body: Buffer): string {
  const tail = body.toString('utf8', Math.max(0, body.length - 4096));
  return /<NextMarker>([^<]*)<\/NextMarker>/.exec(tail)?.[1]?.replaceAll('&amp;', '&') ?? '';
}
