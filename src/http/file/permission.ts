/** Create and Get Permission: security descriptors that files and directories then name by a key. */
import { fileNeeds } from '../../auth/needs.ts';
import { createPermission as create, getPermission as get, invalidPermission } from '../../service/file/permissions.ts';
import { missingHeader, StorageError } from '../../service/storage-error.ts';
import { readWhole } from '../body.ts';
import { type Operation, shareNameOf } from './operation.ts';
import { parseFormat, parsePermission, renderPermission, SINCE_FORMATS } from './permission-format.ts';
import { parsePermissionFormat, parsePermissionKey } from './permission-headers.ts';

/** Of the descriptor; as text it may take some times as much. */
const DESCRIPTOR_BYTES_MAX = 64 * 1024;
const BODY_BYTES_MAX = 8 * DESCRIPTOR_BYTES_MAX;

const KEY = 'x-ms-file-permission-key';

export const createPermission: Operation = {
  name: 'Create Permission',
  need: fileNeeds.createPermission,
  async handle(storage, exchange, resource) {
    const body = await readWhole(exchange, { maxBytes: BODY_BYTES_MAX });
    const { permission, format } = parseBody(body);
    const descriptor = parsePermission(permission, parseFormat(format, exchange.version, invalidFormat));
    if (descriptor.length > DESCRIPTOR_BYTES_MAX) throw invalidPermission({ refusal: 'The permission is too long.' });
    const key = await create(storage, shareNameOf(exchange, resource), descriptor);
    return { status: 201, headers: [KEY, key] };
  },
};

export const getPermission: Operation = {
  name: 'Get Permission',
  need: fileNeeds.getPermission,
  async handle(storage, exchange, resource) {
    const key = parsePermissionKey(exchange);
    if (key === null) throw missingHeader(KEY);
    const format = parsePermissionFormat(exchange);
    const permission = renderPermission(await get(storage, shareNameOf(exchange, resource), key), format);
    const answer = exchange.version < SINCE_FORMATS ? { permission } : { permission, format };
    return { status: 200, headers: ['Content-Type', 'application/json'], body: JSON.stringify(answer) };
  },
};

/** Property names are matched without regard to case. */
function parseBody(body: Buffer): { permission: string; format: string | null } {
  const document = parseJson(body.toString());
  const texts = new Map<string, unknown>();
  if (typeof document === 'object' && document !== null) {
    for (const [name, value] of Object.entries(document)) texts.set(name.toLowerCase(), value);
  }
  const permission = texts.get('permission');
  const format = texts.get('format') ?? null;
  if (typeof permission !== 'string') throw invalidBody('It has no permission.');
  if (format !== null && typeof format !== 'string') throw invalidBody('The format is not a text.');
  return { permission, format };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    throw invalidBody('It is not JSON.');
  }
}

const invalidBody = (reason: string): StorageError =>
  new StorageError('InvalidInput', { message: `The body must be JSON with a permission. ${reason}` });

const invalidFormat = (): StorageError => invalidBody('The format is Sddl or Binary.');
