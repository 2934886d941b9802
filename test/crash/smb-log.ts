/**
 * A file to whose end all clients append over SMB, several records at once, each through an open that can do nothing else. Whatever
 * the moment of a crash, every record that was acknowledged is there, whole and once; of the others each is or is not.
 */
import { shareClient } from '../harness/file-clients.ts';
import type { Random } from '../harness/random.ts';
import type { ServerProcess } from '../harness/server-process.ts';
import { SmbConnectionLost } from '../harness/smb-refusal.ts';
import { type WireFile, WireShare } from '../harness/wire-share.ts';
import { Cut, type Kill } from './client.ts';

const SHARE = 'smb-log';
const FILE = 'log';
const APPEND_DATA = 0x4;
const RECORDS_AT_ONCE_MAX = 4;
const RECORD_BYTES_MAX = 4_000;
/** Some go to the content store. */
const LONG_RECORD_BYTES = 40_000;

/** What each of the clients appends through. */
export class SmbLogWriter {
  readonly #log: SmbLog;
  readonly #server: ServerProcess;
  readonly #kill: Kill;
  #file: WireFile | null = null;

  constructor({ log, server, kill }: { log: SmbLog; server: ServerProcess; kill: Kill }) {
    this.#log = log;
    this.#server = server;
    this.#kill = kill;
  }

  async append(random: Random): Promise<void> {
    this.#file ??= await this.#orCut(this.#open());
    const file = this.#file;
    const records = Array.from({ length: 1 + random.below(RECORDS_AT_ONCE_MAX) }, () => this.#log.newRecord(random));
    await Promise.all(
      records.map(async (record) => {
        await this.#orCut(file.append(record));
        this.#log.acknowledge(record);
        this.#kill.countAcknowledged();
      }),
    );
  }

  async #open(): Promise<WireFile> {
    const share = await WireShare.connect(this.#server, SHARE);
    return share.create(FILE, { access: APPEND_DATA });
  }

  async #orCut<T>(request: Promise<T>): Promise<T> {
    try {
      return await request;
    } catch (error) {
      if (this.#kill.done && error instanceof SmbConnectionLost) throw new Cut();
      throw error;
    }
  }
}

export class SmbLog {
  #serial = 0;
  readonly #acknowledged = new Set<string>();
  readonly #sent = new Set<string>();

  async create(server: ServerProcess): Promise<void> {
    await shareClient(server, SHARE).create();
    await shareClient(server, SHARE).rootDirectoryClient.getFileClient(FILE).create(0);
  }

  async remove(server: ServerProcess): Promise<void> {
    await shareClient(server, SHARE).delete();
  }

  newRecord(random: Random): string {
    const lengthBytes = random.chance(0.1) ? LONG_RECORD_BYTES : random.below(RECORD_BYTES_MAX);
    const record = `${++this.#serial} ${'.'.repeat(lengthBytes)}\n`;
    this.#sent.add(record);
    return record;
  }

  acknowledge(record: string): void {
    this.#sent.delete(record);
    this.#acknowledged.add(record);
  }

  /** What is there counts as acknowledged from now on. */
  async findings(server: ServerProcess): Promise<string[]> {
    const file = shareClient(server, SHARE).rootDirectoryClient.getFileClient(FILE);
    const text = (await file.downloadToBuffer()).toString();
    const found =
      text === ''
        ? []
        : text
            .slice(0, -1)
            .split('\n')
            .map((line) => `${line}\n`);
    const findings = found.flatMap((record, index) => {
      if (!this.#acknowledged.has(record) && !this.#sent.has(record)) return [`SMB log: no record: ${titleOf(record)}`];
      return found.indexOf(record) === index ? [] : [`SMB log: twice: ${titleOf(record)}`];
    });
    const all = new Set(found);
    for (const record of this.#acknowledged) if (!all.has(record)) findings.push(`SMB log: lost: ${titleOf(record)}`);
    for (const record of this.#sent) if (all.has(record)) this.#acknowledged.add(record);
    this.#sent.clear();
    return findings;
  }
}

const titleOf = (record: string): string => `${record.slice(0, 20)} of ${record.length}`;
