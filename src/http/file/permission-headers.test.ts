import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseSddl } from '../../rules/sddl.ts';
import { encodeDescriptor, type SecurityDescriptor } from '../../rules/security-descriptor.ts';
import { StorageError } from '../../service/storage-error.ts';
import { parsePermissionHeaders } from './permission-headers.ts';

const NEWEST = '2026-06-06';
const SDDL = 'O:BAG:SYD:(A;;FA;;;BA)';
const BYTES = encodeDescriptor(parseSddl(SDDL) as SecurityDescriptor);
const BASE64 = Buffer.from(BYTES).toString('base64');

const PERMISSION = 'x-ms-file-permission';
const KEY = 'x-ms-file-permission-key';
const FORMAT = 'x-ms-file-permission-format';

const parsed = (headers: Readonly<Record<string, string>>, version = NEWEST) =>
  parsePermissionHeaders({ version, header: (name) => headers[name] ?? null });

describe('headers that say', () => {
  for (const [name, headers, want] of [
    ['nothing', {}, { kind: 'unsaid' }],
    ['nothing, in words', { [PERMISSION]: 'preserve' }, { kind: 'unsaid' }],
    ['nothing, with empty text', { [PERMISSION]: '', [KEY]: '' }, { kind: 'unsaid' }],
    ['to inherit', { [PERMISSION]: 'Inherit' }, { kind: 'inherit' }],
    ['a key', { [KEY]: '18446744073709551615*1' }, { kind: 'key', key: '18446744073709551615*1' }],
    ['SDDL', { [PERMISSION]: SDDL }, { kind: 'descriptor', descriptor: BYTES }],
    ['SDDL, by name', { [PERMISSION]: SDDL, [FORMAT]: 'Sddl' }, { kind: 'descriptor', descriptor: BYTES }],
    ['bytes', { [PERMISSION]: BASE64, [FORMAT]: 'binary' }, { kind: 'descriptor', descriptor: BYTES }],
    ['to inherit, whatever the format', { [PERMISSION]: 'inherit', [FORMAT]: 'Binary' }, { kind: 'inherit' }],
  ] as const) {
    test(name, () => assert.deepEqual(parsed(headers), want));
  }
});

describe('headers that are refused:', () => {
  for (const [name, headers, want] of [
    ['a permission and a key', { [PERMISSION]: SDDL, [KEY]: '1*2' }, 'InvalidHeaderValue'],
    ['to inherit, and a key', { [PERMISSION]: 'inherit', [KEY]: '1*2' }, 'InvalidHeaderValue'],
    ['a key that is none', { [KEY]: 'invalidPermission' }, 'InvalidHeaderValue'],
    ['a format that is none', { [PERMISSION]: SDDL, [FORMAT]: 'Text' }, 'InvalidHeaderValue'],
    ['more than 8 KiB', { [PERMISSION]: `${SDDL}${'(A;;FA;;;BA)'.repeat(700)}` }, 'InvalidHeaderValue'],
    ['no SDDL', { [PERMISSION]: 'invalidPermission' }, 'FileInvalidPermission'],
    ['no owner', { [PERMISSION]: 'G:SYD:(A;;FA;;;BA)' }, 'FileInvalidPermission'],
    ['no group', { [PERMISSION]: 'O:SYD:(A;;FA;;;BA)' }, 'FileInvalidPermission'],
    ['no DACL', { [PERMISSION]: 'O:SYG:SY' }, 'FileInvalidPermission'],
    ['bytes said to be SDDL', { [PERMISSION]: BASE64 }, 'FileInvalidPermission'],
    ['SDDL said to be bytes', { [PERMISSION]: SDDL, [FORMAT]: 'Binary' }, 'FileInvalidPermission'],
    ['bytes that are cut off', { [PERMISSION]: BASE64.slice(0, 40), [FORMAT]: 'Binary' }, 'FileInvalidPermission'],
  ] as const) {
    test(name, () =>
      assert.throws(
        () => parsed(headers),
        (error) => error instanceof StorageError && error.code === want,
      ),
    );
  }
});

test('before 2024-11-04 there was SDDL only', () => {
  assert.deepEqual(parsed({ [PERMISSION]: SDDL, [FORMAT]: 'Binary' }, '2024-08-04'), {
    kind: 'descriptor',
    descriptor: BYTES,
  });
});
