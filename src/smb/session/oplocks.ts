/** Stand-in until the real one: see the task list. */
export interface OplockLease {
  readonly key: string;
}
export interface Durability {
  readonly timeoutMs: number;
}
export class OplockLeases {}
