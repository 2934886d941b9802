/** IOCTL as it comes from a TestClient, and as it is answered. */
import assert from 'node:assert/strict';
import { ioctl } from '../../src/smb/command/ioctl.ts';
import type { Tree } from '../../src/smb/session/session.ts';
import { statusName, statusOf } from '../../src/smb/statuses.ts';
import { CommandCode, HEADER_BYTES } from '../../src/smb/wire/header.ts';
import { ALL_ONES_64, type FileId } from '../../src/smb/wire/message.ts';
import { bodyOfReply, messageOf, type TestClient } from './smb-context.ts';

export const NO_FILE: FileId = { persistent: ALL_ONES_64, volatile: ALL_ONES_64 };

const OUTPUT_BYTES_MAX = 64 * 1024;

export interface AskedIoctl {
  readonly input?: Buffer;
  readonly inputBytesMax?: number;
  readonly outputBytesMax?: number;
  readonly isFsctl?: boolean;
  readonly tree?: Tree;
}

export interface AnsweredIoctl {
  /** Its name. */
  readonly status: string;
  readonly output: Buffer;
}

export async function askIoctl(
  client: TestClient,
  code: number,
  fileId: FileId,
  asked: AskedIoctl = {},
): Promise<AnsweredIoctl> {
  const { input = Buffer.alloc(0), inputBytesMax = 0, outputBytesMax = OUTPUT_BYTES_MAX, isFsctl = true, tree } = asked;
  const fixed = Buffer.alloc(56);
  fixed.writeUInt16LE(57, 0);
  fixed.writeUInt32LE(code, 4);
  fixed.writeBigUInt64LE(fileId.persistent, 8);
  fixed.writeBigUInt64LE(fileId.volatile, 16);
  fixed.writeUInt32LE(HEADER_BYTES + fixed.length, 24);
  fixed.writeUInt32LE(input.length, 28);
  fixed.writeUInt32LE(inputBytesMax, 32);
  fixed.writeUInt32LE(outputBytesMax, 44);
  fixed.writeUInt32LE(isFsctl ? 1 : 0, 48);
  const request = ioctl.decode(messageOf(Buffer.concat([fixed, input]), { command: CommandCode.IOCTL }));
  try {
    const reply = await ioctl.handle(client.context(tree === undefined ? {} : { tree }), request);
    const body = bodyOfReply(reply);
    assert.deepEqual([body.readUInt16LE(0), body.readUInt32LE(4), body.readUInt32LE(32)], [49, code, 112]);
    assert.equal(body.readUInt32LE(36), body.length - 48);
    return { status: statusName(reply.status), output: body.subarray(48) };
  } catch (error) {
    const status = statusOf(error);
    if (status === null) throw error;
    return { status: statusName(status), output: Buffer.alloc(0) };
  }
}

/** The three numbers that copying and the listing of snapshots begin with. */
export const numbersOf = (output: Buffer): number[] => [0, 4, 8].map((at) => output.readUInt32LE(at));
