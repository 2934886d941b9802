/** What SMB servers refuse with, as tests compare it. */

/** A request that the server refused. */
export class SmbRefusal extends Error {
  override readonly name = 'SmbRefusal';
  /** `STATUS_SHARING_VIOLATION`. */
  readonly status: string;

  constructor(status: string, request: string) {
    super(`${request}: ${status}`);
    this.status = status;
  }
}

/** A request to which no answer came, as the connection is gone. */
export class SmbConnectionLost extends Error {
  override readonly name = 'SmbConnectionLost';
}

/** `ok`, or the status that a request was refused with, without STATUS_ in front. */
export async function smbOutcome(request: Promise<unknown>): Promise<string> {
  try {
    await request;
    return 'ok';
  } catch (error) {
    if (error instanceof SmbRefusal) return error.status.replace(/^STATUS_/, '');
    throw error;
  }
}
