/**
 * Structures that tell about something in as much detail as their level says: SHARE_INFO_1, SERVER_INFO_101 and the like. Each
 * is a row of numbers and of pointers to texts.
 */
import type { NdrWriter } from './ndr.ts';
import { ERROR_INVALID_LEVEL, ERROR_SUCCESS } from './rpc-interface.ts';

/** Null: a pointer to nothing. */
export type Information = readonly (number | string | null)[];

export function writeInformation(out: NdrWriter, information: Information): void {
  for (const field of information) {
    if (typeof field === 'number') out.u32(field);
    else out.pointer(field === null ? null : () => out.text(field));
  }
}

export const informationBytes = (information: Information): number =>
  information.reduce<number>((sum, field) => sum + 4 + (typeof field === 'string' ? textBytes(field) : 0), 0);

const textBytes = (text: string): number => 12 + Math.ceil((text.length + 1) / 2) * 4;

/** The result of a call that asks for one structure: the level, a pointer to it, a code. Undefined: there is no such level. */
export function writeInformationResult(out: NdrWriter, level: number, information: Information | undefined): void {
  out.structure(() => {
    out.u32(level);
    out.pointer(information === undefined ? null : () => writeInformation(out, information));
  });
  out.u32(information === undefined ? ERROR_INVALID_LEVEL : ERROR_SUCCESS);
}
