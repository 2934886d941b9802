/** Names as CREATE carries them: from the root of the share, with backslashes between ([MS-SMB2] 2.2.13, [MS-FSCC] 2.1.5). */
import { refuseFilePath } from '../../rules/file-names.ts';
import type { Path } from '../../service/file/load.ts';
import { SmbError, Status } from '../statuses.ts';

export interface NamedPath {
  readonly path: Path;
  /** The content is named, which directories have none of. */
  readonly isStream: boolean;
}

const CONTENT = /^:\$DATA$/i;

/** `creates`: whether something of this name could be made. */
export function parseFilePath(name: string, { creates }: { creates: boolean }): NamedPath {
  if (name.startsWith('\\')) throw new SmbError(Status.INVALID_PARAMETER);
  if (name === '') return { path: [], isStream: false };
  const path = name.split('\\');
  const last = path.pop() as string;
  const colonAt = last.indexOf(':');
  const isStream = colonAt >= 0;
  path.push(isStream ? last.slice(0, colonAt) : last);
  if (path.includes('..')) throw new SmbError(Status.OBJECT_PATH_SYNTAX_BAD);
  const refusal = refuseFilePath(path);
  if (refusal !== null) throw new SmbError(Status.OBJECT_NAME_INVALID);
  // Files have no streams but their content. Clients find that out by looking for one.
  if (isStream && !CONTENT.test(last.slice(colonAt + 1))) {
    throw new SmbError(creates ? Status.OBJECT_NAME_INVALID : Status.OBJECT_NAME_NOT_FOUND);
  }
  return { path, isStream };
}
