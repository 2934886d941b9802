/** The last copy into a file, as reads of it tell. */

import type { FileRecord } from '../../service/records/node-record.ts';
import { copyHeaders } from '../reply-headers.ts';

export const fileCopyHeaders = ({ copy }: Pick<FileRecord, 'copy'>): string[] =>
  copy === undefined ? [] : copyHeaders(copy);
