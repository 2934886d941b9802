/** A file that no record accounts for: left by a crash, given back by recovery, counted by a checker. */
export interface Stray {
  readonly path: string;
  readonly extentCount: number;
  readonly bytes: number;
}
