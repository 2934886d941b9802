/** What an SMB open is refused for that REST has no code for. */
export type OpenRefusal =
  /** A file is asked for, and a directory is there. */
  | 'is a directory'
  /** A directory is asked for, and a file is there. */
  | 'not a directory'
  /** A directory has no content that could be replaced. */
  | 'overwrites a directory'
  /** Hidden and system files are replaced by their like alone. */
  | 'hidden or system'
  /** The client has a lease with this key for something else. */
  | 'key of another file'
  | 'too many handles';

export class OpenRefused extends Error {
  override readonly name = 'OpenRefused';
  readonly refusal: OpenRefusal;

  constructor(refusal: OpenRefusal) {
    super(refusal);
    this.refusal = refusal;
  }
}
