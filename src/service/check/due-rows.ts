/** The rows that tell when something is due (due.ts): whatever ends by itself has one, or nobody would clear it away. */
import type { Id } from '../../base/ids.ts';
import type { Entry, Key } from '../../engine/engine.ts';
import type { DueRecord } from '../due.ts';
import { decodeJson } from '../records/codec.ts';
import { dueMsOf } from '../records/keys.ts';

export class DueRows {
  readonly #findings: string[];
  readonly #stagings = new Set<Id>();
  readonly #records = new Set<string>();

  constructor(findings: string[]) {
    this.#findings = findings;
  }

  add({ key, value }: Entry): void {
    const due = decodeJson<DueRecord>(value);
    if ('stagingId' in due) this.#stagings.add(due.stagingId);
    else this.#records.add(nameOf(keyIn(due), dueMsOf(key)));
  }

  staging(id: Id, name: string): void {
    if (!this.#stagings.has(id)) this.#findings.push(`the staged blocks of blob ${name} are not scheduled to expire`);
  }

  /** A blob, a container or a share that ends at this time. */
  record(key: Key, { dueMs, name }: { dueMs: number; name: string }): void {
    if (this.#records.has(nameOf(Buffer.from(key).toString('base64'), dueMs))) return;
    this.#findings.push(`${name} is not scheduled to expire at the right time`);
  }
}

function keyIn(due: Exclude<DueRecord, { stagingId: string }>): string {
  if ('blobKey' in due) return due.blobKey;
  return 'containerKey' in due ? due.containerKey : due.shareKey;
}

const nameOf = (key: string, dueMs: number): string => `${dueMs} ${key}`;
