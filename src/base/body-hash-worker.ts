/**
 * The thread behind hash-workers.ts: keeps the digests of the bodies under way. Every chunk goes back once it is
 * hashed: that is both the sign that more may come and the memory to bring it in.
 */
import { parentPort } from 'node:worker_threads';
import { type DigestChoice, Digests } from './digests.ts';

export type HashRequest =
  | { readonly kind: 'begin'; readonly body: number; readonly choice: DigestChoice }
  | { readonly kind: 'chunk'; readonly body: number; readonly chunk: Uint8Array; readonly lengthBytes: number }
  | { readonly kind: 'end'; readonly body: number }
  | { readonly kind: 'drop'; readonly body: number };

export type HashReply =
  | { readonly kind: 'chunk'; readonly body: number; readonly chunk: Uint8Array }
  | {
      readonly kind: 'digests';
      readonly body: number;
      readonly md5: Uint8Array | null;
      readonly crc64: Uint8Array | null;
    };

const bodies = new Map<number, Digests>();

function answer(request: HashRequest): void {
  const { body } = request;
  switch (request.kind) {
    case 'begin':
      bodies.set(body, new Digests(request.choice));
      return;
    case 'chunk': {
      const { chunk, lengthBytes } = request;
      bodies.get(body)?.update(chunk.subarray(0, lengthBytes));
      reply({ kind: 'chunk', body, chunk }, [chunk.buffer as ArrayBuffer]);
      return;
    }
    case 'end': {
      const digests = bodies.get(body)?.digest() ?? { md5: null, crc64: null };
      bodies.delete(body);
      reply({ kind: 'digests', body, ...digests }, []);
      return;
    }
    case 'drop':
      bodies.delete(body);
  }
}

function reply(message: HashReply, transfer: ArrayBuffer[]): void {
  parentPort?.postMessage(message, transfer);
}

parentPort?.on('message', answer);
