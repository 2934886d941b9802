/** The tags of a copy: those of the request, or with `x-ms-copy-source-tag-option: COPY` those of its source. */
import type { Tags } from '../../rules/tags.ts';
import { notYet, StorageError } from '../storage-error.ts';
import type { CopySource } from './copy-source.ts';
import { cannotVerify } from './verify-failure.ts';

export type TagOption = 'COPY' | 'REPLACE';

interface TagRequest {
  readonly source: CopySource;
  readonly tagOption: TagOption;
  readonly tags: Tags | null;
}

export function refuseTagOption({ source, tagOption, tags }: TagRequest): void {
  if (tagOption === 'REPLACE') return;
  if (tags !== null) throw new StorageError('BothUserTagsAndSourceTagsCopyPresentException');
  if (source.kind === 'outside') throw notYet('copying the tags of a source outside of this server');
  // A file has none.
  if (source.kind === 'inside' && !source.mayReadTags) {
    const sentence = 'The authorization for the source does not permit reading its tags.';
    throw cannotVerify({ status: 403, code: 'AuthorizationPermissionMismatch', sentence });
  }
}

export const tagsOfCopy = ({ tagOption, tags }: TagRequest, ofSource: Tags | null): Tags | null =>
  tagOption === 'COPY' ? ofSource : tags;
