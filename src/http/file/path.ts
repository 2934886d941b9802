/** Paths in URLs, of requests and of the sources that requests name: which share, and which names below it. */
import { refuseFilePath, refuseShareName, withoutTrailingDots } from '../../rules/file-names.ts';
import type { Path } from '../../service/file/load.ts';
import { StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { decodePercent } from '../request-target.ts';

/** As they were written: trailing dots, and a trailing slash as an empty name. */
export interface WrittenPath {
  readonly share: string;
  readonly path: Path;
}

/** `text`: what follows the account and its slash, still percent-encoded. */
export function parseWrittenPath(text: string): WrittenPath {
  // Some clients write the slashes of a directory's path percent-encoded; no name has one within.
  const [share = '', ...path] = decodePercent(text).split('/');
  const refusal = refuseShareName(share);
  if (refusal !== null) throw new StorageError(refusal);
  return { share, path };
}

/** The names that a path stands for. */
export function parsePath(written: Path, { trailingDots }: { trailingDots: boolean }): Path {
  const path = trailingDots ? written : written.map(withoutTrailingDots);
  const refusal = refuseFilePath(path);
  if (refusal !== null) throw new StorageError(refusal);
  return path;
}

const SINCE_TRAILING_DOTS = '2022-11-02';

/** Whether names keep the dots that they end in: otherwise they are left away. Sources have a header of their own for it. */
export const keepsTrailingDots = (
  exchange: Pick<Exchange, 'version' | 'header'>,
  header: 'x-ms-allow-trailing-dot' | 'x-ms-source-allow-trailing-dot' = 'x-ms-allow-trailing-dot',
): boolean => exchange.version >= SINCE_TRAILING_DOTS && exchange.header(header)?.toLowerCase() === 'true';
