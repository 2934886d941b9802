/** IOCTL ([MS-SMB2] 2.2.31, 2.2.32), and the codes of what can be asked for with it ([MS-FSCC] 2.3). */
import { HEADER_BYTES } from './header.ts';
import { ALL_ONES_64, bodyOf, decodeFileId, type FileId, partOf, type RequestMessage, writeFileId } from './message.ts';

export const FsctlCode = {
  DFS_GET_REFERRALS: 0x0006_0194,
  DFS_GET_REFERRALS_EX: 0x0006_01b0,
  GET_COMPRESSION: 0x0009_003c,
  SET_REPARSE_POINT: 0x0009_00a4,
  GET_REPARSE_POINT: 0x0009_00a8,
  DELETE_REPARSE_POINT: 0x0009_00ac,
  CREATE_OR_GET_OBJECT_ID: 0x0009_00c0,
  SET_SPARSE: 0x0009_00c4,
  QUERY_ALLOCATED_RANGES: 0x0009_40cf,
  SET_ZERO_DATA: 0x0009_80c8,
  SET_COMPRESSION: 0x0009_c040,
  PIPE_WAIT: 0x0011_0018,
  PIPE_TRANSCEIVE: 0x0011_c017,
  SRV_REQUEST_RESUME_KEY: 0x0014_0078,
  LMR_REQUEST_RESILIENCY: 0x0014_01d4,
  QUERY_NETWORK_INTERFACE_INFO: 0x0014_01fc,
  VALIDATE_NEGOTIATE_INFO: 0x0014_0204,
  SRV_ENUMERATE_SNAPSHOTS: 0x0014_4064,
  SRV_COPYCHUNK: 0x0014_40f2,
  SRV_COPYCHUNK_WRITE: 0x0014_80f2,
} as const;

const RESPONSE_BYTES = 48;
const FLAG_IS_FSCTL = 0x1;

export interface IoctlRequest {
  readonly code: number;
  readonly fileId: FileId;
  readonly input: Buffer;
  readonly inputBytesMax: number;
  readonly outputBytesMax: number;
  readonly isFsctl: boolean;
}

export function decodeIoctl(message: RequestMessage): IoctlRequest {
  const body = bodyOf(message, 57);
  return {
    code: body.readUInt32LE(4),
    fileId: decodeFileId(body, 8),
    input: partOf(message, body.readUInt32LE(24), body.readUInt32LE(28)),
    inputBytesMax: body.readUInt32LE(32),
    outputBytesMax: body.readUInt32LE(44),
    isFsctl: body.readUInt32LE(48) === FLAG_IS_FSCTL,
  };
}

/** The output follows it. */
export function encodeIoctl({ code, fileId }: Pick<IoctlRequest, 'code' | 'fileId'>, outputBytes: number): Buffer {
  const response = Buffer.alloc(RESPONSE_BYTES);
  response.writeUInt16LE(49, 0);
  response.writeUInt32LE(code, 4);
  writeFileId(response, fileId, 8);
  response.writeUInt32LE(HEADER_BYTES + RESPONSE_BYTES, 24);
  response.writeUInt32LE(HEADER_BYTES + RESPONSE_BYTES, 32);
  response.writeUInt32LE(outputBytes, 36);
  return response;
}

/** Of requests that mean no file. */
export const isNoFile = ({ persistent, volatile }: FileId): boolean =>
  persistent === ALL_ONES_64 && volatile === ALL_ONES_64;
