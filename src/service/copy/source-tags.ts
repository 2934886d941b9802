/** The tags of a copy: those of the request, or with `x-ms-copy-source-tag-option: COPY` those of its source. */
import type { Tags } from '../../rules/tags.ts';
import { notYet, StorageError } from '../storage-error.ts';
import type { CopySource } from './copy-source.ts';
import { cannotVerify } from './verify-failure.ts';

export type TagOption = 'COPY' | 'REPLACE';

/** `tags`: of the source; null: they are not known. */
export function tagsOfCopy(
  request: { readonly source: CopySource; readonly tagOption: TagOption; readonly tags: Tags | null },
  tags: Tags | null,
): Tags | null {
  if (request.tagOption === 'REPLACE') return request.tags;
  if (request.tags !== null) throw new StorageError('BothUserTagsAndSourceTagsCopyPresentException');
  if (request.source.kind === 'outside' || tags === null) throw notYet('copying the tags of a source outside');
  if (!request.source.mayReadTags) {
    const sentence = 'What opens the source does not open its tags.';
    throw cannotVerify({ status: 403, code: 'AuthorizationPermissionMismatch', sentence });
  }
  return tags;
}
