/**
 * An SMB client as the open table sees one: it opens files of a share on one node, hears what it is asked for, and answers
 * when the test says so. It stands for the SMB door.
 */
import type { OpenId } from '../../src/rules/in-use.ts';
import { ALL_ACCESS } from '../../src/rules/share-mode.ts';
import type { CachingBreak } from '../../src/service/file/opens/attend.ts';
import type { Opened, OpenRequest } from '../../src/service/file/opens/open-node.ts';
import type { OpenClient, OpenTable } from '../../src/service/file/opens/open-table.ts';
import type { Storage } from '../../src/service/storage.ts';

/** What a client was told: `RWH to RH`, `R to none, unanswered`, `closed`. */
interface Told {
  readonly openId: OpenId;
  readonly what: string;
}

export class SmbClient implements OpenClient {
  readonly #storage: Storage;
  readonly #share: { readonly account: string; readonly share: string };
  readonly #told: Told[] = [];
  #waiting: (() => void) | null = null;
  /** What it does by itself when it is asked for something. */
  answer: (openId: OpenId, asked: CachingBreak) => void = () => {};

  constructor(storage: Storage, share: { readonly account: string; readonly share: string }) {
    this.#storage = storage;
    this.#share = share;
  }

  get opens(): OpenTable {
    return this.#storage.opens;
  }

  /** Does everything and shares everything, unless it is said. */
  open(path: string, request: Partial<OpenRequest> & { snapshot?: string | null } = {}): Promise<Opened> {
    const { snapshot = null, ...rest } = request;
    const name = { ...this.#share, path: path === '' ? [] : path.split('/'), snapshot };
    const client = { ip: '10.0.0.5:50312', name: 'desktop', sessionId: '9260087404025397253' };
    return this.opens.open(name, { access: ALL_ACCESS, share: ALL_ACCESS, client, ...rest }, this);
  }

  breakCaching(openId: OpenId, asked: CachingBreak): void {
    const unanswered = asked.mustAnswer ? '' : ', unanswered';
    this.#hear({ openId, what: `${asked.from} to ${asked.to || 'none'}${unanswered}` });
    this.answer(openId, asked);
  }

  closed(openId: OpenId): void {
    this.#hear({ openId, what: 'closed' });
  }

  /** The next thing that it is told, or was told and nobody asked about. */
  async told(): Promise<string> {
    while (this.#told.length === 0) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    return (this.#told.shift() as Told).what;
  }

  /** What nobody asked about yet. */
  get unheard(): string[] {
    return this.#told.map(({ what }) => what);
  }

  #hear(told: Told): void {
    this.#told.push(told);
    this.#waiting?.();
  }
}
