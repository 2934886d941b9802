/**
 * The operations on directories and on files, by method and `comp`. Copy File and Put Range From URL are told from Create File and
 * Put Range by a header (routes.ts).
 */
import { abortCopyFile } from './copy-file.ts';
import { createFile } from './create-file.ts';
import {
  createDirectory,
  deleteDirectory,
  getDirectoryMetadata,
  getDirectoryProperties,
  setDirectoryMetadata,
  setDirectoryProperties,
} from './directory.ts';
import { leaseFile } from './file-lease.ts';
import {
  deleteFile,
  getFileMetadata,
  getFileProperties,
  setFileMetadata,
  setFileProperties,
} from './file-properties.ts';
import { getFile } from './get-file.ts';
import { forceCloseHandles, listHandles } from './handles.ts';
import { listDirectoriesAndFiles } from './list-directories-and-files.ts';
import { listRanges } from './list-ranges.ts';
import type { Operations } from './operation.ts';
import { putRange } from './put-range.ts';
import { renameDirectory, renameFile } from './rename.ts';

const handleOperations: Operations = {
  'GET listhandles': listHandles,
  'PUT forceclosehandles': forceCloseHandles,
};

export const directoryOperations: Operations = {
  'PUT ': createDirectory,
  'GET ': getDirectoryProperties,
  'HEAD ': getDirectoryProperties,
  'DELETE ': deleteDirectory,
  'PUT properties': setDirectoryProperties,
  'GET metadata': getDirectoryMetadata,
  'HEAD metadata': getDirectoryMetadata,
  'PUT metadata': setDirectoryMetadata,
  'GET list': listDirectoriesAndFiles,
  'PUT rename': renameDirectory,
  ...handleOperations,
};

export const fileOperations: Operations = {
  'PUT ': createFile,
  'GET ': getFile,
  'HEAD ': getFileProperties,
  'DELETE ': deleteFile,
  'PUT properties': setFileProperties,
  'GET metadata': getFileMetadata,
  'HEAD metadata': getFileMetadata,
  'PUT metadata': setFileMetadata,
  'PUT range': putRange,
  'GET rangelist': listRanges,
  'PUT lease': leaseFile,
  'PUT rename': renameFile,
  'PUT copy': abortCopyFile,
  ...handleOperations,
};
