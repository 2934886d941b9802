/** The two ways in which a security descriptor is written in requests and answers: SDDL, or its bytes in Base64. */
import { formatSddl, parseSddl } from '../../rules/sddl.ts';
import {
  decodeDescriptor,
  encodeDescriptor,
  type Refused,
  type SecurityDescriptor,
} from '../../rules/security-descriptor.ts';
import { invalidPermission } from '../../service/file/permissions.ts';
import type { StorageError } from '../../service/storage-error.ts';

export type PermissionFormat = 'Sddl' | 'Binary';

const FORMATS: ReadonlyMap<string, PermissionFormat> = new Map([
  ['sddl', 'Sddl'],
  ['binary', 'Binary'],
]);

export const SINCE_FORMATS = '2024-11-04';

/** Before there were two, it was SDDL. */
export function parseFormat(
  text: string | null,
  version: string,
  refusal: (text: string) => StorageError,
): PermissionFormat {
  if (text === null || text === '' || version < SINCE_FORMATS) return 'Sddl';
  const format = FORMATS.get(text.trim().toLowerCase());
  if (format === undefined) throw refusal(text);
  return format;
}

/** Its bytes. What REST is given is complete: somebody owns the file, and it is said who may do what. */
export function parsePermission(text: string, format: PermissionFormat): Uint8Array {
  const parsed = format === 'Binary' ? parseBinary(text) : parseSddl(text);
  if ('refusal' in parsed) throw invalidPermission(parsed);
  if (parsed.owner === null || parsed.group === null || parsed.dacl === null) {
    throw invalidPermission({ refusal: 'It must have an owner, a group and a DACL.' });
  }
  return encodeDescriptor(parsed);
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

const parseBinary = (text: string): SecurityDescriptor | Refused =>
  BASE64.test(text) ? decodeDescriptor(Buffer.from(text, 'base64')) : { refusal: 'It is not Base64.' };

export const renderPermission = (descriptor: Uint8Array, format: PermissionFormat): string =>
  format === 'Binary'
    ? Buffer.from(descriptor).toString('base64')
    : formatSddl(decodeDescriptor(descriptor) as SecurityDescriptor);
