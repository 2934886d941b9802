import type { EditTerms } from '../../service/file/opens/edit-file.ts';
import type { FileOpen } from '../session/open.ts';

/** A client changes bytes through an open: times that it has frozen stay, and there is a new ETag when it is closed. */
export const writingThrough = (open: FileOpen): Required<EditTerms> => ({
  keepsWriteTime: open.frozen.writtenAt,
  keepsChangeTime: open.frozen.changedAt,
  // Not only when it is answered: whoever closes it by then must know.
  onAdmitted() {
    open.hasWritten = true;
  },
});
