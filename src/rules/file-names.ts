/** Names of shares, directories and files: what is legal, and which names are the same. */
import type { ErrorCode } from './error-code.ts';

export const FILE_NAME_LENGTH_MAX = 255;
export const FILE_PATH_LENGTH_MAX = 2048;
export const FILE_PATH_DEPTH_MAX = 250;

/** Letters and digits, with single hyphens between them. */
const SHARE_NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

export function refuseShareName(name: string): ErrorCode | null {
  if (name.length < 3 || name.length > 63) return 'OutOfRangeInput';
  return SHARE_NAME.test(name) ? null : 'InvalidResourceName';
}

/** Halves of surrogate pairs cannot be written in UTF-8; the others mean something in paths of Windows. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const NEVER_IN_A_FILE_NAME = /["\\/:|<>*?\0-\x1f\p{Surrogate}]/u;
const RESERVED = /^(?:lpt[1-9]|com[1-9]|prn|aux|nul|con|clock\$|\.{1,2})$/i;

export function refuseFileName(name: string): ErrorCode | null {
  if (name.length > FILE_NAME_LENGTH_MAX) return 'InvalidFileOrDirectoryPathName';
  return name === '' || NEVER_IN_A_FILE_NAME.test(name) || RESERVED.test(name) ? 'InvalidResourceName' : null;
}

/** Of the names on the way from the root to a file or directory; none: the root. */
export function refuseFilePath(path: readonly string[]): ErrorCode | null {
  if (path.length > FILE_PATH_DEPTH_MAX || path.join('/').length > FILE_PATH_LENGTH_MAX) {
    return 'InvalidFileOrDirectoryPathName';
  }
  return path.map(refuseFileName).find((refusal) => refusal !== null) ?? null;
}

/** Once over the name, however long it is: who asks is not known yet. */
export function withoutTrailingDots(name: string): string {
  let end = name.length;
  while (name[end - 1] === '.') end--;
  return name.slice(0, end);
}

/**
 * Two names are the same if their folded forms are. Unit by unit, as Windows does: a letter whose capital is two letters
 * stays what it is, so that `straße` and `STRASSE` are two names.
 */
export function foldName(name: string): string {
  let folded = '';
  for (const unit of name.split('')) {
    const upper = unit.toUpperCase();
    folded += upper.length === 1 ? upper : unit;
  }
  return folded;
}
