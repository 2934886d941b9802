/** A named pipe of IPC$: messages go in, answers come out (pipe/rpc-pipe.ts). What is asked of it at once is done in turn. */
export interface PipeData {
  readonly bytes: Uint8Array;
  /** The message goes on: the rest is there for the next read. */
  readonly hasMore: boolean;
}

export interface Pipe {
  readonly name: string;
  /** Resolves once the answer is there to be read. Throws SmbError: PIPE_BUSY, PIPE_DISCONNECTED. */
  write(bytes: Buffer): Promise<void>;
  /** Of one message, up to so many bytes. Null: there is nothing to be read. */
  read(lengthMax: number): Promise<PipeData | null>;
  /** Both, with nobody's request between them. Null: the message has no answer. */
  transceive(bytes: Buffer, lengthMax: number): Promise<PipeData | null>;
}
