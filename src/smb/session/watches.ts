export interface Watch {
  readonly filter: number;
}
export class Watches {}
