/** A named pipe of IPC$: messages go in, answers come out. */
export interface Pipe {
  readonly name: string;
  /** A whole message of the client's. */
  write(bytes: Buffer): Promise<void>;
  /** What there is to be read, up to so many bytes; `hasMore`: the message goes on. Empty: nothing was asked. */
  read(lengthMax: number): { bytes: Uint8Array; hasMore: boolean };
}
