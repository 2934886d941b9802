export interface DirectoryCursor {
  readonly pattern: string;
}
