// Stands in until service/pages/ is there.
import type { IdSource } from '../../base/ids.ts';
import type { PagesContent } from '../records/blob-record.ts';

const absent = (): never => {
  throw new Error('pages are to come');
};
export const createPages = (_tx: unknown, _ids: IdSource): PagesContent => absent();
export const freezePages = (_tx: unknown, _content: PagesContent): { current: PagesContent; frozen: PagesContent } =>
  absent();
export const dropPages = (_tx: unknown, _extents: unknown, _content: PagesContent): void => absent();
export const sweepEpoch = async (..._: unknown[]): Promise<boolean> => absent();
export const sweepCut = async (..._: unknown[]): Promise<boolean> => absent();
