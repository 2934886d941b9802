/** REST operations on one file, as columns of the matrices. */
import { text } from 'node:stream/consumers';
import { type Scene, TEXT } from './stage.ts';

export type RestOperation = readonly [name: string, act: (scene: Scene) => Promise<unknown>];

const CREATE: RestOperation = ['Create File', ({ file }) => file.create(TEXT.length)];
/** The request alone: whoever wants all bytes asks for properties first. */
export const GET: RestOperation = [
  'Get File',
  async ({ file }) => text((await file.download()).readableStreamBody as NodeJS.ReadableStream),
];
export const GET_PROPERTIES: RestOperation = ['Get File Properties', ({ file }) => file.getProperties()];
const SET_PROPERTIES: RestOperation = [
  'Set File Properties',
  ({ file }) => file.setHttpHeaders({ fileContentType: 'a/b' }),
];
const SET_METADATA: RestOperation = ['Set File Metadata', ({ file }) => file.setMetadata({ a: 'b' })];
const PUT_RANGE: RestOperation = ['Put Range', ({ file }) => file.uploadRange('other', 0, 5)];
const CLEAR_RANGE: RestOperation = ['Put Range, to clear it', ({ file }) => file.clearRange(0, 5)];
const LIST_RANGES: RestOperation = ['List Ranges', ({ file }) => file.getRangeList()];
export const DELETE: RestOperation = ['Delete File', ({ file }) => file.delete()];
export const ACQUIRE: RestOperation = ['Lease File', ({ file }) => file.getShareLeaseClient().acquireLease()];
const RESIZE: RestOperation = ['Set File Properties with a size', ({ file }) => file.resize(100)];
const COPY_TO: RestOperation = [
  'Copy File to it',
  async ({ stage, file }) => file.startCopyFromURL((await stage.source()).url),
];
const COPY_FROM: RestOperation = [
  'Copy File from it',
  ({ stage, file }) => stage.at(stage.freshPath()).startCopyFromURL(file.url),
];
const PUT_RANGE_TO: RestOperation = [
  'Put Range From URL to it',
  async ({ stage, file }) => file.uploadRangeFromURL(stage.signed(await stage.source()), 0, 0, 4),
];
const PUT_RANGE_FROM: RestOperation = [
  'Put Range From URL from it',
  async ({ stage, file }) => (await stage.source()).uploadRangeFromURL(stage.signed(file), 0, 0, 4),
];
const RENAME: RestOperation = ['Rename File', ({ stage, path }) => stage.rename(path, stage.freshPath())];
export const RENAME_ONTO: RestOperation = [
  'Rename File onto it',
  async ({ stage, path }) => stage.rename((await stage.source()).name, path),
];
export const LIST: RestOperation = [
  'List Directories and Files',
  async ({ share }) => {
    for await (const _ of share.rootDirectoryClient.listFilesAndDirectories());
  },
];
export const LIST_HANDLES: RestOperation = [
  'List Handles',
  async ({ file }) => {
    for await (const _ of file.listHandles());
  },
];
const CREATE_DIRECTORY: RestOperation = [
  'Create Directory of its name',
  ({ share, path }) => share.getDirectoryClient(path).create(),
];

/** In the order of the matrix of share modes. */
export const MATRIX_COLUMNS: readonly RestOperation[] = [
  CREATE,
  GET,
  SET_PROPERTIES,
  SET_METADATA,
  PUT_RANGE,
  LIST_RANGES,
  DELETE,
  ACQUIRE,
  COPY_TO,
  COPY_FROM,
  PUT_RANGE_FROM,
  RENAME,
];

/** Those that look at bytes or the size. */
export const READERS: readonly RestOperation[] = [GET, GET_PROPERTIES, LIST_RANGES, COPY_FROM, PUT_RANGE_FROM];

/** Those that change something, and do not take the file away. */
export const WRITERS: readonly RestOperation[] = [
  PUT_RANGE,
  CLEAR_RANGE,
  SET_PROPERTIES,
  SET_METADATA,
  CREATE,
  COPY_TO,
  PUT_RANGE_TO,
];

/** Those that any byte-range lock keeps off. */
export const BYTE_WRITERS: readonly RestOperation[] = [PUT_RANGE, CLEAR_RANGE, PUT_RANGE_TO, RESIZE, CREATE, COPY_TO];

/** Those that no byte-range lock keeps off. */
export const LOCK_BLIND: readonly RestOperation[] = [GET_PROPERTIES, SET_METADATA, SET_PROPERTIES, LIST, LIST_RANGES];

/** All that are about the file itself. */
export const ALL_OF_FILE: readonly RestOperation[] = [
  ...MATRIX_COLUMNS,
  CLEAR_RANGE,
  RESIZE,
  PUT_RANGE_TO,
  GET_PROPERTIES,
  CREATE_DIRECTORY,
  RENAME_ONTO,
];
