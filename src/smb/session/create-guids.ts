/**
 * CREATE requests that a client may send again because it never saw the response ([MS-SMB2] 3.3.5.9.10): each has an id of the
 * client's, by which what it has opened is found.
 */
import type { Door } from './door.ts';
import type { FileOpen } from './open.ts';

/** What the request has opened; `action`: what it was told to have done. */
export interface CreatedOnce {
  readonly open: FileOpen;
  readonly action: number;
}

interface Guids {
  /** Null: the request is under way. */
  readonly created: Map<string, CreatedOnce | null>;
  readonly names: WeakMap<FileOpen, string>;
}

const ofDoors = new WeakMap<Door, Guids>();

function guidsOf(door: Door): Guids {
  const guids = ofDoors.get(door) ?? { created: new Map(), names: new WeakMap() };
  ofDoors.set(door, guids);
  return guids;
}

export interface CreateGuid {
  readonly clientGuid: string;
  readonly createGuid: string;
}

const nameOf = ({ clientGuid, createGuid }: CreateGuid): string => `${clientGuid} ${createGuid}`;

/** Undefined: there was none such; null: it is under way. */
export const findCreated = (door: Door, guid: CreateGuid): CreatedOnce | null | undefined =>
  guidsOf(door).created.get(nameOf(guid));

/** Runs a request under its id, if it has one; what fails may be tried again. */
export async function creatingOnce<T extends CreatedOnce>(
  door: Door,
  guid: CreateGuid | null,
  create: () => Promise<T>,
): Promise<T> {
  if (guid === null) return create();
  const { created, names } = guidsOf(door);
  const name = nameOf(guid);
  created.set(name, null);
  try {
    const made = await create();
    const { open, action } = made;
    // It may have been closed by force by now.
    if (open.isClosed) created.delete(name);
    else created.set(name, { open, action });
    names.set(open, name);
    return made;
  } catch (error) {
    created.delete(name);
    throw error;
  }
}

export function forgetCreateGuid(door: Door, open: FileOpen): void {
  const { created, names } = guidsOf(door);
  const name = names.get(open);
  if (name !== undefined && created.get(name)?.open === open) created.delete(name);
}
