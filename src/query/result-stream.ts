/**
 * The answer to a query: an Avro file of four kinds of records. Results are gathered into records of some tens of
 * kilobytes; what else is to be said stands between them, where it happened.
 * https://learn.microsoft.com/rest/api/storageservices/query-blob-contents#response-body
 */
import { encodeBlock, encodeBoolean, encodeBytes, encodeFileHead, encodeLong, encodeString } from './avro.ts';
import type { RecordError } from './query-error.ts';

const NAMESPACE = 'com.microsoft.azure.storage.queryBlobContents';

const record = (name: string, fields: Readonly<Record<string, string>>): object => ({
  type: 'record',
  name: `${NAMESPACE}.${name}`,
  fields: Object.entries(fields).map(([field, type]) => ({ name: field, type })),
});

export const RESULT_SCHEMA = JSON.stringify([
  record('resultData', { data: 'bytes' }),
  record('error', { fatal: 'boolean', name: 'string', description: 'string', position: 'long' }),
  record('progress', { bytesScanned: 'long', totalBytes: 'long' }),
  record('end', { totalBytes: 'long' }),
]);

/** The place of each in the schema. */
const [RESULT_DATA, ERROR, PROGRESS, END] = [0, 1, 2, 3].map(encodeLong) as [Buffer, Buffer, Buffer, Buffer];

const DATA_BYTES_MAX = 64 * 1024;
const FULL_CHARACTERS = 32 * 1024;
const FULL_RECORDS = 256;

export interface ResultStreamOptions {
  /** 16 bytes that do not stand in the results by chance. */
  readonly syncMarker: Uint8Array;
  /** Of the blob. */
  readonly totalBytes: number;
}

export class ResultStream {
  readonly #options: ResultStreamOptions;
  #head: Buffer[];
  #records: Buffer[] = [];
  #text = '';
  #isBegun = false;

  constructor(options: ResultStreamOptions) {
    this.#options = options;
    this.#head = [encodeFileHead(RESULT_SCHEMA, options.syncMarker)];
  }

  /** Whether there is enough to be sent. */
  get isFull(): boolean {
    return this.#text.length >= FULL_CHARACTERS || this.#records.length >= FULL_RECORDS;
  }

  result(text: string): void {
    this.#text += text;
    this.#isBegun = true;
  }

  error({ errorName, isFatal, message }: RecordError, positionBytes: number): void {
    // The client for Python cannot take an error for its first record.
    if (!this.#isBegun) this.progress(0);
    this.#push([
      ERROR,
      encodeBoolean(isFatal),
      encodeString(errorName),
      encodeString(message),
      encodeLong(positionBytes),
    ]);
  }

  progress(scannedBytes: number): void {
    this.#isBegun = true;
    this.#push([PROGRESS, encodeLong(scannedBytes), encodeLong(this.#options.totalBytes)]);
  }

  end(): void {
    this.#push([END, encodeLong(this.#options.totalBytes)]);
  }

  /** What has come together since the last time. */
  take(): Buffer {
    this.#pushText();
    const head = this.#head;
    const records = this.#records;
    this.#head = [];
    this.#records = [];
    return Buffer.concat(records.length === 0 ? head : [...head, encodeBlock(records, this.#options.syncMarker)]);
  }

  #push(parts: readonly Buffer[]): void {
    this.#pushText();
    this.#records.push(Buffer.concat(parts));
  }

  #pushText(): void {
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    for (let at = 0; at < bytes.length; at += DATA_BYTES_MAX) {
      this.#records.push(Buffer.concat([RESULT_DATA, encodeBytes(bytes.subarray(at, at + DATA_BYTES_MAX))]));
    }
  }
}
