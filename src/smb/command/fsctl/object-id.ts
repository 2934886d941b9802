/**
 * CREATE_OR_GET_OBJECT_ID ([MS-FSCC] 2.3.1): a name for a file or directory that it keeps wherever it is moved to. It is made
 * from what names it anyway, so there is nothing to be created.
 */
import { lookAtNode } from '../../../service/file/opens/look-open.ts';
import { indexNumberOf } from '../../wire/file-info.ts';
import { volumeIdOf } from '../../wire/fs-info.ts';
import { waiterOf } from '../command.ts';
import { answer, type Fsctl, refuseShortOutput } from './fsctl.ts';

/** The id, and where it was born: the volume, the id there, the domain. */
const OUTPUT_BYTES = 64;
const BIRTH_VOLUME_AT = 16;
const BIRTH_ID_AT = 32;

export const createOrGetObjectId: Fsctl = async (context, request) => {
  const open = context.open(request.fileId);
  refuseShortOutput(request, OUTPUT_BYTES);
  const { node, share } = await lookAtNode(context.door.storage, open, waiterOf(context));
  const output = Buffer.alloc(OUTPUT_BYTES);
  const volume = volumeIdOf(share.id);
  output.writeBigUInt64LE(volume, BIRTH_VOLUME_AT);
  for (const at of [0, BIRTH_ID_AT]) {
    output.writeBigUInt64LE(indexNumberOf(node), at);
    output.writeBigUInt64LE(volume, at + 8);
  }
  return answer(output);
};
