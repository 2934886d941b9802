/** Bits of an access mask ([MS-SMB2] 2.2.13.1), and what they mean for sharing (rules/share-mode.ts). */
import { type Access, DELETES, READS, WRITES } from '../../rules/share-mode.ts';

export const READ_DATA = 0x1;
export const WRITE_DATA = 0x2;
export const APPEND_DATA = 0x4;
export const READ_EA = 0x8;
export const WRITE_EA = 0x10;
export const EXECUTE = 0x20;
export const DELETE_CHILD = 0x40;
export const READ_ATTRIBUTES = 0x80;
export const WRITE_ATTRIBUTES = 0x100;
export const DELETE = 0x1_0000;
export const READ_CONTROL = 0x2_0000;
export const WRITE_DAC = 0x4_0000;
export const WRITE_OWNER = 0x8_0000;
export const SYNCHRONIZE = 0x10_0000;
export const ACCESS_SYSTEM_SECURITY = 0x100_0000;
export const MAXIMUM_ALLOWED = 0x200_0000;
export const GENERIC_ALL = 0x1000_0000;
export const GENERIC_EXECUTE = 0x2000_0000;
export const GENERIC_WRITE = 0x4000_0000;
export const GENERIC_READ = 0x8000_0000;

export const FULL_ACCESS = 0x1f_01ff;
/** What GENERIC_READ and GENERIC_EXECUTE stand for: all that is done with something in a snapshot. */
export const READING_ACCESS = 0x12_00a9;

export const shareAccessOf = (access: number): Access =>
  ((access & (READ_DATA | EXECUTE)) === 0 ? 0 : READS) |
  ((access & (WRITE_DATA | APPEND_DATA)) === 0 ? 0 : WRITES) |
  ((access & DELETE) === 0 ? 0 : DELETES);
