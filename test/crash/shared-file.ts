/**
 * A file that all clients write to at once, each to a few bytes of its own, many of them in one page: a write takes over what
 * others have written beside it. Whatever the moment of a crash, everybody's bytes are as acknowledged last, or as the
 * request under way would have left them.
 */
import assert from 'node:assert/strict';
import type { ShareFileClient } from '@azure/storage-file-share';
import type { Reachable } from '../harness/clients.ts';
import { shareClient } from '../harness/file-clients.ts';
import type { Client } from './client.ts';

const NAME = 'shared';
const SLOT_BYTES = 48;
/** So that some slots lie over the border of two pages. */
const START_BYTES = 300;

interface Slot {
  acknowledged: number;
  pending: number | null;
}

export class SharedFile {
  readonly #slots: readonly Slot[];
  #turn = 0;

  constructor(slotCount: number) {
    this.#slots = Array.from({ length: slotCount }, () => ({ acknowledged: 0, pending: null }));
  }

  async create(server: Reachable): Promise<void> {
    await shareClient(server, NAME).create();
    await fileOf(server).create(START_BYTES + this.#slots.length * SLOT_BYTES);
    const bytes = Buffer.concat(this.#slots.map(() => textOf(0)));
    await fileOf(server).uploadRange(bytes, START_BYTES, bytes.length);
  }

  async remove(server: Reachable): Promise<void> {
    await shareClient(server, NAME).delete();
  }

  async write(client: Client, server: Reachable, index: number): Promise<void> {
    const slot = this.#slots[index] as Slot;
    const turn = ++this.#turn;
    slot.pending = turn;
    const at = START_BYTES + index * SLOT_BYTES;
    const { etag } = await client.answerTo(fileOf(server).uploadRange(textOf(turn), at, SLOT_BYTES));
    assert.ok(etag !== undefined);
    slot.acknowledged = turn;
    slot.pending = null;
    client.kill.countAcknowledged();
  }

  async findings(server: Reachable): Promise<string[]> {
    const bytes = await fileOf(server).downloadToBuffer();
    return this.#slots.flatMap((slot, index) => {
      const at = START_BYTES + index * SLOT_BYTES;
      const found = bytes.subarray(at, at + SLOT_BYTES);
      const turns = slot.pending === null ? [slot.acknowledged] : [slot.acknowledged, slot.pending];
      const turn = turns.find((each) => textOf(each).equals(found));
      slot.pending = null;
      if (turn === undefined)
        return [`shared file: slot ${index} has ${found.toString()}, expected ${turns.join(' or ')}`];
      slot.acknowledged = turn;
      return [];
    });
  }
}

const textOf = (turn: number): Buffer => Buffer.from(String(turn).padStart(SLOT_BYTES));

const fileOf = (server: Reachable): ShareFileClient =>
  shareClient(server, NAME).rootDirectoryClient.getFileClient('file');
