/**
 * An append blob that all clients append to at once. A block tells whose it is and how long, so that after a crash the
 * blob can be taken apart: every acknowledged block stands where its answer said, whole; what else there is was under way.
 */
import assert from 'node:assert/strict';
import type { Random } from '../harness/random.ts';
import type { Client } from './client.ts';
import type { Piece, Pool } from './journal.ts';

const BLOCK_BYTES_MAX = 12 * 1024;
/** Number of the block, offset in the pool, length. */
const HEAD_BYTES = 12;

interface LoggedBlock {
  readonly piece: Piece;
  /** null: the answer never came. */
  offsetBytes: number | null;
}

export class SharedLog {
  readonly container: string;
  readonly name: string;
  readonly #pool: Pool;
  readonly #blocks = new Map<number, LoggedBlock>();
  #serial = 0;

  constructor({ container, name, pool }: { container: string; name: string; pool: Pool }) {
    this.container = container;
    this.name = name;
    this.#pool = pool;
  }

  get path(): string {
    return `/${this.container}/${this.name}`;
  }

  async append(client: Client, random: Random): Promise<void> {
    const piece = this.#pool.place(random.below(BLOCK_BYTES_MAX), random.next());
    const number = this.#serial++;
    const block: LoggedBlock = { piece, offsetBytes: null };
    this.#blocks.set(number, block);
    const request = { method: 'PUT', path: `${this.path}?comp=appendblock`, body: this.#encode(number, piece) };
    const { outcome, headers } = await client.send(request);
    assert.equal(outcome, '201');
    block.offsetBytes = Number(headers['x-ms-blob-append-offset']);
    client.kill.countAcknowledged();
  }

  /** What is wrong with the content, a sentence each. What was under way and is there counts as acknowledged from now on. */
  findings(content: Buffer): string[] {
    const findings: string[] = [];
    const found = new Set<number>();
    for (let at = 0; at < content.length; ) {
      const number = content.length - at < HEAD_BYTES ? -1 : content.readUInt32BE(at);
      const block = this.#blocks.get(number);
      if (block === undefined || found.has(number)) return [...findings, `log: no block of ours stands at ${at}`];
      const expected = this.#encode(number, block.piece);
      if (!content.subarray(at, at + expected.length).equals(expected)) {
        return [...findings, `log: block ${number} at ${at} is torn`];
      }
      if (block.offsetBytes !== null && block.offsetBytes !== at) {
        findings.push(`log: block ${number} stands at ${at}, and was said to stand at ${block.offsetBytes}`);
      }
      block.offsetBytes = at;
      found.add(number);
      at += expected.length;
    }
    for (const [number, { offsetBytes }] of this.#blocks) {
      if (found.has(number)) continue;
      if (offsetBytes !== null) findings.push(`log: block ${number} was acknowledged and is missing`);
      this.#blocks.delete(number);
    }
    return findings;
  }

  #encode(number: number, piece: Piece): Buffer {
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32BE(number, 0);
    head.writeUInt32BE(piece.offsetBytes, 4);
    head.writeUInt32BE(piece.lengthBytes, 8);
    return Buffer.concat([head, this.#pool.cut(piece)]);
  }
}
